// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux 6.6 has links for user probes (BPF_TRACE_UPROBE_MULTI), which spare the detour by perf: a
 * hit costs less, and twenty probes are detached in the time of one. Before 6.12 such a link could miss
 * the threads of a process except the first; the functions added with the fix show whether it
 * is there. libbpf 1.1 does not know these links, so the system call is made here.
 *
 * Also how links are kept until they are dropped.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "collector/internal.h"

enum {
	TRACE_UPROBE_MULTI = 48,      /* enum bpf_attach_type */
	UPROBE_MULTI_RETURN = 1 << 0, /* BPF_F_UPROBE_MULTI_RETURN */
};

/* The members of union bpf_attr for BPF_LINK_CREATE of this attach type. */
struct link_create_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, path_fd;
};

bool uprobe_links_possible(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found =
		btf && btf__find_by_name_kind(btf, "uprobe_unregister_nosync", BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return found;
}

/* Perf checks the rights before anything else of a user probe, so that one without a path shows them. */
static bool perf_refuses(void)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	struct perf_event_attr attr = {.size = sizeof(attr), .exclude_kernel = 1};
	long fd;

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		return false;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close((int)fd);
	return fd < 0 && errno == EACCES;
}

/* Perf allows user probes with CAP_PERFMON, later kernels only with CAP_SYS_ADMIN (seen: 6.1.192, 6.18). */
bool feature_uprobes(void)
{
	return !perf_refuses() || uprobe_links_possible();
}

void uprobe_link_prepare(struct bpf_program *prog)
{
	bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

int uprobe_link_sites(const struct bpf_program *prog, pid_t pid, const char *exe,
		      const struct uprobe_sites *sites)
{
	struct link_create_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(prog),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)exe,
		.offsets = (uint64_t)(uintptr_t)sites->offset,
		.ref_ctr_offsets = (uint64_t)(uintptr_t)sites->semaphore,
		.cookies = (uint64_t)(uintptr_t)sites->cookie,
		.count = sites->nr,
		.multi_flags = sites->at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

void collector_link_drop(struct probe_link *l)
{
	if (l->link)
		bpf_link__destroy(l->link);
	else
		close(l->fd);
}

int collector_link_keep(struct collector *c, struct bpf_link *link, int fd)
{
	struct probe_link l = {.link = link, .fd = fd, .result = c->attaching};

	if (!link && fd < 0)
		return fd;
	if (c->nr_links == LINKS_MAX) {
		collector_link_drop(&l);
		return -E2BIG;
	}
	c->links[c->nr_links++] = l;
	return 0;
}
