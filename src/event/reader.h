/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reader turns one input into a stream of events in time order, batch by batch. Our file, its text twin,
 * trace.dat, perf.data, OSv's dumps, a guest ring, the merge of several readers and a trimmed reader all look
 * the same. To add one: a file with its `const struct reader_ops` at the bottom and a line in readers.c.
 */
#ifndef HOSTRACE_READER_H
#define HOSTRACE_READER_H

#include <jansson.h>

#include "base/cleanup.h"
#include "base/open_files.h"
#include "base/progress.h"
#include "event/rows.h"

enum { BATCH_MAX = 1024 }; /* events a reader returns at a time */

struct batch {
	struct event ev[BATCH_MAX];
	unsigned int nr;
};

/*
 * Information about an input apart from its events. Filled by open() from the input's beginning and index;
 * `lost`, `late`, `nr_events` and `caveats` are final once next() has returned 0.
 */
struct trace_info {
	const char *file; /* as given by the user */
	const char *kind; /* "hrt", "text", "trace.dat", ... */
	json_t *meta;	  /* object; its keys are listed in doc/format.md; never NULL */
	size_t meta_bytes; /* of memory, of what trace_info_load() put there, but for "code_maps" */
	json_t *caveats;  /* array of error messages that reports must print, e.g. that the file is truncated */
	/* First and last event's time, or what trace_info_window() says; start_ns is known after open(). */
	uint64_t start_ns, end_ns;
	uint64_t last_ns; /* the last event's time if open() knows it; 0: it is end_ns once all events were read */
	uint64_t nr_events;
	uint64_t *types_read; /* owned: events of each type that were read; NULL: none, or the reader has counts() */
	uint64_t lost; /* events that the recorder could not store */
	bool truncated; /* what followed in the file is missing, and with it what was lost there */
	uint64_t late; /* events more out of order than the reader's window: delivered late, counted */
};

/*
 * What the consumer will ignore anyway. A reader may use it to skip whole chunks unread, and may ignore it:
 * the exact filter is trim_open().
 */
struct read_hint {
	uint64_t since_ns, until_ns;	     /* absolute; 0 and UINT64_MAX: all */
	bool from_start; /* events from before since_ns, too: what they begin may end in the window */
	bool (*wants)(const char *event, void *arg); /* by event name; NULL: all */
	void *arg;
	uint64_t tsc_khz; /* of a host whose timestamps are ticks of an unknown rate; 0: as the file shows */
	struct open_files *files; /* outlives the reader; NULL: the file is opened for this one alone */
	bool follow; /* it is still being written: next() waits for events, up to its end; it is read once */
	bool guest; /* a guest's own trace: types are "guest:NAME", times remain those of the guest's clock */
};

struct reader {
	const struct reader_ops *ops;
	struct trace_info info;
	struct progress_input progress;
};

struct reader_ops {
	const char *name, *summary;

	bool text;	/* probe() recognizes any part of the file that begins with a line */
	const char *directory; /* it reads directories that hold this; probe is not called then, and may be NULL */

	bool (*probe_directory)(const char *path); /* does it read this one? NULL: as `directory` says */

	/* Do these first bytes (len <= READER_PROBE_BYTES) look like this format? */
	bool (*probe)(const uint8_t *head, size_t len);

	/* Opens it. The error message is set on failure. `hint` may be NULL and is only valid during the call. */
	int (*open)(const char *path, const struct read_hint *hint, struct reader **ret);

	/* Fills the batch (nr > 0) and returns 1; 0 at the end; -errno with the error message set. */
	int (*next)(struct reader *r, struct batch *batch);

	/*
	 * Adds the number of events of each type, by registry index (EVENT_TYPES_MAX entries), without reading
	 * them. NULL where only reading can tell. 0 or -errno with the error message set.
	 */
	int (*counts)(struct reader *r, uint64_t *counts);

	const struct rows_ops *rows; /* event/rows.h; NULL: it has batches only */

	void (*close)(struct reader *r);
};

enum { READER_PROBE_BYTES = 16384 }; /* pasted text may begin with many lines that are not events */

static inline int reader_next(struct reader *r, struct batch *batch)
{
	return r->ops->next(r, batch);
}

/*
 * Calls `put` for each event, in order, until the end or until it returns a value other than 0: -errno with the
 * error message set, or 1: stop. Returns 0 at the end, the value of `put`, or the reader's -errno.
 */
int reader_each(struct reader *r, int (*put)(void *arg, const struct event *ev), void *arg);

static inline void reader_close(struct reader *r)
{
	if (!r)
		return;
	progress_input_close(&r->progress);
	r->ops->close(r);
}

DEFINE_CLEANUP(reader, struct reader *, reader_close);
#define _cleanup_reader_ _cleanup_(reader_cleanup_)

/* For readers: sets up and frees the parts of struct reader that all have. */
int trace_info_init(struct trace_info *info, const char *file, const char *kind);
void trace_info_deinit(struct trace_info *info);

