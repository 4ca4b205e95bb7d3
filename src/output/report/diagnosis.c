// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From findings to a diagnosis. All shares have one unit: the time of the vCPU that lost most, as a part of the
 * recording. What costs less than the threshold is no cause; a kind of causes without one is ruled out if the recording
 * has the events in which it would have been seen, and named as not recorded if it has not.
 */
#include "output/report/diagnosis.h"

#include <string.h>

#include "base/version.h"
#include "event/exit_reason.h"
#include "output/report/causes.h"
#include "output/report/diagnosis_kinds.h"
#include "output/report/findings.h"
#include "output/report/page.h"

enum { SHORT_NS = 100000000 }; /* shares of less time may be chance */

/* ---- causes ---- */

/* "hostrace sched -i web.hrt": without the options that only make the page small. */
static json_t *command_make(const struct diagnosis_query *q, const char *section)
{
	const char *command = text_of(json_object_get(q->sections, section), "command"),
		   *end = strstr(command, " --limit");
	bool reads = strncmp(command, "hostrace stuck", strlen("hostrace stuck")) != 0;

	return json_sprintf("%.*s%s%s%s%s", end ? (int)(end - command) : (int)strlen(command),
			    command, reads && *q->files ? " " : "", reads ? q->files : "",
			    reads && *q->filters ? " " : "", reads ? q->filters : "");
}

/* It is said, and is not wrong. */
static bool is_note(const json_t *finding)
{
	return json_is_true(json_object_get(finding, "note"));
}

/*
 * An event has no share of the time, nor has what stands still, unless that was measured. A VM that is paused was so
 * all the time, unless it ran.
 */
static bool has_share(const json_t *sections, const struct cause *c, const json_t *finding)
{
	double share = json_number_value(json_object_get(finding, "share"));

	if (!strcmp(c->id, "event") || is_note(finding))
		return false;
	if (!json_is_true(json_object_get(finding, "stands")) || share < 1)
		return true;
	return strcmp(c->kind, "lost") != 0 &&
	       (strcmp(c->id, "vm-stopped") != 0 || !findings_guest_ran(sections));
}

static json_t *cause_make(const struct diagnosis_query *q, const json_t *finding, uint64_t span_ns)
{
	const struct cause *c = cause_find(text_of(finding, "cause"));
	double share = json_number_value(json_object_get(finding, "share"));
	bool has = has_share(q->sections, c, finding),
	     stands = json_is_true(json_object_get(finding, "stands")),
	     wrong = c->cure && !is_note(finding) && (!has || stands || share >= q->threshold);
	json_t *o =
		json_pack("{s:s,s:b,s:o,s:o,s:O,s:o,s:s*}", "id", c->id, "wrong", wrong, "share",
			  has ? json_real(share) : json_null(), "lost_ns",
			  has ? json_integer((json_int_t)(share * (double)span_ns)) : json_null(),
			  "text", json_object_get(finding, "text"), "command",
			  command_make(q, text_of(finding, "section")), "cure", c->cure);

	if (number(finding, "more")) {
		json_object_set(o, "more", json_object_get(finding, "more"));
		json_object_set(o, "more_share", json_object_get(finding, "more_share"));
	}
	return o;
}

/* Those that are wrong first; otherwise in the order of the findings, the largest first. */
static json_t *causes_make(const struct diagnosis_query *q, uint64_t span_ns)
{
	json_t *findings = findings_make(q->sections), *list = json_array(), *rest = json_array(),
	       *one, *cause;
	size_t i;

	json_array_foreach (findings, i, one) {
		cause = cause_make(q, one, span_ns);
		json_array_append_new(diagnosis_cause_is_wrong(cause) ? list : rest, cause);
	}
	json_array_extend(list, rest);
	json_decref(rest);
	json_decref(findings);
	return list;
}

/* ---- what the guest did ---- */

