// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A reader that passes only some events of another one. Events that name others (devices, threads, clocks, losses)
 * always pass, because other events refer to them. Those that name threads among other things, such as sched_switch,
 * pass if the caller asks for them: it must not count them.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "event/event_where.h"
#include "event/reader.h"
#include "event/thread_names.h"
#include "event/trim_reason.h"

enum verdict { UNDECIDED, PASSES, OUT };
enum { CPUS_MAX = 1 << 16 }; /* backtraces of further CPUs are dropped */

struct trim_cpu {
	uint64_t id; /* source and CPU */
	bool passed; /* the latest event but backtraces */
};

struct trimmed {
	struct reader reader;
	struct reader *inner;
	struct trim trim;
	struct trim_reason *reasons; /* NULL: any */
	struct event_where *where;   /* NULL: any */
	char *events;
	uint32_t *pids, *tids;
	uint16_t *vcpus;
	uint8_t verdict[EVENT_TYPES_MAX]; /* by event name, decided when a type is first met */
	uint8_t names[EVENT_TYPES_MAX];	  /* the same: does it name threads? */
	uint8_t stacks[EVENT_TYPES_MAX];  /* the same: trim_is_stack()? */
	struct hash_table cpus;		  /* with trim.stacks */
};

static const struct reader_ops trim_ops;

static void trim_close(struct reader *r)
{
	struct trimmed *t = (struct trimmed *)r;

	reader_close(t->inner);
	trim_reason_free(t->reasons);
	event_where_free(t->where);
	hash_deinit(&t->cpus);
	free(t->events);
	free(t->pids);
	free(t->tids);
	free(t->vcpus);
	free(t);
}

bool trim_is_naming(const struct event_type *type)
{
	switch (type->id) {
	case EV_virtio_device:
	case EV_virtio_kind:
	case EV_thread:
	case EV_guest_task:
	case EV_vcpu_tsc:
	case EV_clock_pair:
	case EV_lost:
	case EV_gap:
		return true;
	}
	return false;
}

bool trim_is_stack(const struct event_type *type)
{
	const char *colon = strrchr(type->name, ':'), *name = colon ? colon + 1 : type->name;

	return !strcmp(name, "kernel_stack") || !strcmp(name, "user_stack") ||
	       !strcmp(name, "call_chain");
}

bool trim_name_matches(const char *globs, const char *name)
{
	return trim_glob_matches(globs, name, 0);
}

