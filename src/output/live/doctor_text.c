// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text output of doctor: 80 columns, problems in capitals. One line per group of events, so that the
 * output fits a screen; with --probes one line per event.
 */
#include <sys/utsname.h>

#include "base/array.h"
#include "output/live/doctor.h"

enum {
	INDENT_CHECK = 28, /* where the text of a check begins */
	INDENT_EVENT = 42, /* where the probe site of an event begins */
	INDENT_GROUP = 48, /* where a group says what it is about */
	INDENT_MEMORY = 14,
	WIDTH_MIN = 60,
};

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

static void event_print(const struct probe_plan *p, const struct output *out)
{
	char where[512], text[800];

	fprintf(out->file, "%-20s %-10s %-9s ", p->event, plan_how(p), plan_cost(p));
	plan_where(p, where, sizeof(where));
	if (*where && *p->reason)
		snprintf(text, sizeof(text), "%s (%s)", where, p->reason);
	else
		snprintf(text, sizeof(text), "%s", *where ? where : p->reason);
	wrapped_print(out->file, text, INDENT_EVENT, out->width);
}

/* ---- groups ---- */

static void number_print(FILE *out, unsigned int n, int width)
{
	if (n)
		fprintf(out, " %*u", width, n);
	else
		fprintf(out, " %*s", width, "-");
}

typedef bool event_test(const struct probe_plan *p);

static bool is_absent(const struct probe_plan *p)
{
	return p->how == PROBE_ABSENT;
}

static bool is_doubtful(const struct probe_plan *p)
{
	return p->doubtful;
}

/* "  absent: vblk_request vblk_done", if there are any. */
static void names_print(const struct plan *plan, const char *group, const char *word,
			event_test *test, const struct output *out)
{
	char names[1024] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < plan->nr && len < sizeof(names); i++)
		if (!strcmp(plan->probe[i].group, group) && test(&plan->probe[i]))
			len += (size_t)snprintf(names + len, sizeof(names) - len, " %s",
						plan->probe[i].event);
	if (!len)
		return;
	fprintf(out->file, "  %s: ", word);
	wrapped_print(out->file, names + 1, (int)strlen(word) + 4, out->width);
}

static void group_print(const struct plan *plan, const struct probe_plan *first,
			const struct output *out)
{
	unsigned int by_how[PROBE_FUNCTION + 1] = {0};

	for (unsigned int i = 0; i < plan->nr; i++)
		if (!strcmp(plan->probe[i].group, first->group))
			by_how[plan->probe[i].how]++;
	fprintf(out->file, "%-14s", first->group);
	number_print(out->file, by_how[PROBE_TRACEPOINT], 10);
	number_print(out->file, by_how[PROBE_USDT], 4);
	number_print(out->file, by_how[PROBE_FUNCTION], 8);
	number_print(out->file, by_how[PROBE_ABSENT], 6);
	fputs("  ", out->file);
	wrapped_print(out->file, first->about, INDENT_GROUP, out->width);
	names_print(plan, first->group, "absent", is_absent, out);
	names_print(plan, first->group, "may never fire", is_doubtful, out);
}

static bool group_is_new(const struct plan *plan, unsigned int nr)
{
	return !array_any(nr, i, !strcmp(plan->probe[i].group, plan->probe[nr].group));
}

static void groups_print(const struct vm_report *p, bool kernels, const struct output *out)
{
	fprintf(out->file, "\n%-14s %10s %4s %8s %6s  %s\n", "EVENTS", "TRACEPOINT", "USDT",
		"FUNCTION", "ABSENT", "ABOUT");
	for (unsigned int i = 0; i < p->plan.nr; i++)
		if (event_is_kernels(p->plan.probe[i].event) == kernels &&
		    group_is_new(&p->plan, i))
			group_print(&p->plan, &p->plan.probe[i], out);
}

static void events_print(const struct vm_report *p, bool kernels, bool each_event,
			 const struct output *out)
{
	if (!each_event) {
		groups_print(p, kernels, out);
		return;
	}
	fprintf(out->file, "\n%-20s %-10s %-9s %s\n", "EVENT", "HOW", "COST", "WHERE");
	for (unsigned int i = 0; i < p->plan.nr; i++)
		if (event_is_kernels(p->plan.probe[i].event) == kernels)
			event_print(&p->plan.probe[i], out);
}

