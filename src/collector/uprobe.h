/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User probes, by the kernel's own links where it has good ones, else by perf events. */
#ifndef HOSTRACE_UPROBE_H
#define HOSTRACE_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <bpf/libbpf.h>

/* Does this kernel remove user probes without a separate grace period for each? */
bool uprobe_links_possible(void);

/* Before loading: the program will be attached by uprobe_link(). */
void uprobe_link_prepare(struct bpf_program *prog);

/* Attaches at a file offset for one process. Returns the link's file descriptor or -errno. */
int uprobe_link(const struct bpf_program *prog, pid_t pid, const char *exe, uint64_t file_offset,
		bool at_return);

#endif
