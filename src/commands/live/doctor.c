// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace doctor: what can be recorded here, how, and what to do about the rest. The same plan
 * that `record` attaches is printed, so the two cannot differ.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/plan.h"
#include "command.h"
#include "doctor.h"
#include "output.h"
#include "vm.h"

static const char *vm_option;

/* clang-format off */
static const struct option_row options[] = {
	{0, "vm", OPT_TEXT, &vm_option, "PID|NAME", "look at this VM only; without it at every VM"},
	{0},
};
/* clang-format on */

enum {
	INDENT_CHECK = 28, /* where the text of a check begins */
	INDENT_EVENT = 38, /* where the place of an event begins */
	WIDTH_MIN = 60,
	EVENTS_MAX = 8, /* of one report's needs */
};

/* What each report needs: any one of the events in a group, of every group. */
static const struct report {
	const char *name;
	const char *needs[EVENTS_MAX]; /* "a|b": one of them will do */
} reports[] = {
	{"exits", {"kvm_exit|kvm_userspace_exit", "kvm_entry|kvm_run"}},
	{"ports", {"kvm_pio|qemu_pio"}},
	{"mmio", {"kvm_mmio"}},
	{"msrs", {"kvm_msr"}},
	{"leaks", {"virtqueue_pop", "virtqueue_fill"}},
	{"virtio", {"virtqueue_pop", "virtqueue_fill"}},
	{"blame", {"sched_switch"}},
};

enum { NR_REPORTS = sizeof(reports) / sizeof(reports[0]) };

/* One VM and its plan. `vm` is NULL where only the kernel is looked at. */
struct patient {
	const struct vm *vm;
	struct plan plan;
	bool unreadable; /* the program is another user's */
};

/* ---- reports ---- */

/* Descriptors of another user's VM cannot be seen; its command line can. */
static bool uses_kvm(const struct vm *vm)
{
	return vm->has_kvm || !strcmp(vm->accel, "kvm");
}

static bool can_see(const struct patient *p, const char *event)
{
	const struct probe_plan *probe = plan_of(&p->plan, event);

	if (p->vm && !uses_kvm(p->vm) && !strncmp(event, "kvm_", 4))
		return false;
	return probe && probe->how != PROBE_ABSENT;
}

static bool group_seen(const struct patient *p, const char *group)
{
	char event[64];

	while (*group) {
		size_t len = strcspn(group, "|");

		snprintf(event, sizeof(event), "%.*s", (int)len, group);
		if (can_see(p, event))
			return true;
		group += len + (group[len] == '|');
	}
	return false;
}

/* The group that is missing, or NULL: the report works. */
static const char *report_lacks(const struct patient *p, const struct report *r)
{
	for (unsigned int i = 0; i < EVENTS_MAX && r->needs[i]; i++)
		if (!group_seen(p, r->needs[i]))
			return r->needs[i];
	return NULL;
}

/* ---- text ---- */

/* Continues a line at `indent`, broken at spaces to fit the width. */
static void wrapped_print(FILE *out, const char *text, int indent, int width)
{
	int room = (width > WIDTH_MIN ? width : WIDTH_MIN) - indent;

	while (*text) {
		int len = (int)strlen(text);

		if (len > room) {
			for (len = room; len > 0 && text[len] != ' '; len--)
				;
			len = len ? len : (int)strcspn(text, " "); /* a command stays whole */
		}
		fprintf(out, "%.*s\n", len, text);
		text += len + strspn(text + len, " ");
		if (*text)
			fprintf(out, "%*s", indent, "");
	}
}

static void check_print(const struct check *c, const struct output *out)
{
	static const char *const words[] = {
		[CHECK_OK] = "ok",
		[CHECK_NOTE] = "note",
		[CHECK_MISSING] = "MISSING",
		[CHECK_UNKNOWN] = "unknown",
	};

	fprintf(out->file, "%-18s%-*s", c->name, INDENT_CHECK - 18, words[c->state]);
	wrapped_print(out->file, c->text, INDENT_CHECK, out->width);
}

static bool event_is_kernels(const struct probe_plan *p)
{
	return !strncmp(p->event, "kvm_", 4) || !strncmp(p->event, "sched_", 6);
}

static void event_print(const struct probe_plan *p, const struct output *out)
{
	char where[512], text[800];

	fprintf(out->file, "%-20s %-10s %-5s ", p->event, plan_how(p), plan_cost(p));
	plan_where(p, where, sizeof(where));
	if (*where && *p->reason)
		snprintf(text, sizeof(text), "%s (%s)", where, p->reason);
	else
		snprintf(text, sizeof(text), "%s", *where ? where : p->reason);
	wrapped_print(out->file, text, INDENT_EVENT, out->width);
}