static void analyzers_print(const struct vm_report *p, const struct output *out)
{
	char works[512] = "";
	const char *what;
	size_t len = 0;

	for (const struct analyzer *const *a = analyzers; *a && len < sizeof(works); a++)
		if (analyzer_check(p, *a, &what) == WORKS)
			len += (size_t)snprintf(works + len, sizeof(works) - len, " %s",
						(*a)->name);
	fputs("\navailable analyzers:\n  ", out->file);
	wrapped_print(out->file, *works ? works + 1 : "nothing", 2, out->width);
	for (const struct analyzer *const *a = analyzers; *a; a++) {
		enum verdict verdict = analyzer_check(p, *a, &what);

		if (verdict == FALLS_BACK)
			fprintf(out->file, "  %s: replaced by %s\n", (*a)->name, what);
		else if (verdict == LACKS)
			fprintf(out->file, "  %s: unavailable, needs %s\n", (*a)->name, what);
	}
}

/* vhost and vhost-user serve a device's rings outside QEMU. */
static bool vm_has_vhost(const struct vm *vm)
{
	return array_any(vm->nr_devices, i,
			 strstr(vm->devices[i], "vhost=on") || strstr(vm->devices[i], "vhost-"));
}

static bool is_qemu(const struct vm_report *p)
{
	return p->vm->is_qemu || p->plan.is_qemu || p->unreadable;
}

static void vm_head_print(const struct vm_report *p, const struct output *out)
{
	const struct vm *vm = p->vm;
	char text[400];

	fprintf(out->file, "\nVM %d %s: ", vm->pid, vm->name);
	if (is_qemu(p))
		fprintf(out->file, "QEMU %s", *vm->version ? vm->version : "of unknown version");
	else
		fputs("not QEMU", out->file);
	fprintf(out->file, ", %s, %u vCPU%s\n", vm->accel, vm->nr_vcpus,
		vm->nr_vcpus == 1 ? "" : "s");
	if (*p->memory) {
		fputs("guest memory: ", out->file);
		wrapped_print(out->file, p->memory, INDENT_MEMORY, out->width);
	}
	if (vm->encryption) {
		snprintf(text, sizeof(text), "%s: %s (not tested on such hardware)", vm->encryption,
			 encryption_effect(vm->encryption));
		wrapped_print(out->file, text, 0, out->width);
	}
	if (vm->hypervisor) {
		snprintf(text, sizeof(text), "a hypervisor: %s (tested with SVM only)",
			 hypervisor_effect);
		wrapped_print(out->file, text, 0, out->width);
	}
}

static void vm_print(const struct vm_report *p, bool each_event, const struct output *out)
{
	const struct vm *vm = p->vm;

	vm_head_print(p, out);
	if (*p->plan.note)
		fprintf(out->file, "%s\n", p->plan.note);
	if (*p->plan.layout_note)
		wrapped_print(out->file, p->plan.layout_note, 0, out->width);
	if (*p->plan.lock_note)
		wrapped_print(out->file, p->plan.lock_note, 0, out->width);
	if (vm_has_vhost(vm))
		fputs("a device uses vhost: its rings are served outside QEMU and not recorded\n",
		      out->file);
	if (!uses_kvm(vm))
		fputs("this VM has no KVM events: QEMU emulates its CPUs (TCG)\n", out->file);
	if (p->unreadable)
		fputs("no permission to read its executable: probe sites unknown; try: sudo\n",
		      out->file);
	else if (is_qemu(p) || each_event)
		events_print(p, false, each_event, out);
	else
		wrapped_print(out->file,
			      "virtqueues, devices, the block layer and the global mutex are "
			      "recorded of QEMU only; exits, ports, MMIO, MSRs, interrupts, the "
			      "scheduler and host disks of any VMM",
			      0, out->width);
	analyzers_print(p, out);
}

void doctor_text(const struct host_checks *host, const struct vm_report *reports, unsigned int nr,
		 bool each_event, const struct output *out)
{
	const struct check *obstacle = host_obstacle(host);
	struct utsname un;

	uname(&un);
	fprintf(out->file, "host %s, Linux %s\n\n", un.nodename, un.release);
	for (unsigned int i = 0; i < host->nr; i++)
		check_print(&host->check[i], out);
	events_print(&reports[0], true, each_event, out);
	for (unsigned int i = 0; i < nr; i++)
		if (reports[i].vm)
			vm_print(&reports[i], each_event, out);
	if (nr == 1 && !reports[0].vm)
		fputs("\nno running VM is visible to this user\n", out->file);
	if (!each_event)
		fputs("\neach event with its probe site: hostrace doctor --probes\n", out->file);
	if (obstacle)
		fprintf(out->file, "\nrecording is not possible: %s\n", obstacle->name);
	else
		fputs("\nrecording is possible\n", out->file);
}
