// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace virtio --state`: the queues of a running VM. JSON has what memory has and what QEMU's monitor prints, next
 * to each other; text and CSV have one of them, memory if it was read.
 */
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

GET_CELL(get_device, const struct virtq_entry *e, device_cell(t, e->device, ""))

/* ---- JSON ---- */

GET_NUMBER(get_pid, const void *at, at ? *(const pid_t *)t->report : 0)
GET_NUMBER(get_ready, const void *at, virtq_entry_ready(at))
GET_TEXT(get_served, const void *at, virtq_entry_elsewhere(at) ? "elsewhere" : "qemu")

static const struct column_def entry_columns[] = {
	{"pid", NULL, COL_COUNT, .get = get_pid, .doc = "process id of the VM"},
	{"device", NULL, COL_PATH, .get = get_device, .doc = "its QOM path"},
	{"queue", NULL, COL_COUNT, MEMBER(struct virtq_entry, queue), .doc = "index of the queue"},
	{"ready", NULL, COL_BOOL, .get = get_ready, .doc = "the driver has set it up"},
	{"served", NULL, COL_TEXT, .get = get_served, .doc = "qemu, or elsewhere (vhost)"},
	{0},
};

#define STATE(member) MEMBER(struct virtq_state, member)

GET_NUMBER(get_moving, const struct virtq_state *s, s->moving)

/* If memory was read. */
static const struct column_def memory_columns[] = {
	{"size", NULL, COL_COUNT, STATE(size), .optional = true, .doc = "number of descriptors"},
	{"vq", NULL, COL_HEX, STATE(vq), .optional = true, .doc = "address of QEMU's VirtQueue"},
	{"desc", NULL, COL_HEX, STATE(desc), .optional = true,
	 .doc = "guest address of the descriptors"},
	{"avail", NULL, COL_HEX, STATE(avail), .optional = true, .doc = "... of the driver's area"},
	{"used", NULL, COL_HEX, STATE(used), .optional = true, .doc = "... of the device's area"},
	{"last_avail_idx", NULL, COL_COUNT, STATE(last_avail_idx), .optional = true,
	 .doc = "the device's own indices, as QEMU calls them"},
	{"shadow_avail_idx", NULL, COL_COUNT, STATE(shadow_avail_idx), .optional = true,
	 .doc = "the guest's index when the device last read it"},
	{"used_idx", NULL, COL_COUNT, STATE(used_idx), .optional = true, .doc = "of returned ones"},
	{"signalled_used", NULL, COL_COUNT, STATE(signalled_used), .optional = true,
	 .doc = "of the last interrupt"},
	{"inuse", NULL, COL_COUNT, STATE(inuse), .optional = true,
	 .doc = "elements popped and not returned; packed: descriptors"},
	{"moving", NULL, COL_BOOL, .get = get_moving, .optional = true,
	 .doc = "it changed while it was read"},
	{0},
};

static struct cell notify_cell(struct table *t, const struct virtq_notify *n)
{
	char buf[16];

	return (struct cell){0, table_text(t, virtq_notify_print(n, buf, sizeof(buf)))};
}

GET_TEXT(get_ring, const struct virtq_state *s, s->packed ? "packed" : "split")
GET_NUMBER(get_event_idx, const struct virtq_state *s, s->event_idx)
GET_NUMBER_IF(get_ring_used, const struct virtq_state *s, !s->packed, s->ring_used_idx)
GET_CELL(get_kicks, const struct virtq_state *s, notify_cell(t, &s->kicks))
GET_CELL(get_interrupts, const struct virtq_state *s, notify_cell(t, &s->interrupts))

