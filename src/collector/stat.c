// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loading and attaching the programs of bpf/stat.bpf.c. Of the three for kvm_exit the cheapest that this kernel
 * accepts is attached.
 */
#include <errno.h>
#include <sys/mman.h>

#include <bpf/btf.h>

#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"
#include "collector/stat.h"
#include "event/exit_reason.h"

#include "hostrace.skel.h" /* knows record.h's types */

enum { STAT_LINKS = 3 };

/* A counting method with its programs; the first one for the host's ISA that loads is used. */
static const struct way {
	enum stat_span span;
	unsigned int isa; /* 0: any */
	const char *program[STAT_LINKS];
} ways[] = {
	{STAT_EXIT_TO_ENTRY,
	 EXIT_ISA_SVM,
	 {"stat_kvm_exit_svm", "stat_kvm_entry", "stat_kvm_exit_user"}},
	{STAT_EXIT_TO_ENTRY,
	 EXIT_ISA_VMX,
	 {"stat_kvm_exit_vmx", "stat_kvm_entry", "stat_kvm_exit_user"}},
	{STAT_EXIT_TO_ENTRY,
	 EXIT_ISA_SVM,
	 {"stat_kvm_exit", "stat_kvm_entry", "stat_kvm_exit_user"}},
	{STAT_EXIT_TO_ENTRY,
	 EXIT_ISA_VMX,
	 {"stat_kvm_exit", "stat_kvm_entry", "stat_kvm_exit_user"}},
	{STAT_USERSPACE_EXIT, 0, {"stat_userspace_exit", "stat_run"}},
};
enum { NR_WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Details, and what is tried if a kernel rejects some of their programs. */
enum detail {
	DETAIL_PORTS,
	DETAIL_PAGES,
	DETAIL_SWITCH,
	DETAIL_WAKEUP,
	DETAIL_RUN,
	DETAIL_READY,
	DETAIL_STEAL,
	NR_DETAILS
};
#define DETAILS_ALL    ((1u << NR_DETAILS) - 1)
#define DETAILS_OLD    (DETAILS_ALL & ~(1u << DETAIL_STEAL | 1u << DETAIL_READY))
#define DETAILS_PLACES (1u << DETAIL_PORTS | 1u << DETAIL_PAGES)

static const unsigned int detail_sets[] = {DETAILS_ALL,
					   DETAILS_ALL & ~(1u << DETAIL_READY),
					   DETAILS_OLD,
					   DETAILS_OLD & ~(1u << DETAIL_PAGES),
					   DETAILS_OLD & ~DETAILS_PLACES,
					   DETAILS_PLACES,
					   1u << DETAIL_PORTS,
					   0};

static const char *const details[NR_DETAILS] = {
	[DETAIL_PORTS] = "stat_pio",	 [DETAIL_PAGES] = "stat_mmio", /* if requested */
	[DETAIL_SWITCH] = "stat_switch", [DETAIL_WAKEUP] = "stat_wakeup",
	[DETAIL_RUN] = "stat_phase_run", /* for STAT_EXIT_TO_ENTRY */
	[DETAIL_READY] = "stat_ready",	 /* if requested */
	[DETAIL_STEAL] = "stat_steal",	 /* if requested */
};

_Static_assert(STAT_LINKS + NR_DETAILS <= STAT_PROBES_MAX, "stat_probes() has an element for each");

struct stat {
	struct stat_request request;
	struct hostrace *skel;
	struct bpf_link *link[STAT_LINKS], *detail[NR_DETAILS];
	const struct way *way;
	unsigned int details;	      /* a bit for each that is loaded */
	bool tasks;		      /* guest tasks are counted */
	struct guest_kernel *kernels; /* then mapped: of request.nr_kernels VMs */
	unsigned int nr_vcpus, nr_cells;
	size_t stride, bytes;
	uint8_t *vcpus; /* mapped: nr_vcpus times stride */
	bool *used;	/* the vCPU belongs to a VM of stat_vm_add() */
};

static bool way_possible(const struct way *way)
{
	if (way->isa && way->isa != vm_host_isa())
		return false;
	/* Without BTF Intel's program would load, too, and find no reason. */
	return strcmp(way->program[0], "stat_kvm_exit_vmx") || plan_vmx();
}

static bool detail_wanted(const struct stat *s, unsigned int set, const struct way *way,
			  enum detail d)
{
	return set & 1u << d && (d != DETAIL_RUN || way->span == STAT_EXIT_TO_ENTRY) &&
	       (d != DETAIL_PAGES || s->request.pages) &&
	       (d != DETAIL_READY || s->request.preemptors) &&
	       (d != DETAIL_STEAL || s->request.steals);
}

static int way_load(struct stat *s, const struct way *way, unsigned int set, bool tasks)
{
	struct bpf_program *prog;
	struct hostrace *skel;
	int err = object_open(false, &skel);

	if (err)
		return err;
	bpf_map__set_autocreate(skel->maps.stat_vcpus, true);
	bpf_map__set_autocreate(skel->maps.stat_threads, true);
	bpf_map__set_autocreate(skel->maps.stat_vms, true);
	bpf_map__set_autocreate(skel->maps.stat_cpus, true);
	for (unsigned int i = 0; i < STAT_LINKS && way->program[i]; i++) {
		prog = bpf_object__find_program_by_name(skel->obj, way->program[i]);
		if (prog)
			bpf_program__set_autoload(prog, true);
	}
	for (int d = 0; d < NR_DETAILS; d++) {
		prog = bpf_object__find_program_by_name(skel->obj, details[d]);
		if (prog && detail_wanted(s, set, way, d))
			bpf_program__set_autoload(prog, true);
	}
	skel->rodata->only_pid = (uint32_t)s->request.only;
	skel->rodata->stat_cells = s->nr_cells;
	skel->rodata->stat_details = set;
	skel->rodata->stat_recorder = (uint32_t)getpid();
	skel->rodata->stat_tasks = tasks;
	bpf_map__set_autocreate(skel->maps.guest_kernels, tasks);
	if (tasks)
		bpf_map__set_max_entries(skel->maps.guest_kernels, s->request.nr_kernels);
	bpf_map__set_max_entries(skel->maps.stat_vcpus, s->nr_vcpus);
	bpf_map__set_value_size(skel->maps.stat_vcpus, (uint32_t)s->stride);
	err = object_load(skel, &s->skel);
	if (err)
		return err;
	s->way = way;
	s->details = set;
	return 0;
}

static int way_try(struct stat *s, const struct way *way)
{
	int err = -ENOTSUP;

	for (size_t i = 0; i < 2 && s->request.nr_kernels; i++) {
		s->tasks = !way_load(s, way, detail_sets[i], true);
		if (s->tasks)
			return 0;
	}
	for (size_t i = 0; i < sizeof(detail_sets) / sizeof(*detail_sets) && err; i++)
		if (s->request.details || !detail_sets[i])
			err = way_load(s, way, detail_sets[i], false);
	debug("attach", "%s: %s, details %x", way->program[0], err ? strerror(-err) : "loaded",
	      s->details);
	return err;
}

static int programs_load(struct stat *s)
{
	int err = -ENOTSUP;

	for (unsigned int i = 0; i < NR_WAYS; i++) {
		if (!way_possible(&ways[i]))
			continue;
		err = way_try(s, &ways[i]);
		if (!err)
			return 0;
	}
	return fail(err, "the kernel rejected the BPF programs: %s", object_error(err));
}

static int kernels_map(struct stat *s)
{
	if (!s->tasks)
		return 0;
	s->kernels = mmap(NULL, s->request.nr_kernels * sizeof(*s->kernels), PROT_READ | PROT_WRITE,
			  MAP_SHARED, bpf_map__fd(s->skel->maps.guest_kernels), 0);
	if (s->kernels != MAP_FAILED)
		return 0;
	s->kernels = NULL;
	return fail(-errno, "cannot map the table of guest kernels: %s", strerror(errno));
}

static int memory_map(struct stat *s)
{
	s->vcpus = mmap(NULL, s->bytes, PROT_READ | (s->request.only ? 0 : PROT_WRITE), MAP_SHARED,
			bpf_map__fd(s->skel->maps.stat_vcpus), 0);
	if (s->vcpus != MAP_FAILED)
		return kernels_map(s);
	s->vcpus = NULL;
	return fail(-errno, "cannot map the histograms: %s", strerror(errno));
}

/* Programs that end a span are attached before those that begin it, so that every open span is closed. */
static int programs_attach(struct stat *s)
{
	for (int i = STAT_LINKS - 1; i >= 0; i--) {
		const char *name = s->way->program[i];

		if (!name)
			continue;
		s->link[i] =
			bpf_program__attach(bpf_object__find_program_by_name(s->skel->obj, name));
		if (!s->link[i])
			return fail(-errno, "cannot attach %s: %s", name, strerror(errno));
	}
	for (int d = 0; d < NR_DETAILS; d++)
		if (detail_wanted(s, s->details, s->way, d))
			s->detail[d] = bpf_program__attach(
				bpf_object__find_program_by_name(s->skel->obj, details[d]));
	return 0;
}

static unsigned int cells_per_vcpu(unsigned int nr_vcpus)
{
	unsigned int cells = STAT_CELLS_ALL / nr_vcpus;

	if (cells > STAT_CELLS_MAX)
		return STAT_CELLS_MAX;
	return cells < STAT_CELLS_MIN ? STAT_CELLS_MIN : cells;
}

static int stat_start(struct stat *s)
{
	int err;

	object_messages_keep();
	s->nr_vcpus = s->request.nr_vcpus ? s->request.nr_vcpus : 1;
	s->nr_cells = cells_per_vcpu(s->nr_vcpus);
	s->stride = sizeof(struct stat_vcpu) + s->nr_cells * sizeof(struct stat_cell);
	s->bytes = s->stride * s->nr_vcpus;
	s->used = calloc(s->nr_vcpus, sizeof(*s->used));
	err = s->used ? programs_load(s) : fail(-ENOMEM, "out of memory");
	if (!err)
		err = memory_map(s);
	return err ? err : programs_attach(s);
}

int stat_open_request(const struct stat_request *request, struct stat **ret)
{
	struct stat *s;
	int err = privileges_check();

	if (!err)
		err = collector_kernel_check();
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->request = *request;
	err = stat_start(s);
	if (err)
		stat_close(s);
	else
		*ret = s;
	return err;
}

int stat_vm_check(const struct vm *vm)
{
	/* one that is just starting may not have opened KVM yet */
	if (vm->has_kvm || !strncmp(vm->accel, "kvm", 3))
		return 0;
	if (vm->kvm_hidden)
		return vm_kvm_hidden(vm);
	return fail(-ENOTSUP,
		    "%s (pid %d) does not use KVM (accelerator %s): it has no VM-exits; "
		    "'hostrace ps' shows the accelerator of each VM",
		    vm->name, vm->pid, *vm->accel ? vm->accel : "unknown");
}

int stat_open(const struct vm *vm, struct stat **ret)
{
	return stat_open_request(&(struct stat_request){.only = vm->pid, .nr_vcpus = vm->nr_vcpus},
				 ret);
}

/* ---- VMs that come and go ---- */

/* The first of so many free vCPUs in a row, or nr_vcpus. */
static unsigned int free_find(const struct stat *s, unsigned int nr)
{
	unsigned int have = 0;

	for (unsigned int i = 0; i < s->nr_vcpus; i++) {
		have = s->used[i] ? 0 : have + 1;
		if (have == nr)
			return i + 1 - nr;
	}
	return s->nr_vcpus;
}

int stat_vm_add(struct stat *s, const struct vm *vm, struct stat_vm *ret)
{
	uint32_t pid = (uint32_t)vm->pid;
	struct stat_vm at = {.nr = vm->nr_vcpus ? vm->nr_vcpus : 1,
			     .guest_kernel = ret->guest_kernel};

	at.first = free_find(s, at.nr);
	if (at.first == s->nr_vcpus)
		return fail(-ENOSPC, "no capacity for the %u vCPUs of process %d", at.nr, vm->pid);
	memset(s->vcpus + at.first * s->stride, 0, at.nr * s->stride);
	if (bpf_map__update_elem(s->skel->maps.stat_vms, &pid, sizeof(pid), &at, sizeof(at),
				 BPF_ANY))
		return fail(-errno, "cannot watch process %d: %s", vm->pid, strerror(errno));
	memset(s->used + at.first, true, at.nr);
	*ret = at;
	return 0;
}

void stat_vm_remove(struct stat *s, pid_t pid, const struct stat_vm *vm)
{
	uint32_t key = (uint32_t)pid;

	bpf_map__delete_elem(s->skel->maps.stat_vms, &key, sizeof(key), 0);
	memset(s->used + vm->first, false, vm->nr);
}

unsigned int stat_strangers(struct stat *s, pid_t *ret)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < STAT_STRANGERS; i++) {
		uint32_t pid =
			__atomic_exchange_n(&s->skel->bss->stat_strangers[i], 0, __ATOMIC_RELAXED);

		if (pid)
			ret[nr++] = (pid_t)pid;
	}
	return nr;
}

