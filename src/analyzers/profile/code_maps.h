/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for a host's code: which file was mapped where, when, in which process, as a recording's metadata has it
 * ("code_maps", doc/format.md), and the symbols of these files.
 *
 * A name is never guessed: a file is used if it has the build id (or the inode) that was recorded, and this host's
 * /proc/kallsyms if the kernel has the recorded build id and addresses. What has no name is shown as FILE+OFFSET.
 */
#ifndef HOSTRACE_CODE_MAPS_H
#define HOSTRACE_CODE_MAPS_H

#include "event/reader.h"
#include "input/input_options.h"
#include "symbols/symbols.h"

struct code_maps;

/* Folders in which files that a recording names are looked for, unless host_code.root is given. The last is NULL. */
extern const char *const code_maps_folders[];

/* *ret stays as it is if the recording has no maps. 0 or -errno with the error message set. */
int code_maps_open(const struct trace_info *info, const struct host_code *host,
		   struct code_maps **ret);
void code_maps_close(struct code_maps *m);

/*
 * An address that stands for this one of the process then, the same in all processes that have the file mapped; the
 * address itself if it is in no map.
 */
uint64_t code_maps_place(struct code_maps *m, uint32_t pid, uint64_t time_ns, uint64_t address);

/* Frames of a place, or of a kernel's address: as symbols_resolve(); 0: it is none of these. */
unsigned int code_maps_resolve(struct code_maps *m, uint64_t place,
			       const struct sample_resolve *how,
			       struct frame ret[FRAME_INLINES_MAX]);

/* The function that a place, or a kernel's address, is in; false: unknown. */
struct code_function;
bool code_maps_function(struct code_maps *m, uint64_t place, struct code_function *ret);

enum { CODE_MAPS_MISSING_BYTES = 1024 };

/* "FILE (it has another build id), ...": files whose code had no names, and why. Returns their number. */
unsigned int code_maps_missing(const struct code_maps *m, char ret[CODE_MAPS_MISSING_BYTES]);

/* The same as warnings, and of the kernel. */
void code_maps_caveats(const struct code_maps *m, struct trace_info *info);

#endif