static double idle_ns(const json_t *sections)
{
	const json_t *row;
	double sum = 0;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "exits"), "rows"), i, row)
		if (exit_reason_is_idle(text_of(row, "reason")))
			sum += (double)number(row, "total_ns");
	return sum;
}

/* Of all vCPUs' time ready to run; exits contain it, but for what preempts a vCPU within the guest. */
static double ready_ns(const json_t *sections)
{
	const json_t *row;
	double sum = 0;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "sched"), "rows"), i, row)
		if (!strcmp(text_of(row, "kind"), "vcpu"))
			sum += (double)number(row, "ready_ns");
	return sum;
}

static double blamed_ns(const json_t *sections, const char *cause)
{
	const json_t *group;
	double sum = 0;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "blame_by_vcpu"), "groups"), i, group)
		sum += (double)number(json_object_get(group, "causes"), cause);
	return sum;
}

/*
 * kvm_vcpu_wakeup says how long each halt was, whatever the exit is called: in SEV-ES, TDX, guests with Hyper-V's or
 * Xen's interface and on arm64 (PSCI), it is the one of a hypercall. Without it, only the exit's reason tells a halt.
 */
static double halted_ns(const json_t *sections, const json_t *events, double exits)
{
	double blamed = blamed_ns(sections, "halted") + blamed_ns(sections, "halt-poll"),
	       most = number(events, "kvm_vcpu_wakeup") ? exits : idle_ns(sections);

	return blamed <= 0 ? idle_ns(sections) : blamed > most ? most : blamed;
}

/* Where KVM reports no exits: what the vCPUs ran, but for the VMM, is the guest's, KVM's own part included. */
static json_t *guest_of_sched(const json_t *sections)
{
	const json_t *row;
	double run = 0, halted = 0, all = 0;
	size_t i;

	json_array_foreach (json_object_get(data_of(sections, "sched"), "rows"), i, row) {
		if (strcmp(text_of(row, "kind"), "vcpu") != 0)
			continue;
		run += (double)number(row, "run_ns");
		halted += (double)number(row, "halted_ns");
		all += (double)number(row, "time_ns");
	}
	run -= blamed_ns(sections, "device");
	return all > 0 ? json_pack("{s:f,s:f,s:b}", "in_guest", run > 0 ? run / all : 0, "halted",
				   halted / all, "with_kvm", true)
		       : json_null();
}

/* Of all vCPUs: in guest mode, as entries and exits have it, and halted. null: not recorded, or events were lost. */
static json_t *guest_make(const json_t *sections, uint64_t span_ns)
{
	const json_t *events = json_object_get(diagnosis_info(sections), "events"), *row,
		     *rows = json_object_get(data_of(sections, "exits_by_vcpu"), "rows");
	double all = (double)span_ns * (double)json_array_size(rows), exits = 0, halted, outside;
	size_t i;

	if (diagnosis_has_lost(sections))
		return json_null();
	if (!strcmp(diagnosis_still(sections), "halted") && span_ns)
		return json_pack("{s:f,s:f}", "in_guest", 0.0, "halted", 1.0);
	json_array_foreach (rows, i, row)
		exits += (double)number(row, "total_ns");
	if (diagnosis_unreported(sections))
		return guest_of_sched(sections);
	if (all <= 0 || exits > all || !number(events, "kvm_exit") || !number(events, "kvm_entry"))
		return json_null();
	outside = ready_ns(sections) - blamed_ns(sections, "preempted") -
		  blamed_ns(sections, "runqueue");
	halted = halted_ns(sections, events, exits);
	exits += outside > 0 && outside < all - exits ? outside : 0;
	return json_pack("{s:f,s:f}", "in_guest", (all - exits) / all, "halted", halted / all);
}

/* ---- all of it ---- */

static const char *verdict(const json_t *result)
{
	const json_t *first = json_array_get(json_object_get(result, "causes"), 0);

	if (diagnosis_cause_is_wrong(first))
		return "wrong";
	if (!json_array_size(json_object_get(result, "ruled_out")) ||
	    number(result, "known_ns") < SHORT_NS)
		return "unknown";
	return diagnosis_kinds_known(result) ? "healthy" : "nothing-found";
}

