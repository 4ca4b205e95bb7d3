// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "thread_names.h"

enum { SLOTS = 2 * THREADS_MAX }; /* a hash table half full at most */

struct thread {
	uint32_t tid;
	uint16_t source;
	uint16_t vcpu;
	bool used;
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
