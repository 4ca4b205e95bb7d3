// SPDX-License-Identifier: GPL-2.0-or-later
/* A table by source and thread id, filled from events that name a thread or show the vCPU that it runs. */

#include "base/hash.h"
#include "base/json_text.h"
#include "event/guest_fields.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/thread_names.h"

struct thread {
	uint64_t id; /* source and tid */
	uint16_t vcpu;
	bool had_meta;			      /* the last name that was seen is the one of the metadata */
	uint64_t meta_from_ns, meta_until_ns; /* when `meta` is used */
	char meta[16];			      /* name in the metadata; "": none */
	char comm[16];			      /* the last one that an event showed; "": none */
};

enum { NEWEST = 64 };

struct thread_names {
	struct hash_table threads;
	struct newest_vcpu {
		uint64_t id;
		uint16_t vcpu; /* + 1; 0: none */
	} newest[NEWEST]; /* by tid: the threads of the newest events, whose vCPUs are in `threads` */
	bool looked[UINT8_MAX + 1]; /* by source; further sources are looked at as they are read */
};

struct thread_names *thread_names_new(void)
{
	struct thread_names *names = calloc(1, sizeof(*names));

	if (names)
		names->threads = HASH_TABLE(struct thread, 1, NAMED_THREADS_MAX);
	return names;
}

void thread_names_free(struct thread_names *names)
{
	if (names)
		hash_deinit(&names->threads);
	free(names);
}

static uint64_t thread_id(uint16_t source, uint32_t tid)
{
	return (uint64_t)source << 32 | tid;
}

static const struct thread *thread_find(const struct thread_names *names, const struct event *ev)
{
	return hash_find_u64(&names->threads, thread_id(ev->source, ev->tid));
}

/* NULL: the table is full. */
static struct thread *thread_get(struct thread_names *names, uint16_t source, uint32_t tid)
{
	uint64_t id = thread_id(source, tid);
	struct thread *t = hash_find_u64(&names->threads, id);

	if (t)
		return t;
	t = hash_add_u64(&names->threads, id, NULL);
	if (t) {
		t->vcpu = RECORD_NO_VCPU;
		t->meta_until_ns = UINT64_MAX;
	}
	return t;
}

/* ---- what an event shows ---- */

/*
 * How an event shows a name: the thread has it, or gets it with this event. SHOWN_FOLLOWS: the same, and the name in
 * the metadata is the one at the start (perf.data); else it is one that the kernel saved at some time.
 */
enum shown { SHOWN_HAS, SHOWN_GETS, SHOWN_FOLLOWS };

typedef void learn_fn(struct thread_names *names, const struct event *ev, uint32_t tid,
		      const char *comm, enum shown shown);

static void learn(struct thread_names *names, const struct event *ev, uint32_t tid,
		  const char *comm, enum shown shown)
{
	struct thread *t = thread_get(names, ev->source, tid);

	(void)shown;
	if (t)
		snprintf(t->comm, sizeof(t->comm), "%s", comm);
}

/* Another name than that of the metadata, which is then newer, older, or of an unknown time. */
static void look_other(struct thread *t, uint64_t time_ns, enum shown shown)
{
	bool is_older = shown == SHOWN_FOLLOWS || (shown == SHOWN_GETS && t->had_meta);

	t->had_meta = false;
	if (t->meta_until_ns != UINT64_MAX || t->meta_from_ns == UINT64_MAX)
		return;
	if (is_older)
		t->meta_until_ns = time_ns;
	else
		t->meta_from_ns = shown == SHOWN_HAS ? time_ns + 1 : UINT64_MAX;
}

static void look_same(struct thread *t, uint64_t time_ns, enum shown shown)
{
	if (t->meta_until_ns != UINT64_MAX || t->meta_from_ns == UINT64_MAX ||
	    (shown == SHOWN_GETS && !t->had_meta)) {
		t->meta_from_ns = time_ns;
		t->meta_until_ns = UINT64_MAX;
	}
	t->had_meta = true;
}

