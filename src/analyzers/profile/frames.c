// SPDX-License-Identifier: GPL-2.0-or-later
/* Each distinct backtrace is resolved, stripped and printed once; then its path's number in the tree is known. */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/profile/frames.h"
#include "analyzers/profile/backtraces.h"
#include "base/array.h"
#include "base/error.h"
#include "event/event.h"

enum { RAW_MAX = 256 /* addresses looked at per sample */ };

struct frames {
	struct symbols *symbols;
	struct calltree *tree;
	struct frames_options opt;
	struct backtraces *stacks;
	uint32_t *path; /* by number of the backtrace: its path in the tree, or CALLTREE_NONE */
};

/* The frames of a tracepoint and of the sampler themselves, innermost first; "" ends each. */
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

int frames_open(struct sample_trace *t, const struct frames_options *opt, struct calltree *tree,
		struct frames **ret)
{
	_cleanup_(frames_cleanup_) struct frames *f = calloc(1, sizeof(*f));

	if (!f)
		return fail(-ENOMEM, "out of memory");
	f->tree = tree;
	f->opt = *opt;
	int err = symbols_open(t, &opt->symbols, &f->symbols);

	if (!err)
		err = backtraces_open(&f->stacks);
	if (err)
		return err;
	*ret = take_ptr(f);
	return 0;
}

void frames_close(struct frames *f)
{
	if (!f)
		return;
	free(f->path);
	backtraces_close(f->stacks);
	symbols_close(f->symbols);
	free(f);
}

void frame_print(const struct frame *frame, const struct frames_options *opt, char *buf,
		 size_t size)
{
	size_t len;

	if (!frame->name) {
		snprintf(buf, size, opt->decimal ? "%" PRIu64 : "0x%" PRIx64, frame->address);
		return;
	}
	snprintf(buf, size, "%s", frame->name);
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
	text_sanitize(buf);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = text ? strlen(text) : 0, m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static unsigned int chain_length(const struct frame *frame, unsigned int nr,
				 const char *const *chain)
{
	unsigned int i = 0;

	for (; chain[i]; i++)
		if (i == nr || !frame[i].name || strcmp(frame[i].name, chain[i]))
			return 0;
	return i;
}

bool frame_is_linux_tracer(const struct frame *frame)
{
	static const char *const begins[] = {"trace_event_raw_event_", "__traceiter_"};

	for (size_t k = 0; frame->name && k < sizeof(begins) / sizeof(begins[0]); k++)
		if (!strncmp(frame->name, begins[k], strlen(begins[k])))
			return true;
	return false;
}

static unsigned int linux_tracer_length(const struct frame *frame, unsigned int nr)
{
	unsigned int i = 0;

	while (i < nr && frame_is_linux_tracer(&frame[i]))
		i++;
	return i;
}

/*
 * Removes frames that are not the program's: the tracer's chains, trace.hh, and everything from the thread's start
 * outwards. Returns the number of remaining frames.
 */
static unsigned int frames_strip(struct frame *frame, unsigned int nr)
{
	unsigned int from = chain_length(frame, nr, sampler_chain), to = 0;

	if (!from)
		from = chain_length(frame, nr, backtrace_chain);
	if (!from)
		from = chain_length(frame, nr, log_chain);
	if (!from)
		from = linux_tracer_length(frame, nr);
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

/* Removes all frames before the function. OSv's tool drops the sample if the function is the
 * first frame. */
static unsigned int cut_at_function(const struct frames *f, struct frame *frame, unsigned int nr)
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

/* Innermost frames up to malloc are not the caller's. OSv's tool keeps a malloc that is the first frame. */
static unsigned int cut_malloc(const struct frames *f, struct frame *frame, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (!frame[i].name || strcmp(frame[i].name, "malloc"))
			continue;
		if (!i && f->opt.compat)
			return nr;
		memmove(frame, frame + i + 1, (nr - i - 1) * sizeof(*frame));
		return nr - i - 1;
	}
	return nr;
}

static void reverse(struct frame *frame, unsigned int nr)
{
	for (unsigned int i = 0; i < nr / 2; i++) {
		struct frame t = frame[i];

		frame[i] = frame[nr - 1 - i];
		frame[nr - 1 - i] = t;
	}
}

/* Instances of a template with one lambda per caller are shown as one function. */
static const char *shorter(const char *name)
{
	static const struct {
		const char *from, *to;
	} names[] = {
		{"void sched::thread::do_wait_until<", "sched::thread::do_wait_until"},
		{"do_wait_until<", "do_wait_until"},
	};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i].from, strlen(names[i].from)))
			return names[i].to;
	return name;
}

unsigned int frames_resolve(struct symbols *symbols, const struct sample *s,
			    struct frame ret[FRAMES_ROOM])
{
	uint64_t address[RAW_MAX];
	unsigned int nr_addresses = sample_backtrace(s, address, RAW_MAX), nr = 0;

	for (unsigned int i = 0; i < nr_addresses && nr < FRAMES_PATH_MAX; i++)
		nr += symbols_resolve(symbols, address[i], &ret[nr]);
	for (unsigned int i = 0; i < nr; i++)
		ret[i].name = shorter(ret[i].name);
	return nr;
}

