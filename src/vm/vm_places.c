// SPDX-License-Identifier: GPL-2.0-or-later
/* proc_pid_status(5), and the fields 19 (nice), 40 (rt_priority) and 41 (policy) of proc_pid_stat(5). */
#include "vm/vm_places.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"

enum { TEXT_MAX = 8192, LIST_MAX = 256 };

static void place_add(struct vm_places *p, pid_t pid, pid_t tid, bool stays_open)
{
	struct vm_place *place = &p->place[p->nr];
	char path[64];

	if (p->nr == VM_PLACES_MAX || !tid)
		return;
	*place = (struct vm_place){.pid = pid, .tid = tid};
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	reread_open(&place->status, path, stays_open);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	reread_open(&place->stat, path, stays_open);
	p->nr++;
}

void vm_places_open(struct vm_places *p, const struct vm *vms, unsigned int nr, bool stays_open)
{
	*p = (struct vm_places){.place = calloc(VM_PLACES_MAX, sizeof(*p->place))};
	for (unsigned int i = 0; i < nr && p->place; i++) {
		place_add(p, vms[i].pid, vms[i].pid, stays_open);
		for (unsigned int v = 0; v < vms[i].nr_vcpus; v++)
			place_add(p, vms[i].pid, vms[i].vcpus[v].tid, stays_open);
	}
}

void vm_places_close(struct vm_places *p)
{
	for (unsigned int i = 0; i < p->nr; i++) {
		reread_close(&p->place[i].status);
		reread_close(&p->place[i].stat);
	}
	free(p->place);
	*p = (struct vm_places){0};
}

/* The value after "KEY:\t"; NULL: there is none. */
static const char *status_value(const char *text, const char *key, char *buf, size_t size)
{
	const char *at = strstr(text, key);

	if (!at)
		return NULL;
	at += strlen(key);
	at += strspn(at, " \t");
	snprintf(buf, size, "%.*s", (int)strcspn(at, "\n"), at);
	text_sanitize(buf);
	return buf;
}

static const char *policy_name(long policy)
{
	static const char *const names[] = {[SCHED_OTHER] = "other",
					    [SCHED_FIFO] = "fifo",
					    [SCHED_RR] = "rr",
					    [SCHED_BATCH] = "batch",
					    [SCHED_IDLE] = "idle",
					    [6] = "deadline",
					    [7] = "ext"};

	return policy >= 0 && policy < (long)(sizeof(names) / sizeof(*names)) && names[policy]
		       ? names[policy]
		       : "unknown";
}

/* The n-th field of stat, from 3 on; 0: there is none. The name before it may have blanks and brackets. */
static long stat_field(const char *text, int n)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < n; i++) {
		at = strchr(at, ' ');
		at += !!at;
	}
	return at ? strtol(at, NULL, 10) : 0;
}

static void schedule_add(json_t *o, const struct vm_place *place)
{
	char text[1024];

	if (!reread_text(&place->stat, text, sizeof(text)) || !strrchr(text, ')'))
		return;
	json_object_set_new(o, "policy", json_string(policy_name(stat_field(text, 41))));
	json_object_set_new(o, "nice", json_integer(stat_field(text, 19)));
	json_object_set_new(o, "priority", json_integer(stat_field(text, 40)));
}

static json_t *thread_json(const struct vm_place *place, json_t *vm)
{
	json_t *o = json_pack("{s:i}", "tid", (int)place->tid);
	char text[TEXT_MAX], value[LIST_MAX];

	if (reread_text(&place->status, text, sizeof(text))) {
		if (status_value(text, "\nCpus_allowed_list:", value, sizeof(value)))
			json_object_set_new(o, "cpus", json_string(value));
		if (status_value(text, "\nMems_allowed_list:", value, sizeof(value)))
			json_object_set_new(o, "nodes", json_string(value));
		if (status_value(text, "\nVmSwap:", value, sizeof(value)))
			json_object_set_new(
				vm, "swapped",
				json_integer((json_int_t)strtoull(value, NULL, 10) * 1024));
	}
	schedule_add(o, place);
	return o;
}

json_t *vm_places_json(const struct vm_places *p)
{
	json_t *list = json_array(), *vm = NULL, *threads = NULL;

	for (unsigned int i = 0; i < p->nr; i++) {
		if (!i || p->place[i].pid != p->place[i - 1].pid) {
			vm = json_pack("{s:i,s:[]}", "pid", (int)p->place[i].pid, "threads");
			threads = json_object_get(vm, "threads");
			json_array_append_new(list, vm);
		}
		json_array_append_new(threads, thread_json(&p->place[i], vm));
	}
	return list;
}
