// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "event.h"
#include "guestside/osv/osv_frames.h"

enum { BACKTRACES_MAX = 1 << 20, RAW_MAX = 256 /* addresses looked at per sample */ };

struct backtrace {
	uint64_t hash;
	uint64_t *address; /* what it was made of */
	uint32_t *frame;   /* numbers in the tree */
	uint16_t nr_addresses, nr_frames;
};

struct osv_frames {
	struct osv_symbols *symbols;
	struct calltree *tree;
	struct osv_frames_options opt;
	struct backtrace *backtrace;
	uint32_t nr, *slot, mask;
};

/* What a tracepoint and the sampler leave on the stack, innermost first; "" ends each. */
static const char *const sampler_chain[] = {
	"tracepoint_base::log_backtrace(trace_record*, unsigned char*&)",
	"log",
	"trace_slow_path",
	"operator()",
	"_FUN",
	"prof::cpu_sampler::timer_fired()",
	"prof::cpu_sampler::timer_fired()",
	"sched::timer_list::fired()",
	"std::function<void ()>::operator()() const",
	"interrupt_descriptor_table::invoke_interrupt(unsigned int)",
	"interrupt",
	"interrupt_entry_common",
	NULL,
};
static const char *const backtrace_chain[] = {
	"tracepoint_base::log_backtrace(trace_record*, unsigned char*&)",
	"log",
	"trace_slow_path",
	"operator()",
	"_FUN",
	"operator()",
	NULL,
};
static const char *const log_chain[] = {"log",	"trace_slow_path", "operator()",
					"_FUN", "operator()",	   NULL};

int osv_frames_open(struct osv_symbols *symbols, struct calltree *tree,
		    const struct osv_frames_options *opt, struct osv_frames **ret)
{
	_cleanup_(osv_frames_cleanup_) struct osv_frames *f = calloc(1, sizeof(*f));

	if (!f)
		return fail(-ENOMEM, "out of memory");
	f->symbols = symbols;
	f->tree = tree;
	f->opt = *opt;
	f->mask = 4095;
	f->slot = calloc(f->mask + 1u, sizeof(*f->slot));
	if (!f->slot)
		return fail(-ENOMEM, "out of memory");
	*ret = take_ptr(f);
	return 0;
}

void osv_frames_close(struct osv_frames *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->nr; i++) {
		free(f->backtrace[i].address);
		free(f->backtrace[i].frame);
	}
	free(f->backtrace);
	free(f->slot);
	free(f);
}

void osv_frame_print(const struct osv_frame *frame, const struct osv_frames_options *opt, char *buf,
		     size_t size)
{
	static const struct {
		const char *from, *to;
	} shorter[] = {
		{"void sched::thread::do_wait_until<", "sched::thread::do_wait_until"},
		{"do_wait_until<", "do_wait_until"},
	};
	const char *name = frame->name;
	size_t len;

	if (!name) {
		snprintf(buf, size, "0x%" PRIx64, frame->address);
		return;
	}
	for (size_t i = 0; i < sizeof(shorter) / sizeof(shorter[0]); i++)
		if (!strncmp(name, shorter[i].from, strlen(shorter[i].from)))
			name = shorter[i].to;
	snprintf(buf, size, "%s", name);
	len = strlen(buf);
	if (opt->show_file)
		len += (size_t)snprintf(buf + len, size - len, " %s",
					frame->file ? frame->file : "None");
	if (opt->show_line && len < size) {
		if (frame->line)
			len += (size_t)snprintf(buf + len, size - len, ":%d", frame->line);
		else
			len += (size_t)snprintf(buf + len, size - len, ":None");
	}
	if (opt->show_address && len < size)
		snprintf(buf + len, size - len, " @ 0x%" PRIx64, frame->address);
	text_neutralise(buf);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = text ? strlen(text) : 0, m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static unsigned int chain_length(const struct osv_frame *frame, unsigned int nr,
				 const char *const *chain)
{
	unsigned int i = 0;

	for (; chain[i]; i++)
		if (i == nr || !frame[i].name || strcmp(frame[i].name, chain[i]))
			return 0;
	return i;
}

/* Takes out what is not the program's: the tracer's chains, trace.hh, and everything from the
 * thread's start on. */
static unsigned int strip(struct osv_frame *frame, unsigned int nr)
{
	unsigned int from = chain_length(frame, nr, sampler_chain), to = 0;

	if (!from)
		from = chain_length(frame, nr, backtrace_chain);
	if (!from)
		from = chain_length(frame, nr, log_chain);
	for (unsigned int i = from; i < nr; i++) {
		const char *name = frame[i].name;

		if (name && (!strcmp(name, "thread_main") || !strcmp(name, "thread_main_c")))
			break;
		if (name && (ends_with(frame[i].file, "trace.hh") || !strcmp(name, "_M_invoke")))
			continue;
		frame[to++] = frame[i];
	}
	return to;
}

/* Everything before the function goes. The original drops the sample if the function is the very
 * first frame. */
static unsigned int cut_at_function(const struct osv_frames *f, struct osv_frame *frame,
				    unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (!frame[i].name || strcmp(frame[i].name, f->opt.function))
			continue;
		if (!i && f->opt.compat)
			return 0;
		memmove(frame, frame + i, (nr - i) * sizeof(*frame));
		return nr - i;
	}
	return 0;
}