static void events_print(const struct patient *p, bool kernels, const struct output *out)
{
	fprintf(out->file, "\n%-20s %-10s %-5s %s\n", "EVENT", "HOW", "COST", "WHERE");
	for (unsigned int i = 0; i < p->plan.nr; i++)
		if (event_is_kernels(&p->plan.probe[i]) == kernels)
			event_print(&p->plan.probe[i], out);
}

static void reports_print(const struct patient *p, const struct output *out)
{
	fprintf(out->file, "\nreports that work:");
	for (unsigned int i = 0; i < NR_REPORTS; i++)
		if (!report_lacks(p, &reports[i]))
			fprintf(out->file, " %s", reports[i].name);
	fputc('\n', out->file);
	for (unsigned int i = 0; i < NR_REPORTS; i++) {
		const char *lack = report_lacks(p, &reports[i]);

		if (lack)
			fprintf(out->file, "  %s does not: it needs %s\n", reports[i].name, lack);
	}
}

/* vhost and vhost-user serve a device's rings outside QEMU. */
static bool vm_has_vhost(const struct vm *vm)
{
	for (unsigned int i = 0; i < vm->nr_devices; i++)
		if (strstr(vm->devices[i], "vhost=on") || strstr(vm->devices[i], "vhost-"))
			return true;
	return false;
}

static void vm_print(const struct patient *p, const struct output *out)
{
	const struct vm *vm = p->vm;

	fprintf(out->file, "\nVM %d %s: QEMU %s, %s, %u vCPU%s\n", vm->pid, vm->name,
		*vm->version ? vm->version : "of unknown version", vm->accel, vm->nr_vcpus,
		vm->nr_vcpus == 1 ? "" : "s");
	if (*p->plan.note)
		fprintf(out->file, "%s\n", p->plan.note);
	if (vm_has_vhost(vm))
		fputs("a device uses vhost: its rings are served outside QEMU and are not seen\n",
		      out->file);
	if (!uses_kvm(vm))
		fputs("no KVM events come from this VM: QEMU emulates its CPUs\n", out->file);
	if (p->unreadable)
		fputs("its program may not be read, so nothing is known of its probes; try: sudo\n",
		      out->file);
	else
		events_print(p, false, out);
	reports_print(p, out);
}

static void text_print(const struct host_checks *host, const struct patient *patients,
		       unsigned int nr, const struct output *out)
{
	const struct check *obstacle = host_obstacle(host);
	struct utsname un;

	uname(&un);
	fprintf(out->file, "host %s, Linux %s\n\n", un.nodename, un.release);
	for (unsigned int i = 0; i < host->nr; i++)
		check_print(&host->check[i], out);
	events_print(&patients[0], true, out);
	for (unsigned int i = 0; i < nr; i++)
		if (patients[i].vm)
			vm_print(&patients[i], out);
	if (nr == 1 && !patients[0].vm)
		fputs("\nno VM is running here that this user may see\n", out->file);
	if (obstacle)
		fprintf(out->file, "\nrecording is not possible: %s\n", obstacle->name);
	else
		fputs("\nrecording is possible\n", out->file);
}

/* ---- JSON ---- */

static json_t *checks_json(const struct host_checks *host)
{
	static const char *const words[] = {
		[CHECK_OK] = "ok",
		[CHECK_NOTE] = "note",
		[CHECK_MISSING] = "missing",
		[CHECK_UNKNOWN] = "unknown",
	};
	json_t *all = json_array();

	for (unsigned int i = 0; i < host->nr; i++)
		json_array_append_new(
			all, json_pack("{s:s,s:s,s:b,s:s}", "name", host->check[i].name, "state",
				       words[host->check[i].state], "needed", host->check[i].needed,
				       "text", host->check[i].text));
	return all;
}

static json_t *reports_json(const struct patient *p)
{
	json_t *all = json_object();

	for (unsigned int i = 0; i < NR_REPORTS; i++) {
		const char *lack = report_lacks(p, &reports[i]);

		json_object_set_new(all, reports[i].name, json_string(lack ? lack : "ok"));
	}
	return all;
}

/* Kernel events once, QEMU's per VM with its pid. */
static json_t *rows_json(const struct patient *patients, unsigned int nr)
{
	json_t *rows = json_array(), *row;
	size_t k;

	for (unsigned int i = 0; i < nr; i++) {
		json_t *plan = plan_json(&patients[i].plan);

		json_array_foreach (plan, k, row) {
			bool kernels = event_is_kernels(&patients[i].plan.probe[k]);

			if (kernels && i)
				continue;
			if (!kernels)
				json_object_set_new(row, "pid", json_integer(patients[i].vm->pid));
			json_array_append(rows, row);
		}
		json_decref(plan);
	}
	return rows;
}

