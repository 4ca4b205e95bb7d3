// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>

#include "output/report.h"
#include "output/virtq_list.h"

void virtq_list_caveats(const struct virtq_list *list, pid_t pid, json_t *caveats)
{
	uint64_t unused = 0;
	unsigned int differ = 0, unreadable = 0, moving = 0, wild = 0;

	if (list->memory_error)
		caveat_add(caveats, "%s; only the values of the monitor are shown",
			   list->memory_error);
	for (unsigned int i = 0; i < list->nr; i++) {
		const struct virtq_entry *r = &list->entry[i];

		unused += !virtq_entry_ready(r);
		differ += r->agree == VIRTQ_AGREE_NO;
		unreadable += r->in_memory && r->state.ready && !r->state.rings;
		moving += r->in_memory && r->state.moving;
		wild += r->in_memory && r->state.rings && r->state.posted > r->state.size;
		if (virtq_entry_elsewhere(r) && virtq_entry_ready(r))
			caveat_add(caveats,
				   "%s queue %u is served outside QEMU (vhost): the number of "
				   "elements that the device has popped is unknown",
				   r->device, r->queue);
	}
	if (!list->nr)
		caveat_add(caveats, "no virtio device was found in process %d", (int)pid);
	if (unused)
		caveat_add(caveats, "%" PRIu64 " queues have not been set up by their driver",
			   unused);
	if (differ)
		caveat_add(caveats, "%u queues differ between memory and monitor", differ);
	if (unreadable)
		caveat_add(caveats, "the rings of %u queues could not be read", unreadable);
	if (moving)
		caveat_add(
			caveats,
			"%u queues changed while they were read: their values may be inconsistent",
			moving);
	if (wild)
		caveat_add(caveats,
			   "the guest's index of %u queues is more than a queue ahead of the "
			   "device",
			   wild);
}

/* ---- JSON ---- */

static json_t *hex(uint64_t v)
{
	return json_sprintf("0x%" PRIx64, v);
}

static json_t *qmp_json(const struct virtq_qmp *q)
{
	if (q->vhost)
		return json_pack("{s:b, s:I}", "vhost", 1, "size", (json_int_t)q->size);
	return json_pack("{s:b, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "vhost", 0, "size",
			 (json_int_t)q->size, "desc", hex(q->desc), "avail", hex(q->avail), "used",
			 hex(q->used), "last_avail_idx", (json_int_t)q->last_avail_idx,
			 "shadow_avail_idx", (json_int_t)q->shadow_avail_idx, "used_idx",
			 (json_int_t)q->used_idx, "signalled_used", (json_int_t)q->signalled_used,
			 "inuse", (json_int_t)q->inuse);
}

static void memory_json(json_t *row, const struct virtq_state *v)
{
	json_object_update_new(
		row, json_pack("{s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:b}", "size",
			       (json_int_t)v->size, "vq", hex(v->vq), "desc", hex(v->desc), "avail",
			       hex(v->avail), "used", hex(v->used), "last_avail_idx",
			       (json_int_t)v->last_avail_idx, "shadow_avail_idx",
			       (json_int_t)v->shadow_avail_idx, "used_idx", (json_int_t)v->used_idx,
			       "signalled_used", (json_int_t)v->signalled_used, "inuse",
			       (json_int_t)v->inuse, "moving", v->moving));
}

static void rings_json(json_t *row, const struct virtq_state *v)
{
	char kicks[16], interrupts[16];

	if (!v->rings)
		return;
	json_object_update_new(
		row, json_pack("{s:s, s:b, s:I, s:o, s:I, s:s, s:s}", "ring",
			       v->packed ? "packed" : "split", "event_idx", v->event_idx,
			       "ring_avail_idx", (json_int_t)v->ring_avail_idx, "ring_used_idx",
			       v->packed ? json_null() : json_integer(v->ring_used_idx), "posted",
			       (json_int_t)v->posted, "kicks",
			       virtq_notify_print(&v->kicks, kicks, sizeof(kicks)), "interrupts",
			       virtq_notify_print(&v->interrupts, interrupts, sizeof(interrupts))));
}

