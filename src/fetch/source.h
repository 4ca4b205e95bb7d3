/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A running guest's own trace, read while the VM is recorded: from its agent (a guest stream) or out of its memory (a
 * guest ring). No function blocks: the recorder polls a few times a second and reads what is available.
 *
 *   serial:PATH        the UNIX socket of a virtio-serial port              agent
 *   vsock:CID:PORT     AF_VSOCK                                              agent
 *   shm:FILE           memory shared with the guest: ivshmem's file, or      agent or ring
 *                      the one that backs the guest's RAM
 *   mem:WHERE          the guest's RAM, read through its process             ring
 *   file:FILE          a file that another process fills, copied at the end    agent or ring
 *
 * The data is written to a file of its own, a guest stream (doc/guest-stream.md) or a ring (doc/guest-ring.md),
 * which reports merge with --guest.
 */
#ifndef HOSTRACE_GUEST_SOURCE_H
#define HOSTRACE_GUEST_SOURCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

enum {
	GUEST_SOURCE_STOP_MS = 30000,	/* for an agent to send the rest */
	GUEST_SOURCE_SILENT_MS = 2000,	/* if no data has arrived yet: probably there is no source */
	GUEST_SOURCE_RETRY_MS = 200,	/* between looks for a guest that is not there yet */
	GUEST_SOURCE_ROUND_BYTES = 4 << 20, /* read in one round */
};

#define GUEST_SOURCE_FILE_DEFAULT (1ull << 30) /* bytes: a guest must not fill the host's disk; then the source ends */

struct guest_source;

/* Is the text one of the above? 0 or -EINVAL with the error message set. */
int guest_source_check(const char *text);

/*
 * Opens it and the file `to` (base/growing_file.h), which exists afterwards only if data was received. `must`: the
 * source has to be there now; else it is looked for until it is. `pid`: the VM's process. 0 or -errno with the error
 * message set.
 */
int guest_source_open(const char *text, pid_t pid, const char *to, bool must,
		      struct guest_source **ret);

/* Is it there, or has it failed? If not, it is still looked for. */
bool guest_source_found(const struct guest_source *s);

/* Instead of GUEST_SOURCE_FILE_DEFAULT. */
void guest_source_limit(struct guest_source *s, uint64_t file_bytes);

/* Reads what has arrived. An error ends the source, not the recording; guest_source_json() reports it. */
void guest_source_round(struct guest_source *s);

/* No more is wanted: waits for the rest, at most GUEST_SOURCE_STOP_MS, and ends the file. */
void guest_source_stop(struct guest_source *s);

/* Waits until the file is on the disk (growing_file_sync()). */
int guest_source_sync(const struct guest_source *s);

/* {"source","file","kind","bytes","units","damaged","error"}: kind "" if no data arrived; units: frames or records. */
json_t *guest_source_json(const struct guest_source *s);

void guest_source_close(struct guest_source *s);

#endif
