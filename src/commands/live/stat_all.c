// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace stat --all`: each VM has a number, by which its rows are found, from its first exit until the end of stat.
 * The counters of a VM that ends are given to others (top_vms.c), so that its counts are taken over before.
 */
#include "commands/live/stat_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "commands/live/top.h"
#include "event/event.h"
#include "output/report.h"

struct stat_all {
	struct top_vms vms;
	struct stat_part_vm *part; /* by number; the last of STAT_ALL_VMS_MAX + 1: all others */
	unsigned int nr, capacity;
	struct stat_rows ended; /* of VMs that are no longer watched */
	int err;		/* of what ended */
};

/* ---- numbers ---- */

static int part_add(struct stat_all *a, pid_t pid, uint64_t start, const char *name)
{
	char *copy = strdup(name ? name : "VM");

	if (!copy || array_reserve(a->part, a->nr + 1, a->capacity)) {
		free(copy);
		return fail(-ENOMEM, "out of memory");
	}
	text_sanitize(copy);
	a->part[a->nr++] = (struct stat_part_vm){.pid = pid, .start = start, .name = copy};
	return (int)a->nr - 1;
}

/* The VM's number or -ENOMEM. One whose vCPUs became more is watched anew, and keeps its number. */
static int part_of(struct stat_all *a, const struct vm *vm)
{
	for (unsigned int i = 0; i < a->nr; i++)
		if (a->part[i].pid == vm->pid && a->part[i].start == vm->start)
			return (int)i;
	if (a->nr < STAT_ALL_VMS_MAX)
		return part_add(a, vm->pid, vm->start, vm->name);
	if (a->nr == STAT_ALL_VMS_MAX && part_add(a, 0, 0, "(others)") < 0)
		return -ENOMEM;
	return STAT_ALL_VMS_MAX;
}

static int rows_of_vm(struct stat_all *a, const struct top_watched *w, struct stat_rows *rows)
{
	int part = part_of(a, &w->vm), err = part < 0 ? part : 0;
	const struct stat *s = a->vms.stat;

	for (unsigned int i = 0; i < w->at.nr && !err; i++)
		err = stat_rows_add(rows, part, stat_cells_of(stat_vcpu(s, w->at.first + i)),
				    stat_nr_cells(s));
	return err;
}

static void vm_leaves(void *arg, const struct top_watched *w)
{
	struct stat_all *a = arg;
	int err = rows_of_vm(a, w, &a->ended);

	if (err)
		a->err = err;
}

/* ---- reading ---- */

int stat_all_look(struct stat_all *a)
{
	int err = top_vms_look(&a->vms, NULL);

	return err ? err : a->err;
}

static bool is_running(const struct stat_all *a, const struct stat_part_vm *p)
{
	return array_any(a->vms.nr, i,
			 a->vms.vm[i].vm.pid == p->pid && a->vms.vm[i].vm.start == p->start);
}

int stat_all_rows(struct stat_all *a, struct stat_rows *ret)
{
	int err = stat_rows_copy(&a->ended, ret);

	for (unsigned int i = 0; i < a->vms.nr && !err; i++)
		err = rows_of_vm(a, &a->vms.vm[i], ret);
	for (unsigned int i = 0; i < a->nr; i++)
		a->part[i].ended = !is_running(a, &a->part[i]);
	return err;
}

const struct stat_part_vm *stat_all_vms(const struct stat_all *a, int *ret_nr)
{
	*ret_nr = (int)a->nr;
	return a->part;
}

void stat_all_caveats(const struct stat_all *a, json_t *list)
{
	caveat_count(list, "VMs that were not counted, as the counters have no capacity for them",
		     a->vms.refused);
	if (a->nr > STAT_ALL_VMS_MAX)
		caveat_add(list, "\"(others)\" are the VMs after the first %d", STAT_ALL_VMS_MAX);
	caveat_count(list,
		     "exits of VMs that had just begun or are not watched, which were not counted",
		     stat_unwatched(a->vms.stat));
	caveat_count(list, "exits of hot-plugged vCPUs, which were not counted",
		     stat_missed(a->vms.stat));
}

/* ---- opening ---- */

struct stat *stat_all_counters(const struct stat_all *a)
{
	return a->vms.stat;
}

int stat_all_open(struct stat_all **ret)
{
	struct stat_all *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return fail(-ENOMEM, "out of memory");
	*ret = a;
	err = top_vms_open_counters(&a->vms);
	a->vms.leaves = vm_leaves;
	a->vms.arg = a;
	return err;
}

void stat_all_close(struct stat_all *a)
{
	if (!a)
		return;
	top_vms_close(&a->vms);
	for (unsigned int i = 0; i < a->nr; i++)
		free(a->part[i].name);
	free(a->part);
	stat_rows_free(&a->ended);
	free(a);
}
