// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace report: one page of all reports. Each section is the JSON of a command, run here with this command's
 * inputs; what the page shows is therefore what the command prints.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/section.h"
#include "commands/common/symbol_options.h"
#include "commands/report_blame.h"
#include "commands/report_closeups.h"
#include "output/report/findings.h"
#include "output/report/fit.h"
#include "output/report/page.h"
#include "output/report.h"

static const struct option_row *const options[] = {input_rows, output_file_options, symbols_options,
						   NULL};

struct section {
	const char *key;
	const char *words[SECTION_WORDS_MAX + 1]; /* none: made_sections_add() makes it */
	size_t bytes_max; /* of its JSON in the page; their sum and the script stay below 5 MB */

	/* Only of a recording with one of these events (comma-separated; NULL: any), or with a guest's trace. */
	const char *events, *record; /* how to record them */
	bool guests;
};

#define QUEUES .events = "virtqueue_pop,virtqueue_fill", .record = "hostrace record --for virtio"
#define SCHED .events = "sched_switch", .record = "hostrace record --for sched"

/* In the order in which they are made, "info" first: the page has its own. Each reads the recording once. */
static const struct section sections[] = {
	{"info", {"info"}, 200 << 10},
	{"exits", {"exits", "--limit", "1000"}, 200 << 10},
	{"exits_by_vcpu", {"exits", "--by", "=vcpu", "--limit", "1000"}, 100 << 10},
	{"heatmap", {"heatmap", "exit-latency"}, 300 << 10},
	{"blame", .bytes_max = 600 << 10},
	{"blame_by_vcpu", .bytes_max = 200 << 10},
	{"virtio", {"virtio"}, 300 << 10, QUEUES},
	{"queue_heatmap", {"heatmap", "virtqueue"}, 200 << 10, QUEUES},
	{"leaks", {"leaks", "--limit", "1000"}, 100 << 10, QUEUES},
	{"requests", {"requests", "--sort", "total", "--limit", "200"}, 100 << 10, QUEUES,
	 .guests = true},
	{"stages", {"requests", "--waterfall", "--limit", "20"}, 300 << 10, QUEUES},
	{"ports", {"ports", "--limit", "1000"}, 100 << 10},
	{"mmio", {"mmio", "--limit", "1000"}, 100 << 10},
	{"msrs", {"msrs", "--limit", "1000"}, 100 << 10},
	{"sched", {"sched", "--limit", "500"}, 200 << 10, SCHED},
	{"interrupts",
	 {"interrupts", "--limit", "500"},
	 200 << 10,
	 .events = "kvm_apic_accept_irq,kvm:kvm_apic_accept_irq,kvm_inj_virq,kvm_eoi,kvm:kvm_eoi",
	 .record = "hostrace record --for interrupts"},
	{"profile_guest_code", {"profile", "--host", "--max-levels", "100"}, 300 << 10},
	{"profile",
	 {"profile", "--max-levels", "100"},
	 300 << 10,
	 .events = "",
	 .record = "hostrace record --guest",
	 .guests = true},
	{"off_cpu", {"prof-wait", "--max-levels", "100"}, 300 << 10, SCHED, .guests = true},
	{"timeline", {"timeline", "-f", "page"}, 400 << 10},
	{"sync", {"sync"}, 100 << 10},
};

enum { NR_SECTIONS = sizeof(sections) / sizeof(*sections) };

/* ---- what the recording has ---- */

static const json_t *info_of(const json_t *all)
{
	const json_t *info = json_object_get(json_object_get(all, "info"), "data");

	return json_object_get(info, "result");
}

static bool has_event(const json_t *all, const char *names)
{
	const json_t *events = json_object_get(info_of(all), "events");

	for (const char *p = names; *p; p += strcspn(p, ","), p += *p == ',') {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if (json_object_get(events, name))
			return true;
	}
	return false;
}

/* Is it a guest's trace, or one with a guest's trace? */
static bool has_guest(const json_t *all)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	bool quiet = common.quiet, found;

	common.quiet = true;
	found = !has_event(all, "kvm_exit,kvm_userspace_exit") ||
		(!input_make(true, &in) && in->nr_guests);
	common.quiet = quiet;
	return found;
}

