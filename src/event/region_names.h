/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is behind the ports and addresses of each VM, by the metadata of the inputs ("regions", doc/format.md): as QEMU
 * had it when the recording began, and when it ended.
 */
#ifndef HOSTRACE_REGION_NAMES_H
#define HOSTRACE_REGION_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct region_names;

/* NULL: out of memory. */
struct region_names *region_names_new(void);
void region_names_free(struct region_names *names);

/* Learns regions[] of an input's metadata, which is not trusted. A pid that is known keeps its regions. */
void region_names_meta(struct region_names *names, const json_t *meta);

/*
 * "e1000-io of eth1", "A, later B" if it changed; the same pointer for the same text, valid until
 * region_names_free(). pid 0: of the only VM whose regions are known. "" if regions of this VM are known, and this
 * address is in none; NULL: nothing is known of the VM. `names` may be NULL.
 */
const char *region_name(struct region_names *names, uint32_t pid, bool port, uint64_t address);

/* The same of the 4 KiB page of guest memory that begins at `page`: "A and 2 more" if several regions are in it. */
const char *region_name_page(struct region_names *names, uint32_t pid, uint64_t page);

#endif
