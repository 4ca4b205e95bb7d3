// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sentences of the summary. Each section of the page is asked for candidates, with their shares of the recording's
 * time; the largest of each kind become sentences.
 */
#include "output/report/findings.h"

#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "base/units.h"
#include "event/exit_reason.h"
#include "output/event_notes.h"
#include "output/report/page.h"
#include "output/report.h"
#include "output/table.h"

enum {
	/* Of less than this part and this time shares would be chance; what lacks less than this part is all. */
	KNOWN_PART = 10,
	KNOWN_MIN_NS = 100000000,
};

static uint64_t info_span(const json_t *sections)
{
	return number(json_object_get(data_of(sections, "info"), "result"), "span_ns");
}

/* ---- what each section says ---- */

static void broken_add(struct found *f, const json_t *row)
{
	char who[WHO_BYTES];

	finding_add(f, "broken-device", "device-broken", "leaks", 2,
		    json_sprintf(
			    "The device of %s stopped itself after an error, with requests that it "
			    "does not return.",
			    queue_print(row, who, sizeof(who))));
}

static void from_leaks(struct found *f)
{
	const json_t *row, *oldest;
	uint64_t leaked = requests_lost(f, &oldest);
	char who[WHO_BYTES], age[16];
	size_t i;

	json_array_foreach (rows_of(f, "leaks"), i, row)
		if (!strcmp(text_of(row, "verdict"), "broken device"))
			broken_add(f, row);
	if (!oldest)
		return;
	/* Before every share of the time: they were never returned. */
	finding_add(f, "leak",
		    is_throttled(f, text_of(oldest, "device")) ? "disk-throttled" : "request-lost",
		    "leaks", 1 + (double)leaked,
		    json_sprintf("%llu request%s taken by a device and never returned; the oldest, "
				 "in %s%s%s, is "
				 "out for %s at the end.",
				 (unsigned long long)leaked, leaked == 1 ? " was" : "s were",
				 queue_print(oldest, who, sizeof(who)),
				 *text_of(oldest, "vm") ? " of " : "", text_of(oldest, "vm"),
				 duration_print(number(oldest, "age_ns"), age, sizeof(age))));
}

struct cause_words {
	const char *cause, *did, *id; /* id: NULL: group_cause() has it */
	bool is_steal;		      /* sched has it, with more than the exits */
	bool by_vmm;		      /* followed by the VMM's name */
};

static const struct cause_words cause_words[] = {
	{"kernel", "had exits handled by KVM", NULL},
	{"fault", "waited for page faults to be resolved", "page-faults"},
	{"device", "had exits handled by", NULL, .by_vmm = true},
	{"global-mutex", "waited for QEMU's global mutex", "qemu-mutex"},
	{"handover", "waited for the thread to which QEMU's global mutex was handed over",
	 "qemu-mutex"},
	{"lock", "waited for a lock", "vmm-lock"},
	{"preempted", "was preempted during exits", "cpu-wait", .is_steal = true},
	{"runqueue", "was in the run queue during exits", "cpu-wait", .is_steal = true},
	{"syscall", "slept in system calls of", "vmm-syscall", .by_vmm = true},
	{"asleep", "slept in exits handled by", "vmm-asleep", .by_vmm = true}, /* of counters */
	{"unknown", "had exits of which it is not known what they went into", "exits-unknown"},
	{"stopped", "was stopped by a signal or a tracer", "vmm-stopped"},
	{"inject", "waited between an interrupt's injection and the entry", "interrupt-delay"},
	{"halt-poll", "was halted, its CPU busy with halt polling (kvm.halt_poll_ns),",
	 "halt-polling"},
};

/* "lock 1 web": the key of a vCPU's cause in what largest_index() makes. */
static const char *cause_key(const json_t *of, const char *cause, char *buf, size_t size)
{
	snprintf(buf, size, "%s %" JSON_INTEGER_FORMAT " %s", cause,
		 json_integer_value(json_object_get(of, "vcpu")), text_of(of, "vm"));
	return buf;
}