static json_t *head_make(const struct diagnosis_query *q)
{
	json_t *head = json_copy((json_t *)data_of(q->sections, "info")),
	       *caveats = page_notes_make(q->sections);

	if (!head)
		head = json_pack("{s:[],s:{}}", "inputs", "clock");
	json_object_set_new(
		head, "hostrace",
		json_pack("{s:s,s:s}", "version", HOSTRACE_VERSION, "command", "diagnose"));
	json_array_extend(caveats, (json_t *)q->notes);
	findings_stuck_since(q->sections, caveats, NULL);
	if (findings_span(q->sections) < SHORT_NS && data_of(q->sections, "info"))
		json_array_append_new(
			caveats,
			json_string("less than 100 ms are known: its shares may be chance"));
	json_object_set_new(head, "caveats", caveats);
	return head;
}

/* "web on host1, 5.00s (--vcpu 0)". */
static json_t *title_make(const struct diagnosis_query *q)
{
	json_t *whole = page_title_make(q->sections), *title;

	if (!*q->filters)
		return whole;
	title = json_sprintf("%s (%s)", json_string_value(whole), q->filters);
	json_decref(whole);
	return title;
}

json_t *diagnosis_make(const struct diagnosis_query *q)
{
	const json_t *info = diagnosis_info(q->sections);
	uint64_t known_ns = findings_span(q->sections);
	json_t *head = head_make(q),
	       *result = json_pack(
		       "{s:o,s:f,s:I,s:o,s:o}", "title", info ? title_make(q) : json_string(q->vm),
		       "threshold", q->threshold, "known_ns", (json_int_t)known_ns, "guest",
		       guest_make(q->sections, known_ns), "causes", causes_make(q, known_ns));

	diagnosis_kinds_add(result, q);
	json_object_set_new(result, "verdict", json_string(verdict(result)));
	json_object_set_new(head, "result", result);
	return head;
}

static const json_t *result_of(const json_t *diagnosis)
{
	return json_object_get(diagnosis, "result");
}

bool diagnosis_is_wrong(const json_t *diagnosis)
{
	return !strcmp(text_of(result_of(diagnosis), "verdict"), "wrong");
}

bool diagnosis_is_unknown(const json_t *diagnosis)
{
	return !strcmp(text_of(result_of(diagnosis), "verdict"), "unknown");
}

bool diagnosis_is_healthy(const json_t *diagnosis)
{
	return !strcmp(text_of(result_of(diagnosis), "verdict"), "healthy");
}

/* ---- text ---- */

static double percent_of(const json_t *o, const char *key)
{
	return 100 * json_number_value(json_object_get(o, key));
}

static const char *first_words(const json_t *result)
{
	const char *v = text_of(result, "verdict");

	if (!strcmp(v, "wrong"))
		return "something costs guest time.";
	if (!strcmp(v, "unknown"))
		return "not enough is known to say what costs guest time.";
	if (!strcmp(v, "nothing-found"))
		return "nothing was found in what is recorded, which cannot show all causes.";
	return json_array_size(json_object_get(result, "not_recorded")) ||
			       json_array_size(json_object_get(result, "not_known"))
		       ? "nothing of what is known costs much guest time."
		       : "nothing on the host costs much guest time.";
}

static bool has_kvm(const json_t *guest)
{
	return json_is_true(json_object_get(guest, "with_kvm"));
}

/* Where nothing was found: is it the guest that takes the time, or does it sleep? */
static const char *guest_words(const json_t *result, const json_t *guest)
{
	if (strcmp(text_of(result, "verdict"), "healthy") != 0)
		return "";
	if (percent_of(guest, "halted") >= 100)
		return ": the guest is idle";
	return percent_of(guest, "in_guest") > 50 && !has_kvm(guest) ? ": the guest itself is busy"
								     : "";
}

