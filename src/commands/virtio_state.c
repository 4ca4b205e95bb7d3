// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace virtio --state: each device's queues with the guest's and the device's indices, out of QEMU's memory and,
 * where a monitor is given, by QMP. Memory is read before and after the monitor is asked: what QMP says must lie
 * between.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/virtio_state.h"
#include "output/report.h"
#include "vm/memory.h"
#include "vm/virtq_qmp.h"
#include "vm/virtq_state.h"
#include "vm/vm.h"

enum agreement { AGREE_UNKNOWN, AGREE_YES, AGREE_NO };

struct row {
	char device[VIRTQ_PATH_MAX];
	unsigned int queue;
	bool in_memory, in_qmp;
	struct virtq_state state; /* the newer reading */
	struct virtq_qmp qmp;
	enum agreement agree;
};

struct state {
	struct vm vm;
	struct row *row;
	unsigned int nr;
	uint64_t unused;    /* queues that the driver has not set up: not in the text */
	json_t *caveats;
};

static struct row *row_add(struct state *s, const char *device, unsigned int queue)
{
	if (array_room(s->row, s->nr))
		return NULL;
	struct row *row = &s->row[s->nr++];

	*row = (struct row){.queue = queue};
	snprintf(row->device, sizeof(row->device), "%s", device);
	return row;
}

static struct row *row_of(struct state *s, const char *device, unsigned int queue)
{
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->row[i].queue == queue && !strcmp(s->row[i].device, device))
			return &s->row[i];
	return row_add(s, device, queue);
}

/* ---- collecting ---- */

static int memory_rows(struct state *s, const struct memory *m, const struct virtq_device *d,
		       unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		for (unsigned int q = 0; q < VIRTQ_QUEUES_MAX; q++) {
			struct virtq_state state;

			if (virtq_read(m, &d[i], q, &state) <= 0)
				continue;
			struct row *row = row_add(s, d[i].path, q);

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
static enum agreement compare(const struct virtq_state *before, const struct virtq_state *now,
			      const struct virtq_qmp *q)
{
	bool still = before->last_avail_idx == now->last_avail_idx &&
		     before->used_idx == now->used_idx && before->inuse == now->inuse;

	if (q->vhost || before->moving || now->moving)
		return AGREE_UNKNOWN;
	if (q->size != now->size || q->desc != now->desc || q->avail != now->avail ||
	    q->used != now->used ||
	    !between(q->last_avail_idx, before->last_avail_idx, now->last_avail_idx) ||
	    !between(q->used_idx, before->used_idx, now->used_idx))
		return AGREE_NO;
	if (!still)
		return AGREE_YES;
	return q->inuse == now->inuse && q->shadow_avail_idx == now->shadow_avail_idx &&
			       q->signalled_used == now->signalled_used
		       ? AGREE_YES
		       : AGREE_NO;
}

static void reread(struct state *s, const struct memory *m, const struct virtq_device *d,
		   unsigned int nr)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		struct row *row = &s->row[i];
		struct virtq_state now;

		for (unsigned int j = 0; j < nr; j++)
			if (row->in_memory && !strcmp(d[j].path, row->device) &&
			    virtq_read(m, &d[j], row->queue, &now) > 0) {
				if (row->in_qmp)
					row->agree = compare(&row->state, &now, &row->qmp);
				row->state = now;
			}
	}
}

static int qmp_rows(struct state *s, const char *socket)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	_cleanup_free_ struct virtq_qmp *list = NULL;
	unsigned int nr = 0;
	int err = qmp_open(socket, 0, &q);

	if (!err)
		err = virtq_qmp_read(q, &list, &nr);
	for (unsigned int i = 0; i < nr && !err; i++) {
		struct row *row = row_of(s, list[i].path, list[i].index);

		if (!row)
			return fail(-ENOMEM, "out of memory");
		row->in_qmp = true;
		row->qmp = list[i];
	}
	return err;
}

/* The memory if it may be read, the monitor if it is given; without both it is an error. */
static int collect(struct state *s, const char *socket)
{
	struct memory m = {0};
	_cleanup_free_ struct virtq_device *d = NULL;
	unsigned int nr = 0;
	int err = memory_open(s->vm.pid, &m);

	if (err && !socket)
		return err;
	if (err)
		caveat_add(s->caveats, "%s; only what the monitor tells is shown", error_text());
	else
		err = virtq_devices_find(&m, s->vm.memory_bytes, &d, &nr);
	if (!err)
		err = memory_rows(s, &m, d, nr);
	if (err != -ENOMEM && socket)
		err = qmp_rows(s, socket);
	if (!err && socket)
		reread(s, &m, d, nr);
	memory_close(&m);
	return err;
}

/* ---- what must be said ---- */

static bool row_ready(const struct row *r)
{
	return r->in_memory ? r->state.ready : r->qmp.desc != 0;
}

static bool row_elsewhere(const struct row *r)
{
	return (r->in_qmp && r->qmp.vhost) || (r->in_memory && r->state.elsewhere);
}