/* If the rings were read. */
static const struct column_def rings_columns[] = {
	{"ring", NULL, COL_TEXT, .get = get_ring, .optional = true, .doc = "packed or split"},
	{"event_idx", NULL, COL_BOOL, .get = get_event_idx, .optional = true,
	 .doc = "event indices were negotiated"},
	{"ring_avail_idx", NULL, COL_COUNT, STATE(ring_avail_idx), .optional = true,
	 .doc = "the guest's index"},
	{"ring_used_idx", NULL, COL_COUNT, .get = get_ring_used, .nullable = true,
	 .optional = true, .doc = "the device's index in the ring; null: packed"},
	{"posted", NULL, COL_COUNT, STATE(posted), .optional = true,
	 .doc = "offered by the guest and not popped"},
	{"kicks", NULL, COL_TEXT, .get = get_kicks, .optional = true,
	 .doc = "kicks that the device wants: all, none, or at an index"},
	{"interrupts", NULL, COL_TEXT, .get = get_interrupts, .optional = true,
	 .doc = "interrupts that the guest wants"},
	{0},
};

#define QMP(member) MEMBER(struct virtq_qmp, member)

GET_NUMBER(get_vhost, const struct virtq_qmp *q, q->vhost)

static const struct column_def qmp_columns[] = {
	{"vhost", NULL, COL_BOOL, .get = get_vhost, .doc = "served outside QEMU: no indices"},
	{"size", NULL, COL_COUNT, QMP(size), .doc = "number of descriptors"},
	{"desc", NULL, COL_HEX, QMP(desc), .optional = true, .doc = "the rest as above"},
	{"avail", NULL, COL_HEX, QMP(avail), .optional = true, .doc = ""},
	{"used", NULL, COL_HEX, QMP(used), .optional = true, .doc = ""},
	{"last_avail_idx", NULL, COL_COUNT, QMP(last_avail_idx), .optional = true, .doc = ""},
	{"shadow_avail_idx", NULL, COL_COUNT, QMP(shadow_avail_idx), .optional = true, .doc = ""},
	{"used_idx", NULL, COL_COUNT, QMP(used_idx), .optional = true, .doc = ""},
	{"signalled_used", NULL, COL_COUNT, QMP(signalled_used), .optional = true, .doc = ""},
	{"inuse", NULL, COL_COUNT, QMP(inuse), .optional = true, .doc = ""},
	{0},
};

static struct cell get_qmp(struct table *t, const void *at)
{
	static const struct column_def vhost_columns[] = {
		{"vhost", NULL, COL_BOOL, .get = get_vhost},
		{"size", NULL, COL_COUNT, QMP(size)},
		{0},
	};
	const struct virtq_entry *e = at;
	struct table *qmp;
	struct cell cell = table_nest(t, e->qmp.vhost ? vhost_columns : qmp_columns, &qmp);

	if (qmp && e->in_qmp)
		table_add(qmp, &e->qmp);
	return cell;
}

GET_NUMBER_IF(get_agrees, const struct virtq_entry *e, e->agree != VIRTQ_AGREE_UNKNOWN,
	      e->agree == VIRTQ_AGREE_YES)

static const struct column_def compared_columns[] = {
	{"qmp", NULL, COL_OBJECT, .get = get_qmp, .nullable = true, .nested = qmp_columns,
	 .doc = "with --qmp, what QEMU's monitor prints; null: nothing"},
	{"agrees", NULL, COL_BOOL, .get = get_agrees, .nullable = true,
	 .doc = "memory and monitor have the same; null: nothing to compare"},
	{0},
};

const struct table_def virtq_states_table = {
	"virtio",
	"--state",
	"a queue of a running VM",
	{entry_columns, memory_columns, rings_columns, compared_columns}};

json_t *virtq_list_json(const struct virtq_list *list, pid_t pid)
{
	struct table t = {.tree = true};
	int err = 0;
	json_t *rows;

	table_open(&t, &virtq_states_table, &pid, NULL);
	for (unsigned int i = 0; i < list->nr && !err; i++) {
		const struct virtq_entry *e = &list->entry[i];
		const struct virtq_state *s = e->in_memory ? &e->state : NULL;

		err = table_add(&t, e, s, s && s->rings ? s : NULL, e);
	}
	rows = table_json(&t);
	table_free(&t);
	return rows;
}

/* ---- text and CSV ---- */

static bool has_rings(const struct virtq_entry *e)
{
	return e->in_memory && e->state.rings;
}

