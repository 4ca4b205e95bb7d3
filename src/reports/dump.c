// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report on a dump: what triggered it, what the time of the culprit went into, and what differs
 * from the time before it. It is made from the dump's file, by the analyzers of the reports that
 * read it later.
 */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/blame/blame.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/order.h"
#include "base/units.h"
#include "reports/dump.h"
#include "tracefile/tracefile.h"

enum {
	CAUSES_MAX = 12, /* rows of a culprit's causes */
	WHO_BYTES = 200,
};

struct cause_row {
	enum blame_cause cause;
	char who[WHO_BYTES];
	uint64_t ns;
};

struct report_data {
	const struct trigger_culprit *culprit;
	struct blame *blame;
	struct cause_row row[CAUSES_MAX];
	unsigned int nr;
	uint64_t other_ns, all_ns; /* of causes without a row; of all */
	uint64_t now_ns;	   /* of the dump: what ends now has not ended; 0: not all has been read */
	struct blame_part now;	   /* that the culprit was in then; end_ns 0: it has ended */
	struct blame_part held;	   /* the longest in which the global mutex had a holder with a known stack */
	struct culprit_stacks *stacks;
	struct unusual *unusual;
	uint64_t first_ns, last_ns;
};

/* "exit-latency 52.1ms > 5ms: vCPU 0 (tid 12), reason=io". Returns buf. */
static const char *culprit_print(const char *name, uint64_t min_ns, const struct trigger_culprit *c,
				 char *buf, size_t size)
{
	char length[16], limit[16], vcpu[24] = "";

	if (!min_ns) {
		snprintf(buf, size, "%s", name);
		return buf;
	}
	if (c->vcpu != RECORD_NO_VCPU)
		snprintf(vcpu, sizeof(vcpu), "vCPU %u ", c->vcpu);
	snprintf(buf, size, "%s %s%s > %s: %s(pid %u, tid %u) %s", name,
		 duration_print(c->end_ns - c->start_ns, length, sizeof(length)),
		 c->open ? " so far" : "", duration_print(min_ns, limit, sizeof(limit)), vcpu,
		 c->pid, c->tid, c->labels);
	return buf;
}

const char *dump_next(const struct dump_cause *cause)
{
	static const char *const of_vcpus[] = {"exit-latency", "userspace-exit", "bql-wait",
					       "bql-hold"};

	for (size_t i = 0; i < sizeof(of_vcpus) / sizeof(of_vcpus[0]); i++)
		if (!strcmp(cause->name, of_vcpus[i]))
			return "blame --list";
	if (!strcmp(cause->name, "request-age") || !strcmp(cause->name, "virtqueue"))
		return cause->culprit.open ? "leaks" : "list-spans virtqueue";
	return cause->min_ns ? "timeline" : "exits";
}

/* ---- causes ---- */

static void cause_add(struct report_data *d, const struct blame_part *part, uint64_t ns)
{
	char who[WHO_BYTES];
	unsigned int i = 0;

	blame_who_print(part->cause, &part->who, who, sizeof(who));
	d->all_ns += ns;
	while (i < d->nr && (d->row[i].cause != part->cause || strcmp(d->row[i].who, who)))
		i++;
	if (i == CAUSES_MAX) {
		d->other_ns += ns;
		return;
	}
	if (i == d->nr) {
		d->row[d->nr] = (struct cause_row){.cause = part->cause};
		strcpy(d->row[d->nr++].who, who);
	}
	d->row[i].ns += ns;
}

/* `part` has been cut to the culprit. */
static void held_add(struct report_data *d, const struct blame_part *part)
{
	if (part->who.stack &&
	    part->end_ns - part->start_ns > d->held.end_ns - d->held.start_ns)
		d->held = *part;
}

