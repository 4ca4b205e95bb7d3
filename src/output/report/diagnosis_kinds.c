// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kind of causes without a cause is ruled out only if one would have been seen. Three things may hide it: its events
 * were not recorded; they were, but some are missing, or leave it open what they are of; or no recording of this VM
 * shows it, as with exits of a KVM that reports none, and devices that are not virtio. The last does not change the
 * verdict, as nothing can be done about it, unless the VM is known to have such a disk.
 */
#include "output/report/diagnosis_kinds.h"

#include <string.h>

#include "base/array.h"
#include "output/report.h"
#include "output/report/causes.h"
#include "output/report/findings.h"
#include "output/report/page.h"
#include "vm/disks.h"

const json_t *diagnosis_info(const json_t *sections)
{
	return json_object_get(data_of(sections, "info"), "result");
}

static uint64_t event_count(const json_t *sections, const char *event)
{
	return number(json_object_get(diagnosis_info(sections), "events"), event);
}

/* ---- what was recorded ---- */

/* Was the event asked for? Then there was none if the recording has none. */
static bool is_probed(const json_t *sections, const char *event)
{
	const json_t *probe;
	size_t i;

	json_array_foreach (json_object_get(diagnosis_info(sections), "probes"), i, probe)
		if (!strcmp(text_of(probe, "event"), event) &&
		    strcmp(text_of(probe, "how"), "absent") != 0)
			return true;
	return false;
}

bool diagnosis_has_lost(const json_t *sections)
{
	const json_t *input;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "info"), "inputs"), i, input)
		if (number(input, "lost") || json_object_get(input, "truncated"))
			return true;
	return false;
}

/* Samples and single events say nothing of the time that exits take. */
static bool has_durations(const json_t *sections)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "exits"), "rows"), i, row)
		if (number(row, "total_ns"))
			return true;
	json_array_foreach (json_object_get(data_of(sections, "blame_by_vcpu"), "groups"), i, row)
		if (number(row, "time_ns"))
			return true;
	return false;
}

static bool has_vcpus(const json_t *sections)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "sched"), "rows"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu") &&
		    json_is_integer(json_object_get(row, "ready_ns")))
			return true;
	return false;
}

/* Were all vCPUs "halted" when the VM was looked at, or all in the "guest"? "?": not the same, not known, elsewhere. */
static const char *where_looked(const json_t *sections)
{
	const json_t *vcpu, *stuck = data_of(sections, "stuck"),
			    *list = json_object_get(stuck, "vcpus");
	const char *where = text_of(json_array_get(list, 0), "where");
	size_t i;

	if (json_is_false(json_object_get(stuck, "covers")))
		return "?";
	json_array_foreach (list, i, vcpu)
		if (strcmp(text_of(vcpu, "where"), where) != 0)
			return "?";
	return !strcmp(where, "halted") || !strcmp(where, "guest") ? where : "?";
}

const char *diagnosis_still(const json_t *sections)
{
	const json_t *info = diagnosis_info(sections), *vm;
	size_t i, nr = 0;

	json_array_foreach (json_object_get(info, "vms"), i, vm)
		nr += json_array_size(json_object_get(vm, "vcpu_threads"));
	if (!nr || !is_probed(sections, "sched_switch") || diagnosis_has_lost(sections) ||
	    has_vcpus(sections) || findings_guest_ran(sections))
		return "";
	return where_looked(sections);
}

/* QEMU emulates the VM: it has no exits that could be recorded. */
static bool has_no_exits(const json_t *info)
{
	const json_t *vm;
	size_t i;

	json_array_foreach (json_object_get(info, "vms"), i, vm)
		if (strcmp(text_of(vm, "accel"), "tcg") != 0)
			return false;
	return json_array_size(json_object_get(info, "vms"));
}

/* Exits were asked for, and there was none of the kind meanwhile: a vCPU that does nothing else has none. */
static bool has_none(const json_t *sections, const struct cause_kind *k, const char *event)
{
	if (*diagnosis_still(sections) ||
	    (is_probed(sections, "sched_switch") && diagnosis_has_lost(sections)))
		return is_probed(sections, event);
	return k->source != SOURCE_VCPUS && is_probed(sections, event) &&
	       (k->source == SOURCE_PROBES || has_vcpus(sections));
}

static bool is_source_recorded(const json_t *sections, enum cause_source source)
{
	switch (source) {
	case SOURCE_EXITS:
		return has_durations(sections);
	case SOURCE_SLEEPS:
		return has_no_exits(diagnosis_info(sections)) ? has_vcpus(sections)
							      : has_durations(sections);
	case SOURCE_VCPUS:
		return has_vcpus(sections);
	default:
		return true;
	}
}