/* Without the "at". */
static struct cell notify_short(struct table *t, const struct virtq_entry *e,
				const struct virtq_notify *n)
{
	char buf[16];
	const char *text = has_rings(e) ? virtq_notify_print(n, buf, sizeof(buf)) : "-";

	return (struct cell){0,
			     table_text(t, n->mode == VIRTQ_AT && has_rings(e) ? text + 3 : text)};
}

static bool has_qmp(const struct table *t)
{
	return *(const bool *)t->report;
}

#define ENTRY const struct virtq_entry *e

GET_NUMBER(get_size, ENTRY, e->in_memory ? e->state.size : e->qmp.size)
GET_TEXT(get_ring_or_none, ENTRY, !has_rings(e) ? "-" : e->state.packed ? "packed" : "split")
GET_NUMBER_IF(get_avail, ENTRY, has_rings(e), e->state.ring_avail_idx)
GET_NUMBER_IF(get_popped, ENTRY, !virtq_entry_elsewhere(e),
	      e->in_memory ? e->state.last_avail_idx : e->qmp.last_avail_idx)
GET_NUMBER(get_used, ENTRY,
	   virtq_entry_elsewhere(e) ? e->state.ring_used_idx
	   : e->in_memory	    ? e->state.used_idx
				    : e->qmp.used_idx)
GET_NUMBER_IF(get_posted, ENTRY, has_rings(e), e->state.posted)
GET_NUMBER_IF(get_inuse, ENTRY, !virtq_entry_elsewhere(e),
	      e->in_memory ? e->state.inuse : e->qmp.inuse)
GET_CELL(get_kicks_short, ENTRY, notify_short(t, e, &e->state.kicks))
GET_CELL(get_interrupts_short, ENTRY, notify_short(t, e, &e->state.interrupts))
GET_TEXT(get_agree, ENTRY,
	 e->agree == VIRTQ_AGREE_UNKNOWN ? "-"
	 : e->agree == VIRTQ_AGREE_YES	 ? "same"
					 : "no")

static const struct column_def flat_columns[] = {
	{"device", "device", COL_PATH, .get = get_device, .doc = "its name"},
	{"queue", "queue", COL_COUNT, MEMBER(struct virtq_entry, queue), .doc = "its index"},
	{"size", "size", COL_COUNT, .get = get_size, .spare = 1, .doc = "number of descriptors"},
	{"ring", "ring", COL_TEXT, .get = get_ring_or_none, .spare = 2, .doc = "packed or split"},
	{"ring_avail_idx", "avail", COL_COUNT, .get = get_avail, .nullable = true,
	 .doc = "the guest's index"},
	{"last_avail_idx", "taken", COL_COUNT, .get = get_popped, .nullable = true,
	 .doc = "how far the device has popped"},
	{"used_idx", "used", COL_COUNT, .get = get_used, .doc = "how far it has returned"},
	{"posted", "posted", COL_COUNT, .get = get_posted, .nullable = true,
	 .doc = "offered by the guest and not popped"},
	{"inuse", "inuse", COL_COUNT, .get = get_inuse, .nullable = true,
	 .doc = "popped and not returned"},
	{"kicks", "kicks", COL_TEXT, .get = get_kicks_short, .doc = "kicks that the device wants"},
	{"interrupts", "intr", COL_TEXT, .get = get_interrupts_short,
	 .doc = "interrupts that the guest wants"},
	{"agrees", "QMP", COL_TEXT, .get = get_agree, .when = has_qmp,
	 .doc = "with --qmp: same, no, or nothing to compare"},
	{0},
};

const struct table_def virtq_list_def = {
	"virtio", "--state -f csv", "a queue of a running VM (also in text)", {flat_columns}};

int virtq_list_table(const struct virtq_list *list, bool qmp, bool unused, struct table *t)
{
	int err = 0;

	table_open(t, &virtq_list_def, &qmp, NULL);
	for (unsigned int i = 0; i < list->nr && !err; i++)
		if (unused || virtq_entry_ready(&list->entry[i]))
			err = table_add(t, &list->entry[i]);
	t->report = NULL;
	return err;
}
