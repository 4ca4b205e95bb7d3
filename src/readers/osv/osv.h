/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OSv's traces: a unikernel writes tracepoint samples into one ring per vCPU; they leave the guest
 * in two forms.
 *
 *   "tracefile" version 3   saved through gdb, or converted: a dictionary of the tracepoints used,
 * then samples, one after another without alignment, until the end of the file OSVT dump what GET
 * /trace/buffers answers: chunks; TRCD the dictionary, one TRCS per CPU with records as in the
 * ring, MODS and SYMB modules and symbols
 *
 * Both are opened the same way here and give the same samples, in the order in which OSv's own tool
 * gives them. A sample's time is nanoseconds since the guest's boot; 0 means that the clock was not
 * running yet.
 *
 * The guest is hostile: everything is read through a bounded cursor over the mapped file.
 */
#ifndef HOSTRACE_OSV_H
#define HOSTRACE_OSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum {
	OSV_TRACEPOINTS_MAX = 65536, /* of one trace; OSv has about 500 */
	OSV_ARGS_MAX = 32,	     /* characters of one signature */
	OSV_STREAMS_MAX = 4096,	     /* per-CPU chunks of one dump */
	OSV_BACKTRACE_MAX = 4096,    /* addresses of one sample in a tracefile */
};

struct osv_tracepoint {
	uint64_t key; /* guest address of the tracepoint object; names one of several of the same
			 name */
	char *name, *format;
	char *signature; /* one character per argument, see osv_args() */
	unsigned int index;
	int args_size; /* bytes of the argument block; -1: it varies, or the signature is unknown */
	const struct sample_kind *kind; /* of a view over other events (profile/samples.h); NULL: OSv's own */
};

/*
 * What a tracepoint means where its name does not say it by OSv's conventions. `base`: pairs go by it instead of the
 * name. For traces that are views over other events.
 */
struct sample_kind {
	const struct event_type *type; /* the argument block is such an event's record; NULL: as the signature says */
	const char *event;	       /* the event's own name where the sample's differs; or NULL */
	const char *base;	       /* NULL: by the name */
	const char *all;	       /* a name for all of its sort: "syscall"; or NULL */
	const char *allocator;	       /* it is an allocation: buf, req_len, alloc_len, align in its text */
	bool ends, per_cpu, keyed;     /* it ends `base`; pairs belong to a CPU, to osv_sample.key */
	bool keeps_first; /* a begin while one is open: that one goes on; else the new one takes its place, */
	bool nests;	  /* ... or is nested in it, as a function that calls itself */
};

/* Valid until the next osv_next(): it points into the mapped file. */
struct osv_sample {
	const struct osv_tracepoint *tp;
	uint64_t thread; /* guest address of the thread */
	uint64_t time_ns;
	uint64_t key; /* of a pair, where the tracepoint's kind says so */
	const uint8_t *backtrace; /* nr_backtrace little-endian u64 return addresses, zeros not yet
				     removed */
	const uint8_t *args;	  /* argument block */
	uint32_t args_len;
	uint32_t nr_backtrace;
	uint32_t cpu; /* 0xffffffff: before threads existed */
	char thread_name[17];
	bool stands_in; /* of a tracepoint with a kind: there is no backtrace, the thread's name is all of it */
};

struct osv_segment {
	char *name;
	uint64_t address, size;
};

/* MODS and SYMB of a dump, for names of addresses that no ELF file knows. */
struct osv_symbol {
	char *name, *file;
	uint64_t address, size;
	unsigned int nr; /* place in its table */
};

struct osv_trace {
	const char *file; /* owned */
	bool is_dump;
	bool is_rings; /* images of a guest's rings (raw.h), read as a dump is */
	struct osv_tracepoint *tracepoints;
	unsigned int nr_tracepoints;
	struct osv_symbol *symbols, *segments, *modules; /* each in file order */
	unsigned int nr_symbols, nr_segments, nr_modules;
	uint64_t unfinished, bad; /* of rings: see struct osv_raw_counts */
	struct osv_private *priv;
	const struct osv_source *source; /* NULL: the file itself */
	void *source_arg;
	bool whole; /* all CPUs' samples begin together: none was overwritten */
};

struct osv_frame;

/*
 * A trace that is a view over something else. Samples' backtraces live as long as the trace, their arguments until the
 * next one. `resolve` names an address (as in osv_backtrace()): 0, it does not know it, or 1.
 */
struct osv_source {
	int (*next)(void *arg, struct osv_sample *ret);
	void (*rewind)(void *arg);
	unsigned int (*resolve)(void *arg, uint64_t address, bool none, struct osv_frame *ret);
	void (*close)(void *arg);
};

/* An empty trace to which a source is added; `file` is copied. NULL: out of memory, with the sentence set. */
struct osv_trace *osv_new(const char *file);
/* Takes the strings over, also on failure. */
int osv_add(struct osv_trace *t, uint64_t key, char *name, char *signature, char *format);

/* Is it the tracepoint of this name, or made of the event of this name? */
bool osv_tracepoint_is(const struct osv_tracepoint *tp, const char *name);

/* Does the file begin like one of the two? */
bool osv_is_tracefile(const uint8_t *head, size_t len);
bool osv_is_dump(const uint8_t *head, size_t len);

/* What a trace's file is, for JSON and `info`: osv-tracefile, osv-dump, osv-rings. */
const char *osv_kind(const struct osv_trace *t);

/* 0, or -errno with the sentence set (file and offset). */
int osv_open(const char *path, struct osv_trace **ret);
void osv_close(struct osv_trace *t);
DEFINE_CLEANUP(osv, struct osv_trace *, osv_close);

/*
 * The next sample: 1, 0 at the end, -EBADMSG with the sentence set where the file is cut or wrong
 * (samples handed out before stay good).
 */
int osv_next(struct osv_trace *t, struct osv_sample *ret);

/* Samples handed out since the first one. */
uint64_t osv_nr_read(const struct osv_trace *t);

/* Back to the first sample. */
void osv_rewind(struct osv_trace *t);

/* Addresses of the backtrace without zeros, each less 1 (the call, not the return); returns how
 * many, at most max. */
unsigned int osv_backtrace(const struct osv_sample *s, uint64_t *ret, unsigned int max);

/* ---- arguments ---- */

struct osv_arg {
	char type; /* signature character */
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
	const uint8_t *bytes; /* p: text, not terminated; *: blob */
	unsigned int len;
};

/*
 * Decodes the argument block by the signature: b B h H i I q Q c ? f d P p *, each aligned to
 * min(size, 8) within the block. Returns the number of arguments or -EBADMSG (signature unknown,
 * block too short; sentence set).
 */
int osv_args(const struct osv_tracepoint *tp, const uint8_t *block, size_t len,
	     struct osv_arg ret[OSV_ARGS_MAX], size_t *ret_len);

/*
 * Where the arguments stand, for signatures without blobs: type and offset of each. Returns how
 * many, and the block's size; -1 where that varies from sample to sample.
 */
struct osv_place {
	char type;
	uint16_t offset, size;
};
int osv_layout(const char *signature, struct osv_place ret[OSV_ARGS_MAX], size_t *ret_size);

/*
 * Formats a sample's arguments as OSv's tool does: the tracepoint's printf-like format with
 * Python's rules (%p is 0x%016x, a negative %x has a minus sign, ...). Returns buf, or NULL with
 * the sentence set where that tool fails.
 */
const char *osv_format(const struct osv_sample *s, char *buf, size_t size);

#endif