bool stat_has_causes(const struct stat *s)
{
	return s->detail[DETAIL_SWITCH] &&
	       (s->detail[DETAIL_RUN] || stat_span(s) != STAT_EXIT_TO_ENTRY);
}

bool stat_has_ports(const struct stat *s)
{
	return s->detail[DETAIL_PORTS];
}

bool stat_has_pages(const struct stat *s)
{
	return s->detail[DETAIL_PAGES];
}

bool stat_has_steals(const struct stat *s)
{
	return s->detail[DETAIL_STEAL];
}

bool stat_has_tasks(const struct stat *s)
{
	return s->tasks;
}

struct guest_kernel *stat_guest_kernel(const struct stat *s, unsigned int number)
{
	return &s->kernels[number];
}

unsigned int stat_probes(const struct stat *s, struct stat_probe *ret)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < STAT_LINKS && s->way->program[i]; i++)
		ret[nr++] = (struct stat_probe){s->way->program[i], s->link[i]};
	for (unsigned int d = 0; d < NR_DETAILS; d++)
		if (s->request.details && detail_wanted(s, DETAILS_ALL, s->way, d))
			ret[nr++] = (struct stat_probe){details[d], s->detail[d]};
	return nr;
}

size_t stat_bytes(const struct stat *s)
{
	return s->bytes;
}

