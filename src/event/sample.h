/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples: the input of profiles, lists of pairs and call trees. A sample is one occurrence of a sample type
 * (a tracepoint) with its thread, time, CPU, arguments and backtrace.
 *
 * There are two sources, with the same operations: an OSv guest's trace file (readers/osv/), whose tracepoints are
 * sample types as they are, and any other stream of events (analyzers/profile/samples.c).
 */
#ifndef HOSTRACE_SAMPLE_H
#define HOSTRACE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum {
	SAMPLE_TYPES_MAX = 65536, /* of one trace; OSv has about 500 */
	SAMPLE_ARGS_MAX = 32,	  /* characters of one signature */
};

/* The meaning of a sample type whose name does not follow OSv's conventions (NAME, NAME_ret). */
struct sample_kind {
	const struct event_type
		*type; /* the arguments are a record of this event; NULL: as in the signature */
	const char *event;     /* the event's own name where the sample's differs; or NULL */
	const char *base;      /* pairs are matched by it; NULL: by the name */
	const char *all;       /* a name for all types of its kind: "syscall"; or NULL */
	const char *allocator; /* it is an allocation: buf, req_len, alloc_len, align in its text */
	bool ends, per_cpu, keyed; /* it ends `base`; pairs belong to a CPU, to sample.key */
	bool in_thread;	  /* ... and another thread's end does not close them */
	bool keeps_first; /* a begin while one is open: that one continues; else the new one replaces it, */
	bool nests; /* ... or is nested in it, as a function that calls itself */
	bool function; /* its arguments begin with a function and, if there is one more, the call's return address */
};

struct sample_type {
	uint64_t
		key; /* names one of several of the same name; of OSv: the guest address of the tracepoint */
	char *name, *format;
	char *signature; /* one character per argument, see sample_args() */
	unsigned int index;
	int args_size; /* bytes of the argument block; -1: it varies, or the signature is unknown */
	const struct sample_kind *kind; /* NULL: OSv's conventions */
};

/* Valid until the next sample_next(). */
struct sample {
	const struct sample_type *tp;
	uint64_t thread; /* the thread's number; of OSv: its guest address */
	uint64_t time_ns;
	uint64_t guest_ns; /* the time that the guest recorded, if time_ns is aligned to the host's clock; else 0 */
	uint64_t key; /* of a pair, if the type's kind is keyed */
	const uint8_t *
		backtrace; /* nr_backtrace little-endian u64 return addresses, zeros not yet removed */
	const uint8_t *args; /* argument block */
	uint32_t args_len;
	uint32_t nr_backtrace;
	uint32_t cpu; /* 0xffffffff: before threads existed */
	char thread_name[17];
	bool stands_in; /* of a type with a kind: there is no backtrace, the thread's name is its only frame */
};

/* What an address was resolved to: one function. The strings belong to the trace or the symbols that resolved it. */
struct frame {
	uint64_t address;
	const char *name; /* NULL: unresolved */
	const char *file; /* NULL: unknown */
	int line;	  /* 0: unknown */
	const char *dso;  /* the file that the code is in, without folders; NULL: unknown */
};

/* How addresses are to be resolved by the trace itself. */
struct sample_resolve {
	bool none;    /* no symbols; only names that the trace has instead of addresses */
	bool no_file; /* do not use the tables of an OSv dump */
	bool compat;  /* search them as OSv's own tool does */
	bool no_inlines; /* only the functions, not those inlined into them */
};

struct sample_trace;

/* A shared object that the guest had loaded. */
struct sample_module {
	const char *path; /* in the guest */
	uint64_t base;
};

struct sample_ops {
	/*
	 * The next sample: 1, 0 at the end, -errno with the error message set (samples returned before remain valid).
	 */
	int (*next)(struct sample_trace *t, struct sample *ret);
	/* Back to the first sample; t->nr_read is the number read so far. */
	void (*rewind)(struct sample_trace *t);
	/* Resolves an address (as in sample_backtrace()) by the trace itself: as symbols_resolve(), or 0. */
	unsigned int (*resolve)(struct sample_trace *t, uint64_t address,
				const struct sample_resolve *how, struct frame *ret);
	/* Frees the struct that embeds the trace. */
	void (*close)(struct sample_trace *t);
};

