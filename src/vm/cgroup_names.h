/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of cgroups (version 2) by their number, which BPF knows them by. */
#ifndef HOSTRACE_CGROUP_NAMES_H
#define HOSTRACE_CGROUP_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct cgroup_names;

/* root: where the hierarchy is mounted; NULL: nowhere. NULL: out of memory, error message set. */
struct cgroup_names *cgroup_names_new(const char *root);
void cgroup_names_free(struct cgroup_names *n);
DEFINE_CLEANUP(cgroup_names, struct cgroup_names *, cgroup_names_free);

/* Where this host has mounted it; false: nowhere. */
bool cgroup_root_find(char *ret, size_t size);

/* These will be looked up by cgroup_names_read(). */
void cgroup_names_want(struct cgroup_names *n, uint64_t id);
void cgroup_names_read(struct cgroup_names *n);

/*
 * "/system.slice/a.service"; "idle" for 0; "id:123" if it is not known, and "id:123 ...c/a.service" if it is longer
 * than buf, so that no two are the same. Returns the text, or buf, which has at least 64 bytes.
 */
const char *cgroup_name(const struct cgroup_names *n, uint64_t id, char *buf, size_t size);

#endif
