// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace diagnose: what costs a guest time, from the reports of the page's summary (output/report/diagnosis.h). */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/self_run.h"
#include "commands/common/stuck_run.h"
#include "commands/common/vm_options.h"
#include "output/report/causes.h"
#include "output/report/diagnosis.h"
#include "reports/page.h"

/*
 * A diagnosis of a running VM. A VM that hangs shows nothing in a recording, so `stuck` looks, too: `record` has it do
 * so at its start, and it does so again afterwards, when it sees what was there all the time, and what began meanwhile.
 * Both commands take their privileges, and give them up, as if they were typed.
 */

/*
 * Records what a diagnosis needs for so long into `path`, which has what `stuck` saw at the start. *ret_stuck: what it
 * saw at the end, or its error (output/stuck_kept.h), a new reference; NULL: it could not be started. 0 or -errno with
 * the error message set.
 */
static int diagnose_record(const char *name, uint64_t duration_ns, const char *path,
			   json_t **ret_stuck)
{
	char pid[16], duration[32];
	struct stuck_run stuck;
	struct vm vm;
	int status = vm_find_given(name, &vm);

	*ret_stuck = NULL;
	if (status)
		return status;
	snprintf(pid, sizeof(pid), "%d", (int)vm.pid);
	snprintf(duration, sizeof(duration), "%" PRIu64 "ns", duration_ns);
	status = self_run((char *[]){"record", "--vm", pid, "--for", "diagnose", "--duration",
				     duration, "-o", (char *)path, "-q", NULL}, NULL);
	if (!stuck_run_start(&stuck, vm.pid))
		*ret_stuck = stuck_run_end(&stuck, true);
	vm_free(&vm);
	if (status > 0)
		return fail(-EIO, "the recording failed; see its message above");
	return status;
}

static const char *threshold_option = "5%";
static uint64_t duration_ns = 10 * NS_PER_S;
static bool list;

