// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All virtqueues of a running VM, from QEMU's memory and, where a monitor is given, from QMP.
 * Memory is read before and after the monitor is queried: QMP's values must be between.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "vm/virtq_state.h"

static struct virtq_entry *entry_add(struct virtq_list *list, const char *device,
				     unsigned int queue)
{
	if (array_room(list->entry, list->nr))
		return NULL;
	struct virtq_entry *row = &list->entry[list->nr++];

	*row = (struct virtq_entry){.queue = queue};
	snprintf(row->device, sizeof(row->device), "%s", device);
	return row;
}

static struct virtq_entry *entry_of(struct virtq_list *list, const char *device, unsigned int queue)
{
	for (unsigned int i = 0; i < list->nr; i++)
		if (list->entry[i].queue == queue && !strcmp(list->entry[i].device, device))
			return &list->entry[i];
	return entry_add(list, device, queue);
}

/* ---- collecting ---- */

static int memory_entries(struct virtq_list *list, const struct memory *m,
			  const struct virtq_device *d, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		for (unsigned int q = 0; q < VIRTQ_QUEUES_MAX; q++) {
			struct virtq_state state;

			if (virtq_read(m, &d[i], q, &state) <= 0)
				continue;
			struct virtq_entry *row = entry_add(list, d[i].path, q);

			if (!row)
				return fail(-ENOMEM, "out of memory");
			row->in_memory = true;
			row->state = state;
		}
	return 0;
}

static bool between(uint16_t v, uint16_t from, uint16_t to)
{
	return (uint16_t)(v - from) <= (uint16_t)(to - from);
}

/* `before` and `now` are of before and after the monitor's answer. */
static enum virtq_agreement virtq_compare(const struct virtq_state *before,
					  const struct virtq_state *now, const struct virtq_qmp *q)
{
	bool still = before->last_avail_idx == now->last_avail_idx &&
		     before->used_idx == now->used_idx && before->inuse == now->inuse;

	if (q->vhost || before->moving || now->moving)
		return VIRTQ_AGREE_UNKNOWN;
	if (q->size != now->size || q->desc != now->desc || q->avail != now->avail ||
	    q->used != now->used ||
	    !between(q->last_avail_idx, before->last_avail_idx, now->last_avail_idx) ||
	    !between(q->used_idx, before->used_idx, now->used_idx))
		return VIRTQ_AGREE_NO;
	if (!still)
		return VIRTQ_AGREE_YES;
	return q->inuse == now->inuse && q->shadow_avail_idx == now->shadow_avail_idx &&
			       q->signalled_used == now->signalled_used
		       ? VIRTQ_AGREE_YES
		       : VIRTQ_AGREE_NO;
}

static void reread(struct virtq_list *list, const struct memory *m, const struct virtq_device *d,
		   unsigned int nr)
{
	for (unsigned int i = 0; i < list->nr; i++) {
		struct virtq_entry *row = &list->entry[i];
		struct virtq_state now;

		for (unsigned int j = 0; j < nr; j++)
			if (row->in_memory && !strcmp(d[j].path, row->device) &&
			    virtq_read(m, &d[j], row->queue, &now) > 0) {
				if (row->in_qmp)
					row->agree = virtq_compare(&row->state, &now, &row->qmp);
				row->state = now;
			}
	}
}

static int qmp_entries(struct virtq_list *list, const char *socket)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	_cleanup_free_ struct virtq_qmp *all = NULL;
	unsigned int nr = 0;
	int err = qmp_open(socket, 0, &q);

	if (!err)
		err = virtq_qmp_read(q, &all, &nr);
	for (unsigned int i = 0; i < nr && !err; i++) {
		struct virtq_entry *row = entry_of(list, all[i].path, all[i].index);

		if (!row)
			return fail(-ENOMEM, "out of memory");
		row->in_qmp = true;
		row->qmp = all[i];
	}
	return err;
}

/* Memory that may not be read is remembered if there is a monitor. */
static int memory_list(struct virtq_list *list, const struct vm *vm, struct memory *m,
		       bool required, struct virtq_device **ret_d, unsigned int *ret_nr)
{
	int err = memory_open(vm->pid, vm->start, m);

	if (err && required)
		return err;
	if (err) {
		list->memory_error = strdup(error_text());
		return list->memory_error ? 0 : fail(-ENOMEM, "out of memory");
	}
	err = virtq_devices_find(m, vm->memory_bytes, ret_d, ret_nr);
	return err ? err : memory_entries(list, m, *ret_d, *ret_nr);
}

int virtq_list_read(const struct vm *vm, const char *qmp, struct virtq_list *ret)
{
	struct memory m = {0};
	_cleanup_free_ struct virtq_device *d = NULL;
	unsigned int nr = 0;

	*ret = (struct virtq_list){0};
	int err = memory_list(ret, vm, &m, !qmp, &d, &nr);

	if (!err && qmp)
		err = qmp_entries(ret, qmp);
	if (!err && qmp)
		reread(ret, &m, d, nr);
	memory_close(&m);
	return err;
}

void virtq_list_free(struct virtq_list *list)
{
	free(list->entry);
	free(list->memory_error);
	*list = (struct virtq_list){0};
}

bool virtq_entry_ready(const struct virtq_entry *e)
{
	return e->in_memory ? e->state.ready : e->qmp.desc != 0;
}

bool virtq_entry_elsewhere(const struct virtq_entry *e)
{
	return (e->in_qmp && e->qmp.vhost) || (e->in_memory && e->state.elsewhere);
}