static json_t *vms_json(const struct patient *patients, unsigned int nr)
{
	json_t *all = json_array();

	for (unsigned int i = 0; i < nr; i++)
		if (patients[i].vm)
			json_array_append_new(all, json_pack("{s:i,s:s,s:s,s:s,s:s,s:o}", "pid",
							     (int)patients[i].vm->pid, "name",
							     patients[i].vm->name, "version",
							     patients[i].vm->version, "accelerator",
							     patients[i].vm->accel, "note",
							     patients[i].plan.note, "reports",
							     reports_json(&patients[i])));
	return all;
}

static void json_print(const struct host_checks *host, const struct patient *patients,
		       unsigned int nr, const struct output *out)
{
	const struct check *obstacle = host_obstacle(host);
	struct utsname un;
	json_t *all;

	uname(&un);
	all = json_pack("{s:{s:s,s:s},s:[],s:{},s:[],s:{s:s,s:s,s:s,s:b,s:s,s:o,s:o},s:o}",
			"hostrace", "version", HOSTRACE_VERSION, "command", "doctor", "inputs",
			"clock", "caveats", "result", "host", un.nodename, "kernel", un.release,
			"backend", host->backend, "recording", !obstacle, "next",
			obstacle ? obstacle->text : "", "checks", checks_json(host), "vms",
			vms_json(patients, nr), "rows", rows_json(patients, nr));
	json_dumpf(all, out->file, JSON_INDENT(1));
	fputc('\n', out->file);
	json_decref(all);
}

/* ---- the command ---- */

/* A binary that cannot be read (another user's VM) still leaves the kernel's events. */
static int patient_make(const struct vm *vm, struct patient *ret)
{
	*ret = (struct patient){.vm = vm};
	if (plan_make(vm ? vm->exe_open : NULL, &ret->plan)) {
		ret->unreadable = true;
		return plan_make(NULL, &ret->plan);
	}
	for (unsigned int i = 0; i < ret->plan.nr; i++)
		if (vm && uses_kvm(vm) && !strcmp(ret->plan.probe[i].event, "qemu_pio"))
			ret->plan.probe[i] = (struct probe_plan){
				.event = "qemu_pio",
				.reason = "not needed under KVM: kvm_pio sees the same"};
	return 0;
}

static int patients_print(const struct vm *vms, unsigned int nr_vms, const struct output *out)
{
	unsigned int nr = nr_vms ? nr_vms : 1;
	_cleanup_free_ struct patient *patients = calloc(nr, sizeof(*patients));
	struct host_checks host;
	int err = patients ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < nr && !err; i++)
		err = patient_make(nr_vms ? &vms[i] : NULL, &patients[i]);
	if (!err) {
		host_check(&host);
		if (!strcmp(out->format, "json"))
			json_print(&host, patients, nr, out);
		else
			text_print(&host, patients, nr, out);
	}
	for (unsigned int i = 0; patients && i < nr; i++)
		plan_free(&patients[i].plan);
	if (err)
		return command_failed();
	if (!host_obstacle(&host))
		return EXIT_FINE;
	fail(-EPERM, "recording is not possible: %s", host_obstacle(&host)->text);
	return command_failed();
}

static int run(int argc, char **argv, char **rest)
{
	struct vm one, *vms = NULL;
	struct output out;
	unsigned int nr = 0;
	int status;

	if (argc || rest)
		return command_usage("unexpected argument '%s'; a VM is named with --vm",
				     argc ? argv[0] : "--");
	if (vm_option ? vm_find(vm_option, &one) : vm_list(&vms, &nr))
		return command_failed();
	if (output_open("text json", &out)) {
		status = command_failed();
	} else {
		status = patients_print(vm_option ? &one : vms, vm_option ? 1 : nr, &out);
		if (output_close(&out))
			status = command_failed();
	}
	if (vm_option)
		vm_free(&one);
	vm_list_free(vms, nr);
	return status;
}

extern const struct command doctor_command;

const struct command doctor_command = {
	.name = "doctor",
	.args = "",
	.summary = "say what can be recorded here, how, and what is missing",
	.group = "Live (needs privileges)",
	.details = "Checks the kernel, the capabilities and KVM, then says for each event where it "
		   "is taken:\n"
		   "a tracepoint, a mark of QEMU (usdt), or a function of QEMU; or why it cannot "
		   "be had. A probe\n"
		   "of QEMU is cheap if the kernel emulates the instruction there, dear if it "
		   "single-steps it.\n"
		   "Exit status 0: recording is possible; 1: not, and the message says what to do.",
	.examples = "  hostrace doctor\n"
		    "  hostrace doctor --vm web1 -f json",
	.options = (const struct option_row *const[]){options, output_options, NULL},
	.run = run,
};