static json_t *entry_json(pid_t pid, const struct virtq_entry *r)
{
	json_t *row = json_pack("{s:i, s:s, s:I, s:b, s:s}", "pid", (int)pid, "device",
				*r->device ? r->device : "unknown", "queue", (json_int_t)r->queue,
				"ready", virtq_entry_ready(r), "served",
				virtq_entry_elsewhere(r) ? "elsewhere" : "qemu");

	if (r->in_memory) {
		memory_json(row, &r->state);
		rings_json(row, &r->state);
	}
	json_object_set_new(row, "qmp", r->in_qmp ? qmp_json(&r->qmp) : json_null());
	json_object_set_new(row, "agrees",
			    r->agree == VIRTQ_AGREE_UNKNOWN
				    ? json_null()
				    : json_boolean(r->agree == VIRTQ_AGREE_YES));
	return row;
}

json_t *virtq_list_json(const struct virtq_list *list, pid_t pid)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < list->nr; i++)
		json_array_append_new(rows, entry_json(pid, &list->entry[i]));
	return rows;
}

/* ---- text and CSV ---- */

static void columns_add(struct table *t, bool qmp)
{
	table_column(t, "device", "device", COL_PATH, 0);
	table_column(t, "queue", "queue", COL_COUNT, 0);
	table_column(t, "size", "size", COL_COUNT, 1);
	table_column(t, "ring", "ring", COL_TEXT, 2);
	table_column(t, "ring_avail_idx", "avail", COL_COUNT, 0);
	table_column(t, "last_avail_idx", "taken", COL_COUNT, 0);
	table_column(t, "used_idx", "used", COL_COUNT, 0);
	table_column(t, "posted", "posted", COL_COUNT, 0);
	table_column(t, "inuse", "inuse", COL_COUNT, 0);
	table_column(t, "kicks", "kicks", COL_TEXT, 0);
	table_column(t, "interrupts", "intr", COL_TEXT, 0);
	if (qmp)
		table_column(t, "agrees", "QMP", COL_TEXT, 0);
}

/* Without the "at". */
static const char *notify_text(struct table *t, const struct virtq_notify *n, bool known)
{
	char buf[16];
	const char *text = known ? virtq_notify_print(n, buf, sizeof(buf)) : "-";

	return table_text(t, n->mode == VIRTQ_AT && known ? text + 3 : text);
}

static void row_cells(struct table *t, const struct virtq_entry *r, struct cell *c)
{
	const struct virtq_state *v = &r->state;
	bool mem = r->in_memory, rings = mem && v->rings;

	(c++)->text = table_text(t, *r->device ? r->device : "unknown");
	(c++)->number = r->queue;
	(c++)->number = mem ? v->size : r->qmp.size;
	(c++)->text = !rings ? "-" : v->packed ? "packed" : "split";
	*c = (struct cell){v->ring_avail_idx, rings ? NULL : "-"};
	*++c = (struct cell){mem ? v->last_avail_idx : r->qmp.last_avail_idx,
			     virtq_entry_elsewhere(r) ? "-" : NULL};
	*++c = (struct cell){virtq_entry_elsewhere(r) ? v->ring_used_idx
			     : mem		      ? v->used_idx
						      : r->qmp.used_idx,
			     NULL};
	*++c = (struct cell){v->posted, rings ? NULL : "-"};
	*++c = (struct cell){mem ? v->inuse : r->qmp.inuse, virtq_entry_elsewhere(r) ? "-" : NULL};
	(++c)->text = notify_text(t, &v->kicks, rings);
	(++c)->text = notify_text(t, &v->interrupts, rings);
}

int virtq_list_table(const struct virtq_list *list, bool qmp, bool unused, struct table *t)
{
	static const char *const agree[] = {"-", "same", "no"};

	columns_add(t, qmp);
	for (unsigned int i = 0; i < list->nr; i++) {
		const struct virtq_entry *e = &list->entry[i];
		struct cell *c;

		if (!unused && !virtq_entry_ready(e))
			continue;
		c = table_row(t);
		if (!c)
			return -ENOMEM;
		row_cells(t, e, c);
		if (qmp)
			c[t->nr_columns - 1].text = agree[e->agree];
	}
	return 0;
}