/* The parts of the culprit's own exits that are within it. */
static int on_exit_ended(void *arg, const struct blame_exit *x)
{
	struct report_data *d = arg;
	const struct trigger_culprit *c = d->culprit;

	if (x->tid != c->tid || x->end_ns <= c->start_ns || x->start_ns >= c->end_ns)
		return 0;
	for (unsigned int i = 0; i < x->nr_parts; i++) {
		struct blame_part p = x->part[i];

		if (p.end_ns == d->now_ns)
			d->now = p;
		if (p.start_ns < c->start_ns)
			p.start_ns = c->start_ns;
		if (p.end_ns > c->end_ns)
			p.end_ns = c->end_ns;
		if (p.start_ns >= p.end_ns)
			continue;
		cause_add(d, &p, p.end_ns - p.start_ns);
		held_add(d, &p);
	}
	return 0;
}

static void on_restart(void *arg)
{
	struct report_data *d = arg;

	d->nr = 0;
	d->other_ns = d->all_ns = 0;
	d->held = (struct blame_part){0};
}

static int by_time(const void *a, const void *b)
{
	const struct cause_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return order_u64(x->cause, y->cause) ?: strcmp(x->who, y->who);
}

static void cause_line(const struct report_data *d, const char *name, const char *who, uint64_t ns,
		       FILE *f)
{
	char text[16];

	fprintf(f, "  %-13s %5.1f%%  %8s  %s\n", name, (double)ns * 100 / (double)d->all_ns,
		duration_print(ns, text, sizeof(text)), who);
}

static void now_write(const struct report_data *d, FILE *f)
{
	char who[WHO_BYTES], text[16];

	if (!d->now.end_ns)
		return;
	blame_who_print(d->now.cause, &d->now.who, who, sizeof(who));
	fprintf(f, "it has not ended in this dump, and has been here for the last %s: %s%s%s\n",
		duration_print(d->now.end_ns - d->now.start_ns, text, sizeof(text)),
		blame_cause_names[d->now.cause], *who ? " " : "", who);
}

/* What the holder of the global mutex did in the longest wait for it. */
static void held_write(const struct report_data *d, FILE *f)
{
	const char *stack = blame_stack(d->blame, d->held.who.stack);
	char who[WHO_BYTES], text[16];

	if (!stack)
		return;
	blame_who_print(d->held.cause, &d->held.who, who, sizeof(who));
	fprintf(f, "stack of the holder of the global mutex for %s of that time (%s):\n",
		duration_print(d->held.end_ns - d->held.start_ns, text, sizeof(text)), who);
	stack_frames_write(stack, f);
}

static void causes_write(struct report_data *d, FILE *f)
{
	const struct trigger_culprit *c = d->culprit;

	if (!d->all_ns) {
		fputs(c->open && c->vcpu != RECORD_NO_VCPU
			      ? "causes of the culprit: unknown, its begin is not in this dump\n"
			      : "causes of the culprit: its thread had no exits in that time\n",
		      f);
		return;
	}
	fputs("causes of the culprit (hostrace blame):\n", f);
	qsort(d->row, d->nr, sizeof(d->row[0]), by_time);
	for (unsigned int i = 0; i < d->nr; i++)
		cause_line(d, blame_cause_names[d->row[i].cause], d->row[i].who, d->row[i].ns, f);
	if (d->other_ns)
		cause_line(d, "other", "", d->other_ns, f);
	now_write(d, f);
}

/* ---- the file ---- */

static int on_event(void *arg, const struct event *ev)
{
	struct report_data *d = arg;
	int err = blame_event(d->blame, ev);

	culprit_stacks_event(d->stacks, ev);
	d->first_ns = !d->first_ns || ev->time_ns < d->first_ns ? ev->time_ns : d->first_ns;
	d->last_ns = ev->time_ns > d->last_ns ? ev->time_ns : d->last_ns;
	return err ? err : unusual_event(d->unusual, ev);
}

