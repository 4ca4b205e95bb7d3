// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "event/event.h"
#include "input/vm_filter.h"
#include "vm/select.h"

enum { LIST_TEXT = 400, ITEM_MAX = 256 };

struct pids {
	const json_t *vms; /* of the trace */
	uint32_t *pid;
	unsigned int nr;
};

static uint32_t pid_of(const json_t *vm)
{
	return (uint32_t)json_integer_value(json_object_get(vm, "pid"));
}

static bool vm_matches(const char *item, const json_t *vm)
{
	return vm_item_matches(item, pid_of(vm), json_string_value(json_object_get(vm, "name")),
			       json_string_value(json_object_get(vm, "uuid")));
}

static int pid_add(struct pids *p, uint32_t pid)
{
	for (unsigned int i = 0; i < p->nr; i++)
		if (p->pid[i] == pid)
			return 0;
	if (array_room(p->pid, p->nr))
		return -ENOMEM;
	p->pid[p->nr++] = pid;
	return 0;
}

/* "100 (red), 200 (blue)", and how many more there are. */
static void vms_list(const json_t *vms, char *text, size_t size)
{
	size_t i, len = 0;
	json_t *vm;

	text[0] = 0;
	json_array_foreach (vms, i, vm) {
		const char *name = json_string_value(json_object_get(vm, "name"));

		if (len + ITEM_MAX / 2 > size) {
			snprintf(text + len, size - len, " and %zu more", json_array_size(vms) - i);
			break;
		}
		len += (size_t)snprintf(text + len, size - len, "%s%" PRIu32 " (%.64s)",
					i ? ", " : "", pid_of(vm), name ? name : "");
	}
	text_sanitize(text);
}

static int item_unmatched(const char *item, const json_t *vms)
{
	char text[LIST_TEXT];

	if (!json_array_size(vms))
		return fail(-ESRCH,
			    "the trace has no VM names, so --vm %s matches nothing; use the pid, "
			    "or --tid",
			    item);
	vms_list(vms, text, sizeof(text));
	return fail(-ESRCH, "the trace has no VM '%s'; it has: %s", item, text);
}

static int item_add(void *arg, const char *item)
{
	struct pids *p = arg;
	const json_t *vms = p->vms;
	bool found = false;
	uint64_t pid;
	size_t i;
	json_t *vm;
	int err = 0;

	json_array_foreach (vms, i, vm) {
		if (err || !vm_matches(item, vm))
			continue;
		err = pid_add(p, pid_of(vm));
		found = true;
	}
	if (found || err)
		return err;
	if (json_array_size(vms) || parse_u64(item, &pid) || pid > UINT32_MAX)
		return item_unmatched(item, vms);
	return pid_add(p, (uint32_t)pid);
}

int vm_filter_pids(const struct text_list *wanted, const json_t *vms, uint32_t **ret,
		   unsigned int *ret_nr)
{
	struct pids p = {.vms = vms};
	int err = 0;

	for (unsigned int i = 0; !err && i < wanted->nr; i++)
		err = vm_items_each(wanted->item[i], item_add, &p);
	if (!err && !p.nr)
		err = fail_usage(-EINVAL, "--vm requires a PID, NAME, UUID or glob");
	if (err) {
		free(p.pid);
		return err;
	}
	*ret = p.pid;
	*ret_nr = p.nr;
	return 0;
}