/* "[kvm]" of "vcpu_enter_guest [kvm]", "[kernel]" of its other code; of user space as the source of names says. */
static void dso_print(const struct frames *f, const struct frame *frame, char *buf, size_t size)
{
	const char *module = frame->name ? strrchr(frame->name, '[') : NULL;
	bool kernel = frame->address >> 63;

	snprintf(buf, size, "%s",
		 frame->dso			      ? frame->dso
		 : f->opt.other_dso		      ? f->opt.other_dso
		 : kernel && module && module > frame->name ? module
		 : kernel				      ? "[kernel]"
							      : "[unknown]");
	text_sanitize(buf);
}

/* As `perf report --sort` does, by the innermost frame; a thread's name is added to each sample's path. */
static int keys_make(struct frames *f, const struct frame *frame, uint32_t *ret)
{
	uint32_t number[FRAMES_KEYS], nr = 0;
	char text[4096];
	int err = 0;

	for (unsigned int i = 0; i < f->opt.nr_keys && !err; i++) {
		if (f->opt.key[i] == FRAMES_COMM)
			continue;
		if (f->opt.key[i] == FRAMES_DSO)
			dso_print(f, frame, text, sizeof(text));
		else
			frame_print(frame, &f->opt, text, sizeof(text));
		err = calltree_frame(f->tree, text, &number[nr++]);
	}
	return err ? err : calltree_path(f->tree, number, nr, ret);
}

static int comm_add(struct frames *f, const struct sample *s, uint32_t *path)
{
	const struct calltree_path p = f->tree->path[*path];
	uint32_t number[FRAMES_KEYS], from = 0;
	char comm[32];

	for (unsigned int i = 0; i < f->opt.nr_keys; i++) {
		int err;

		if (f->opt.key[i] != FRAMES_COMM) {
			number[i] = from < p.nr ? f->tree->step[p.at + from++] : 0;
			continue;
		}
		if (*s->thread_name)
			snprintf(comm, sizeof(comm), "%.16s", s->thread_name);
		else
			snprintf(comm, sizeof(comm), "thread %" PRIu64, (uint64_t)s->thread);
		err = calltree_frame(f->tree, comm, &number[i]);
		if (err)
			return err;
	}
	return calltree_path(f->tree, number, f->opt.nr_keys, path) ?: 1;
}

static int path_make(struct frames *f, const struct sample *s, uint32_t *ret)
{
	struct frame frame[FRAMES_ROOM];
	uint32_t number[FRAMES_ROOM];
	char text[4096];
	unsigned int nr = frames_strip(frame, frames_resolve(f->symbols, s, frame));

	if (f->opt.beyond_malloc)
		nr = cut_malloc(f, frame, nr);
	if (f->opt.caller_oriented)
		reverse(frame, nr);
	if (f->opt.function)
		nr = cut_at_function(f, frame, nr);
	*ret = CALLTREE_NONE;
	if (nr && f->opt.nr_keys)
		return keys_make(f, &frame[f->opt.caller_oriented ? nr - 1 : 0], ret);
	for (unsigned int i = 0; i < nr; i++) {
		frame_print(&frame[i], &f->opt, text, sizeof(text));
		int err = calltree_frame(f->tree, text, &number[i]);

		if (err)
			return err;
	}
	return nr ? calltree_path(f->tree, number, nr, ret) : 0;
}

static int stack_path(struct frames *f, const struct sample *s, uint32_t *ret)
{
	uint32_t id;
	int r = backtrace_number(f->stacks, s, &id);

	if (r > 0 && id == BACKTRACE_NONE) {
		r = path_make(f, s, ret);
		return r ? r : *ret != CALLTREE_NONE;
	}
	if (r > 0) {
		r = array_room(f->path, id);
		if (!r)
			r = path_make(f, s, &f->path[id]);
	}
	if (r < 0)
		return r;
	*ret = f->path[id];
	return *ret != CALLTREE_NONE;
}

static bool has_comm(const struct frames_options *opt)
{
	return array_any(opt->nr_keys, i, opt->key[i] == FRAMES_COMM);
}

int frames_path(struct frames *f, const struct sample *s, uint32_t *ret)
{
	int r = stack_path(f, s, ret);

	return r > 0 && has_comm(&f->opt) ? comm_add(f, s, ret) : r;
}

int frames_path_to(struct frames *f, const struct sample *s, const char *last, uint32_t *ret)
{
	uint32_t number[FRAMES_ROOM + 1], path;
	int r = frames_path(f, s, &path);

	if (r <= 0)
		return r;
	const struct calltree_path p = f->tree->path[path];
	const uint32_t nr = p.nr < FRAMES_PATH_MAX ? p.nr : FRAMES_PATH_MAX;

	memcpy(number, f->tree->step + p.at, nr * sizeof(*number));
	r = calltree_frame(f->tree, last, &number[nr]);
	if (!r)
		r = calltree_path(f->tree, number, nr + 1, ret);
	return r ? r : 1;
}
