/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording for the browser, at any zoom. It is read once, into an index: what analyzers/timeline/bands.h keeps of
 * its timeline in BROWSE_ITEMS_MAX items. A slice that is as long as the index's resolution is kept as it is; shorter
 * ones are sums by track, kind and, of exits, reason, in columns of that width. So the time of each kind in a window of
 * whole columns is exact, at any length of the recording.
 *
 *	window of more than BROWSE_READ_ITEMS_MAX items		from the index, columns joined to the width of a pixel
 *	any other one						its events are read, with those of one column before and
 *								after: what began earlier or ends later is long, and in
 *								the index
 */
#ifndef HOSTRACE_BROWSE_H
#define HOSTRACE_BROWSE_H

#include "analyzers/timeline/bands.h"
#include "input/input_set.h"

enum {
	BROWSE_ITEMS_MAX = 1 << 19, /* of the index, of about 100 bytes each */
	BROWSE_WINDOW_ITEMS_MAX = 1 << 15, /* of an answer: with more, its columns are wider than a pixel */
	BROWSE_READ_ITEMS_MAX = 1 << 17, /* of a window that is read: what takes 0.1 s */
	BROWSE_LOSSES_MAX = 4096,
	BROWSE_WIDTH_MAX = 8192, /* pixels */
	BROWSE_EXPORT_MAX = 192 << 20, /* bytes of a window's recording, and a chunk */
};

/* Events of a type that are missing on a CPU: `lost`, or of an unknown number, `gap`. */
struct browse_loss {
	uint64_t from_ns, to_ns, count; /* count 0: unknown */
	uint32_t cpu;			/* LOSS_CPU_UNKNOWN: not recorded */
	const struct event_type *type;	/* NULL: not recorded */
};

struct browse;

/*
 * Reads the inputs of `set`, which is not open. `options`: with them and a time window a command prints the same. Both
 * are borrowed until browse_close(), as `notes`, the file of notes; NULL: there is none. 0 or -errno with the error
 * message set.
 */
int browse_open(struct input_set *set, const char *options, const char *notes,
		struct browse **ret);
void browse_close(struct browse *b);

/* Times of a window count from the trace's start. */
struct browse_sum {
	uint64_t ns, count;
};

struct browse_window {
	uint64_t from_ns, to_ns; /* of an answer from the index: whole columns, which contain what was asked for */
	bool exact;		 /* its events were read */
	struct bands *bands;	 /* slices as they are, also beyond the window; bands within it */
	struct browse_sum (*sums)[SLICE_KINDS]; /* by track of `bands`: in the window */
	uint64_t not_drawn;	 /* slices of tracks that the index does not have */
};

/* `width`: pixels. 0 or -errno with the error message set; to be closed in both cases. */
int browse_window(struct browse *b, uint64_t from_ns, uint64_t to_ns, unsigned int width,
		  struct browse_window *ret);
void browse_window_close(struct browse_window *w);

/* An answer to a request. */
struct browse_answer {
	unsigned int status; /* of HTTP */
	const char *type;    /* of its content */
	char *text;	     /* malloc()ed */
	size_t len;
	FILE *file;	     /* its content, instead of `text`; to be closed */
};

/*
 * `request`: a path below the token, then names and values of its parameters in turn, each with its NUL; `len` bytes of
 * them. What cannot be answered is an answer as well, with its message. -ENOMEM with the error message set.
 */
int browse_answer(struct browse *b, const char *request, size_t len, struct browse_answer *ret);

/* The same of what changes notes. */
int browse_change(struct browse *b, const char *request, size_t len, struct browse_answer *ret);

#endif
