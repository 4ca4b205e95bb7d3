// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hit is an instruction pointer of the guest, with what is known of its callers; it becomes a call path of one frame
 * or more. Exits are hits when they end, with the time that they took, which is unknown where events were lost.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "analyzers/profile/host_events.h"
#include "analyzers/profile/samples_internal.h"
#include "base/error.h"
#include "base/order.h"
#include "event/exit_reason.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/vm_names.h"
#include "model/losses.h"
#include "pairing/guest_tasks.h"

enum { FRAMES = CALL_CHAINS_FRAMES_MAX, GUEST_FRAMES = 15, GROUP_KEYS = 4, TITLE_BYTES = 512 };

struct group {
	uint64_t key[GROUP_KEYS]; /* pid and vCPU, tid, reason, guest's task: 0 if it is not grouped by */
	uint32_t root;
};

struct hit {
	const struct event *ev;
	uint64_t rip, frame[FRAMES];
	unsigned int nr_frames;
	bool is_host; /* the frames are the host's, and there is no instruction pointer of the guest */
	const char *reason; /* NULL: none */
	uint64_t reason_key, task; /* task: label of guest_tasks.h */
	double time_ns;
};

/* An exit that has not ended yet. */
struct pending {
	uint64_t tid; /* of the vCPU thread */
	uint64_t rip, since_ns, reason_key, task;
	char reason[48];
	struct loss_mark mark;
	struct event ev; /* only its header is valid */
};

struct host_profile {
	struct sample_trace trace; /* has no samples; symbols use it to look up names */
	const struct host_profile_options *opt;
	struct backtraces *stacks;
	struct counter_seen seen;
	struct frames *frames;
	struct calltree *tree;
	struct hash_table groups;
	struct hash_table pending;
	struct hash_table paths; /* of hits without callers */
	struct guest_tasks tasks;
	uint64_t hits, host_hits, unknown_ends;
	struct loss_state losses;
	int err;
};

enum { PENDING_MAX = 1 << 16, PATHS_MAX = 1 << 16, LATE_NS = 1000000 };

/* Of hits without callers, where there is one tree: their sums, which host_profile_end() adds to the tree's. */
struct rip_path {
	uint64_t rip;
	uint32_t path, root;
	uint64_t hits;
	double time_ns;
};

/* ---- the tree ---- */

static unsigned int resolve(struct sample_trace *t, uint64_t address,
			    const struct sample_resolve *how, struct frame *ret)
{
	const struct host_profile *p = (const struct host_profile *)t;
	const char *name = backtrace_name(p->stacks, address);

	if (!name && p->opt->maps && !(address >> 63)) /* the kernel's: a guest's */
		return code_maps_resolve(p->opt->maps, address, how, ret);
	*ret = (struct frame){.address = address, .name = name,
			      .dso = backtrace_dso(p->stacks, address)};
	return name != NULL;
}

static const struct sample_ops names_only = {.resolve = resolve, .close = sample_trace_deinit};

void host_profile_free(struct host_profile *p)
{
	if (!p)
		return;
	frames_close(p->frames);
	calltree_close(p->tree);
	sample_trace_deinit(&p->trace);
	backtraces_close(p->stacks);
	hash_deinit(&p->groups);
	hash_deinit(&p->pending);
	loss_state_deinit(&p->losses);
	hash_deinit(&p->paths);
	guest_tasks_deinit(&p->tasks);
	free(p);
}

static int profile_init(struct host_profile *p, const struct reader *r)
{
	struct frames_options frames = p->opt->frames;
	int err = sample_trace_init(&p->trace, r->info.file, r->info.kind, &names_only);

	if (!err)
		err = backtraces_open(&p->stacks);
	p->groups = HASH_TABLE(struct group, GROUP_KEYS, HOST_GROUPS_MAX);
	guest_tasks_init(&p->tasks);
	p->pending = HASH_TABLE(struct pending, 1, PENDING_MAX);
	p->paths = HASH_TABLE(struct rip_path, 1, PATHS_MAX);
	if (!err)
		err = calltree_open(&p->opt->tree, &p->tree);
	frames.other_dso = p->opt->of == HOST_CODE ? NULL : "[guest]";
	return err ? err : frames_open(&p->trace, &frames, p->tree, &p->frames);
}