/* What each vCPU lost most of each cause's time to. Causes are sorted. */
static json_t *largest_index(const json_t *causes)
{
	json_t *index = json_object(), *one;
	char key[WHO_BYTES];
	size_t i;

	json_array_foreach (causes, i, one)
		if (!json_object_get(index,
				     cause_key(one, text_of(one, "cause"), key, sizeof(key))))
			json_object_set(index, key, one);
	return index;
}

/* "; most of it: port 0x70 (RTC), 1.2s"; "; the VM's most expensive exits: MSR_WRITE"; "" if unknown. */
static const char *most_print(const struct found *f, const struct cause_words *w,
			      const json_t *vcpu, const json_t *one, char *buf, size_t size)
{
	const char *what = text_of(one, "what"), *reason = NULL;
	char time[16];

	*buf = '\0';
	if (*what)
		snprintf(buf, size, "; most of it: %s, %s", what,
			 duration_print(number(one, "time_ns"), time, sizeof(time)));
	else if (!w->id && !w->by_vmm && (reason = kernel_reason(f, vcpu)))
		snprintf(buf, size, "; most of %s are for %s",
			 exits_are_apart(f, vcpu) ? "these" : "the VM's", reason);
	return buf;
}

static const char *group_cause(const struct found *f, const struct cause_words *w,
			       const json_t *vcpu, const json_t *one)
{
	if (w->id)
		return w->id;
	return w->by_vmm ? device_cause(text_of(one, "what")) : kernel_cause(f, vcpu);
}

/* "; the host split 120 huge pages meanwhile": whoever they belonged to. */
static void huge_split_print(const struct found *f, char *buf, size_t size)
{
	double nr = limit_count(f, json_object_get(limits_of(f), "host"), "huge_split");

	if (nr >= 1)
		snprintf(buf, size, "; the host split %.0f huge pages meanwhile", nr);
}

/* In buf what is known from outside the recording's events; returns the cause. */
static const char *why_memory(const struct found *f, const struct cause_words *w, const char *id,
			      const char *vm, char *buf, size_t size)
{
	if (!strcmp(w->cause, "lock"))
		return migration_print(f, vm, MIGRATION_THROTTLES, buf, size) ? "migration" : id;
	if (!strcmp(w->cause, "fault"))
		return migration_print(f, vm, MIGRATION_FETCHES, buf, size)
			       ? "migration"
			       : memory_cause(f, vm, buf, size);
	if (strcmp(id, "exits-memory") != 0)
		return id;
	if (migration_print(f, vm, MIGRATION_LOGS, buf, size))
		return "migration";
	if (balloon_print(f, vm, buf, size))
		return "balloon-thrash";
	huge_split_print(f, buf, size);
	return id;
}

/* What a vCPU did for so long. Why pages of its memory were not there is known from outside the recording's events. */
static void words_add(struct found *f, const struct cause_words *w, const char *id,
		      const char *section, const json_t *vcpu, uint64_t ns, const char *most)
{
	char who[WHO_BYTES], share[SHARE_BYTES], memory[WHO_BYTES] = "";

	if (!finding_counts(f, share_of(f, ns)))
		return;
	id = why_memory(f, w, id, text_of(vcpu, "vm"), memory, sizeof(memory));
	finding_add(f, w->cause, id, section, share_of(f, ns),
		    json_sprintf("%s %s%s%s for %s%s%s.", vcpu_print(vcpu, who, sizeof(who)),
				 w->did, w->by_vmm ? " " : "", w->by_vmm ? f->vmm : "",
				 share_print(f, ns, share, sizeof(share)), most, memory));
}

static bool sleeps_while_stopped(const char *cause)
{
	return !strcmp(cause, "lock") || !strcmp(cause, "unknown") || !strcmp(cause, "asleep");
}

static void from_group(struct found *f, const json_t *largest, const json_t *group, bool has_sched)
{
	const json_t *of = json_object_get(group, "causes");
	char who[WHO_BYTES], most[WHO_BYTES];

	for (size_t i = 0; i < sizeof(cause_words) / sizeof(*cause_words); i++) {
		const struct cause_words *w = &cause_words[i];
		uint64_t ns = number(of, w->cause);
		const json_t *one;

		if ((w->is_steal && has_sched) || !finding_counts(f, share_of(f, ns)))
			continue;
		one = json_object_get(largest, cause_key(group, w->cause, who, sizeof(who)));
		if (!w->id && !w->by_vmm && ns > kernel_most_ns(f, group))
			ns = kernel_most_ns(f, group);
		if (sleeps_while_stopped(w->cause)) {
			uint64_t stopped = vm_stopped_ns(f, text_of(group, "vm"));

			ns -= stopped < ns ? stopped : ns;
		}
		words_add(f, w, group_cause(f, w, group, one), "blame", group, ns,
			  most_print(f, w, group, one, most, sizeof(most)));
	}
}