/* When does the name in the metadata hold? */
static void thread_names_scan(struct thread_names *names, const struct event *ev, uint32_t tid,
			      const char *comm, enum shown shown)
{
	uint64_t id = thread_id(ev->source, tid);
	struct thread *t = hash_find_u64(&names->threads, id);

	if (!t || !*t->meta)
		return;
	if (strcmp(comm, t->meta))
		look_other(t, ev->time_ns, shown);
	else
		look_same(t, ev->time_ns, shown);
}

/* tid 0 is the idle thread of every CPU, and is also used for events without a thread. */
static void host_shows(struct thread_names *names, const struct event *ev, uint32_t tid, bool known,
		       const char name[16], enum shown shown, learn_fn *fn)
{
	char comm[16];

	if (!known || !tid)
		return;
	record_text(name, sizeof(comm), comm, sizeof(comm));
	fn(names, ev, tid, comm, shown);
}

static void guest_shows(struct thread_names *names, const struct event *ev,
			enum guest_field tid_field, enum guest_field field, enum shown shown,
			learn_fn *fn)
{
	char comm[16];
	uint64_t tid;

	if (guest_field_number(ev, tid_field, &tid) && tid && tid <= UINT32_MAX &&
	    guest_field_text(ev, field, comm, sizeof(comm)))
		fn(names, ev, (uint32_t)tid, comm, shown);
}

/* A guest's thread that runs a program has the program's name (Linux: begin_new_exec()). */
static void guest_exec(struct thread_names *names, const struct event *ev, learn_fn *fn)
{
	char file[256], comm[16];
	const char *slash;

	if (!ev->tid || !guest_text(ev, filename, file, sizeof(file)))
		return;
	slash = strrchr(file, '/');
	snprintf(comm, sizeof(comm), "%.15s", slash ? slash + 1 : file);
	fn(names, ev, ev->tid, comm, SHOWN_GETS);
}

static void kernel_event_shows(struct thread_names *names, learn_fn *fn, const struct event *ev)
{
	switch (kernel_event_kind(ev->type)) {
	case GUEST_SCHED_EXEC:
		guest_exec(names, ev, fn);
		break;
	case GUEST_SCHED_SWITCH:
		guest_shows(names, ev, GUEST_FIELD_prev_pid, GUEST_FIELD_prev_comm, SHOWN_HAS,
			    fn);
		guest_shows(names, ev, GUEST_FIELD_next_pid, GUEST_FIELD_next_comm, SHOWN_HAS,
			    fn);
		break;
	case GUEST_SCHED_WAKEUP:
		guest_shows(names, ev, GUEST_FIELD_pid, GUEST_FIELD_comm, SHOWN_HAS,
			    fn);
		break;
	case GUEST_SCHED_FORK:
		guest_shows(names, ev, GUEST_FIELD_child_pid, GUEST_FIELD_child_comm, SHOWN_GETS,
			    fn);
		break;
	case GUEST_TASK_NEW:
		guest_shows(names, ev, GUEST_FIELD_pid, GUEST_FIELD_comm, SHOWN_GETS,
			    fn);
		break;
	case GUEST_TASK_RENAME:
		guest_shows(names, ev, GUEST_FIELD_pid, GUEST_FIELD_oldcomm, SHOWN_HAS,
			    fn);
		guest_shows(names, ev, GUEST_FIELD_pid, GUEST_FIELD_newcomm, SHOWN_GETS,
			    fn);
		break;
	default:
		break;
	}
}

static void switch_shows(struct thread_names *names, learn_fn *fn, const struct event *ev)
{
	RECORD(sched_switch, r, ev);

	host_shows(names, ev, r->prev_tid, record_has(ev, sched_switch, prev_comm), r->prev_comm,
		   SHOWN_HAS, fn);
	host_shows(names, ev, r->next_tid, record_has(ev, sched_switch, next_comm), r->next_comm,
		   SHOWN_HAS, fn);
}

static void wakeup_shows(struct thread_names *names, learn_fn *fn, const struct event *ev)
{
	RECORD(sched_wakeup, r, ev);

	host_shows(names, ev, r->wake_tid, record_has(ev, sched_wakeup, comm), r->comm, SHOWN_HAS,
		   fn);
}

