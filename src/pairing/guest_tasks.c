// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/records.h"
#include "pairing/guest_tasks.h"

struct now {
	uint64_t thread, label;
};

struct label_of {
	uint64_t key[1 + GUEST_TASK_TEXT / sizeof(uint64_t)]; /* thread id, name */
	uint64_t label;
};

void guest_tasks_init(struct guest_tasks *t)
{
	*t = (struct guest_tasks){
		.now = HASH_TABLE(struct now, 1, GUEST_THREADS_MAX),
		.labels = HASH_TABLE(struct label_of, 1 + GUEST_TASK_TEXT / sizeof(uint64_t),
				     GUEST_TASKS_MAX),
	};
}

void guest_tasks_deinit(struct guest_tasks *t)
{
	hash_deinit(&t->now);
	hash_deinit(&t->labels);
	free(t->name);
	t->name = NULL;
}

bool guest_tasks_know(const struct event_type *type)
{
	switch (type->id) {
	case EV_kvm_exit:
	case EV_kvm_userspace_exit:
	case EV_kvm_pio:
	case EV_kvm_mmio:
	case EV_kvm_msr:
	case EV_kvm_hypercall:
	case EV_kvm_page_fault:
	case EV_guest_sample:
	case EV_guest_stack:
		return true;
	}
	return false;
}

/* 0 where there are too many. */
static uint64_t label_of(struct guest_tasks *t, const struct guest_task_name *name)
{
	struct label_of key = {.key = {(uint32_t)name->tid}}, *l;
	bool is_new;

	memcpy(key.key + 1, name->comm, sizeof(name->comm));
	if (array_room(t->name, t->nr))
		return 0;
	l = hash_add_words(&t->labels, key.key, &is_new);
	if (!l)
		return 0;
	if (is_new) {
		t->name[t->nr++] = *name;
		l->label = t->nr;
	}
	return l->label;
}

void guest_tasks_learn(struct guest_tasks *t, const struct event *ev)
{
	RECORD(guest_task, r, ev);
	struct guest_task_name name = {.tid = r->guest_tid};
	struct now *now = hash_add_u64(&t->now, ev->tid, NULL);

	text_sanitize(RECORD_TEXT(r, guest_comm, name.comm));
	if (now)
		now->label = r->task ? label_of(t, &name) : 0;
}

uint64_t guest_tasks_label(const struct guest_tasks *t, const struct event *ev)
{
	const struct now *now = hash_find_u64(&t->now, ev->tid);

	return now ? now->label : 0;
}

const char *guest_tasks_name(const struct guest_tasks *t, uint64_t label, char *buf, size_t size)
{
	if (!label || label > t->nr)
		return "unknown";
	snprintf(buf, size, "%.*s-%d", GUEST_TASK_TEXT, t->name[label - 1].comm,
		 t->name[label - 1].tid);
	return buf;
}

int guest_tasks_missing(void)
{
	return fail(-ENODATA, "no event of this trace has the guest's task; record with "
			      "--guest-tasks, which needs a Linux guest");
}