/* True: the exits' time is divided into causes. */
static bool from_blame(struct found *f, bool has_sched)
{
	const json_t *data = data_of(f->sections, "blame_by_vcpu"),
		     *groups = json_object_get(data, "groups"), *group;
	json_t *largest = largest_index(json_object_get(data, "causes"));
	size_t i;

	json_array_foreach (groups, i, group)
		from_group(f, largest, group, has_sched);
	json_decref(largest);
	return json_array_size(groups);
}

static const struct cause_words *words_of(const char *cause)
{
	return array_find(cause_words, sizeof(cause_words) / sizeof(*cause_words), i,
			  !strcmp(cause_words[i].cause, cause));
}

/* {" 1 web": group}: of each vCPU what blame has of it, by its cause_key() without a cause. */
static json_t *blamed_index(const struct found *f)
{
	const json_t *groups = json_object_get(data_of(f->sections, "blame_by_vcpu"), "groups");
	json_t *index = json_object(), *group;
	char key[WHO_BYTES];
	size_t i;

	json_array_foreach (groups, i, group)
		json_object_set(index, cause_key(group, "", key, sizeof(key)), group);
	return index;
}

/*
 * Sleep of vCPUs' threads as the scheduler has it, where exits do not have most of it: QEMU emulates the VM, or the
 * exit is not over at the end of the recording. On other futexes such a vCPU sleeps while its guest is halted, too.
 */
static void from_sleep(struct found *f, const json_t *blamed, const json_t *row)
{
	static const char *const uses[][2] = {{"mutex_ns", "global-mutex"},
					      {"syscall_ns", "syscall"},
					      {"fault_ns", "fault"},
					      {"stopped_ns", "stopped"}};
	char key[WHO_BYTES];
	const json_t *causes = json_object_get(
		json_object_get(blamed, cause_key(row, "", key, sizeof(key))), "causes");

	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		const struct cause_words *w = words_of(uses[i][1]);
		uint64_t ns = number(row, uses[i][0]);

		if (number(causes, w->cause) < ns - ns / 4)
			words_add(f, w, w->id, "sched", row, ns, "");
	}
}

/*
 * What it serves waits while the main loop sleeps in a system call that is not for events, as a command of the monitor
 * that writes to a file: kicks, interrupts, other commands. For most of the time, it explains what else stands still.
 * vCPUs that wait for the global mutex meanwhile say so themselves, or the look at the VM does.
 */
static void from_main_loop(struct found *f, const json_t *row)
{
	uint64_t ns = number(row, "syscall_ns");
	double share = share_of(f, ns), asleep = asleep_most(f, text_of(row, "vm"), false);
	bool is_most = share > 0.5 && asleep > 0.5;
	char of[SHARE_BYTES];

	if (finding_is_there(f, "qemu-mutex"))
		return;
	share = share < asleep ? share : asleep;
	finding_add(f, "main-loop", is_most ? "vmm-blocked" : "vmm-syscall", "sched",
		    is_most ? 2 * FINDING_FIRST : share,
		    json_sprintf("%s's main loop slept in system calls for %s; devices and "
				 "commands of the monitor that it serves wait for it.",
				 f->vmm, share_print(f, ns, of, sizeof(of))));
}

static void from_sched(struct found *f)
{
	json_t *blamed = blamed_index(f);
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "sched"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu"))
			from_sleep(f, blamed, row);
		else if (!strcmp(text_of(row, "kind"), "main-loop"))
			from_main_loop(f, row);
	json_decref(blamed);
}

/* The reason with the longest total: of one vCPU, if that is known. */
static const json_t *exits_longest(const struct found *f, bool apart)
{
	const json_t *row, *most = NULL;
	size_t i;

	json_array_foreach (rows_of(f, apart ? "exits_of_vcpus" : "exits"), i, row)
		if (!exit_reason_is_idle(text_of(row, "reason")) &&
		    number(row, "total_ns") > number(most, "total_ns"))
			most = row;
	return most;
}

