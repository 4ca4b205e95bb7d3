// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracepoints of the running kernel, from its BTF, not tracefs: it is in
 * /sys/kernel/btf, which all may read, and our programs need it anyway. Each tracepoint has a type
 * btf_trace_NAME there, in the part of the module that has the tracepoint.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/plan_internal.h"
#include "event/exit_reason.h"
#include "vm/vm.h"

enum kernel_flag { HARDWARE = 1 };

/* clang-format off */
static const struct kernel_row {
	const char *event, *system, *name;
	unsigned int flags;
	const char *note;
} rows[] = {
#define TRACEPOINT(event, system, name, flags, note) {#event, #system, #name, flags, note},
#include "../../probes/kvm.def"
#undef TRACEPOINT
};
/* clang-format on */

enum { NR_ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Programs for an event other than tp_EVENT, or an alternative to it. */
static const struct kernel_form {
	const char *event, *program, *instead;
	unsigned int isa; /* only if KVM uses it, SVM with BTF for its struct vcpu_svm; 0: any */
} forms[] = {
	{"kvm_exit", "tp_kvm_exit_svm", "tp_kvm_exit", EXIT_ISA_SVM},
	{"kvm_exit", "tp_kvm_exit_arm64", NULL, EXIT_ISA_ARM64},
	{"kvm_nested_vmexit", "tp_kvm_nested_vmexit_svm", "tp_kvm_nested_vmexit", EXIT_ISA_SVM},
	{"kvm_entry", "tp_kvm_entry", "tp_kvm_entry_formatted", 0},
	{"kvm_entry", "tp_kvm_entry_arm64", NULL, EXIT_ISA_ARM64},
	{"kvm_run", "kp_kvm_run_arm64", NULL, EXIT_ISA_ARM64},
	{"kvm_page_fault", "tp_kvm_page_fault", "tp_kvm_page_fault_formatted", 0},
	{"host_fault", "fe_host_fault", "tp_host_fault", 0},
};

/* Further programs that an event needs. */
static const struct kernel_more {
	const char *event, *program, *system, *name;
} more[] = {
	{"host_io", "tp_host_io_submit", "block", "block_bio_queue"},
	{"host_io", "tp_host_io_dispatch", "block", "block_rq_issue"},
	{"host_io", "tp_host_io_request", "block", "block_rq_complete"},
	{"host_fault", "tp_host_fault_rss", "kmem", "rss_stat"},
	{"host_fault", "tp_host_fault_alloc", "kmem", "mm_page_alloc"},
	{"host_fault", "tp_host_fault_cache", "filemap", "mm_filemap_add_to_page_cache"},
	{"host_fault", "tp_host_fault_switch", "sched", "sched_switch"},
};

struct kernel_types {
	struct btf *vmlinux, *kvm; /* kvm: NULL if it is built in or not loaded */
	bool svm, vmx; /* KVM uses it, with BTF for its struct of a vCPU */
};

static struct btf *types_of_module(const char *path, struct btf *vmlinux)
{
	struct btf *btf = vmlinux && !access(path, R_OK) ? btf__parse_split(path, vmlinux) : NULL;

	return libbpf_get_error(btf) ? NULL : btf;
}

bool kernel_struct_known(struct btf *vmlinux, const char *module, const char *name)
{
	char path[64];
	struct btf *btf;
	bool told;

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	btf = types_of_module(path, vmlinux);
	told = vmlinux &&
	       btf__find_by_name_kind(btf ? btf : vmlinux, name, BTF_KIND_STRUCT) > 0;
	btf__free(btf);
	return told;
}

static void types_open(struct kernel_types *t)
{
	t->vmlinux = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	if (libbpf_get_error(t->vmlinux))
		t->vmlinux = NULL;
	t->kvm = types_of_module("/sys/kernel/btf/kvm", t->vmlinux);
	t->svm = vm_host_isa() == EXIT_ISA_SVM &&
		 kernel_struct_known(t->vmlinux, "kvm_amd", "vcpu_svm");
	t->vmx = vm_host_isa() == EXIT_ISA_VMX &&
		 kernel_struct_known(t->vmlinux, "kvm_intel", "vcpu_vmx");
}

static void types_close(struct kernel_types *t)
{
	btf__free(t->kvm);
	btf__free(t->vmlinux);
}

/* found[i]: rows[i] is there. One walk over the types, of which there are 100,000. */
static void rows_find(const struct btf *btf, bool found[NR_ROWS])
{
	static const char prefix[] = "btf_trace_";

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name =
			btf_is_typedef(type) ? btf__name_by_offset(btf, type->name_off) : NULL;

		if (!name || strncmp(name, prefix, sizeof(prefix) - 1))
			continue;
		for (unsigned int i = 0; i < NR_ROWS; i++)
			if (!strcmp(name + sizeof(prefix) - 1, rows[i].name))
				found[i] = true;
	}
}

