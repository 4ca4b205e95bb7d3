// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keys whose value depends on earlier events: the guest task that runs on a vCPU, the VM of a process.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "event/losses.h"
#include "event/records.h"
#include "pairing/guest_tasks.h"
#include "pairing/pair.h"

/* Keys that only together with the VM identify one thing: two VMs both have vCPU 0, and devices of the same name. */
static const char *const of_a_vm[] = {"vcpu", "device"};

/* Keys that imply the VM. */
static const char *const tell_vm[] = {"vm", "pid", "tid"};

static bool has_any(const char *list, const char *const *key, size_t nr)
{
	return array_any(nr, i, name_in_list(list, key[i]));
}

static unsigned int nr_keys(const char *list)
{
	unsigned int nr = list && *list;

	for (const char *p = list ? list : ""; *p; p++)
		nr += *p == ',';
	return nr;
}

const char *pairing_by_vm(const struct analyzer *a, const char *by, bool always, char *buf,
			  size_t size)
{
	bool replace = by && *by == '=';
	const char *given = by ? by + replace : NULL, *own = replace ? NULL : a->by;
	bool needed = always || has_any(given, of_a_vm, 2) || has_any(own, of_a_vm, 2);

	if (!needed || has_any(given, tell_vm, 3) || has_any(own, tell_vm, 3) ||
	    nr_keys(given) + nr_keys(own) >= LABELS_MAX)
		return by;
	snprintf(buf, size, "%svm%s%s", replace ? "=" : "", given && *given ? "," : "",
		 given ? given : "");
	return buf;
}

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

	RECORD_TEXT(r, guest_comm, name.comm);
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
