// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "event/guest_fields.h"
#include "event/thread_names.h"

enum { SLOTS = 2 * THREADS_MAX }; /* a hash table half full at most */

struct thread {
	uint32_t tid;
	uint16_t source;
	uint16_t vcpu;
	bool used;
	bool told; /* by the metadata: what the guest called it last */
	char comm[16];
};

struct thread_names {
	unsigned int nr;
	struct thread slot[SLOTS];
};

struct thread_names *thread_names_new(void)
{
	return calloc(1, sizeof(struct thread_names));
}

void thread_names_free(struct thread_names *names)
{
	free(names);
}

static unsigned int slot_of(const struct thread_names *names, uint16_t source, uint32_t tid)
{
	unsigned int i = (tid * 2654435761u ^ source * 40503u) % SLOTS;

	while (names->slot[i].used &&
	       (names->slot[i].tid != tid || names->slot[i].source != source))
		i = (i + 1) % SLOTS;
	return i;
}

/* NULL: the table is full. */
static struct thread *thread_get(struct thread_names *names, uint16_t source, uint32_t tid)
{
	struct thread *t = &names->slot[slot_of(names, source, tid)];

	if (t->used)
		return t;
	if (names->nr == THREADS_MAX)
		return NULL;
	names->nr++;
	*t = (struct thread){.tid = tid, .source = source, .vcpu = RECORD_NO_VCPU, .used = true};
	return t;
}

static void learn_comm(struct thread_names *names, const struct event *ev, uint32_t tid,
		       const char *field)
{
	const struct field *f = event_field(ev->type, field);
	/* tid 0 is the idle thread of every CPU, and of events that no thread made. */
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
	t->told = false;
}

/* Who is switched to may have a name of before its exec: those that the guest told are better. */
static void guest_switch(struct thread_names *names, const struct event *ev, const char *tid_name,
			 const char *comm)
{
	struct thread *t;
	uint64_t tid;

	if (!guest_number(ev, tid_name, &tid) || !tid || tid > UINT32_MAX)
		return;
	t = thread_get(names, ev->source, (uint32_t)tid);
	if (t && !t->told)
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
	case 0: /* none of ours */
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
			t->told = true;
		}
	}
}

const char *thread_comm(const struct thread_names *names, const struct event *ev)
{
	return names->slot[slot_of(names, ev->source, ev->tid)].comm;
}

uint16_t thread_vcpu(const struct thread_names *names, const struct event *ev)
{
	const struct thread *t = &names->slot[slot_of(names, ev->source, ev->tid)];

	return ev->vcpu != RECORD_NO_VCPU || !t->used ? ev->vcpu : t->vcpu;
}