static bool is_recorded(const json_t *sections, const struct cause_kind *k)
{
	bool source = is_source_recorded(sections, k->source);

	for (const char *p = k->events; *p; p += strcspn(p, ","), p += *p == ',') {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if ((source && event_count(sections, name)) || has_none(sections, k, name))
			return true;
	}
	return false;
}

/* ---- what is not known of it ---- */

struct doubt {
	json_t *why;   /* NULL: there is none */
	bool is_limit; /* no recording of this VM shows it */
	bool matters;  /* the VM is not called healthy nevertheless */
};

/* Elements that may have been lost: those that are out for long at the end, whatever the verdict. */
static unsigned int held_count(const struct diagnosis_query *q)
{
	double min_ns = q->threshold * (double)findings_span(q->sections);
	unsigned int nr = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(data_of(q->sections, "leaks"), "rows"), i, row)
		nr += strcmp(text_of(row, "verdict"), "held") &&
		      (double)number(row, "age_ns") >= min_ns;
	return nr;
}

static struct doubt doubt_of_requests(const struct diagnosis_query *q)
{
	uint64_t popped =
		number(json_object_get(data_of(q->sections, "leaks"), "totals"), "popped");
	unsigned int held = held_count(q);

	if (!event_count(q->sections, "virtqueue_pop"))
		return (struct doubt){json_string("there was no request of a virtio device; other "
						  "devices cannot be seen"),
				      true};
	if (!popped)
		return (struct doubt){
			json_string("their requests cannot be followed: see hostrace leaks"),
			false};
	if (held)
		return (struct doubt){
			json_sprintf("%u %s not returned at the end: see hostrace leaks", held,
				     held == 1 ? "was" : "were"),
			false};
	return (struct doubt){0};
}

/* For which a vCPU slept in KVM_RUN, and whether it was halted or waited for a page is not known: of the longest. */
static double open_sleep(const json_t *sections)
{
	const json_t *group;
	uint64_t most = 0, span = findings_span(sections);
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "blame_by_vcpu"), "groups"), i,
			    group) {
		uint64_t ns = number(json_object_get(group, "causes"), "halted-or-fault");

		most = ns > most ? ns : most;
	}
	return span ? (double)most / (double)span : 0;
}

bool diagnosis_unreported(const json_t *sections)
{
	return !has_no_exits(diagnosis_info(sections)) && !event_count(sections, "kvm_exit") &&
	       (event_count(sections, "kvm_userspace_exit") ||
		is_probed(sections, "kvm_userspace_exit")) &&
	       !open_sleep(sections);
}

static struct doubt doubt_of_sleep(const struct diagnosis_query *q, const struct cause_kind *k)
{
	double share = open_sleep(q->sections);

	if (k->source == SOURCE_SLEEPS && !strcmp(diagnosis_still(q->sections), "?"))
		return (struct doubt){
			json_string("vCPUs neither slept anew nor woke up: see hostrace stuck"),
			false};
	if (strcmp(k->id, "sleep") != 0 || share < q->threshold)
		return (struct doubt){0};
	return (struct doubt){
		json_sprintf(
			"a vCPU slept in KVM_RUN for %.1f %%, and whether it was halted is not "
			"recorded: record --for blame",
			100 * share),
		false};
}

/* ---- exits that KVM does not report ---- */

/*
 * Accesses and wake-ups have events of their own: how many there were is known, and not what they took. Where that may
 * be the threshold, at 5 us each, it is said that it may matter; of a tenth of that, how many there were.
 */
enum { EXIT_COST_NS = 5000, EXIT_MENTIONED_PART = 10 };

static uint64_t counts_sum(const json_t *sections, const char *key, const json_t **ret_most)
{
	const json_t *row;
	uint64_t sum = 0;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, key), "rows"), i, row) {
		sum += number(row, "count");
		if (number(row, "count") > number(*ret_most, "count"))
			*ret_most = row;
	}
	return sum;
}

/* Of these the VMM handled as many, whose time is known. */
static uint64_t handled_by_vmm(const json_t *sections)
{
	const json_t *row;
	uint64_t sum = 0;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "exits"), "rows"), i, row)
		if (!strcmp(text_of(row, "reason"), "KVM_EXIT_IO") ||
		    !strcmp(text_of(row, "reason"), "KVM_EXIT_MMIO"))
			sum += number(row, "count");
	return sum;
}