static void reverse(struct osv_frame *frame, unsigned int nr)
{
	for (unsigned int i = 0; i < nr / 2; i++) {
		struct osv_frame t = frame[i];

		frame[i] = frame[nr - 1 - i];
		frame[nr - 1 - i] = t;
	}
}

static int path_make(struct osv_frames *f, struct backtrace *b)
{
	struct osv_frame frame[OSV_PATH_MAX + OSV_INLINES_MAX] = {0};
	char text[4096];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < b->nr_addresses && nr < OSV_PATH_MAX; i++)
		nr += osv_symbols_resolve(f->symbols, b->address[i], &frame[nr]);
	nr = strip(frame, nr);
	if (f->opt.caller_oriented)
		reverse(frame, nr);
	if (f->opt.function)
		nr = cut_at_function(f, frame, nr);
	b->frame = calloc(nr + 1u, sizeof(*b->frame));
	if (!b->frame)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr; i++) {
		osv_frame_print(&frame[i], &f->opt, text, sizeof(text));
		int err = calltree_frame(f->tree, text, &b->frame[i]);

		if (err)
			return err;
	}
	b->nr_frames = (uint16_t)nr;
	return 0;
}

static uint64_t hash(const uint64_t *address, unsigned int nr)
{
	uint64_t h = nr;

	for (unsigned int i = 0; i < nr; i++)
		h = (h ^ address[i]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
	return h;
}

static uint32_t *slot_of(struct osv_frames *f, uint64_t h, const uint64_t *address, unsigned int nr)
{
	for (uint32_t i = (uint32_t)h;; i++) {
		uint32_t *slot = &f->slot[i & f->mask];
		const struct backtrace *b = *slot ? &f->backtrace[*slot - 1] : NULL;

		if (!b || (b->hash == h && b->nr_addresses == nr &&
			   !memcmp(b->address, address, nr * sizeof(*address))))
			return slot;
	}
}

static int grow(struct osv_frames *f)
{
	uint32_t mask = f->mask * 2 + 1;
	uint32_t *slot = calloc(mask + 1u, sizeof(*slot));

	if (!slot)
		return fail(-ENOMEM, "out of memory");
	free(f->slot);
	f->slot = slot;
	f->mask = mask;
	for (uint32_t n = 0; n < f->nr; n++) {
		uint32_t i = (uint32_t)f->backtrace[n].hash;

		while (f->slot[i & mask])
			i++;
		f->slot[i & mask] = n + 1;
	}
	return 0;
}

static int backtrace_add(struct osv_frames *f, uint64_t h, const uint64_t *address, unsigned int nr)
{
	if (f->nr == BACKTRACES_MAX)
		return fail(-E2BIG, "more than %d different backtraces", BACKTRACES_MAX);
	if (!(f->nr & (f->nr - 1))) {
		void *more = realloc(f->backtrace, (f->nr ? 2 * f->nr : 1) * sizeof(*f->backtrace));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		f->backtrace = more;
	}
	struct backtrace *b = &f->backtrace[f->nr];

	*b = (struct backtrace){.hash = h,
				.nr_addresses = (uint16_t)nr,
				.address = malloc((nr + 1) * sizeof(*address))};
	if (!b->address)
		return fail(-ENOMEM, "out of memory");
	f->nr++;
	memcpy(b->address, address, nr * sizeof(*address));
	int err = path_make(f, b);

	return err ? err : f->nr * 2 > f->mask ? grow(f) : 0;
}

int osv_frames_path(struct osv_frames *f, const struct osv_sample *s, const uint32_t **ret,
		    unsigned int *ret_nr, uint32_t *ret_id)
{
	uint64_t address[RAW_MAX];
	unsigned int nr = osv_backtrace(s, address, RAW_MAX);
	uint64_t h = hash(address, nr);
	uint32_t *slot = slot_of(f, h, address, nr);

	if (!*slot) {
		*slot = f->nr + 1;
		int err = backtrace_add(f, h, address, nr);

		if (err)
			return err;
		slot = slot_of(f, h, address, nr);
	}
	const struct backtrace *b = &f->backtrace[*slot - 1];

	*ret = b->frame;
	*ret_nr = b->nr_frames;
	*ret_id = *slot - 1;
	return b->nr_frames ? 1 : 0;
}