/* clang-format off */
static const struct option_row diagnose_options[] = {
	{'d', "duration",  OPT_SPAN,     &duration_ns,      "T",        "record a running VM for this time (default 10s)"},
	{0,   "threshold", OPT_TEXT,     &threshold_option, "PERCENT",  "what costs a vCPU less of its time is no cause (default 5%)"},
	{0,   "causes",    OPT_FLAG,     &list,             NULL,       "list the causes that are known, and what usually cures them"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {
	diagnose_options, vm_user_options, vm_tcg_options, input_rows, output_file_options, NULL};

static void causes_print(FILE *f)
{
	for (const struct cause *c = causes; c->id; c++)
		if (c->cure)
			fprintf(f, "%s: %s. What usually cures it: %s.\n\n", c->id, c->what,
				c->cure);
}

static int causes_json(FILE *f)
{
	json_auto_t *rows = json_array(), *all = NULL;
	int err;

	for (const struct cause *c = causes; c->id; c++)
		if (c->cure)
			json_array_append_new(rows, json_pack("{s:s,s:s,s:s}", "id", c->id, "what",
							      c->what, "cure", c->cure));
	all = json_pack("{s:{s:s,s:s},s:[],s:{},s:[],s:O}", "hostrace", "version", HOSTRACE_VERSION,
			"command", "diagnose", "inputs", "clock", "caveats", "rows", rows);
	err = json_text_put(all, f, JSON_INDENT(1));
	putc('\n', f);
	return err;
}

/* --causes: reads no recording. */
static int causes_list(int argc, char **argv)
{
	struct output out;
	int err = 0;

	if (argc)
		return command_usage("unexpected argument '%s' after --causes", argv[0]);
	if (options_used_check("causes format output", "together with --causes") ||
	    output_open("text json", &out))
		return command_failed();
	if (!strcmp(out.format, "json"))
		err = causes_json(out.file);
	else
		causes_print(out.file);
	return output_end(err, &out, false);
}

static int sections_get(const json_t *notes, json_t **ret, bool *lost)
{
	_cleanup_input_set_ struct input_set *plain = NULL, *merged = NULL;
	struct page_query q = {.input = &input_given, .notes = notes, .costs = true};
	int err = command_confine(output_file());

	if (!err)
		err = input_set_new(&input_given, &plain);
	if (!err)
		err = input_set_new(&input_given, &merged);
	q.plain = plain;
	q.merged = merged;
	return err ? err : page_make(&q, ret, lost);
}

/* A running VM: NULL if a recording is given. */
static const char *running_vm(void)
{
	return input_given.files.nr || !input_given.vms.nr ? NULL : input_given.vms.item[0];
}

/*
 * Looks at a running VM again afterwards: that counts, as it is newer than the recording. What a device's backend holds
 * changes all the time: that of the earlier look counts, too.
 */
static void stuck_join(json_t *sections, const char *vm, json_t *after, json_t *notes)
{
	const json_t *before = json_object_get(json_object_get(sections, "stuck"), "data");

	if (!json_object_get(after, "findings")) {
		caveat_add(notes, "what stands still after the recording is not known: %s",
			   after ? text_of(after, "error") : "hostrace stuck was not started");
		return;
	}
	json_array_extend(json_object_get(after, "queues"), json_object_get(before, "queues"));
	json_object_set_new(sections, "stuck",
			    json_pack("{s:o,s:O}", "command",
				      json_sprintf("hostrace stuck --vm %s", vm), "data", after));
}

/* "vCPU 0, 1": those that the recording names. false: it names none, or one of them was asked for. */
static bool vcpus_lack(const json_t *info, char *buf, size_t size)
{
	const struct number_list *asked = &input_given.vcpus;
	const json_t *vm, *vcpu;
	size_t i, k, len = 0;

	json_array_foreach (json_object_get(info, "vms"), i, vm)
		json_array_foreach (json_object_get(vm, "vcpu_threads"), k, vcpu) {
			uint32_t index =
				(uint32_t)json_integer_value(json_object_get(vcpu, "index"));

			if (array_any(asked->nr, n, asked->item[n] == index))
				return false;
			if (len < size)
				len += (size_t)snprintf(buf + len, size - len, "%s%" PRIu32,
							len ? ", " : "vCPU ", index);
		}
	return asked->nr && len;
}

/* What no event passes is no VM that is well. */
static int filters_check(const json_t *sections, const char *filters)
{
	const json_t *info = json_object_get(
		json_object_get(json_object_get(sections, "info"), "data"), "result");
	char vcpus[256];

	if (*filters && json_integer_value(json_object_get(info, "span_ns")) <= 0)
		return fail(-ENODATA, "no event matches %s: the recording is of another time",
			    filters);
	if (vcpus_lack(info, vcpus, sizeof(vcpus)))
		return fail(-ENODATA, "no event matches %s: the recording has %s", filters, vcpus);
	return 0;
}

/* *ret: the diagnosis, a new reference; *lost: an input lost events. */
static int diagnosis_get(double threshold, json_t **ret, bool *lost)
{
	const char *vm = running_vm();
	_cleanup_free_ char *filters = vm ? NULL : input_line_filters(),
			    *files = input_line_files();
	json_auto_t *sections = NULL, *notes = json_array(), *stuck = NULL;
	int err = 0;

	if (!input_given.files.nr)
		input_add_file(INPUT_DEFAULT);
	if (vm)
		err = diagnose_record(vm, duration_ns, INPUT_DEFAULT, &stuck);
	if (!err)
		err = sections_get(notes, &sections, lost);
	if (!err && filters)
		err = filters_check(sections, filters);
	if (err && !json_array_size(json_object_get(stuck, "findings")))
		return err;
	if (err) { /* a VM that hangs may have no event */
		json_array_append_new(notes, json_text(error_text()));
		sections = json_object();
	}
	if (vm)
		stuck_join(sections, vm, stuck, notes);
	if (!*lost && (!filters || !*filters))
		json_object_set_new(sections, "whole", json_true());
	*ret = diagnosis_make(&(struct diagnosis_query){
		.sections = sections,
		.notes = notes,
		.vm = vm,
		.files = files ? files : "",
		.filters = filters ? filters : "",
		.threshold = threshold,
	});
	return 0;
}

static void diagnosis_write(const json_t *diagnosis, const struct output *out)
{
	if (!strcmp(out->format, "text"))
		diagnosis_print(diagnosis, out->notes != NOTES_NONE, out->file);
	else if (!json_text_put(diagnosis, out->file, JSON_INDENT(2)))
		putc('\n', out->file);
}

static int diagnosis_put(double threshold, struct output *out)
{
	json_auto_t *diagnosis = NULL;
	bool lost = false, partial;
	int err = diagnosis_get(threshold, &diagnosis, &lost), status;

	if (!err)
		diagnosis_write(diagnosis, out);
	partial = !err && !diagnosis_is_wrong(diagnosis) && !diagnosis_is_healthy(diagnosis);
	status = output_end(
		err, out, !err && (diagnosis_is_wrong(diagnosis) || (input_given.strict && lost)));
	if (!partial || status)
		return status;
	/* what did not look at everything has not found that nothing is wrong */
	fail_hint(fail(-ENODATA, "%s",
		       diagnosis_is_unknown(diagnosis) ? "nothing could be diagnosed"
						       : "the recording cannot show all causes"),
		  json_array_size(
			  json_object_get(json_object_get(diagnosis, "result"), "not_recorded"))
			  ? "record with --for diagnose"
			  : "see what is not known");
	return command_failed();
}

static int cmd_diagnose(int argc, char **argv)
{
	struct output out;
	double threshold;

	if (list)
		return causes_list(argc, argv);
	if (input_add_args(argc, argv, OPTION_LIST_MAX) ||
	    percent_parse("--threshold", threshold_option, &threshold) ||
	    (threshold > 1 && fail(-EINVAL, "--threshold: more than 100 %%")))
		return command_usage("%s", error_text());
	if (running_vm() && input_given.vms.nr > 1)
		return command_usage("one VM can be looked at; several are recorded with 'record'");
	if (!running_vm() && options_unused_check("duration vm-user tcg", "without a running VM"))
		return command_usage("%s", error_text());
	if (output_open("text json", &out))
		return command_failed();
	input_given.allow_ticks = true; /* for the error message of the page */
	return diagnosis_put(threshold, &out);
}

const struct command diagnose_command = {
	.name = "diagnose",
	.args = "[--vm PID|NAME] [FILE...]",
	.summary = "Say what makes a VM slow: causes, ranked by their cost.",
	.group = "Report",
	.details =
		"Each cause has its share of the time of the vCPU that lost most, the command "
		"that\n"
		"shows it, and what usually cures it; then what was ruled out, and what was not\n"
		"recorded. Status 3: a cause costs more than --threshold.",
	.examples = "  hostrace diagnose --vm web1\n  hostrace diagnose vm.hrt -f json",
	.options = options,
	.unused = "limit wide guest no-guest clock event reason tid",
	.rules = (const struct option_rule[]){{"duration", .with = "vm"},
					      {"vm-user", .with = "vm"},
					      {"tcg", .with = "vm"},
					      {0}},
	.run = cmd_diagnose,
};