/* " (most of them to port 0x40)", " (most of them to 0xfee00000)" */
static const char *most_accessed(const json_t *most, char *buf, size_t size)
{
	*buf = '\0';
	if (json_object_get(most, "port"))
		snprintf(buf, size, " (most of them to port 0x%x)",
			 (unsigned int)number(most, "port"));
	else if (most)
		snprintf(buf, size, " (most of them to %.32s)", text_of(most, "addr"));
	return buf;
}

static struct doubt doubt_of_exits(const struct diagnosis_query *q)
{
	const json_t *most = NULL;
	double seconds = (double)findings_span(q->sections) / 1e9,
	       bound = q->threshold * 1e9 / EXIT_COST_NS;
	uint64_t all = counts_sum(q->sections, "ports", &most) +
		       counts_sum(q->sections, "mmio", &most),
		 vmm = handled_by_vmm(q->sections);
	double accesses = seconds > 0 && all > vmm ? (double)(all - vmm) / seconds : 0,
	       wakeups = seconds > 0 ? (double)event_count(q->sections, "kvm_vcpu_wakeup") / seconds
				     : 0;
	bool matters = accesses + wakeups >= bound;
	char to[64];

	if (accesses + wakeups < bound / EXIT_MENTIONED_PART)
		return (struct doubt){json_string("KVM reported none of them"), .is_limit = true};
	return (struct doubt){
		json_sprintf("KVM reported none of them; each second it handled %.0f "
			     "accesses%s and %.0f wake-ups from halts itself%s",
			     accesses, most_accessed(accesses > 0 ? most : NULL, to, sizeof(to)),
			     wakeups, matters ? ", which may cost much time" : ""),
		.is_limit = true,
		.matters = matters,
	};
}

/* Why nothing is known of a kind of which nothing was found. */
static struct doubt doubt_make(const struct diagnosis_query *q, const struct cause_kind *k)
{
	struct doubt exits = {0};

	if (!strcmp(k->id, "exits") && !event_count(q->sections, "kvm_exit"))
		exits = doubt_of_exits(q);
	if (exits.matters || (exits.why && !diagnosis_has_lost(q->sections)))
		return exits;
	json_decref(exits.why);
	if (diagnosis_has_lost(q->sections))
		return (struct doubt){json_string("events were lost"), false};
	if (k->source == SOURCE_PROBES)
		return doubt_of_requests(q);
	return doubt_of_sleep(q, k);
}

/* ---- the kinds ---- */

bool diagnosis_cause_is_wrong(const json_t *cause)
{
	return json_is_true(json_object_get(cause, "wrong"));
}

/* The largest share of the kind's causes, but for what is no fault; true: one of them is wrong. */
static bool kind_share(const json_t *list, const char *kind, double *ret)
{
	const json_t *one;
	size_t i;

	*ret = 0;
	json_array_foreach (list, i, one) {
		double share = json_number_value(json_object_get(one, "share"));

		if (strcmp(cause_find(text_of(one, "id"))->kind, kind) != 0 ||
		    !json_object_get(one, "cure"))
			continue;
		if (diagnosis_cause_is_wrong(one))
			return true;
		*ret = share > *ret ? share : *ret;
	}
	return false;
}

static void kind_add(json_t *result, const struct diagnosis_query *q, const struct cause_kind *k,
		     double share)
{
	json_t *one = json_pack("{s:s,s:s}", "kind", k->id, "text", k->what);
	const char *list = "ruled_out";
	struct doubt doubt;

	if (!is_recorded(q->sections, k)) {
		list = "not_recorded";
		json_object_set_new(one, "record", json_string(k->record));
	} else if ((doubt = doubt_make(q, k)).why) {
		list = "not_known";
		json_object_set_new(one, "why", doubt.why);
		json_object_set_new(one, "recordable", json_boolean(!doubt.is_limit));
		if (doubt.matters)
			json_object_set_new(one, "present", json_true());
	} else {
		json_object_set_new(one, "share",
				    strcmp(k->id, "lost") ? json_real(share) : json_null());
	}
	json_array_append_new(json_object_get(result, list), one);
}

/* ---- what stood still before ---- */

static void still_unknown(json_t *result, const char *what, json_t *why)
{
	json_array_append_new(json_object_get(result, "not_known"),
			      json_pack("{s:s,s:s,s:o,s:b}", "kind", "still", "text", what, "why",
					why, "recordable", true));
}

