/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording keeps of the answer of `stuck -f json`, in its metadata "stuck" (doc/format.md). */
#ifndef HOSTRACE_STUCK_KEPT_H
#define HOSTRACE_STUCK_KEPT_H

#include <jansson.h>

enum {
	STUCK_KEPT_FINDINGS = 64,
	STUCK_KEPT_QUEUES = 256, /* in which QEMU's throttling holds requests, or whose data a server has */
	STUCK_KEPT_VCPUS = 1024,
	STUCK_KEPT_TEXT = 1024, /* bytes */
};

/*
 * {"start_ns", "end_ns", "findings": [{"kind", "text", "device", "queue", "tid", "age_ns"}], "queues": [{"device",
 * "queue", "backend": {"throttled", "nodes": [{"driver"}]}}], "vcpus": [{"tid", "where", "busy_ns"}],
 * "left_out": number} of such an answer, or of what another wrote as one: members of another type are absent, and
 * what is beyond the limits is counted in "left_out". Or {"error"}: there is no answer. New reference; NULL: it is no
 * object.
 */
json_t *stuck_kept(const json_t *answer);

/* The driver of QEMU's by which a server has the data of a disk, "nbd", by its "backend". NULL: none is known. */
const char *stuck_backend_server(const json_t *backend);

/* There is none because of this. New reference. */
json_t *stuck_kept_error(const char *why);

#endif
