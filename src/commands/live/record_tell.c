// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What hostrace record says on stderr: that it records, and until when; at its end what came, what was lost and what to
 * do with it.
 */
#include <inttypes.h>
#include <sys/wait.h>

#include "base/order.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "vm/select.h"

enum { SUMMARY_TYPES = 6 /* event types that are named */, DUMP_PATH_MAX = 4096 };

/* When it stops, by itself or by the user. A command goes on when the duration is over: it is the user's. */
static const char *stop_print(const struct recording *r, char *buf, size_t size)
{
	char after[16] = "";

	if (record_opt.duration_ns)
		duration_print(record_opt.duration_ns, after, sizeof(after));
	if (r->argv && *after)
		snprintf(buf, size, "stops after %s, and the command goes on, or when it ends",
			 after);
	else if (r->argv)
		snprintf(buf, size, "stops when the command ends");
	else if (*after)
		snprintf(buf, size, "stops after %s, or with ^C", after);
	else
		snprintf(buf, size, "stop with ^C");
	return buf;
}

/* By its name, not by a set or a glob, which may have more than there is. */
static bool is_named(const char *event)
{
	size_t len = strlen(event);

	for (const char *p = record_opt.events; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && !strncmp(p, event, len))
			return true;
	return false;
}

/* An event that was asked for is never missing silently; one note for all VMs. */
static void absent_tell(const struct recording *r)
{
	json_t *all = collector_probes(r->collector), *told = json_object(), *one;
	size_t i;

	json_array_foreach (all, i, one) {
		const char *event = json_string_value(json_object_get(one, "event"));
		json_int_t pid = json_integer_value(json_object_get(one, "pid"));

		if (strcmp("absent", json_string_value(json_object_get(one, "how"))) ||
		    !is_named(event) || json_object_get(told, event))
			continue;
		command_note("warning: %s is not recorded%s%.0d: %s", event,
			     pid ? ", in process " : "", (int)pid,
			     json_string_value(json_object_get(one, "reason")));
		json_object_set_new(told, event, json_true());
	}
	json_decref(told);
	json_decref(all);
}

void record_tell_start(const struct recording *r)
{
	char label[VM_LABEL_TEXT], list[VM_NAMES_TEXT], stop[96];

	vm_list_print(r->vms, r->nr_vms, list, sizeof(list));
	if (r->follow.active && !r->watch[0].is_qemu)
		command_note("recording the VMs that '%s' (pid %d) starts to %s; stops when the "
			     "command and its VMs have ended",
			     r->vms[0].name, r->vms[0].pid, record_opt.output);
	else if (r->nr_vms == 1)
		command_note("recording %s to %s; %s", vm_label(&r->vms[0], label, sizeof(label)),
			     record_opt.output, stop_print(r, stop, sizeof(stop)));
	else
		command_note("recording %u VMs to %s: %s; %s", r->nr_vms, record_opt.output, list,
			     stop_print(r, stop, sizeof(stop)));
	absent_tell(r);
}

static int by_count(const void *a, const void *b, void *arg)
{
	const uint64_t *count = arg;
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return order_u64(count[y], count[x]) ?: order_u64(x, y);
}

static bool is_ring_file(const struct recording *r)
{
	return record_opt.ring_bytes && !r->flight && r->written.bytes;
}

/*
 * What the file has: less than was recorded if writing failed, or if it is the rest of a ring. Of a flight recorder
 * that writes dumps, what was in memory.
 */
static struct collector_counts counts_kept(const struct recording *r, uint64_t *ret_missing)
{
	struct collector_counts n = *collector_counts(r->collector);

	*ret_missing = 0;
	for (unsigned int i = 0; i < RING_TYPES; i++) {
		n.events -= record_control_dropped(r, i);
		n.by_type[i] -= record_control_dropped(r, i);
	}
	for (unsigned int i = 0; i < EV_LIMIT && (r->file_err || is_ring_file(r)); i++) {
		if (r->written.count[i] >= n.by_type[i])
			continue;
		*ret_missing += n.by_type[i] - r->written.count[i];
		n.by_type[i] = r->written.count[i];
	}
	n.events -= *ret_missing;
	return n;
}

void record_tell_end(struct recording *r)
{
	uint64_t older;
	const struct collector_counts counts = counts_kept(r, &older), *n = &counts;
	unsigned int order[RING_TYPES];
	char line[512] = "", kept[DUMP_PATH_MAX + 32] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < RING_TYPES; i++)
		order[i] = i;
	qsort_r(order, RING_TYPES, sizeof(order[0]), by_count, (void *)n->by_type);
	for (unsigned int i = 0; i < SUMMARY_TYPES && n->by_type[order[i]]; i++)
		len += snprintf(line + len, sizeof(line) - len, "%s%s %" PRIu64, len ? ", " : "",
				collector_type_name(r->collector, order[i]),
				n->by_type[order[i]]);
	if (!r->flight && r->written.bytes)
		snprintf(kept, sizeof(kept), ", %" PRIu64 " KiB %s %s", r->written.bytes / 1024,
			 record_opt.stream ? "to" : "in", record_opt.output);
	else if (!r->flight)
		snprintf(kept, sizeof(kept), ", no file");
	command_note("%" PRIu64 " events in %.1f s (%s), %" PRIu64 " lost%s; ended by: %s",
		     n->events, (double)(collector_stop_ns(r->collector) - r->start_ns) / 1e9,
		     len ? line : "none",
		     n->lost + r->written.missing, kept, record_stop_words[r->stop]);
	if (older && !r->file_err)
		command_note("%" PRIu64
			     " older events are not in the file: --ring keeps the newest",
			     older);
	if (r->written.missing)
		command_note("warning: %" PRIu64 " events could not be written%s",
			     r->written.missing,
			     r->written.bytes ? "; the file counts them as lost" : "");
	if (n->lost > n->skipped)
		command_note("warning: %" PRIu64
			     " events were lost: buffers were full; try: --buffer %" PRIu64
			     "M, or fewer --events",
			     n->lost - n->skipped, collector_ring_bytes(r->collector) * 4 >> 20);
	if (n->skipped)
		command_note("warning: %" PRIu64
			     " events were lost: the kernel did not run the programs that record "
			     "them (see CAVEATS in hostrace-record(1))",
			     n->skipped);
	parts_summary(r);
	if (r->flight)
		record_trigger_summary(r);
	else if (r->written.bytes && n->events && !record_opt.stream)
		command_note("next: hostrace %s -i %s",
			     events_next_print(record_opt.analyzers, n->by_type, kept,
					       sizeof(kept)),
			     record_opt.output);
	else if (!collector_counts(r->collector)->events && !r->written.missing)
		command_note("no events were recorded; 'hostrace doctor --vm PID' lists the "
			     "available events");
}

void record_tell_command(const struct launch *c)
{
	if (c->ended && WIFSIGNALED(c->status))
		command_note("the command was killed by signal %d", WTERMSIG(c->status));
	else if (c->ended && WEXITSTATUS(c->status))
		command_note("the command exited with status %d", WEXITSTATUS(c->status));
	else if (c->gate >= 0)
		command_note("the command was not started");
	else if (c->pid && !c->ended)
		command_note("the command (pid %d) goes on", c->pid);
}
