/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libhostrace reads recordings of hostrace and every other trace that hostrace reads (trace.dat, perf.data, text of
 * tracefs, QEMU's logs, guest rings, OSv traces): the events that `hostrace list` prints, in that order.
 *
 *	struct hostrace_trace *t = hostrace_open("vm.hrt");
 *	const struct hostrace_event *ev;
 *	int more = t ? 1 : -1;
 *
 *	while (t && (more = hostrace_next(t, &ev)) > 0)
 *		printf("%" PRIu64 " %s\n", ev->time_ns, ev->name);
 *	if (more < 0)
 *		fprintf(stderr, "%s\n", hostrace_error());
 *	hostrace_close(t);
 *
 * It also runs the reports of the hostrace command and returns their rows:
 *
 *	struct hostrace_report *r = hostrace_report_run("vm.hrt", "exits", NULL);
 *
 *	for (uint64_t i = 0; r && i < hostrace_report_rows(r); i++)
 *		printf("%s\n", hostrace_report_value(r, i, 0)->text);
 *	hostrace_report_close(r);
 *
 * Link with `pkg-config --libs libhostrace`.
 *
 * Stability: functions are neither removed nor changed without a new SONAME. struct hostrace_event is made by the
 * library only, and gets further members only at its end; so do the enums and the other structs. Names of events and
 * fields are those of doc/events.md; programs must ignore those that they do not know.
 *
 * Threads: the library keeps a table of event types for the whole process, without a lock. Call it from one thread at a
 * time; error messages belong to the thread.
 *
 * Untrusted files: a reader returns an error for a damaged file, but the library does not confine the process as the
 * hostrace command does. Programs that read files of others should do that themselves. A file that becomes shorter
 * while it is read can end the process by SIGBUS. The library installs no signal handlers and prints nothing.
 */
#ifndef HOSTRACE_H
#define HOSTRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hostrace_trace;

struct hostrace_event {
	uint64_t time_ns;   /* CLOCK_MONOTONIC of the host; ticks if hostrace_in_ticks() */
	const char *name;   /* "kvm_exit", "guest:sched_switch", ... */
	const char *source; /* "host", "guest", "guest2", ... */
	const char *thread; /* name of the thread; "" if unknown */
	uint32_t pid, tid;
	int32_t cpu, vcpu;  /* -1: not recorded, no vCPU */
	uint32_t nr_fields;
};

enum hostrace_kind {
	HOSTRACE_UNSIGNED = 0,
	HOSTRACE_SIGNED = 1,
	HOSTRACE_TEXT = 2,
};

/* "0.1.0" */
const char *hostrace_version(void);

/*
 * Opens a trace, whose kind is recognized by its content, together with the guest traces that `record --guest` saved
 * with it. NULL: see hostrace_error().
 */
struct hostrace_trace *hostrace_open(const char *path);

/* The same with this guest's own trace instead; NULL: without any. */
struct hostrace_trace *hostrace_open_with_guest(const char *path, const char *guest);

/* As hostrace_open(), with only the events that a condition holds for (doc/filters.md): "vcpu == 0 && ns > 1ms". */
struct hostrace_trace *hostrace_open_where(const char *path, const char *where);

/* NULL is fine. */
void hostrace_close(struct hostrace_trace *t);

/*
 * The next event: 1 and *event, which is valid until the next call with this trace; 0 at the end; a negative errno if
 * the trace cannot be read further, see hostrace_error().
 */
int hostrace_next(struct hostrace_trace *t, const struct hostrace_event **event);

/*
 * Field `i` of the event that hostrace_next() returned last, 0 <= i < nr_fields. After its end, and for fields that do
 * not exist, these return NULL or 0.
 */
const char *hostrace_field_name(const struct hostrace_trace *t, uint32_t i);
enum hostrace_kind hostrace_field_kind(const struct hostrace_trace *t, uint32_t i);

/* The position of the field of this name; -1: the event has none. */
int hostrace_field(const struct hostrace_trace *t, const char *name);

/* A number, sign-extended if the field is signed; 0 for text. */
uint64_t hostrace_field_number(const struct hostrace_trace *t, uint32_t i);

/*
 * The value as `hostrace list` prints it ("IO_INSTRUCTION" for a reason, "0x3f8" for a port), control characters
 * replaced. Valid until the next call with this trace.
 */
const char *hostrace_field_text(struct hostrace_trace *t, uint32_t i);

/* Are times ticks of a clock of unknown rate, and not nanoseconds? */
int hostrace_in_ticks(const struct hostrace_trace *t);

/* Events that the recorder could not store. Final once hostrace_next() has returned 0. */
uint64_t hostrace_lost(const struct hostrace_trace *t);

/* Note 0, 1, ... about the trace, e.g. that the file is truncated; NULL after the last. Final as hostrace_lost(). */
const char *hostrace_note(const struct hostrace_trace *t, uint32_t i);

/* ---- reports ---- */

struct hostrace_report;

enum hostrace_value_kind {
	HOSTRACE_VALUE_NONE = 0, /* not recorded */
	HOSTRACE_VALUE_INTEGER = 1,
	HOSTRACE_VALUE_REAL = 2,
	HOSTRACE_VALUE_TEXT = 3, /* also an integer above 2^63 - 1, as its decimal digits */
	HOSTRACE_VALUE_BOOLEAN = 4,
	HOSTRACE_VALUE_JSON = 5, /* an array or object, as JSON */
};

struct hostrace_value {
	enum hostrace_value_kind kind;
	int64_t integer;  /* of integers and booleans; else 0 */
	double real;	  /* of numbers; else 0 */
	const char *text; /* of texts and JSON, UTF-8 ending with a 0; else NULL */
};

struct hostrace_column {
	const char *name;	 /* the key of the row in `hostrace NAME -f json`: "p99_ns" */
	const char *unit;	 /* "ns", "bytes", "ticks", "%"; "": none */
	const char *explanation; /* as `hostrace help columns` prints it; "": none */
	enum hostrace_value_kind kind; /* of its values that are recorded; NONE: there are none, or they differ */
};

/* The reports, in the order of `hostrace --help`. name: NULL beyond the last one. */
uint32_t hostrace_report_count(void);
const char *hostrace_report_name(uint32_t i);
const char *hostrace_report_summary(uint32_t i);

/*
 * Runs a report on a trace: `hostrace NAME -i PATH -f json OPTION...`. `options` are the words of that command line,
 * arguments included, such as {"--by", "vcpu", NULL} of exits, {"exit-latency", NULL} of histogram, the other recording
 * of diff, or the query of sql; NULL: none. Options that write files, record, follow a file that grows or start
 * programs are errors. All words are used during the call only. The other inputs of the command are used, too: guest
 * traces and symbols that are saved with the recording.
 *
 * NULL: it failed, or the options are not right; see hostrace_error(). An answer has at most 256 MiB of JSON.
 */
struct hostrace_report *hostrace_report_run(const char *path, const char *name,
					    const char *const *options);

/* NULL is fine. */
void hostrace_report_close(struct hostrace_report *r);

/*
 * Rows are those of "rows" of the JSON answer; an answer with "result" instead has one row, whose columns are its
 * members. Columns are the union of the rows' keys in the order in which they appear; without rows, those that the
 * report declares.
 */
uint32_t hostrace_report_columns(const struct hostrace_report *r);
uint64_t hostrace_report_rows(const struct hostrace_report *r);

/* NULL: there is no such column. Valid as long as the report. */
const struct hostrace_column *hostrace_report_column(const struct hostrace_report *r, uint32_t i);

/*
 * A value of a row. NULL: there is no such row or column, or no memory. Valid until the next call for another row of
 * this report. Rows may be read in any order; in ascending order it is fast.
 */
const struct hostrace_value *hostrace_report_value(struct hostrace_report *r, uint64_t row,
						   uint32_t column);

/* Note 0, 1, ... of the answer, as losses or what was not recorded; NULL after the last. */
const char *hostrace_report_note(const struct hostrace_report *r, uint32_t i);

/*
 * The exit status of the command: 0; 3: it found what it checks for (diagnose, --check); 1: there is an answer, but
 * the command failed, as the recording cannot show all that is asked for: hostrace_report_failure() says why (else "").
 */
int hostrace_report_status(const struct hostrace_report *r);
const char *hostrace_report_failure(const struct hostrace_report *r);

/* The whole answer, the text that `hostrace NAME -f json` prints. Valid as long as the report. */
const char *hostrace_report_json(const struct hostrace_report *r);

/* Why the last call of this thread failed, with the file's name; "" if none did. Valid until the next failure. */
const char *hostrace_error(void);

#ifdef __cplusplus
}
#endif

#endif