/* bio.bi_bdev came with v5.12; before v5.11 these tracepoints had the queue as their first argument. */
static bool bio_known(const struct btf *vmlinux)
{
	int id = btf__find_by_name_kind(vmlinux, "bio", BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(vmlinux, (uint32_t)id) : NULL;

	for (unsigned int i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(vmlinux, btf_members(type)[i].name_off),
			    "bi_bdev"))
			return true;
	return false;
}

static bool kvm_loaded(void)
{
	return !access("/sys/module/kvm", F_OK) || !access("/dev/kvm", F_OK);
}

/* The ISA that forms are for. */
static unsigned int types_isa(const struct kernel_types *t)
{
	return t->svm ? EXIT_ISA_SVM : vm_host_isa() == EXIT_ISA_ARM64 ? EXIT_ISA_ARM64 : 0;
}

static void place_program(struct probe_place *place, const char *event, unsigned int isa)
{
	snprintf(place->program, sizeof(place->program), "tp_%s", event);
	for (unsigned int i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i].event, event) || (forms[i].isa && forms[i].isa != isa))
			continue;
		snprintf(place->program, sizeof(place->program), "%s", forms[i].program);
		place->instead = forms[i].instead;
	}
}

/* Is the formatted record read because the tracepoint's arguments are sufficient with SVM only? */
static bool form_is_costly(const char *event, unsigned int isa)
{
	return array_any(sizeof(forms) / sizeof(forms[0]), i,
			 !strcmp(forms[i].event, event) && forms[i].isa == EXIT_ISA_SVM && !isa);
}

static void places_add(struct probe_plan *p)
{
	for (unsigned int i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct probe_place *place = &p->place[p->nr_places];

		if (strcmp(more[i].event, p->event) || p->nr_places == PLACES_MAX)
			continue;
		snprintf(place->program, sizeof(place->program), "%s", more[i].program);
		snprintf(place->function, sizeof(place->function), "%s:%s", more[i].system,
			 more[i].name);
		p->nr_places++;
	}
}

static const struct {
	const char *system, *group, *about;
} groups[] = {
	{"kvm", "kvm", "exits, I/O, interrupts, clocks"},
	{"sched", "scheduler", "threads on and off the CPU"},
	{"raw_syscalls", "system calls", "those of the VM's threads"},
	{"exceptions", "memory", "faults of guest RAM that the host resolves"},
	{"block", "host disks", "the VM's requests to the host's block layer"},
};