/* Embedded as the first member by its source. Backtraces are valid as long as the trace. */
struct sample_trace {
	const char *file; /* owned */
	const char *kind; /* what the file is, for JSON: "osv-tracefile" */
	struct sample_type *types;
	unsigned int nr_types;
	const struct sample_ops *ops;
	bool (*selects)(void *arg, const struct sample *s); /* of the caller: others are skipped; NULL: none */
	void *selects_arg;
	uint64_t nr_read;	 /* samples returned since the first one */
	uint64_t refused; /* spans that the last analysis dropped: too many were open at once */
	const char *default_elf; /* the ELF file to use if none is given; or NULL */
	bool has_names;		 /* of addresses, so that it need not exist */
	struct sample_module *module; /* owned, their paths by the source */
	unsigned int nr_modules;
	bool whole;		 /* all CPUs' samples begin together: none was overwritten */
	bool keeps_args; /* arguments are valid as long as the trace, not only until the next sample */
	bool has_thread_addresses; /* sample.thread is an address, not a number */
	bool has_padded_names;	   /* thread names include their padding in the file */
};

/* `file` is copied. -ENOMEM with the error message set. */
int sample_trace_init(struct sample_trace *t, const char *file, const char *kind,
		      const struct sample_ops *ops);
/* For a source's close(): frees the members of the trace itself. */
void sample_trace_deinit(struct sample_trace *t);

void sample_trace_close(struct sample_trace *t);
DEFINE_CLEANUP(sample_trace, struct sample_trace *, sample_trace_close);

/* Takes ownership of the strings, also on failure. */
int sample_type_add(struct sample_trace *t, uint64_t key, char *name, char *signature,
		    char *format);

/* Is it the type of this name, or derived from the event of this name? */
bool sample_type_is(const struct sample_type *tp, const char *name);

static inline int sample_next(struct sample_trace *t, struct sample *ret)
{
	int r = t->ops->next(t, ret);

	t->nr_read += r > 0;
	while (r > 0 && t->selects && !t->selects(t->selects_arg, ret)) {
		r = t->ops->next(t, ret);
		t->nr_read += r > 0;
	}
	return r;
}

void sample_rewind(struct sample_trace *t);

/*
 * Calls `put` for each sample from the first one on, until it returns other than 0. Returns that, 0 at the end, or
 * -errno with the error message set.
 */
static inline int sample_each(struct sample_trace *t,
			      int (*put)(void *arg, const struct sample *s), void *arg)
{
	struct sample s;
	int r = 0, stop = 0;

	sample_rewind(t);
	while (!stop && (r = sample_next(t, &s)) > 0)
		stop = put(arg, &s);
	return stop ? stop : r;
}

/*
 * Addresses of the backtrace without zeros, each less 1 (the call, not the return); at most max. Returns their number.
 */
unsigned int sample_backtrace(const struct sample *s, uint64_t *ret, unsigned int max);

/* Of a type with kind.function: the function, and where its caller calls it. Returns how many, 0: it has none. */
unsigned int sample_function(const struct sample *s, uint64_t ret[2]);

/* ---- the part of a trace that a report covers ---- */

/* [since, until) in ns; has_* false: not given. */
struct time_range {
	bool has_since, has_until;
	double since_ns, until_ns;
};

static inline bool time_range_has(const struct time_range *r, uint64_t time_ns)
{
	return (!r->has_since || (double)time_ns >= r->since_ns) &&
	       (!r->has_until || (double)time_ns < r->until_ns);
}

/*
 * The length of the part of [start, start + duration] within the range; false if they do not touch. Touching at one
 * point counts, with length 0 (as in OSv's tool); a span that ends before it begins does not.
 */
static inline bool time_range_trim(const struct time_range *r, uint64_t start_ns,
				   int64_t duration_ns, double *ret_ns)
{
	double since = (double)start_ns, until = since + (double)duration_ns;

	if (r->has_since && since < r->since_ns)
		since = r->since_ns;
	if (r->has_until && until > r->until_ns)
		until = r->until_ns;
	*ret_ns = until - since;
	return until >= since;
}

/* ---- arguments ---- */

struct sample_arg {
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
 * Decodes the argument block by the signature: b B h H i I q Q c ? f d P p *, each aligned to min(size, 8) within the
 * block. Returns the number of arguments or -EBADMSG (signature unknown, block too short; error message set).
 */
int sample_args(const struct sample_type *tp, const uint8_t *block, size_t len,
		struct sample_arg ret[SAMPLE_ARGS_MAX], size_t *ret_len);

/*
 * Offset and type of each argument, for signatures without blobs. Returns their number, and the block's size; -1 if
 * that varies from sample to sample.
 */
struct sample_arg_place {
	char type;
	uint16_t offset, size;
};
int sample_args_layout(const char *signature, struct sample_arg_place ret[SAMPLE_ARGS_MAX],
		       size_t *ret_size);

/*
 * Formats a sample's arguments as OSv's tool does: the type's printf-like format with Python's rules (%p is 0x%016x, a
 * negative %x has a minus sign, ...). Returns buf, or NULL with the error message set where that tool fails.
 */
const char *sample_format(const struct sample *s, char *buf, size_t size);

#endif
