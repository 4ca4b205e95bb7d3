/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A view of the model as lines of text: for a screen, a file or a pipe. */
#ifndef HOSTRACE_TOP_FRAME_H
#define HOSTRACE_TOP_FRAME_H

#include "views/top/view.h"

enum { TOP_WIDTH_MAX = 240, TOP_LINE_BYTES = 4 * TOP_WIDTH_MAX + 1 };

enum top_tone {
	TOP_PLAIN,
	TOP_TITLE,
	TOP_HEADING,
	TOP_SELECTED,
	TOP_IDLE,
	TOP_NOTE,
};

struct top_line {
	enum top_tone tone;
	char text[TOP_LINE_BYTES];
};

struct top_page {
	unsigned int width, height; /* height 0: all rows, without the line of keys */
	uint64_t limit;		    /* of all rows, so many; 0: all */
	bool utf8;		    /* sparklines of block elements, else of ASCII */
	bool plain;		    /* no row is selected */
	const char *time;	    /* "22:51:03" */
	const char *note;	    /* an additional line below the title; NULL: none */
};

struct top_frame {
	struct top_line *line;
	unsigned int nr, capacity;
};

/* 0 or -ENOMEM with the error message set. To be freed by top_frame_free(), also for further calls. */
int top_frame_make(struct top_frame *f, const struct top_view *v, const struct top_model *m,
		   const struct top_page *page);
void top_frame_free(struct top_frame *f);

/* Rows on a screen of this height. */
unsigned int top_page_rows(const struct top_page *page);

#endif