static struct probe_plan *row_add(struct plan *plan, const struct kernel_row *row)
{
	for (unsigned int i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (!strcmp(groups[i].system, row->system))
			return plan_add(plan, row->event, groups[i].group, groups[i].about);
	return NULL;
}

static void row_plan(struct plan *plan, const struct kernel_row *row,
		     const struct kernel_types *types, bool there)
{
	bool kvm = !strcmp(row->system, "kvm");
	struct probe_plan *p = row_add(plan, row);
	struct probe_place *place;

	if (!p)
		return;
	if (!types->vmlinux) {
		snprintf(p->reason, sizeof(p->reason),
			 "the kernel has no type information "
			 "(/sys/kernel/btf/vmlinux): build it with CONFIG_DEBUG_INFO_BTF=y");
		return;
	}
	if (!there) {
		snprintf(p->reason, sizeof(p->reason),
			 kvm && !kvm_loaded()
				 ? "KVM is not loaded; try: modprobe kvm_intel, or modprobe kvm_amd"
				 : "this kernel has no tracepoint %s:%s",
			 row->system, row->name);
		return;
	}
	if (!strcmp(row->system, "block") && !bio_known(types->vmlinux)) {
		snprintf(
			p->reason, sizeof(p->reason),
			"this kernel's block tracepoints have other arguments (Linux 5.12 or newer "
			"is needed)");
		return;
	}
	p->how = PROBE_TRACEPOINT;
	p->nr_places = 1;
	place = &p->place[0];
	place_program(place, row->event, types_isa(types));
	snprintf(place->function, sizeof(place->function), "%s:%s", row->system, row->name);
	places_add(p);
	p->doubtful = row->flags & HARDWARE && !vm_host_isa();
	snprintf(p->reason, sizeof(p->reason), "%s",
		 p->doubtful ? "this KVM backend may never fire it"
		 : form_is_costly(row->event, types_isa(types))
			 ? "from the formatted record, which costs more"
			 : row->note);
}

void plan_kernel(struct plan *plan)
{
	struct kernel_types types;
	bool found[NR_ROWS] = {false};

	types_open(&types);
	rows_find(types.kvm ? types.kvm : types.vmlinux, found); /* a module's contain vmlinux' */
	for (unsigned int i = 0; i < NR_ROWS; i++)
		row_plan(plan, &rows[i], &types, found[i]);
	types_close(&types);
}

void plan_exit_reasons(struct plan *plan)
{
	if (!plan_vmx())
		return;
	for (unsigned int i = 0; i < plan->nr; i++) {
		struct probe_plan *p = &plan->probe[i];
		struct probe_place *place = &p->place[0];

		if (strcmp(p->event, "kvm_exit") || p->how != PROBE_TRACEPOINT)
			continue;
		place->instead = "tp_kvm_exit";
		snprintf(place->program, sizeof(place->program), "tp_kvm_exit_vmx");
		snprintf(p->reason, sizeof(p->reason), "only the exit's reason (--exit-reasons)");
	}
}

bool plan_svm(void)
{
	struct kernel_types types;

	types_open(&types);
	types_close(&types);
	return types.svm;
}

bool plan_vmx(void)
{
	struct kernel_types types;

	types_open(&types);
	types_close(&types);
	return types.vmx;
}

static int plan_fill(const char *qemu_exe, struct helper *decoder, bool kernel, struct plan *ret)
{
	struct plan plan = {.probe = calloc(PROBES_MAX, sizeof(*plan.probe)),
			    .users = calloc(1, sizeof(*plan.users))};
	int err = 0;

	if (!plan.probe || !plan.users) {
		free(plan.probe);
		free(plan.users);
		return fail(-ENOMEM, "out of memory");
	}
	*plan.users = 1;
	if (kernel)
		plan_kernel(&plan);
	if (qemu_exe)
		err = plan_qemu(qemu_exe, decoder, &plan);
	if (err) {
		plan_free(&plan);
		return err;
	}
	*ret = plan;
	return 0;
}

int plan_make(const char *qemu_exe, struct plan *ret)
{
	return plan_fill(qemu_exe, NULL, true, ret);
}

int plan_make_qemu(const char *qemu_exe, struct helper *decoder, struct plan *ret)
{
	return plan_fill(qemu_exe, decoder, false, ret);
}

struct plan plan_share(const struct plan *plan)
{
	++*plan->users;
	return *plan;
}

void plan_free(struct plan *plan)
{
	if (plan->users && !--*plan->users) {
		free(plan->probe);
		free(plan->users);
	}
	*plan = (struct plan){0};
}

const struct probe_plan *plan_of(const struct plan *plan, const char *event)
{
	return array_find(plan->probe, plan->nr, i, !strcmp(plan->probe[i].event, event));
}

const char *plan_how(const struct probe_plan *probe)
{
	static const char *const names[] = {
		[PROBE_ABSENT] = "absent",
		[PROBE_TRACEPOINT] = "tracepoint",
		[PROBE_USDT] = "usdt",
		[PROBE_FUNCTION] = "function",
	};

	return names[probe->how];
}

static size_t place_print(const struct probe_place *place, const char *before, char *buf,
			  size_t size)
{
	int n;

	if (*place->mark)
		n = snprintf(buf, size, "mark %s, %u site%s", place->mark, place->sites,
			     place->sites == 1 ? "" : "s");
	else if (!*place->insn)
		n = snprintf(buf, size, "%s", place->function);
	else if (place->at_return && !strcmp(before, place->function))
		n = snprintf(buf, size, "return +%llu %s", (unsigned long long)place->offset,
			     place->insn);
	else
		n = snprintf(buf, size, "%s%s+%llu %s", place->at_return ? "return " : "",
			     place->function, (unsigned long long)place->offset, place->insn);
	return (size_t)n;
}

const char *plan_where(const struct probe_plan *probe, char *buf, size_t size)
{
	const char *before = "";
	size_t len = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < probe->nr_places && len < size; i++) {
		if (i)
			len += (size_t)snprintf(buf + len, size - len, ", ");
		if (len < size)
			len += place_print(&probe->place[i], before, buf + len, size - len);
		before = probe->place[i].function;
	}
	return buf;
}

const char *plan_cost(const struct probe_plan *probe)
{
	if (probe->how != PROBE_USDT && probe->how != PROBE_FUNCTION)
		return "";
	for (unsigned int i = 0; i < probe->nr_places; i++)
		if (!probe->place[i].emulated)
			return "expensive";
	return "cheap";
}

static json_t *places_json(const struct probe_plan *probe)
{
	json_t *all = json_array();
	char hex[32];

	for (unsigned int i = 0; i < probe->nr_places; i++) {
		const struct probe_place *p = &probe->place[i];

		snprintf(hex, sizeof(hex), "0x%" PRIx64, p->file_offset);
		json_array_append_new(all, json_pack("{s:s,s:s,s:I,s:s,s:s,s:b,s:b}", "function",
						     p->function, "mark", p->mark, "offset",
						     (json_int_t)p->offset, "file_offset", hex,
						     "insn", p->insn, "return", p->at_return,
						     "cheap", p->emulated));
	}
	return all;
}

json_t *plan_json(const struct plan *plan)
{
	json_t *all = json_array(), *one;
	char where[512];

	for (unsigned int i = 0; i < plan->nr; i++) {
		const struct probe_plan *p = &plan->probe[i];

		one = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "event", p->event, "group", p->group,
				"how", plan_how(p), "where", plan_where(p, where, sizeof(where)),
				"cost", plan_cost(p), "reason", p->reason);
		if (p->how == PROBE_USDT || p->how == PROBE_FUNCTION)
			json_object_set_new(one, "places", places_json(p));
		json_array_append_new(all, one);
	}
	return all;
}
