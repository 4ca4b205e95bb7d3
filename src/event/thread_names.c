// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "event/guest_fields.h"
#include "event/thread_names.h"

struct thread {
	uint64_t id; /* source and tid */
	uint16_t vcpu;
	bool from_metadata; /* comm is the guest's last name for the thread */
	char comm[16];
};

struct thread_names {
	struct hash_table threads;
};

struct thread_names *thread_names_new(void)
{
	struct thread_names *names = calloc(1, sizeof(*names));

	if (names)
		names->threads = HASH_TABLE(struct thread, 1, THREADS_MAX);
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
	if (t)
		t->vcpu = RECORD_NO_VCPU;
	return t;
}

static void learn_comm(struct thread_names *names, const struct event *ev, uint32_t tid,
		       const char *field)
{
	const struct field *f = event_field(ev->type, field);
	/* tid 0 is the idle thread of every CPU, and is also used for events without a thread. */
	struct thread *t = f && tid ? thread_get(names, ev->source, tid) : NULL;

	if (!t)
		return;
	event_text(ev, f, t->comm, sizeof(t->comm));
	text_neutralise(t->comm);
}

/* A guest's thread that runs a program has the program's name (Linux: begin_new_exec()). */
static void guest_exec(struct thread_names *names, const struct event *ev)
{
	struct thread *t = ev->tid ? thread_get(names, ev->source, ev->tid) : NULL;
	char file[256];
	const char *slash;

	if (!t || !guest_text(ev, "filename", file, sizeof(file)))
		return;
	slash = strrchr(file, '/');
	snprintf(t->comm, sizeof(t->comm), "%.15s", slash ? slash + 1 : file);
	t->from_metadata = false;
}

/* The name in a switch may be older than the thread's exec: a name from the metadata is better. */
static void guest_switch(struct thread_names *names, const struct event *ev, const char *tid_name,
			 const char *comm)
{
	struct thread *t;
	uint64_t tid;

	if (!guest_number(ev, tid_name, &tid) || !tid || tid > UINT32_MAX)
		return;
	t = thread_get(names, ev->source, (uint32_t)tid);
	if (t && !t->from_metadata)
		guest_text(ev, comm, t->comm, sizeof(t->comm));
}

static void guest_learn(struct thread_names *names, const struct event *ev)
{
	switch (guest_event_kind(ev->type)) {
	case GUEST_SCHED_EXEC:
		guest_exec(names, ev);
		break;
	case GUEST_SCHED_SWITCH:
		guest_switch(names, ev, "prev_pid", "prev_comm");
		guest_switch(names, ev, "next_pid", "next_comm");
		break;
	default:
		break;
	}
}

void thread_names_event(struct thread_names *names, const struct event *ev)
{
	if (ev->vcpu != RECORD_NO_VCPU && ev->tid) {
		struct thread *t = thread_get(names, ev->source, ev->tid);

		if (t)
			t->vcpu = ev->vcpu;
	}
	switch (ev->type->id) {
	case EV_thread:
		learn_comm(names, ev, ev->tid, "comm");
		break;
	case EV_sched_switch:
		learn_comm(names, ev, (uint32_t)event_value(ev, "prev_tid"), "prev_comm");
		learn_comm(names, ev, (uint32_t)event_value(ev, "next_tid"), "next_comm");
		break;
	case EV_sched_wakeup:
		learn_comm(names, ev, (uint32_t)event_value(ev, "wake_tid"), "comm");
		break;
	case 0: /* not one of hostrace's own events */
		guest_learn(names, ev);
		break;
	}
}

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

void thread_names_meta(struct thread_names *names, unsigned int source, const json_t *meta)
{
	size_t i, k;
	json_t *vm, *vcpu, *name;
	const char *tid_text;

	json_array_foreach (json_object_get(meta, "vms"), i, vm)
		json_array_foreach (json_object_get(vm, "vcpus"), k, vcpu) {
			json_int_t tid = number(vcpu, "tid");
			struct thread *t =
				tid > 0 ? thread_get(names, (uint16_t)source, (uint32_t)tid) : NULL;

			if (t)
				t->vcpu = (uint16_t)number(vcpu, "index");
		}
	json_object_foreach (json_object_get(meta, "threads"), tid_text, name) {
		unsigned long tid = strtoul(tid_text, NULL, 10);
		struct thread *t = tid && tid <= UINT32_MAX
					   ? thread_get(names, (uint16_t)source, (uint32_t)tid)
					   : NULL;

		if (t && json_is_string(name)) {
			snprintf(t->comm, sizeof(t->comm), "%s", json_string_value(name));
			text_neutralise(t->comm);
			t->from_metadata = true;
		}
	}
}

const char *thread_comm(const struct thread_names *names, const struct event *ev)
{
	const struct thread *t = thread_find(names, ev);

	return t ? t->comm : "";
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
