// SPDX-License-Identifier: GPL-2.0-or-later
/* What doctor found, for programs: the same rows as in its text, and nothing that the text lacks. */
#include <sys/utsname.h>

#include "output/live/doctor.h"

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

/* {"pio":"ok","exit-latency":"userspace-exit","mmio":"needs kvm_mmio"} */
static json_t *analyzers_json(const struct vm_report *p)
{
	json_t *all = json_object();

	for (const struct analyzer *const *a = analyzers; *a; a++) {
		const char *what = "ok";
		enum verdict verdict = analyzer_check(p, *a, &what);

		json_object_set_new(all, (*a)->name,
				    verdict == LACKS ? json_sprintf("needs %s", what)
						     : json_string(what));
	}
	return all;
}

/* Kernel events once; QEMU's per VM with its pid, none without a VM. */
static json_t *rows_json(const struct vm_report *reports, unsigned int nr)
{
	json_t *rows = json_array(), *row;
	size_t k;

	for (unsigned int i = 0; i < nr; i++) {
		json_t *plan = plan_json(&reports[i].plan);

		json_array_foreach (plan, k, row) {
			bool kernels = event_is_kernels(reports[i].plan.probe[k].event);

			if (kernels ? i != 0 : !reports[i].vm)
				continue;
			if (!kernels)
				json_object_set_new(row, "pid", json_integer(reports[i].vm->pid));
			json_array_append(rows, row);
		}
		json_decref(plan);
	}
	return rows;
}

static json_t *vms_json(const struct vm_report *reports, unsigned int nr)
{
	json_t *all = json_array();

	for (unsigned int i = 0; i < nr; i++)
		if (reports[i].vm)
			json_array_append_new(
				all,
				json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:s*,s:b}", "pid",
					  (int)reports[i].vm->pid, "name", reports[i].vm->name,
					  "version", reports[i].vm->version, "accelerator",
					  reports[i].vm->accel, "memory", reports[i].memory, "note",
					  reports[i].plan.note, "layout",
					  reports[i].plan.layout_note, "lock",
					  reports[i].plan.lock_note, "analyzers",
					  analyzers_json(&reports[i]), "encryption",
					  reports[i].vm->encryption, "hypervisor",
					  reports[i].vm->hypervisor));
	return all;
}

void doctor_json(const struct host_checks *host, const struct vm_report *reports, unsigned int nr,
		 json_t *answer)
{
	const struct check *obstacle = host_obstacle(host);
	struct utsname un;

	uname(&un);
	json_object_set_new(answer, "result",
			    json_pack("{s:s,s:s,s:s,s:b,s:s,s:o,s:o}", "host", un.nodename,
				      "kernel", un.release, "backend", host->backend, "recording",
				      !obstacle, "next", obstacle ? obstacle->text : "", "checks",
				      checks_json(host), "vms", vms_json(reports, nr)));
	json_object_set_new(answer, "rows", rows_json(reports, nr));
}