/* Adds a part of a title. */
__attribute__((format(printf, 2, 3))) static void title_add(char title[TITLE_BYTES],
							     const char *fmt, ...)
{
	size_t len = strlen(title);
	va_list args;

	if (len)
		len += (size_t)snprintf(title + len, TITLE_BYTES - len, ", ");
	va_start(args, fmt);
	vsnprintf(title + len, TITLE_BYTES - len, fmt, args);
	va_end(args);
}

static int group_title(struct host_profile *p, const struct hit *h, uint32_t root)
{
	const unsigned int by = p->opt->by;
	char title[TITLE_BYTES] = "", vm[VM_NAME_BYTES], task[40];

	if (!by)
		return 0;
	if (vm_is_known(p->opt->vms, h->ev->pid))
		vm_name(p->opt->vms, h->ev->pid, vm, sizeof(vm));
	else
		snprintf(vm, sizeof(vm), "%u", h->ev->pid);
	if (by & HOST_BY_VCPU && h->ev->vcpu == RECORD_NO_VCPU)
		title_add(title, "other threads of VM %s", vm);
	else if (by & HOST_BY_VCPU)
		title_add(title, "vCPU %u of VM %s", h->ev->vcpu, vm);
	else if (by & HOST_BY_VM)
		title_add(title, "VM %s", vm);
	if (by & HOST_BY_TID)
		title_add(title, "thread %u", h->ev->tid);
	if (by & HOST_BY_REASON)
		title_add(title, "%s", h->reason ? h->reason : "no exit");
	if (by & HOST_BY_TASK)
		title_add(title, "%s",
			  guest_tasks_name(&p->tasks, h->task, task, sizeof(task)));
	return calltree_title(p->tree, root, title);
}

static int group_of(struct host_profile *p, const struct hit *h, uint32_t *ret)
{
	const unsigned int by = p->opt->by;
	const uint64_t key[GROUP_KEYS] = {
		by & HOST_BY_VCPU ? (uint64_t)h->ev->pid << 16 | h->ev->vcpu
		: by & HOST_BY_VM ? h->ev->pid
				  : 0,
		by & HOST_BY_TID ? h->ev->tid : 0,
		by & HOST_BY_REASON ? h->reason_key : 0,
		by & HOST_BY_TASK ? h->task : 0,
	};
	bool first;
	struct group *g = hash_add_words(&p->groups, key, &first);
	int err = 0;

	if (!g)
		return fail(-E2BIG, "more than %d groups", HOST_GROUPS_MAX);
	if (first)
		err = calltree_root(p->tree, &g->root);
	*ret = g->root;
	return first && !err ? group_title(p, h, *ret) : err;
}

/*
 * The hit's call path: 1; 0: it has none. Addresses in backtraces are return addresses; an instruction pointer is not,
 * so 1 is added.
 */
static int path_make(struct host_profile *p, const struct hit *h, uint32_t *ret)
{
	uint64_t address[FRAMES + 1];
	struct sample s = {0};
	unsigned int nr = 0;
	int r;

	if (!h->is_host)
		address[nr++] = h->rip ? h->rip + 1
				       : backtrace_address(p->stacks, "(not known)") + 1;
	for (unsigned int i = 0; i < h->nr_frames && i < FRAMES; i++)
		address[nr++] = h->frame[i];
	if (!nr)
		address[nr++] =
			backtrace_address_in(p->stacks, "(not known) [host]", "[unknown]") + 1;
	r = backtrace_set(p->stacks, &s, address, nr);
	return r ? r : frames_path(p->frames, &s, ret);
}