static int read_dump(const char *dump, struct report_data *d)
{
	_cleanup_reader_ struct reader *r = NULL;
	int err = tracefile_reader.open(dump, NULL, &r);

	if (!err && trace_info_recorded(&r->info, "kvm_vcpu_wakeup"))
		blame_set_wakeups(d->blame);
	if (!err)
		err = reader_each(r, on_event, d);
	d->now_ns = d->last_ns > d->culprit->end_ns ? d->last_ns : d->culprit->end_ns;
	blame_end_open(d->blame, d->culprit->tid, d->now_ns);
	if (!err)
		err = blame_end(d->blame);
	return err ? err : unusual_end(d->unusual);
}

static void head_write(const struct report_data *d, const struct dump_cause *cause,
		       const char *line, FILE *f)
{
	const struct trigger_culprit *c = &cause->culprit;
	uint64_t after = d->last_ns > c->end_ns ? d->last_ns - c->end_ns : 0;
	char a[16], b[16];

	fprintf(f, "%s\n", line);
	if (!cause->min_ns)
		return;
	if (c->start_ns < d->first_ns) {
		fprintf(f,
			"in the dump: from %s after the culprit began until %s after the trigger\n"
			"note: --ring is too small: it has not kept the culprit's beginning, so "
			"reports do not know that it is open\n",
			duration_print(d->first_ns - c->start_ns, a, sizeof(a)),
			duration_print(after, b, sizeof(b)));
		return;
	}
	fprintf(f, "in the dump: from %s before the culprit until %s after the trigger\n",
		duration_print(c->start_ns - d->first_ns, a, sizeof(a)),
		duration_print(after, b, sizeof(b)));
	if (c->start_ns - d->first_ns < cause->before_ns)
		fprintf(f,
			"note: --before %s was asked for: the recording had just begun, or --ring "
			"is too small\n",
			duration_print(cause->before_ns, a, sizeof(a)));
}

static void more_write(const struct dump_cause *cause, FILE *f)
{
	if (cause->nr_more)
		fprintf(f, "%" PRIu64 " further triggers until the dump:\n", cause->nr_more);
	for (uint64_t i = 0; i < cause->nr_more && i < DUMP_MORE_MAX; i++) {
		const struct trigger_culprit *c = &cause->more[i];
		char length[16];

		fprintf(f, "  tid %u %s %s\n", c->tid,
			duration_print(c->end_ns - c->start_ns, length, sizeof(length)), c->labels);
	}
	if (cause->suppressed)
		fprintf(f, "%" PRIu64 " earlier triggers were suppressed (--keep, --max-disk)\n",
			cause->suppressed);
}

static int write_all(const char *dump, const char *path, struct report_data *d,
		     const struct dump_cause *cause, const char *line)
{
	struct new_file file = {0};
	int err = new_file_open(&file, path, false);

	if (err)
		return err;
	head_write(d, cause, line, file.file);
	more_write(cause, file.file);
	if (cause->min_ns) {
		causes_write(d, file.file);
		culprit_stacks_write(d->stacks, file.file);
		held_write(d, file.file);
		unusual_write(d->unusual, file.file);
	}
	fprintf(file.file, "next: hostrace %s -i %s\n", dump_next(cause), dump);
	return new_file_close(&file, 0);
}

int dump_report(const char *dump, const char *path, const struct dump_cause *cause, char *line,
		size_t size)
{
	struct report_data d = {.culprit = &cause->culprit};
	struct blame_sink sink = {.ended = on_exit_ended, .restart = on_restart, .arg = &d};
	int err;

	culprit_print(cause->name, cause->min_ns, &cause->culprit, line, size);
	d.blame = blame_new(&sink);
	d.unusual = unusual_new(cause->culprit.start_ns);
	d.stacks = culprit_stacks_new(&cause->culprit);
	err = d.blame && d.unusual && d.stacks ? read_dump(dump, &d)
					       : fail(-ENOMEM, "out of memory");
	if (!err)
		err = write_all(dump, path, &d, cause, line);
	culprit_stacks_free(d.stacks);
	unusual_free(d.unusual);
	blame_free(d.blame);
	return err;
}