static void thread_shows(struct thread_names *names, learn_fn *fn, const struct event *ev)
{
	RECORD(thread, r, ev);

	host_shows(names, ev, ev->tid, record_has(ev, thread, comm), r->comm, SHOWN_FOLLOWS, fn);
}

static const HANDLERS_OF(struct thread_names, learn_fn) handlers = {{
	[0] = kernel_event_shows, /* not one of hostrace's own events */
	[EV_thread] = thread_shows,
	[EV_sched_switch] = switch_shows,
	[EV_sched_wakeup] = wakeup_shows,
}};

bool thread_names_wants(const char *event, void *arg)
{
	(void)arg;
	if (event_id_named(event))
		return handlers_want(&handlers, event);
	switch (kernel_event_named(event)) {
	case GUEST_SCHED_SWITCH:
	case GUEST_SCHED_EXEC:
	case GUEST_SCHED_FORK:
	case GUEST_SCHED_WAKEUP:
	case GUEST_TASK_NEW:
	case GUEST_TASK_RENAME:
		return true;
	default:
		return false;
	}
}

void thread_names_look(struct thread_names *names, const struct event *ev)
{
	if (handlers_have(&handlers, ev))
		handlers.on[ev->type->id](names, thread_names_scan, ev);
}

void thread_names_looked(struct thread_names *names, unsigned int source)
{
	if (source <= UINT8_MAX)
		names->looked[source] = true;
}

static void vcpu_learn(struct thread_names *names, const struct event *ev)
{
	struct newest_vcpu *newest = &names->newest[ev->tid % NEWEST];
	uint64_t id = thread_id(ev->source, ev->tid);
	struct thread *t;

	if (newest->id == id && newest->vcpu == ev->vcpu + 1)
		return;
	t = thread_get(names, ev->source, ev->tid);
	if (!t)
		return;
	t->vcpu = ev->vcpu;
	*newest = (struct newest_vcpu){id, (uint16_t)(ev->vcpu + 1)};
}

void thread_names_event(struct thread_names *names, const struct event *ev)
{
	if (ev->vcpu != RECORD_NO_VCPU && ev->tid)
		vcpu_learn(names, ev);
	if (!handlers_have(&handlers, ev))
		return;
	if (ev->source > UINT8_MAX || !names->looked[ev->source])
		handlers.on[ev->type->id](names, thread_names_scan, ev);
	handlers.on[ev->type->id](names, learn, ev);
}

/* ---- metadata ---- */

void thread_names_meta(struct thread_names *names, unsigned int source, const json_t *meta)
{
	size_t i, k;
	json_t *vm, *vcpu, *name;
	const char *tid_text;

	memset(names->newest, 0, sizeof(names->newest));
	json_array_foreach (json_object_get(meta, "vms"), i, vm)
		json_array_foreach (json_object_get(vm, "vcpus"), k, vcpu) {
			json_int_t tid = number_of(vcpu, "tid");
			struct thread *t =
				tid > 0 ? thread_get(names, (uint16_t)source, (uint32_t)tid) : NULL;

			if (t)
				t->vcpu = (uint16_t)number_of(vcpu, "index");
		}
	json_object_foreach (json_object_get(meta, "threads"), tid_text, name) {
		unsigned long tid = strtoul(tid_text, NULL, 10);
		struct thread *t = tid && tid <= UINT32_MAX
					   ? thread_get(names, (uint16_t)source, (uint32_t)tid)
					   : NULL;

		if (t && json_is_string(name)) {
			snprintf(t->meta, sizeof(t->meta), "%s", json_string_value(name));
			text_sanitize(t->meta);
		}
	}
}

const char *thread_comm(const struct thread_names *names, const struct event *ev)
{
	const struct thread *t = thread_find(names, ev);

	if (!t)
		return "";
	return *t->meta && ev->time_ns >= t->meta_from_ns && ev->time_ns < t->meta_until_ns
		       ? t->meta
		       : t->comm;
}

uint16_t thread_vcpu(const struct thread_names *names, const struct event *ev)
{
	const struct thread *t = ev->vcpu == RECORD_NO_VCPU ? thread_find(names, ev) : NULL;

	return t ? t->vcpu : ev->vcpu;
}

uint64_t thread_names_refused(const struct thread_names *names)
{
	return names->threads.refused;
}
