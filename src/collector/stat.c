// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loading and attaching the programs of bpf/stat.bpf.c. Of the three for kvm_exit the cheapest that this kernel
 * accepts is attached.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"
#include "collector/plan_internal.h"
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

struct stat {
	struct hostrace *skel;
	struct bpf_link *link[STAT_LINKS];
	const struct way *way;
	unsigned int nr_vcpus, nr_cells;
	size_t stride, bytes;
	uint8_t *vcpus; /* mapped: nr_vcpus times stride */
};

/* Without it Intel's program would load, too, and find no reason. */
static bool vmx_known(void)
{
	struct btf *vmlinux = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	bool known;

	if (libbpf_get_error(vmlinux))
		return false;
	known = kernel_struct_known(vmlinux, "kvm_intel", "vcpu_vmx");
	btf__free(vmlinux);
	return known;
}

static bool way_possible(const struct way *way)
{
	if (way->isa && way->isa != vm_host_isa())
		return false;
	return strcmp(way->program[0], "stat_kvm_exit_vmx") || vmx_known();
}

static int way_load(struct stat *s, const struct way *way, pid_t pid)
{
	struct hostrace *skel = hostrace__open();
	struct bpf_program *prog;
	struct bpf_map *map;
	int err;

	if (!skel)
		return fail(-errno, "cannot open the BPF object: %s", strerror(errno));
	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(prog, false);
	bpf_object__for_each_map(map, skel->obj) if (!bpf_map__is_internal(map))
		bpf_map__set_autocreate(map, map == skel->maps.stat_vcpus ||
						     map == skel->maps.stat_threads);
	for (unsigned int i = 0; i < STAT_LINKS && way->program[i]; i++) {
		prog = bpf_object__find_program_by_name(skel->obj, way->program[i]);
		if (prog)
			bpf_program__set_autoload(prog, true);
	}
	skel->rodata->only_pid = (uint32_t)pid;
	skel->rodata->stat_cells = s->nr_cells;
	bpf_map__set_max_entries(skel->maps.stat_vcpus, s->nr_vcpus);
	bpf_map__set_value_size(skel->maps.stat_vcpus, (uint32_t)s->stride);
	err = hostrace__load(skel);
	if (err)
		hostrace__destroy(skel);
	else
		s->skel = skel;
	return err;
}

static int programs_load(struct stat *s, pid_t pid)
{
	int err = -ENOTSUP;

	for (unsigned int i = 0; i < NR_WAYS; i++) {
		if (!way_possible(&ways[i]))
			continue;
		err = way_load(s, &ways[i], pid);
		debug("attach", "%s: %s", ways[i].program[0], err ? strerror(-err) : "loaded");
		s->way = &ways[i];
		if (!err)
			return 0;
	}
	return fail(err, "the kernel rejected the BPF programs: %s%s%s", strerror(-err),
		    *collector_load_warning() ? "; " : "", collector_load_warning());
}

static int memory_map(struct stat *s)
{
	s->vcpus = mmap(NULL, s->bytes, PROT_READ, MAP_SHARED,
			bpf_map__fd(s->skel->maps.stat_vcpus), 0);
	if (s->vcpus != MAP_FAILED)
		return 0;
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
		s->link[i] = bpf_program__attach(
			bpf_object__find_program_by_name(s->skel->obj, name));
		if (!s->link[i])
			return fail(-errno, "cannot attach %s: %s", name, strerror(errno));
	}
	return 0;
}

static unsigned int cells_per_vcpu(unsigned int nr_vcpus)
{
	unsigned int cells = STAT_CELLS_ALL / nr_vcpus;

	if (cells > STAT_CELLS_MAX)
		return STAT_CELLS_MAX;
	return cells < STAT_CELLS_MIN ? STAT_CELLS_MIN : cells;
}

int stat_open(const struct vm *vm, struct stat **ret)
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
	collector_load_quietly();
	s->nr_vcpus = vm->nr_vcpus ? vm->nr_vcpus : 1;
	s->nr_cells = cells_per_vcpu(s->nr_vcpus);
	s->stride = sizeof(struct stat_vcpu) + s->nr_cells * sizeof(struct stat_cell);
	s->bytes = s->stride * s->nr_vcpus;
	err = programs_load(s, vm->pid);
	if (!err)
		err = memory_map(s);
	if (!err)
		err = programs_attach(s);
	if (err)
		stat_close(s);
	else
		*ret = s;
	return err;
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

/* Programs that begin a span are detached first, so that the last spans are complete. */
void stat_stop(struct stat *s)
{
	for (unsigned int i = 0; i < STAT_LINKS; i++) {
		bpf_link__destroy(s->link[i]);
		s->link[i] = NULL;
	}
}

void stat_close(struct stat *s)
{
	if (!s)
		return;
	stat_stop(s);
	if (s->vcpus)
		munmap(s->vcpus, s->bytes);
	hostrace__destroy(s->skel);
	free(s);
}
