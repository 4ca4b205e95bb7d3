/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_BROWSE_INTERNAL_H
#define HOSTRACE_BROWSE_INTERNAL_H

#include <sys/stat.h>

#include "browse/browse.h"
#include "event/thread_names.h"
#include "reports/drawing.h"
#include "reports/reports.h"

/* Draws the timeline of a pass to slice(). */
struct browse_drawing {
	struct drawing d;
	struct thread_names *names; /* of the index: owned; of a window: those of the index */
	bool keeps_names;
	struct browse_loss *loss;
	unsigned int nr_losses;
	uint64_t losses_left_out;
};

struct browse_pass {
	struct thread_names *names; /* that know all events; NULL: they are made */
	void (*slice)(void *arg, struct timeline *t, const struct timeline_slice *s);
	void *arg;
	uint64_t from_ns, to_ns; /* absolute: what is drawn; 0, 0: all */
};

extern const struct report_ops browse_report;

/* Which file the index was made of. */
struct browse_file {
	const char *path; /* of the set */
	struct stat is;
};

struct browse {
	struct input_set *set; /* borrowed */
	const char *options, *notes; /* borrowed */
	struct bands *bands;
	struct query query;
	struct browse_pass pass;
	struct result result; /* its state is the index's browse_drawing */
	uint64_t start_ns, end_ns; /* absolute: of the trace */
	int err;		   /* of bands_add() */
	struct browse_file file[INPUTS_MAX];
	unsigned int nr_files;
};

static inline const struct browse_drawing *browse_index(const struct browse *b)
{
	return b->result.state;
}

static inline const struct timeline *browse_timeline(const struct browse *b)
{
	return browse_index(b)->d.t;
}

/* After files were read again. -ESTALE with the error message set: they are not those that the index was made of. */
int browse_files_check(const struct browse *b);

/* About how many slices the index has of a time, absolute. */
uint64_t browse_count(const struct browse *b, uint64_t since_ns, uint64_t until_ns);

/*
 * The inputs for the events of a time, absolute; not open. `options` become those of the set, for as long as it is
 * there. 0 or -errno with the error message set.
 */
int browse_set(struct browse *b, struct input_options *options, uint64_t since_ns,
	       uint64_t until_ns, struct input_set **ret);

typedef int browse_slice_fn(void *arg, uint32_t track, const struct timeline_slice *s);

/*
 * What the events of a window show, absolute, but for what the index has as slices; also what begins or ends up to a
 * column beyond it. `track`: of the index; UINT32_MAX: it has none. 0, or -errno with the error message set.
 */
int browse_read(struct browse *b, uint64_t since_ns, uint64_t until_ns, browse_slice_fn *slice,
		void *arg);

#endif