enum stat_span stat_span(const struct stat *s)
{
	return s->way->span;
}

const char *stat_where(const struct stat *s)
{
	return bpf_program__section_name(
		bpf_object__find_program_by_name(s->skel->obj, s->way->program[0]));
}

unsigned int stat_nr_vcpus(const struct stat *s)
{
	return s->nr_vcpus;
}

unsigned int stat_nr_cells(const struct stat *s)
{
	return s->nr_cells;
}

const struct stat_vcpu *stat_vcpu(const struct stat *s, unsigned int index)
{
	return (const struct stat_vcpu *)(s->vcpus + index * s->stride);
}

uint64_t stat_missed(const struct stat *s)
{
	return s->skel->bss->stat_missed;
}

uint64_t stat_unwatched(const struct stat *s)
{
	return s->skel->bss->stat_unwatched;
}

/* Programs that begin a span are detached first, so that the last spans are complete. */
void stat_stop(struct stat *s)
{
	for (unsigned int i = 0; i < STAT_LINKS; i++) {
		bpf_link__destroy(s->link[i]);
		s->link[i] = NULL;
	}
	for (unsigned int d = 0; d < NR_DETAILS; d++) {
		bpf_link__destroy(s->detail[d]);
		s->detail[d] = NULL;
	}
}

void stat_close(struct stat *s)
{
	if (!s)
		return;
	stat_stop(s);
	if (s->vcpus)
		munmap(s->vcpus, s->bytes);
	if (s->kernels)
		munmap(s->kernels, s->request.nr_kernels * sizeof(*s->kernels));
	hostrace__destroy(s->skel);
	free(s->used);
	free(s);
}