/* `known`: of the hit's address, NULL if it has callers or is new. */
static int hit_weigh(struct host_profile *p, const struct hit *h, const struct rip_path *known)
{
	uint32_t path = known ? known->path : 0, root = 0;
	struct rip_path *added;
	int r;

	if (p->opt->seen)
		return p->opt->seen(p->opt->seen_arg, h->ev, h->is_host, h->rip);
	r = known ? 1 : path_make(p, h, &path);
	if (r <= 0)
		return r;
	r = group_of(p, h, &root);
	if (!r)
		r = calltree_weigh(p->tree, root, path, 1, h->time_ns);
	if (!r && !known && !h->nr_frames && (added = hash_add_u64(&p->paths, h->rip, NULL)))
		added->path = path, added->root = root;
	p->hits += !r;
	return r;
}

/* Most hits have one address, and many the same. */
static int hit_add(struct host_profile *p, const struct hit *h)
{
	struct rip_path *known = h->nr_frames ? NULL : hash_find_u64(&p->paths, h->rip);

	if (!known || p->opt->by)
		return hit_weigh(p, h, known);
	known->hits++;
	known->time_ns += h->time_ns;
	p->hits++;
	return 0;
}

static int sums_add(struct host_profile *p)
{
	const struct rip_path *s;
	int err = 0;

	for (uint32_t at = 0; !err && (s = hash_next(&p->paths, &at));)
		err = calltree_weigh(p->tree, s->root, s->path, s->hits, s->time_ns);
	return err;
}

/* ---- events ---- */

/* frame0, frame1, ... are an array. */
static void frames_read(const struct event *ev, struct hit *h)
{
	_Static_assert(offsetof(struct rec_guest_stack, frame14) ==
			       offsetof(struct rec_guest_stack, frame0) + 8 * (GUEST_FRAMES - 1),
		       "frames");
	if (ev->type->id != EV_guest_stack)
		return;
	RECORD(guest_stack, r, ev);
	memcpy(h->frame, (const uint8_t *)r + offsetof(struct rec_guest_stack, frame0),
	       8ul * GUEST_FRAMES);
	while (h->nr_frames < GUEST_FRAMES && h->frame[h->nr_frames])
		h->nr_frames++;
}

static void on_clock(struct host_profile *p, const struct event *ev)
{
	struct hit h = {.ev = ev,
			.rip = host_event_rip(ev),
			.task = guest_tasks_label(&p->tasks, ev)};
	uint32_t wanted = p->opt->of == HOST_EMULATED ? WHERE_KERNEL : WHERE_GUEST;
	const struct pending *x = hash_find_u64(&p->pending, ev->tid);

	/* On VMX it is read by kvm_exit, before the interrupt is handled. */
	if (!h.rip && x && ev->time_ns - x->since_ns < LATE_NS)
		h.rip = x->rip;
	if (!host_profile_has(p->opt, ev) || host_event_where(ev) != wanted ||
	    (wanted == WHERE_KERNEL && !h.rip))
		return;
	frames_read(ev, &h);
	p->err = hit_add(p, &h);
}

static void code_event(struct host_profile *p, const struct event *ev)
{
	const struct sample_resolve how = {.none = p->opt->frames.symbols.none};
	struct hit h = {.ev = ev, .is_host = true};

	if (counter_note(&p->seen, ev) || !counter_follows(&p->seen, ev) ||
	    !host_profile_has(p->opt, ev))
		return;
	h.nr_frames = host_code_frames(ev, p->stacks, p->opt->maps, &how, h.frame);
	if (h.nr_frames)
		p->err = hit_add(p, &h);
}

