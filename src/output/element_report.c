// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace leaks`: a row for each virtqueue element that was not returned, the totals, and what limits the verdicts.
 * The rules of the verdicts are in pairing/elements.h.
 */
#include <inttypes.h>
#include <string.h>

#include "event/virtio_ids.h"
#include "event/vm_names.h"
#include "output/element_report.h"
#include "output/report.h"

json_t *element_totals_json(const struct element_totals *t)
{
	return json_pack("{s:{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}}", "totals",
			 "popped",
			 (json_int_t)t->popped, "returned", (json_int_t)t->returned, "detached",
			 (json_int_t)t->detached, "unpopped", (json_int_t)t->unpopped, "reset",
			 (json_int_t)t->reset, "held", (json_int_t)t->held, "leaked",
			 (json_int_t)t->leaked, "in_flight", (json_int_t)t->in_flight, "other",
			 (json_int_t)t->other, "returned_popped_before", (json_int_t)t->before,
			 "replaced", (json_int_t)t->replaced, "in_flight_at_start",
			 (json_int_t)t->at_start);
}

static struct cell get_popped_at(struct table *t, const void *at)
{
	const uint64_t *start_ns = t->report, *popped_ns = at;

	return (struct cell){*popped_ns > *start_ns ? *popped_ns - *start_ns : 0, NULL};
}

GET_CELL(get_elem, const uint64_t *address,
	 *address ? table_print(t, "0x%" PRIx64, *address) : (struct cell){0})
GET_TEXT(get_verdict, const struct element *e, element_verdict_name(e->verdict))

GET_CELL(get_device, const struct element *e, device_cell(t, e->device, e->kind))
GET_QUEUE(const struct element *e, e->kind, e->queue, e->data)

static const struct column_def element_columns[] = {
	{"pid", "pid", COL_COUNT, MEMBER(struct element, pid), .doc = "process id of the VM"},
	COLUMN_VM(struct element, pid),
	{"device", "device", COL_PATH, .get = get_device,
	 .doc = "its QOM path, in text its name"},
	COLUMNS_QUEUE(0),
	{"elem", "elem", COL_TEXT, offsetof(struct element, address), get_elem, .nullable = true,
	 .doc = "address of QEMU's VirtQueueElement"},
	{"head", "head", COL_COUNT, KNOWN_MEMBER(struct element, head), .spare = 9,
	 .doc = "index of its first descriptor"},
	{"popped_ns", NULL, COL_NS, MEMBER(struct element, popped_ns),
	 .doc = "when the device popped it"},
	{NULL, "popped at", COL_NS, offsetof(struct element, popped_ns), get_popped_at,
	 .doc = "the same, since the start of the trace"},
	{"age_ns", "age", COL_NS, MEMBER(struct element, age_ns),
	 .doc = "from then to the end of the trace"},
	{"verdict", "verdict", COL_TEXT, .get = get_verdict,
	 .doc = "leaked, in-flight, held, migrated, broken device, not visible, ..."},
	COLUMNS_QUEUE_NAMES,
	{0},
};

const struct table_def elements_table = {
	"leaks", "", "a virtqueue element that was not returned", {element_columns}};

void element_table(const struct element *list, size_t nr, uint64_t start_ns,
		   const struct vm_names *vms, struct table *t)
{
	table_open(t, &elements_table, &start_ns, vms);
	if (vms)
		t->column[0].head = NULL; /* text has the name instead */
	for (size_t i = 0; i < nr && !table_add(t, &list[i]); i++)
		;
	t->report = NULL;
}

/* Which of QEMU's events the recording could not take: a release that is not seen looks like a
 * leak. */
static void caveat_absent(json_t *list, const json_t *meta)
{
	static const char *const releases[] = {"virtqueue_fill", "virtqueue_detach",
					       "virtqueue_unpop", "virtqueue_rewind",
					       "virtio_reset"};
	size_t i;
	json_t *probe;

	json_array_foreach (json_object_get(meta, "probes"), i, probe) {
		const char *event = json_string_value(json_object_get(probe, "event"));
		const char *how = json_string_value(json_object_get(probe, "how"));

		for (size_t j = 0; event && how && j < sizeof(releases) / sizeof(releases[0]); j++)
			if (!strcmp(event, releases[j]) && !strcmp(how, "absent"))
				caveat_add(list,
					   "%s was not recorded: elements that it returned may be "
					   "reported as leaked",
					   event);
	}
}