static bool listed32(const uint32_t *list, unsigned int nr, uint32_t v)
{
	for (unsigned int i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return !nr;
}

static bool listed16(const uint16_t *list, unsigned int nr, uint16_t v)
{
	for (unsigned int i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return !nr;
}

static bool where_passes(const struct trimmed *t, const struct event *ev)
{
	bool applies = t->where && (!t->trim.where_on || t->trim.where_on(ev->type->name));

	return !applies || event_where_matches(t->where, ev);
}

bool trim_passes_of_any_thread(struct reader *r, const struct event *ev)
{
	struct trimmed *t = (struct trimmed *)r;
	const struct trim *trim = &t->trim;
	uint8_t *verdict = &t->verdict[ev->type->index];
	bool guest = trim->guests_from && ev->source >= trim->guests_from;

	if (t->reasons && trim_is_naming(ev->type))
		return false;
	if (*verdict == UNDECIDED)
		*verdict =
			!t->events || trim_name_matches(t->events, ev->type->name) ? PASSES : OUT;
	return *verdict == PASSES && ev->time_ns >= trim->since_ns &&
	       ev->time_ns < trim->until_ns &&
	       (guest || listed32(t->pids, trim->nr_pids, ev->pid)) &&
	       where_passes(t, ev);
}

static bool thread_passes(const struct trimmed *t, const struct event *ev)
{
	const struct trim *trim = &t->trim;
	bool guest = trim->guests_from && ev->source >= trim->guests_from;

	return ((guest && trim->guests_any_tid) || listed32(t->tids, trim->nr_tids, ev->tid)) &&
	       listed16(t->vcpus, trim->nr_vcpus, ev->vcpu);
}

bool trim_passes(struct reader *r, const struct event *ev)
{
	return trim_passes_of_any_thread(r, ev) && thread_passes((struct trimmed *)r, ev);
}

/* The consumer reads r->info, so the inner reader's is copied there: the JSON values are shared.
 */
static void info_copy(struct trimmed *t)
{
	t->reader.info = t->inner->info;
}

static bool names_threads(struct trimmed *t, const struct event_type *type)
{
	uint8_t *verdict = &t->names[type->index];

	if (*verdict == UNDECIDED)
		*verdict = thread_names_wants(type->name, NULL) ? PASSES : OUT;
	return *verdict == PASSES;
}

static bool is_stack(struct trimmed *t, const struct event_type *type)
{
	uint8_t *verdict = &t->stacks[type->index];

	if (*verdict == UNDECIDED)
		*verdict = trim_is_stack(type) ? PASSES : OUT;
	return *verdict == PASSES;
}

/* Both are called, because an exit must be followed even if its event is not wanted. */
static bool passes_itself(struct trimmed *t, const struct event *ev)
{
	bool reason = !t->reasons || trim_reason_passes(t->reasons, ev);

	return reason && trim_passes_of_any_thread(&t->reader, ev) &&
	       (t->trim.other_threads || thread_passes(t, ev));
}

/* A backtrace is judged by its event. */
static bool passes_with_stack(struct trimmed *t, const struct event *ev)
{
	uint64_t id = (uint64_t)ev->source << 32 | ev->cpu;
	struct trim_cpu *cpu;

	if (is_stack(t, ev->type)) {
		cpu = hash_find_u64(&t->cpus, id);
		return cpu && cpu->passed;
	}
	cpu = hash_add_u64(&t->cpus, id, NULL);
	bool passes = passes_itself(t, ev);

	if (cpu)
		cpu->passed = passes;
	return passes;
}

static bool keeps(struct trimmed *t, const struct event *ev)
{
	bool passes = t->trim.stacks ? passes_with_stack(t, ev) : passes_itself(t, ev);

	return passes || trim_is_naming(ev->type) ||
	       (t->trim.thread_names && names_threads(t, ev->type));
}

static int trim_next(struct reader *r, struct batch *batch)
{
	struct trimmed *t = (struct trimmed *)r;
	int more;

	do {
		unsigned int nr = 0;

		more = reader_next(t->inner, batch);
		for (unsigned int i = 0; more > 0 && i < batch->nr; i++)
			if (keeps(t, &batch->ev[i])) {
				if (nr != i)
					batch->ev[nr] = batch->ev[i];
				nr++;
			}
		batch->nr = nr;
	} while (more > 0 && !batch->nr);
	info_copy(t);
	if (!more && t->reasons && trim_reason_unfollowed(t->reasons))
		trace_info_caveat(&t->reader.info,
				  "--reason: thread table full; %" PRIu64
				  " exits are shown without the events that follow them",
				  trim_reason_unfollowed(t->reasons));
	return more;
}

static void *copy_of(const void *from, size_t nr, size_t size)
{
	void *p = malloc(nr * size + 1);

	if (p && nr)
		memcpy(p, from, nr * size);
	return p;
}

int trim_open(struct reader *inner, const struct trim *trim, struct reader **ret)
{
	struct trimmed *t = calloc(1, sizeof(*t));

	if (!t) {
		reader_close(inner);
		trim_reason_free(trim->reasons);
		event_where_free(trim->where);
		return fail(-ENOMEM, "out of memory");
	}
	t->reader.ops = &trim_ops;
	t->inner = inner;
	t->trim = *trim;
	t->cpus = HASH_TABLE(struct trim_cpu, 1, CPUS_MAX);
	if (!t->trim.until_ns)
		t->trim.until_ns = UINT64_MAX;
	t->reasons = trim->reasons;
	t->where = trim->where;
	t->events = trim->events ? strdup(trim->events) : NULL;
	t->pids = copy_of(trim->pids, trim->nr_pids, sizeof(*t->pids));
	t->tids = copy_of(trim->tids, trim->nr_tids, sizeof(*t->tids));
	t->vcpus = copy_of(trim->vcpus, trim->nr_vcpus, sizeof(*t->vcpus));
	info_copy(t);
	if ((trim->events && !t->events) || !t->pids ||
	    !t->tids || !t->vcpus) {
		trim_close(&t->reader);
		return fail(-ENOMEM, "out of memory");
	}
	*ret = &t->reader;
	return 0;
}

static const struct reader_ops trim_ops = {
	.name = "trim",
	.summary = "events selected by the options",
	.next = trim_next,
	.close = trim_close,
};