/* Where the kernel emulates guest code, that was the sample's. */
static void on_host(struct host_profile *p, const struct event *ev)
{
	const struct sample_resolve how = {.none = p->opt->frames.symbols.none};
	struct hit h = {.ev = ev, .is_host = true, .task = guest_tasks_label(&p->tasks, ev)};
	RECORD(host_stack, r, ev);

	if (!host_profile_has(p->opt, ev) ||
	    (p->opt->of == HOST_EMULATED && r->nr_kernel && ev->vcpu != RECORD_NO_VCPU))
		return;
	h.nr_frames = host_code_frames(ev, p->stacks, p->opt->maps, &how, h.frame);
	p->err = hit_weigh(p, &h, NULL);
	p->host_hits++;
}

static void exit_begin(struct host_profile *p, const struct event *ev)
{
	struct pending *x = hash_add_u64(&p->pending, ev->tid, NULL);
	RECORD(kvm_exit, r, ev);

	if (!x)
		return; /* counted by the table */
	*x = (struct pending){.tid = ev->tid, .rip = r->rip,
			      .since_ns = ev->time_ns, .ev = *ev,
			      .mark = loss_mark_of(&p->losses, ev)};
	x->reason_key = (uint64_t)r->isa << 32 | r->reason;
	x->task = guest_tasks_label(&p->tasks, ev);
	if (record_has(ev, kvm_exit, reason))
		value_print("reason", r->reason, r->isa, x->reason, sizeof(x->reason));
}

/* An exit without a following entry still counts. Its time is unknown where events are missing in it. */
static int exit_end(struct host_profile *p, struct pending *x, const struct event *ev)
{
	bool unknown = ev ? end_is_unknown(&p->losses, &x->mark, ev)
			  : end_may_be_missing(&p->losses, &x->mark);
	int err;
	struct hit h = {.ev = &x->ev,
			.rip = x->rip,
			.reason = x->reason,
			.reason_key = x->reason_key,
			.task = x->task};

	if (ev && ev->type->id == EV_kvm_entry && !unknown)
		h.time_ns = (double)(ev->time_ns - x->since_ns);
	p->unknown_ends += unknown;
	err = hit_add(p, &h);
	hash_remove(&p->pending, x);
	return err;
}

/* An exit's end, or the next one. */
static void on_cause(struct host_profile *p, const struct event *ev)
{
	struct pending *x = hash_find_u64(&p->pending, ev->tid);

	if (x && host_profile_has(p->opt, ev))
		p->err = exit_end(p, x, ev);
	else if (x)
		hash_remove(&p->pending, x);
	if (!p->err && ev->type->id == EV_kvm_exit)
		exit_begin(p, ev);
}

static void on_lost(struct host_profile *p, const struct event *ev)
{
	loss_state_add(&p->losses, ev, loss_kinds(ev) & LOST_EXITS);
}

static void on_entry(struct host_profile *p, const struct event *ev)
{
	struct pending *x = hash_find_u64(&p->pending, ev->tid);

	if (x)
		hash_remove(&p->pending, x);
}

static void on_interrupt(struct host_profile *p, const struct event *ev)
{
	struct hit h = {
		.ev = ev, .rip = host_event_rip(ev), .task = guest_tasks_label(&p->tasks, ev)};

	if (host_profile_has(p->opt, ev) && host_event_is_interrupt(ev))
		p->err = hit_add(p, &h);
}

static void on_other(struct host_profile *p, const struct event *ev)
{
	struct hit h = {.ev = ev,
			.rip = host_event_rip(ev),
			.reason = ev->type->name,
			.reason_key = ev->type->id,
			.task = guest_tasks_label(&p->tasks, ev)};

	if (host_profile_has(p->opt, ev) && h.rip)
		p->err = hit_add(p, &h);
}

static void on_task(struct host_profile *p, const struct event *ev)
{
	guest_tasks_learn(&p->tasks, ev);
}

#define CLOCK_HANDLERS                                                                             \
	{                                                                                          \
		{                                                                                  \
			[EV_kvm_exit] = exit_begin, [EV_kvm_entry] = on_entry,                     \
			[EV_guest_sample] = on_clock, [EV_guest_stack] = on_clock,                 \
			[EV_guest_task] = on_task, [EV_host_stack] = on_host,                      \
		}                                                                                  \
	}