static bool has_data(const struct section *s, const json_t *all)
{
	return !s->events || has_event(all, s->events) || (s->guests && has_guest(all));
}

static json_t *why_missing(const struct section *s)
{
	int len = (int)strcspn(s->events, ",");

	return json_sprintf("the recording has no %.*s%s; to record it: %s", len, s->events,
			    len ? "" : "trace of the guest", s->record);
}

/* ---- the sections ---- */

/* "hostrace exits --limit 1000". */
static json_t *command_text(const char *const *words)
{
	char text[256] = "hostrace";

	for (const char *const *w = words; *w; w++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, " %s", *w);
	}
	return json_string(text);
}

/*
 * A report that the recording has nothing for, or that its options are not for, is a section with an error: the page
 * says so there. What fails because of the machine (memory, a disk) makes the whole page fail.
 */
static bool belongs_to_page(int err)
{
	return error_is_usage() || err == -ENODATA || err == -EINVAL || err == -ENOENT ||
	       err == -EOPNOTSUPP;
}

static int section_add(const struct section *s, json_t *all)
{
	json_t *data = NULL, *one, *why = NULL;
	int err = 0;

	if (!has_data(s, all))
		why = why_missing(s);
	else if ((err = section_run(s->words, &data)))
		why = json_text(error_text());
	if (err && !belongs_to_page(err)) {
		json_decref(why);
		return err;
	}
	one = json_pack("{s:o,s:o}", "command", command_text(s->words), data ? "data" : "error",
			data ? data : why);
	return json_object_set_new(all, s->key, one) ? fail(-ENOMEM, "out of memory") : 0;
}

/* ---- parts that are made from others ---- */

enum { MOMENTS_BYTES = 1 << 20, CLOSEUPS_BYTES = 300 << 10 };

static const json_t *data_of(const json_t *all, const char *key)
{
	return json_object_get(json_object_get(all, key), "data");
}

/* Steals `data`, which is NULL if there is none. 0 or `err` if it is not for the page. */
static int made_add(json_t *all, const char *key, const char *command, int err, json_t *data,
		    size_t max)
{
	json_t *one = json_pack("{s:s}", "command", command);

	if (err)
		json_object_set_new(one, "error", json_text(error_text()));
	if (data && max)
		section_fit(data, max, one);
	if (data)
		json_object_set_new(one, "data", data);
	if (err || data)
		json_object_set(all, key, one);
	json_decref(one);
	return err && !belongs_to_page(err) ? err : 0;
}

/* Rows by vCPU must not add up those of several VMs. */
static bool several_vms(const json_t *all)
{
	return json_array_size(json_object_get(info_of(all), "vms")) > 1;
}

static int blame_sections_add(json_t *all)
{
	const char *by = several_vms(all) ? "hostrace blame --by vm,vcpu --limit 1"
					  : "hostrace blame --by vcpu --limit 1";
	struct report_blame made;
	int err = report_blame_make(data_of(all, "heatmap"), several_vms(all), MOMENTS_BYTES,
				    &made);
	int fatal = made_add(all, "blame", "hostrace blame --limit 40", err, made.blame, 0);

	fatal = made_add(all, "blame_by_vcpu", by, err, made.by_vcpu, 0) ?: fatal;
	return made_add(all, "moments", "hostrace blame", err, made.moments, 0) ?: fatal;
}

static int made_sections_add(json_t *all)
{
	json_t *data = NULL;
	int err = blame_sections_add(all);

	if (err)
		return err;
	err = report_closeups(data_of(all, "blame"), &data);
	return made_add(all, "closeups", "hostrace timeline --since TIME --until TIME", err, data,
			CLOSEUPS_BYTES);
}

/* A file that cannot be read at all, or of which no duration is known, is an error and not a page. */
static int info_check(const json_t *all)
{
	const json_t *result = info_of(all);
	const char *error =
		json_string_value(json_object_get(json_object_get(all, "info"), "error"));

	if (error)
		return fail(-EINVAL, "%s", error);
	if (json_object_get(result, "span_ticks"))
		return fail_hint(fail(-EINVAL, "timestamps are ticks of an unknown frequency"),
				 "give it with --tsc-khz KHZ");
	return 0;
}