/* What hangs has no event: without having looked at the VM itself, nothing is known of it. */
static void still_add(json_t *result, const json_t *sections)
{
	const json_t *stuck = data_of(sections, "stuck"), *one;
	json_auto_t *unclear = json_array();
	size_t i;

	if (*text_of(stuck, "error"))
		still_unknown(result, "what stood still when the recording started",
			      json_sprintf("not recorded: %s", text_of(stuck, "error")));
	if (number(stuck, "left_out"))
		still_unknown(result, "all that stood still when the recording started",
			      json_sprintf("%llu entries were not kept",
					   (unsigned long long)number(stuck, "left_out")));
	findings_stuck_since(sections, NULL, unclear);
	json_array_foreach (unclear, i, one)
		still_unknown(result, "whether what stood still went on",
			      json_incref((json_t *)one));
}

/* ---- other disks ---- */

static void disk_unknown(json_t *result, const char *what, json_t *why)
{
	json_array_append_new(json_object_get(result, "not_known"),
			      json_pack("{s:s,s:s,s:o,s:b,s:b}", "kind", "other-disk", "text", what,
					"why", json_sanitized(why), "recordable", 0, "present", 1));
}

static void other_disk_unknown(json_t *result, json_t *why)
{
	disk_unknown(result, "disks that are not virtio", why);
}

static void outside_disk_add(json_t *result, const json_t *vm)
{
	const char *disk = disks_outside_of(vm);

	if (disk)
		disk_unknown(result, "disks that QEMU does not serve",
			     json_sprintf("requests of %s cannot be seen: see what its server "
					  "counts, and iostat in the guest",
					  disk));
}

/* QEMU counts a request when it ends: of a disk of which none did, one may hang. */
static void counted_disks_add(json_t *result, const json_t *disks)
{
	const json_t *disk;
	char who[WHO_BYTES];
	size_t i;

	json_array_foreach (json_object_get(disks, "list"), i, disk)
		if (!json_is_true(json_object_get(disk, "virtio")) && !disk_ended(disk))
			other_disk_unknown(
				result,
				json_sprintf("no request of %s ended meanwhile, and one that does "
					     "not end cannot be seen%s",
					     disk_print(disk, who, sizeof(who)),
					     json_object_size(json_object_get(disk, "limits"))
						     ? "; QEMU throttles it"
						     : ""));
	if (number(disks, "left_out"))
		other_disk_unknown(result,
				   json_sprintf("%llu more than can be recorded",
						(unsigned long long)number(disks, "left_out")));
}

/* A disk that is there and cannot be seen may be what the guest waits for: the VM is not called healthy. */
static void other_disks_add(json_t *result, const json_t *sections)
{
	const json_t *info = diagnosis_info(sections), *vm, *disks = json_object_get(info, "disks");
	size_t i;

	json_array_foreach (json_object_get(info, "vms"), i, vm) {
		const char *disk = disks_other_of(vm), *error = text_of(disks, "error");

		outside_disk_add(result, vm);
		if (!disk)
			continue;
		if (json_object_get(disks, "list") && number(disks, "pid") == number(vm, "pid")) {
			counted_disks_add(result, disks);
			continue;
		}
		other_disk_unknown(
			result,
			json_sprintf("requests of %s cannot be seen%s%s%s%s: see info block -v and "
				     "info blockstats of QEMU's monitor",
				     disk,
				     disks_throttled_by_option(vm)
					     ? ", and QEMU's command line throttles I/O"
					     : "",
				     *error ? " (" : "", error, *error ? ")" : ""));
	}
}

void diagnosis_kinds_add(json_t *result, const struct diagnosis_query *q)
{
	const json_t *causes_found = json_object_get(result, "causes");
	double share;

	json_object_set_new(result, "ruled_out", json_array());
	json_object_set_new(result, "not_known", json_array());
	json_object_set_new(result, "not_recorded", json_array());
	for (const struct cause_kind *k = cause_kinds; k->id; k++)
		if (!(k->source == SOURCE_EXITS && has_no_exits(diagnosis_info(q->sections))) &&
		    !kind_share(causes_found, k->id, &share))
			kind_add(result, q, k, share);
	still_add(result, q->sections);
	other_disks_add(result, q->sections);
}

bool diagnosis_kinds_known(const json_t *result)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(result, "not_known"), i, one)
		if (!json_is_false(json_object_get(one, "recordable")) ||
		    json_is_true(json_object_get(one, "present")))
			return false;
	return !json_array_size(json_object_get(result, "not_recorded"));
}
