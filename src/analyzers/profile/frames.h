/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts a sample's backtrace to a path of a call tree: resolved, stripped of the tracer's and the
 * scheduler's own frames, reversed, cut at a function, formatted as text. Done once per distinct
 * backtrace; repeated ones cost a look-up.
 */
#ifndef HOSTRACE_FRAMES_H
#define HOSTRACE_FRAMES_H

#include "analyzers/profile/calltree.h"
#include "symbols/symbols.h"

enum {
	FRAMES_PATH_MAX = 1024, /* frames of one path, inlined ones included */
	FRAMES_ROOM = FRAMES_PATH_MAX + FRAME_INLINES_MAX,
};

/* What a path is made of instead of the backtrace. */
enum frames_key { FRAMES_COMM, FRAMES_DSO, FRAMES_SYMBOL, FRAMES_KEYS };

struct frames_options {
	struct symbols_options symbols;
	bool show_line, show_file, show_address; /* -L -F -A */
	bool caller_oriented;			 /* -r: outermost first */
	bool compat;
	bool decimal; /* unresolved addresses in decimal (as prof-flame of OSv's tool) */
	bool beyond_malloc;   /* the path begins at malloc's caller (memory-analyzer) */
	const char *function; /* --function: the path begins here */
	const char *other_dso; /* of code whose file is not known; NULL: by its name and address */
	enum frames_key key[FRAMES_KEYS]; /* --sort: nr_keys of them; 0: the path is the backtrace */
	unsigned int nr_keys;
};

struct frames;

/* Opens the symbols; `tree` gets the paths. */
int frames_open(struct sample_trace *t, const struct frames_options *opt, struct calltree *tree,
		struct frames **ret);
void frames_close(struct frames *f);
DEFINE_CLEANUP(frames, struct frames *, frames_close);

/* The number of a sample's path in the tree. 1; 0: all its frames were removed; -errno with the error message set. */
int frames_path(struct frames *f, const struct sample *s, uint32_t *ret);

/* The same, with a further frame at its end. */
int frames_path_to(struct frames *f, const struct sample *s, const char *last, uint32_t *ret);

/* All frames of a backtrace, innermost first, as resolved; do_wait_until<...> without its arguments. */
unsigned int frames_resolve(struct symbols *symbols, const struct sample *s,
			    struct frame ret[FRAMES_ROOM]);

/* Linux's tracer's own innermost frames: trace_event_raw_event_NAME, called by __traceiter_NAME. */
bool frame_is_linux_tracer(const struct frame *frame);

/* One frame as text: name, then " FILE", ":LINE", " @ 0xADDR" as asked; an unresolved one is its
 * address. */
void frame_print(const struct frame *frame, const struct frames_options *opt, char *buf,
		 size_t size);

#endif