static int sections_make(json_t *all)
{
	int err = 0;

	for (unsigned int i = 0; i < NR_SECTIONS && !err; i++) {
		if (!sections[i].words[0])
			continue;
		err = section_add(&sections[i], all);
		if (!err && !i)
			err = info_check(all);
	}
	return err ? err : made_sections_add(all);
}

/* After the findings, which are of all rows. */
static void sections_fit(json_t *all)
{
	for (unsigned int i = 0; i < NR_SECTIONS; i++) {
		json_t *one = json_object_get(all, sections[i].key),
		       *data = json_object_get(one, "data");

		if (data)
			section_fit(data, sections[i].bytes_max, one);
	}
}

static int write_page(json_t *all, const json_t *left_out, const struct output *out)
{
	json_auto_t *page = json_pack("{s:s,s:o,s:o,s:o,s:O}", "version", HOSTRACE_VERSION, "title",
				      page_title_make(all), "findings", findings_make(all), "notes",
				      page_notes_make(all), "sections", all);

	if (!page || json_array_extend(json_object_get(page, "notes"), (json_t *)left_out))
		return fail(-ENOMEM, "out of memory");
	sections_fit(all);
	return !strcmp(out->format, "json") ? page_write_json(page, out->file)
					    : page_write(page, out->file);
}

/* Did an input lose events? `info` has read all. */
static bool has_lost(const json_t *all)
{
	const json_t *info = json_object_get(json_object_get(all, "info"), "data"), *input;
	size_t i;

	json_array_foreach (json_object_get(info, "inputs"), i, input)
		if (json_integer_value(json_object_get(input, "lost")))
			return true;
	return false;
}

static bool wants_none(const char *event, void *arg)
{
	(void)event, (void)arg;
	return false;
}

/*
 * A companion that cannot be merged is tried once, and not by each section. *ret: the notes about it. What else is
 * wrong with the inputs, the sections say; but --clock needs a guest's trace.
 */
static int companions_try(json_t **ret)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	bool quiet = common.quiet;
	int err;

	common.quiet = true; /* of what is merged */
	err = input_make(true, &in);
	common.quiet = quiet;
	*ret = json_array();
	if (err)
		return input_given.clock ? err : 0;
	if (in->nr_companions)
		input_set_open(in, wants_none, NULL);
	for (unsigned int i = 0; i < in->nr_left_out; i++)
		caveat_add(*ret, "guest trace %s is left out", in->left_out[i]);
	if (in->nr_left_out && !in->nr_guests)
		input_given.no_guest = true;
	return 0;
}

static int make(const struct output *out, bool *lost)
{
	json_auto_t *all = json_object(), *left_out = NULL;
	int err = command_confine(output_file());

	if (!err)
		err = companions_try(&left_out);
	if (!err)
		err = sections_make(all);
	*lost = has_lost(all) || json_array_size(left_out);
	return err ? err : write_page(all, left_out, out);
}

static int run(int argc, char **argv, char **rest)
{
	struct output out;

	(void)rest;
	output_default("html");
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (!input_given.files.nr)
		input_add_file(INPUT_DEFAULT);
	if (!output_file() && !output_is("json") && isatty(STDOUT_FILENO))
		return command_usage("missing file; name the page with -o FILE.html");
	if (output_open("html json", &out))
		return command_failed();
	bool lost = false;
	int err = make(&out, &lost);

	if (err)
		output_cancel(&out);
	else
		err = output_close(&out);
	if (err)
		return command_failed();
	return input_given.strict && lost ? EXIT_FOUND : EXIT_FINE;
}

const struct command report_command = {
	.name = "report",
	.args = "[FILE...]",
	.summary = "Write one HTML page of all reports, to look at and to send.",
	.group = "Report",
	.details = "The page is one file without links to others: it needs no network and stays "
		   "below\n"
		   "5 MB, also for long recordings. -f json writes its data.",
	.examples = "  hostrace report -i vm.hrt -o report.html\n"
		    "  hostrace report vm.hrt --since 1s --period 5s -o moment.html",
	.options = options,
	.unused = "limit wide",
	.run = run,
};
