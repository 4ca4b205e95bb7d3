/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of an OSv guest's own data: run queues, callouts, memory, mappings, page tables, statistics of ZFS, its log.
 * Each function reads one by osv_guest_visit(): 0, or -errno with the error message set. Rows are to be freed; what
 * could not be read is missing in them, and counted in ret_pause->lost.
 */
#ifndef HOSTRACE_OSV_STATE_H
#define HOSTRACE_OSV_STATE_H

#include <jansson.h>

#include "fetch/osv_guest.h"

/* An array of one of the structures below; free(row), also after a failure. */
struct osv_rows {
	void *row;
	size_t nr, size;
};

/* ---- scheduler (osv_sched.c) ---- */

/* A thread that waits for a vCPU. */
struct osv_queued {
	uint64_t address;
	uint32_t cpu, acpi_id, id;
	float vruntime; /* infinite: an idle thread */
	char name[17];
};
int osv_runqueue(const struct osv_guest_options *opt, struct osv_rows *ret,
		 struct osv_pause *ret_pause);

/* A function that is called at some time. */
struct osv_callout {
	uint64_t address, function, argument;
	int64_t time_ns; /* since the guest's boot */
	uint32_t flags;
	char name[128], function_name[128]; /* symbols; "": unknown */
};
enum { OSV_CALLOUT_ACTIVE = 2, OSV_CALLOUT_PENDING = 4, OSV_CALLOUT_COMPLETED = 0x20 };
int osv_callouts(const struct osv_guest_options *opt, struct osv_rows *ret,
		 struct osv_pause *ret_pause);

/* ---- memory (osv_memory.c) ---- */

/* Free pages: of a list (0 to 15: at least 2^list pages), or of the tree of large ranges. */
struct osv_free_range {
	uint64_t address, bytes;
	int list; /* -1: the tree */
};
int osv_heap(const struct osv_guest_options *opt, struct osv_rows *ret,
	     struct osv_pause *ret_pause);

enum { OSV_WAITERS_MAX = 16 };

struct osv_memory {
	uint64_t physical; /* usable RAM */
	uint64_t total;	   /* given to the allocator */
	uint64_t free;
	uint64_t mapped; /* sum of all mappings */
	uint64_t nr_mappings;
	struct {
		uint64_t thread;
		uint32_t id;
		uint64_t bytes;
	} waiter[OSV_WAITERS_MAX]; /* threads that wait for free memory */
	unsigned int nr_waiters, more_waiters;
	bool waiters_known; /* this build has their types */
};
int osv_memory(const struct osv_guest_options *opt, struct osv_memory *ret,
	       struct osv_pause *ret_pause);

struct osv_mapping {
	uint64_t address, start, end, offset;
	uint32_t perm, flags;
	bool file;
	char path[256]; /* "": not a file, or its path cannot be read */
};
enum { OSV_PERM_READ = 1, OSV_PERM_WRITE = 2, OSV_PERM_EXEC = 4, OSV_MAPPING_FILE = 0x80 };
int osv_mappings(const struct osv_guest_options *opt, struct osv_rows *ret,
		 struct osv_pause *ret_pause);

/* ---- page tables (osv_memory.c) ---- */

enum { OSV_PAGE_LEVELS = 4 };

struct osv_translation {
	uint64_t address;
	struct {
		uint64_t at, entry; /* the entry's physical address */
		unsigned int level; /* 4 to 1 */
	} level[OSV_PAGE_LEVELS];
	unsigned int nr_levels;
	bool mapped;
	uint64_t physical, page_bytes; /* if it is mapped */
	bool writable, executable;     /* by all levels */
};
int osv_translate(const struct osv_guest_options *opt, uint64_t address,
		  struct osv_translation *ret, struct osv_pause *ret_pause);

/* ---- modules, ZFS, log (osv_texts.c) ---- */

int osv_modules(const struct osv_guest_options *opt, struct osv_modules *ret,
		struct osv_pause *ret_pause);

/* A figure that the guest counts. */
struct osv_figure {
	char group[16], name[32];
	uint64_t value;
};
int osv_zfs(const struct osv_guest_options *opt, struct osv_rows *ret, struct osv_pause *ret_pause);

enum osv_log_state {
	OSV_LOG_WHOLE,
	OSV_LOG_WRAPPED,   /* its first line may not be whole */
	OSV_LOG_UNORDERED, /* ... and where it begins is not known */
};
/* Its log; *ret is to be freed. */
int osv_log(const struct osv_guest_options *opt, char **ret, enum osv_log_state *ret_state,
	    struct osv_pause *ret_pause);

/* ---- variables of vCPUs (osv_percpu.c) ---- */

struct osv_percpu {
	uint32_t cpu, acpi_id;
	uint64_t address;
	json_t *value;
};
/*
 * variable: its name in C++ or the linker's; field: a member of it ("_base._size"), or NULL. Rows to be freed with
 * osv_percpu_free(), also after a failure.
 */
int osv_percpu(const struct osv_guest_options *opt, const char *variable, const char *field,
	       struct osv_percpu **ret, size_t *ret_nr, struct osv_pause *ret_pause);
void osv_percpu_free(struct osv_percpu *p, size_t nr);

#endif