/* Adds a warning to info->caveats, unless it is there already. */
void trace_info_caveat(struct trace_info *info, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

enum { META_NOTES_MAX = 64 }; /* warnings to which metadata add their notes; doc/format.md */

/* Is there place for a note of the metadata, which a file may have in any number? If not, a warning says so. */
bool trace_info_more_notes(struct trace_info *info);

/*
 * VMs, vCPU threads and names of threads in an input's metadata; there may be events of more. reader_open() cuts "vms",
 * their "vcpus" and "threads", and adds a note.
 */
enum { META_VMS_MAX = 4096, META_VCPUS_MAX = 8192, META_THREADS_MAX = 16384 };
void trace_info_cut(struct trace_info *info);

/* Of memory, for the metadata of a file; its "code_maps" may need more. What is beyond is ignored, with a note. */
enum { META_BYTES_MAX = 16 << 20, META_MAPS_BYTES_MAX = 32 << 20 };

/*
 * Metadata of the file, which replace earlier of the same keys; they are cut. Changes the text. False, with why->text:
 * it is no JSON object.
 */
bool trace_info_load(struct trace_info *info, char *text, size_t len, json_error_t *why);

/*
 * The unit and the resolution of an input's timestamps are metadata, so that they are kept when it is converted:
 * "time_unit": "ticks" if they are ticks of a clock of unknown rate, and not ns; "resolution_ns" if they are rounded.
 */
bool trace_info_in_ticks(const struct trace_info *info);
uint64_t trace_info_resolution(const struct trace_info *info); /* ns; 0: exact */

/* Does a recording of ours say that it had a probe of this event? */
bool trace_info_recorded(const struct trace_info *info, const char *event);

/* Did the recorder keep the newest events only (--ring, --trigger)? What began before them may be missing. */
bool trace_info_is_ring(const struct trace_info *info);

/*
 * A recording that was cut when it was converted begins and ends where the cut does, not at its first and last event:
 * events that name others are older, and nothing may have happened near the ends. For readers: takes start_ns and
 * end_ns from the metadata "window_start_ns" and "window_end_ns" if these are there.
 */
void trace_info_window(struct trace_info *info);

/* From the events' times to CLOCK_REALTIME, ns; 0: the input does not say. */
int64_t trace_info_realtime_offset(const struct trace_info *info);

/* For readers: sets them and adds the note, or adds the notes of metadata that were read. */
void trace_info_unit_notes(struct trace_info *info);
void trace_info_set_ticks(struct trace_info *info);
void trace_info_set_resolution(struct trace_info *info, uint64_t ns);

/* ---- readers of readers ---- */

/*
 * Merges several inputs, oldest event first. Takes ownership of the readers, also on failure. events' `source` is the
 * position in the array. ret->info is the union: the sums, the earliest start; meta is the first input's.
 */
int merge_open(struct reader **readers, unsigned int nr, struct reader **ret);

struct event_where;
struct trim_reason;

/* What trim_open() lets pass; zero and NULL members let all pass. */
struct trim {
	uint64_t since_ns, until_ns;   /* absolute; until_ns 0: no end */
	const char *events;	       /* comma-separated globs of event names */
	struct trim_reason *reasons;   /* exit reasons, see trim_reason.h; owned by trim_open(), also on failure */
	struct event_where *where;     /* --where, see event_where.h; owned by trim_open(), also on failure */
	bool (*where_on)(const char *event); /* other events pass `where`; NULL: there are none */
	const uint32_t *pids, *tids;   /* lists with counts */
	const uint16_t *vcpus;
	unsigned int nr_pids, nr_tids, nr_vcpus;
	/*
	 * Sources from this on are guests' own traces; 0: there are none. Which VM they are is settled when they are
	 * aligned, so pids do not apply to them; nor do tids if these select vCPUs (guests_any_tid).
	 */
	unsigned int guests_from;
	bool guests_any_tid;
	bool thread_names; /* events that name threads (thread_names.h) pass, too */
	bool stacks; /* backtraces that follow their event (trim_is_stack()) pass if that does, and only then */
	bool other_threads; /* tids and vcpus do not select events: trim_passes() tells */
};

/*
 * Only the events that pass. Takes ownership of inner, also on failure. Naming events (virtio_device, thread, vcpu_tsc,
 * clock_pair, lost) always pass: they explain the others.
 */
int trim_open(struct reader *inner, const struct trim *trim, struct reader **ret);

/*
 * Did the event pass the filters itself, and not only because it names others? `r` is trim_open()'s. For commands that
 * show events, and for those that ask for thread_names.
 */
bool trim_passes(struct reader *r, const struct event *ev);
bool trim_passes_of_any_thread(struct reader *r, const struct event *ev); /* but for tids and vcpus */

/* Is it one of the naming events, which always pass? */
bool trim_is_naming(const struct event_type *type);

/* Is it the backtrace of the event before it on its CPU: ftrace's kernel_stack and user_stack, perf's call_chain? */
bool trim_is_stack(const struct event_type *type);

/* Does one of the comma-separated globs match the event name, or any text by flags of fnmatch(3)? */
bool trim_name_matches(const char *globs, const char *name);
bool trim_glob_matches(const char *globs, const char *text, int flags);

#endif
