// SPDX-License-Identifier: GPL-2.0-or-later
/* The terminal belongs to the process, so the state of the line is one for the process. */
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"

enum { LINE_MAX_COLUMNS = 79 }; /* a longer one would not be erased by '\r' */

#define MIB	  (1 << 20)
#define FIRST_NS  NS_PER_S
#define REPEAT_NS (NS_PER_S / 2)

/* The terminal belongs to the process. Inputs are read by several threads. */
struct progress {
	const char *name; /* NULL: nothing is counted */
	atomic_uint nr_open;
	atomic_ullong total, done; /* bytes of the inputs that are open, or were since one was */
	atomic_ullong begin_ns, next_ns;
	atomic_int columns; /* of the line that is shown */
};

static struct progress *progress(void)
{
	static struct progress process_wide;

	return &process_wide;
}

/* Not one whose output was stopped (^S), or that nobody reads: the line is not worth to wait for it. */
static bool terminal_writable(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) > 0 && p.revents & POLLOUT;
}

void progress_line_show(const char *fmt, ...)
{
	char line[LINE_MAX_COLUMNS + 1];
	va_list ap;

	va_start(ap, fmt);
	int len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	len = len < LINE_MAX_COLUMNS ? len : LINE_MAX_COLUMNS;
	if (!terminal_writable())
		return;

	int before = atomic_exchange(&progress()->columns, len);

	fprintf(stderr, "\r%s%*s", line, before > len ? before - len : 0, "");
	fflush(stderr);
}

void progress_line_erase(void)
{
	int columns = atomic_exchange(&progress()->columns, 0);

	if (columns && terminal_writable())
		fprintf(stderr, "\r%*s\r", columns, "");
}

static void restart(struct progress *p)
{
	uint64_t now = monotonic_ns();

	atomic_store(&p->total, 0);
	atomic_store(&p->done, 0);
	atomic_store(&p->begin_ns, now);
	if (atomic_load(&p->next_ns) < now + REPEAT_NS)
		atomic_store(&p->next_ns, now + REPEAT_NS);
}

void progress_begin(const char *name)
{
	struct progress *p = progress();

	p->name = name;
	atomic_store(&p->next_ns, monotonic_ns() + FIRST_NS);
}

void progress_end(void)
{
	progress()->name = NULL;
	progress_line_erase();
}

void progress_input_open(struct progress_input *in, uint64_t bytes)
{
	struct progress *p = progress();

	*in = (struct progress_input){0};
	if (!p->name || !bytes)
		return;
	if (!atomic_fetch_add(&p->nr_open, 1))
		restart(p);
	atomic_fetch_add(&p->total, bytes);
	in->bytes = bytes;
	in->done = atomic_load(&p->done);
}

void progress_input_close(const struct progress_input *in)
{
	struct progress *p = progress();

	if (!in->bytes || atomic_fetch_sub(&p->nr_open, 1) == 1)
		return;
	/* It was read while another one was open: what is left of that is as before. */
	atomic_fetch_sub(&p->total, in->bytes);
	atomic_store(&p->done, in->done);
}

static void show(const struct progress *p, uint64_t now)
{
	double total = (double)atomic_load(&p->total), done = (double)atomic_load(&p->done);
	double seconds = (double)(now - atomic_load(&p->begin_ns)) / (double)NS_PER_S;
	char left[32] = "";

	done = done < total ? done : total;
	if (done <= 0)
		return;
	if (done * 100 >= total) /* earlier it would be a guess */
		snprintf(left, sizeof(left), ", %.0f s left", (total - done) / done * seconds);
	progress_line_show("%s: %.1f of %.1f MiB read (%.0f %%)%s", p->name, done / MIB,
			   total / MIB, done * 100 / total, left);
}

void progress_read(size_t bytes)
{
	struct progress *p = progress();
	unsigned long long now, next;

	if (!p->name)
		return;
	atomic_fetch_add(&p->done, bytes);
	now = monotonic_ns();
	next = atomic_load(&p->next_ns);
	if (now >= next && atomic_compare_exchange_strong(&p->next_ns, &next, now + REPEAT_NS))
		show(p, now);
}
