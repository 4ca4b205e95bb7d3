/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a sample's backtrace to a path of a call tree: resolved, stripped of the tracer's and the
 * scheduler's own frames, turned, cut at a function, written as text. Done once per distinct
 * backtrace; the same one costs a look-up.
 */
#ifndef HOSTRACE_OSV_FRAMES_H
#define HOSTRACE_OSV_FRAMES_H

#include "analyzers/profile/calltree.h"
#include "symbols/osv_symbols.h"

enum {
	OSV_PATH_MAX = 1024, /* frames of one path, inlined ones included */
	OSV_FRAMES_ROOM = OSV_PATH_MAX + OSV_INLINES_MAX,
};

struct osv_frames_options {
	bool show_line, show_file, show_address; /* -L -F -A */
	bool caller_oriented;			 /* -r: outermost first */
	bool compat;
	bool decimal; /* unresolved addresses in decimal (the original's prof-flame) */
	bool beyond_malloc;   /* the path begins at malloc's caller (memory-analyzer) */
	const char *function; /* --function: the path begins here */
};

struct osv_frames;

int osv_frames_open(struct osv_symbols *symbols, struct calltree *tree,
		    const struct osv_frames_options *opt, struct osv_frames **ret);
void osv_frames_close(struct osv_frames *f);
DEFINE_CLEANUP(osv_frames, struct osv_frames *, osv_frames_close);

/*
 * The path of a sample's backtrace as numbers of the tree's frames. 1: *ret and *ret_nr are set
 * (valid until close); 0: nothing is left of it; -errno. *ret_id numbers distinct backtraces from
 * 0.
 */
int osv_frames_path(struct osv_frames *f, const struct osv_sample *s, const uint32_t **ret,
		    unsigned int *ret_nr, uint32_t *ret_id);

/* All frames of a backtrace, innermost first, as resolved; do_wait_until<...> without its arguments. */
unsigned int osv_frames_resolve(struct osv_symbols *symbols, const struct osv_sample *s,
				struct osv_frame ret[OSV_FRAMES_ROOM]);

/*
 * Takes out what is not the program's: the tracer's chains, trace.hh, and everything from the
 * thread's start on. Returns how many are left.
 */
unsigned int osv_frames_strip(struct osv_frame *frame, unsigned int nr);

/* What Linux's tracer leaves innermost: trace_event_raw_event_NAME, called by __traceiter_NAME. */
bool osv_frame_of_linux_tracer(const struct osv_frame *frame);

/* One frame as text: name, then " FILE", ":LINE", " @ 0xADDR" as asked; an unresolved one is its
 * address. */
void osv_frame_print(const struct osv_frame *frame, const struct osv_frames_options *opt, char *buf,
		     size_t size);

#endif