static void first_print(const json_t *result, FILE *f)
{
	const json_t *guest = json_object_get(result, "guest");

	fprintf(f, "%s: %s", text_of(result, "title"), first_words(result));
	if (json_is_object(guest))
		fprintf(f,
			" vCPUs ran guest code%s for %.1f %% of the time, and were halted for %.1f "
			"%%%s.",
			has_kvm(guest) ? " or KVM" : "", percent_of(guest, "in_guest"),
			percent_of(guest, "halted"), guest_words(result, guest));
	fputs("\n", f);
}

static void cause_print(const json_t *one, unsigned int number_of, FILE *f)
{
	const struct cause *c = cause_find(text_of(one, "id"));

	fprintf(f, "\n%u. %s", number_of, c->id);
	if (json_is_number(json_object_get(one, "share")))
		fprintf(f, ", %.1f %%", percent_of(one, "share"));
	fprintf(f, ": %s. %s\n", c->what, text_of(one, "text"));
	fprintf(f, "To see it: %s. What usually cures it: %s.\n", text_of(one, "command"), c->cure);
}

/* What is no fault, but takes time or says why exits happen. */
static void others_print(const json_t *result, FILE *f)
{
	double threshold = json_number_value(json_object_get(result, "threshold"));
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(result, "causes"), i, one) {
		const json_t *share = json_object_get(one, "share");

		if (!diagnosis_cause_is_wrong(one) &&
		    (json_is_null(share) || json_number_value(share) >= threshold))
			fprintf(f, "\nAlso: %s\n", text_of(one, "text"));
	}
}

/* Does one before it have the same analyzer? */
static bool is_named(const json_t *missing, size_t nr)
{
	const char *record = text_of(json_array_get(missing, nr), "record");
	const json_t *one;
	size_t i;

	json_array_foreach (missing, i, one)
		if (i < nr && !strcmp(text_of(one, "record"), record))
			return true;
	return false;
}

static void kinds_print(const json_t *result, FILE *f)
{
	const json_t *one, *out = json_object_get(result, "ruled_out"),
			   *doubts = json_object_get(result, "not_known"),
			   *missing = json_object_get(result, "not_recorded");
	size_t i;

	json_array_foreach (out, i, one) {
		fprintf(f, "%s%s", i ? ", " : "\nRuled out: ", text_of(one, "text"));
		if (json_is_number(json_object_get(one, "share")))
			fprintf(f, " (%.1f %%)", percent_of(one, "share"));
	}
	fputs(json_array_size(out) ? ".\n" : "", f);
	json_array_foreach (doubts, i, one)
		fprintf(f, "%s%s (%s)", i ? ", " : "\nNot known: ", text_of(one, "text"),
			text_of(one, "why"));
	fputs(json_array_size(doubts) ? ".\n" : "", f);
	json_array_foreach (missing, i, one)
		fprintf(f, "%s%s", i ? ", " : "\nNot recorded: ", text_of(one, "text"));
	if (json_array_size(missing))
		fputs(". To record it: hostrace record --for ", f);
	json_array_foreach (missing, i, one)
		if (!is_named(missing, i))
			fprintf(f, "%s%s", i ? "," : "", text_of(one, "record"));
	fputs(json_array_size(missing) ? "\n" : "", f);
}

void diagnosis_print(const json_t *diagnosis, bool notes, FILE *f)
{
	const json_t *result = result_of(diagnosis), *one;
	unsigned int number_of = 0;
	size_t i;

	first_print(result, f);
	json_array_foreach (json_object_get(result, "causes"), i, one)
		if (diagnosis_cause_is_wrong(one))
			cause_print(one, ++number_of, f);
	others_print(result, f);
	kinds_print(result, f);
	json_array_foreach (notes ? json_object_get(diagnosis, "caveats") : NULL, i, one)
		fprintf(f, "%s# %s\n", i ? "" : "\n", json_string_value(one));
}