static const HANDLERS(struct host_profile) handlers[] = {
	[HOST_CLOCK] = CLOCK_HANDLERS,
	[HOST_EMULATED] = CLOCK_HANDLERS,
	[HOST_INTERRUPT] = {{[EV_kvm_exit] = on_interrupt, [EV_guest_task] = on_task}},
	[HOST_CAUSES] = {{[EV_kvm_exit] = on_cause,
			  [EV_kvm_entry] = on_cause,
			  [EV_lost] = on_lost,
			  [EV_gap] = on_lost,
			  [EV_guest_task] = on_task}},
	[HOST_OTHERS] = {{[EV_kvm_page_fault] = on_other,
			  [EV_kvm_emulate_insn] = on_other,
			  [EV_guest_task] = on_task}},
	[HOST_CODE] = {{NULL}},
};

bool host_profile_wants(const char *event, void *arg)
{
	bool wants = host_profile_counts(event);

	(void)arg;
	if (!strncmp(event, "perf:", 5)) /* counters, and their call chains */
		return true;
	for (unsigned int i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		wants |= handlers_want(&handlers[i], event);
	return wants;
}

bool host_profile_where_on(const char *event)
{
	return host_profile_counts(event) || !strncmp(event, "perf:", 5);
}

int host_profile_event(struct host_profile *p, const struct event *ev)
{
	if (p->opt->of == HOST_CODE)
		code_event(p, ev);
	else if (ev->time_ns < p->opt->until_ns)
		handlers_call(&handlers[p->opt->of], p, ev);
	return p->err;
}

/* In the order of thread ids, so that equal call paths have a fixed order. */
static int pending_end(struct host_profile *p)
{
	uint32_t nr = p->pending.nr, i = 0;
	_cleanup_free_ uint64_t *tid = calloc(nr + 1u, sizeof(*tid));
	const struct pending *x;
	int err = tid ? 0 : fail(-ENOMEM, "out of memory");

	for (uint32_t at = 0; !err && (x = hash_next(&p->pending, &at));)
		tid[i++] = x->tid;
	if (!err)
		qsort(tid, nr, sizeof(*tid), order_numbers);
	for (i = 0; i < nr && !err; i++)
		err = exit_end(p, hash_find_u64(&p->pending, tid[i]), NULL);
	return err;
}

int host_profile_new(const struct reader *r, const struct host_profile_options *opt,
		     struct host_profile **ret)
{
	struct host_profile *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return fail(-ENOMEM, "out of memory");
	p->opt = opt;
	err = profile_init(p, r);
	if (err)
		host_profile_free(p);
	else
		*ret = p;
	return err;
}

int host_profile_end(struct host_profile *p, struct reader *r, struct host_profile_totals *totals,
		     struct calltree **ret)
{
	int err = 0;

	/* What is open at the end of a window is counted where it ends. */
	if (p->opt->of == HOST_CAUSES && p->opt->until_ns == UINT64_MAX)
		err = pending_end(p);
	if (p->opt->of == HOST_CAUSES)
		totals->exits = p->hits;
	totals->unknown_ends = p->unknown_ends;
	totals->host.counted = p->host_hits;
	if (p->opt->maps && !p->opt->seen)
		code_maps_caveats(p->opt->maps, &r->info);
	if (p->pending.refused)
		trace_info_caveat(&r->info,
				  "%" PRIu64 " exits are missing: more than %d vCPU threads",
				  p->pending.refused, PENDING_MAX);
	if (!err && (p->opt->by & HOST_BY_TASK) && !p->tasks.now.nr)
		err = guest_tasks_missing();
	if (!err)
		err = sums_add(p);
	if (!err)
		err = calltree_finish(p->tree);
	if (!err)
		*ret = take_ptr(p->tree);
	return err;
}
