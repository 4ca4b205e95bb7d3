/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages of many requests summed up, for each device; and the slowest requests. */
#ifndef HOSTRACE_PATH_SUMMARY_H
#define HOSTRACE_PATH_SUMMARY_H

#include "analyzers/path/path.h"
#include "base/quantiles.h"

enum { PATH_SUMMARY_DEVICES_MAX = 4096, PATH_STAGES_MAX = 1 << 16 };

struct path_device_sum {
	uint32_t pid;
	const char *device, *kind; /* as in struct path_request */
	uint64_t requests, time_ns;
};

/* What a stage's requests waited for. `ns`: of each request that has such parts, their sum. */
struct path_stage {
	uint64_t key;
	uint32_t device; /* index */
	enum path_point from, to;
	enum path_role role;
	enum path_run run;
	struct quantiles ns;
};

struct path_summary {
	struct path_device_sum *device;
	size_t nr_devices;
	struct hash_table stages;
	uint64_t requests, time_ns;
	uint64_t refused;
};

/* All requests that take at least min_ns. 0, or -ENOMEM with the error message set. */
int path_summary_make(struct path_summary *s, const struct path *p, uint64_t min_ns);
void path_summary_free(struct path_summary *s);

/* Devices by time, the one that took most first; of each its stages in the order of a request. To be freed. */
struct path_stage **path_summary_stages(const struct path_summary *s, size_t *ret_nr);

/* The slowest ones of at least min_ns, at most `max`, the slowest first. To be freed; NULL: none, or out of memory. */
const struct path_request **path_slowest(const struct path *p, uint64_t min_ns, size_t max,
					 size_t *ret_nr);

#endif