static void caveats_add(struct state *s)
{
	json_t *list = s->caveats;
	unsigned int differ = 0, unreadable = 0, moving = 0, wild = 0;

	for (unsigned int i = 0; i < s->nr; i++) {
		const struct row *r = &s->row[i];

		s->unused += !row_ready(r);
		differ += r->agree == AGREE_NO;
		unreadable += r->in_memory && r->state.ready && !r->state.rings;
		moving += r->in_memory && r->state.moving;
		wild += r->in_memory && r->state.rings && r->state.posted > r->state.size;
		if (row_elsewhere(r) && row_ready(r))
			caveat_add(list, "%s queue %u is served outside QEMU (vhost): what the "
					 "device has taken is not known here",
				   r->device, r->queue);
	}
	if (!s->nr)
		caveat_add(list, "no virtio device was found in process %d", (int)s->vm.pid);
	if (s->unused)
		caveat_add(list, "%" PRIu64 " queues have not been set up by their driver",
			   s->unused);
	if (differ)
		caveat_add(list, "%u queues differ between memory and monitor", differ);
	if (unreadable)
		caveat_add(list, "the rings of %u queues could not be read", unreadable);
	if (moving)
		caveat_add(list, "%u queues were in use while they were read: their figures may be "
				 "of two moments", moving);
	if (wild)
		caveat_add(list, "the guest's index of %u queues is more than a queue ahead of the "
				 "device", wild);
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
			       (json_int_t)v->shadow_avail_idx, "used_idx",
			       (json_int_t)v->used_idx, "signalled_used",
			       (json_int_t)v->signalled_used, "inuse", (json_int_t)v->inuse,
			       "moving", v->moving));
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

static json_t *row_json(const struct state *s, const struct row *r)
{
	json_t *row = json_pack("{s:i, s:s, s:I, s:b, s:s}", "pid", (int)s->vm.pid, "device",
				*r->device ? r->device : "unknown", "queue", (json_int_t)r->queue,
				"ready", row_ready(r), "served",
				row_elsewhere(r) ? "elsewhere" : "qemu");

	if (r->in_memory) {
		memory_json(row, &r->state);
		rings_json(row, &r->state);
	}
	json_object_set_new(row, "qmp", r->in_qmp ? qmp_json(&r->qmp) : json_null());
	json_object_set_new(row, "agrees",
			    r->agree == AGREE_UNKNOWN ? json_null()
						      : json_boolean(r->agree == AGREE_YES));
	return row;
}

static void draw_json(const struct state *s, FILE *f)
{
	json_t *rows = json_array(), *all;

	for (unsigned int i = 0; i < s->nr; i++)
		json_array_append_new(rows, row_json(s, &s->row[i]));
	all = json_pack("{s:{s:s,s:s}, s:[], s:{}, s:O, s:o}", "hostrace", "version",
			HOSTRACE_VERSION, "command", "virtio", "inputs", "clock", "caveats",
			s->caveats, "rows", rows);
	json_dumpf(all, f, JSON_INDENT(1));
	fputc('\n', f);
	json_decref(all);
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
static const char *wish(struct table *t, const struct virtq_notify *n, bool known)
{
	char buf[16];
	const char *text = known ? virtq_notify_print(n, buf, sizeof(buf)) : "-";

	return table_text(t, n->wish == VIRTQ_AT && known ? text + 3 : text);
}

static void row_cells(struct table *t, const struct row *r, struct cell *c)
{
	const struct virtq_state *v = &r->state;
	bool mem = r->in_memory, rings = mem && v->rings;

	(c++)->text = table_text(t, *r->device ? r->device : "unknown");
	(c++)->number = r->queue;
	(c++)->number = mem ? v->size : r->qmp.size;
	(c++)->text = !rings ? "-" : v->packed ? "packed" : "split";
	*c = (struct cell){v->ring_avail_idx, rings ? NULL : "-"};
	*++c = (struct cell){mem ? v->last_avail_idx : r->qmp.last_avail_idx,
			     row_elsewhere(r) ? "-" : NULL};
	*++c = (struct cell){row_elsewhere(r) ? v->ring_used_idx : mem ? v->used_idx : r->qmp.used_idx,
			     NULL};
	*++c = (struct cell){v->posted, rings ? NULL : "-"};
	*++c = (struct cell){mem ? v->inuse : r->qmp.inuse, row_elsewhere(r) ? "-" : NULL};
	(++c)->text = wish(t, &v->kicks, rings);
	(++c)->text = wish(t, &v->interrupts, rings);
}

static void foot(const struct reader *r, const json_t *caveats, FILE *f)
{
	size_t i;
	json_t *text;

	(void)r;
	json_array_foreach (caveats, i, text)
		fprintf(f, "# %s\n", json_string_value(text));
}

static int draw_table(const struct state *s, bool qmp, const struct output *out)
{
	struct report report = {
		.out = out, .wide = common.verbose, .foot = foot, .caveats = s->caveats};
	static const char *const agree[] = {"-", "same", "no"};
	struct table t = {0};

	columns_add(&t, qmp);
	for (unsigned int i = 0; i < s->nr; i++) {
		struct cell *c = row_ready(&s->row[i]) || strcmp(out->format, "text")
					 ? table_row(&t)
					 : NULL;

		if (!c)
			continue;
		row_cells(&t, &s->row[i], c);
		if (qmp)
			c[t.nr_columns - 1].text = agree[s->row[i].agree];
	}
	table_limit(&t, out->limit);
	int err = format_find(out->format)->table(&report, &t);

	table_free(&t);
	return err;
}

int virtio_state_run(const char *name, const char *socket)
{
	struct state s = {.caveats = json_array()};
	struct output out;

	if (output_open("text json csv", &out))
		return command_failed();
	int err = vm_find(name, &s.vm);

	if (!err)
		err = collect(&s, socket);
	if (!err) {
		caveats_add(&s);
		if (!strcmp(out.format, "json"))
			draw_json(&s, out.file);
		else
			err = draw_table(&s, socket != NULL, &out);
	}
	if (err)
		output_cancel(&out);
	else
		err = output_close(&out);
	vm_free(&s.vm);
	free(s.row);
	json_decref(s.caveats);
	return err ? command_failed() : EXIT_FINE;
}