static void from_exits(struct found *f, bool explained)
{
	bool apart = json_array_size(rows_of(f, "exits_of_vcpus"));
	const json_t *most = explained ? NULL : exits_longest(f, apart);
	char share[SHARE_BYTES], p50[16], p99[16], who[WHO_BYTES] = "";

	if (!most)
		return;
	if (apart)
		vcpu_print(most, who, sizeof(who));
	finding_add(
		f, "exits", reason_cause(f, text_of(most, "reason")), "exits",
		share_of(f, number(most, "total_ns")),
		json_sprintf(
			"Exits%s%s for %s took %s%s: %llu exits, median %s, 99th percentile %s.",
			apart ? " of " : "", who, text_of(most, "reason"),
			share_print(f, number(most, "total_ns"), share, sizeof(share)),
			apart ? "" : " of all vCPUs", (unsigned long long)number(most, "count"),
			duration_print(number(most, "p50_ns"), p50, sizeof(p50)),
			duration_print(number(most, "p99_ns"), p99, sizeof(p99))));
}

/* Counters without a histogram have the average only. */
static uint64_t middle_of(const json_t *row)
{
	uint64_t n = number(row, "count");

	if (json_is_integer(json_object_get(row, "p50_ns")))
		return number(row, "p50_ns");
	return n ? number(row, "total_ns") / n : 0;
}

/* As many as there are of the median: the sum may have others, which are idle. */
static uint64_t halts_ns(const json_t *row)
{
	return number(row, "count") * middle_of(row);
}

/* Of the vCPU that has most of them; NULL: they are only known of all. */
static const json_t *halts_most(const struct found *f, const char *reason)
{
	const json_t *row, *most = NULL;
	size_t i;

	json_array_foreach (rows_of(f, "exits_of_vcpus"), i, row)
		if (!strcmp(text_of(row, "reason"), reason) && middle_of(row) < EXIT_IDLE_MIN_NS &&
		    halts_ns(row) > halts_ns(most))
			most = row;
	return most;
}

static void halts_add(struct found *f, const json_t *row, size_t vcpus)
{
	const json_t *most = halts_most(f, text_of(row, "reason"));
	uint64_t ns = most ? halts_ns(most) : halts_ns(row) / (vcpus ? vcpus : 1);
	char p50[16], who[WHO_BYTES] = "vCPUs";

	row = most ? most : row;
	if (most)
		vcpu_print(most, who, sizeof(who));
	finding_add(f, "halt-storm", "halts-not-idle", "exits", share_of(f, ns),
		    json_sprintf("%s halted %.0f times a second (%s), half of these for at most "
				 "%s: a vCPU that halts so briefly is busy, not idle; something is "
				 "pending at each halt, as a page of an async page fault, or halt "
				 "polling finds it.",
				 who, (double)number(row, "count") * 1e9 / (double)f->span_ns,
				 text_of(row, "reason"),
				 duration_print(middle_of(row), p50, sizeof(p50))));
}

/* Halts that are too short for a vCPU to sleep, and many: at least 10,000 a second, of all vCPUs. */
static void from_halts(struct found *f)
{
	size_t vcpus = json_array_size(rows_of(f, "exits_by_vcpu")), i;
	const json_t *row;

	json_array_foreach (rows_of(f, "exits"), i, row) {
		uint64_t n = number(row, "count");
		double rate = f->span_ns ? (double)n * 1e9 / (double)f->span_ns : 0;

		if (exit_reason_is_idle(text_of(row, "reason")) && rate >= EXIT_HALT_STORM &&
		    (middle_of(row) < EXIT_IDLE_MIN_NS || halts_most(f, text_of(row, "reason"))))
			halts_add(f, row, vcpus);
	}
}

/* ", at most 1.2s at a time (paused)"; counters have the sum only. */
static const char *stops_print(const struct found *f, const json_t *longest, char *buf, size_t size)
{
	char time[16];

	if (f->is_interval)
		snprintf(buf, size,
			 ": no vCPU may run; QEMU's monitor has the reason (info status)");
	else
		snprintf(buf, size, ", at most %s at a time (%s)",
			 duration_print(number(longest, "window_ns"), time, sizeof(time)),
			 text_of(longest, "state"));
	return buf;
}