static void caveat_unchecked(json_t *list, uint64_t nr, const char *of, int limit)
{
	if (nr)
		caveat_add(list,
			   "%" PRIu64 " virtqueue events %s beyond the limit of %d were not "
			   "checked",
			   nr, of, limit);
}

static void caveat_lost(json_t *list, const struct loss_sums *lost, uint64_t start_ns)
{
	struct loss_sums l = *lost;
	char text[512];

	if (*losses_print(&l, start_ns, text, sizeof(text)))
		caveat_add(list,
			   "lost: %s; elements in flight at that time have the verdict unknown",
			   text);
}

void element_caveats_unchecked(json_t *list, const struct element_totals *t)
{
	if (t->replaced)
		caveat_add(list,
			   "%" PRIu64 " elements were popped again while in flight: their returns "
				      "were not recorded",
			   t->replaced);
	if (t->overflow)
		caveat_add(list,
			   "%" PRIu64 " elements were not checked: more than %d in flight at once",
			   t->overflow, ELEMENTS_MAX);
	if (t->unidentified)
		caveat_add(list,
			   "events of elements without head or vq in this trace, which are not "
			   "followed: %" PRIu64,
			   t->unidentified);
	if (t->incomplete)
		caveat_add(list,
			   "events that may have ended elements, but lack the queue, device or "
			   "number of elements in this trace: %" PRIu64
			   "; those that they may have ended have the verdict unknown",
			   t->incomplete);
	caveat_unchecked(list, t->unchecked_devices, "of devices", ELEMENT_DEVICES_MAX);
	caveat_unchecked(list, t->unchecked_vms, "of VMs", ELEMENT_VMS_MAX);
	caveat_unchecked(list, t->unchecked_threads, "(virtqueue_drop_all) of threads",
			 ELEMENT_DROPPING_MAX);
}

void element_caveat_none(json_t *list, const struct trace_info *info)
{
	if (!trace_info_recorded(info, "virtqueue_pop"))
		caveat_add(list, "no virtqueue elements: QEMU was not recorded (record --events "
				 "qemu), or the rings are served outside QEMU (vhost)");
	else if (trace_info_is_ring(info))
		caveat_add(list, "no element was popped or returned in the time that the ring "
				 "(--ring) kept; elements popped before it may be in flight");
	else
		caveat_add(list, "no element was popped or returned during the recording; "
				 "elements popped before it may be in flight");
}

json_t *element_caveats(const struct trace_info *info, const struct elements *e,
			const struct element_totals *t)
{
	const char *vhost[8];
	json_t *list = json_array();
	unsigned int nr = elements_vhost(e, vhost, 8);

	if (!t->popped && !t->before && !t->unidentified)
		element_caveat_none(list, info);
	for (unsigned int i = 0; i < nr; i++)
		caveat_add(list,
			   "%s: its rings are served outside QEMU (vhost), pops and returns are "
			   "not recorded",
			   vhost[i]);
	if (t->before)
		caveat_add(list,
			   "%" PRIu64 " returned elements had been popped before the recording",
			   t->before);
	element_caveats_unchecked(list, t);
	if (t->popped || t->before || t->held || t->leaked || t->in_flight || t->other)
		caveat_lost(list, &t->lost, info->start_ns);
	caveat_absent(list, info->meta);
	return list;
}

/* Ways back that are rare are named only if there were any. */
static int rare_print(uint64_t count, const char *what, char *buf, size_t size)
{
	return count ? snprintf(buf, size, " %" PRIu64 " %s,", count, what) : 0;
}

void element_totals_print(const struct element_totals *t, char *buf, size_t size)
{
	int len = t->at_start ? snprintf(buf, size,
					 "%" PRIu64 " in flight at the start of the time window\n",
					 t->at_start)
			      : 0;

	len += snprintf(buf + len, size - (size_t)len, "%" PRIu64 " popped, %" PRIu64 " returned,",
			t->popped, t->returned);
	len += rare_print(t->detached, "detached", buf + len, size - (size_t)len);
	len += rare_print(t->unpopped, "unpopped", buf + len, size - (size_t)len);
	snprintf(buf + len, size - (size_t)len,
		 " %" PRIu64 " reset, %" PRIu64 " in flight, %" PRIu64 " held, %" PRIu64 " leaked",
		 t->reset, t->in_flight, t->held, t->leaked);
}