/* Times for which a VM was stopped, in sum: of the one with the longest. Nothing is known of its vCPUs meanwhile. */
static void from_downtime(struct found *f)
{
	struct found whole = {
		.list = f->list, .span_ns = info_span(f->sections), .is_interval = f->is_interval};
	const json_t *row, *longest = NULL;
	char share[SHARE_BYTES], stops[96];
	uint64_t sum;
	size_t i;

	json_array_foreach (rows_of(f, "downtime"), i, row)
		if (number(row, "window_ns") > number(longest, "window_ns"))
			longest = row;
	if (!longest)
		return;
	sum = vm_stopped_ns(f, text_of(longest, "vm"));
	finding_add(&whole, "stopped", "vm-stopped", "downtime", share_of(&whole, sum),
		    json_sprintf("%s was stopped for %s%s.",
				 *text_of(longest, "vm") ? text_of(longest, "vm") : "The VM",
				 share_print(&whole, sum, share, sizeof(share)),
				 stops_print(f, longest, stops, sizeof(stops))));
}

/* ---- what events alone say ---- */

/* As a sentence with its full stop. */
static json_t *note_print(const struct event_note *note, unsigned long long n)
{
	json_t *text = json_sprintf(note->sentence, n), *sentence;

	sentence = json_sprintf("%s.", json_string_value(text));
	json_decref(text);
	return sentence;
}

/* Events that have no share of the time, but that say why exits happen. After all shares. */
static void from_events(struct found *f)
{
	const json_t *info = json_object_get(data_of(f->sections, "info"), "result"),
		     *events = json_object_get(info, "events");

	for (const struct event_note *note = event_notes; note->event; note++) {
		unsigned long long n = number(events, note->event);

		if (n && note->where & NOTE_SUMMARY && json_array_size(f->list) < CANDIDATES_MAX)
			json_array_append_new(f->list, json_pack("{s:s,s:s,s:s,s:f,s:o}", "kind",
								 note->event, "cause", "event",
								 "section", "info", "share", 0.0,
								 "text", note_print(note, n)));
	}
}

/* hostrace records VMs of any VMM. One that the recording does not name is QEMU, or was recorded by another tool. */
static const char *vmm_name(const json_t *sections)
{
	const json_t *vm, *info = json_object_get(data_of(sections, "info"), "result");
	size_t i;

	json_array_foreach (json_object_get(info, "vms"), i, vm)
		if (*text_of(vm, "exe") && !strstr(text_of(vm, "exe"), "qemu"))
			return "the VMM";
	return "QEMU";
}

uint64_t findings_span(const json_t *sections)
{
	uint64_t span_ns = info_span(sections), known = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "sched"), "rows"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu") && number(row, "time_ns") > known)
			known = number(row, "time_ns");
	if (known >= span_ns - span_ns / KNOWN_PART)
		return span_ns;
	return known >= span_ns / KNOWN_PART || known >= KNOWN_MIN_NS ? known : span_ns;
}

json_t *findings_make(const json_t *sections)
{
	struct found f = {.list = json_array(), .sections = sections, .vmm = vmm_name(sections)};

	f.span_ns = findings_span(sections);
	f.is_part = f.span_ns < info_span(sections);
	f.is_interval = json_is_true(
		json_object_get(json_object_get(data_of(sections, "info"), "result"), "interval"));
	findings_limits_index(&f);
	findings_rows_index(&f);
	findings_stuck(&f);
	from_leaks(&f);

	bool has_sched = findings_cpu(&f), explained = from_blame(&f, has_sched);

	from_sched(&f);
	from_exits(&f, explained);
	from_halts(&f);
	findings_queues(&f);
	findings_disks(&f);
	findings_devices_limit(&f);
	from_downtime(&f);
	findings_host(&f);
	findings_stopped_join(&f);
	findings_migration(&f);
	from_events(&f);

	json_t *result = findings_sorted(f.list);

	json_decref(f.list);
	findings_limits_free(&f);
	findings_rows_free(&f);
	return result;
}
