/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A view of the model as lines of text: for a screen, a file or a pipe. */
#ifndef HOSTRACE_TOP_FRAME_H
#define HOSTRACE_TOP_FRAME_H

#include "views/top/model.h"

enum top_column {
	TOP_BY_NAME,
	TOP_BY_COUNT,
	TOP_BY_USER,
	TOP_BY_TIME,
	TOP_BY_P50,
	TOP_BY_P99,
	TOP_BY_MAX,
	TOP_COLUMNS,
};

/* Keys besides characters. */
enum top_key {
	TOP_KEY_UP = 0x110000, /* beyond Unicode */
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_BACKSPACE,
	TOP_KEY_TAB,
	TOP_KEY_ESCAPE,
};

enum top_action {
	TOP_NOTHING, /* only draw again */
	TOP_QUIT,
	TOP_SNAPSHOT,
	TOP_READ, /* another kind of figures was asked for: read now */
};

struct top_view {
	enum top_list list;
	bool of_vcpu; /* reasons, causes: of a vCPU, not of the whole VM */
	uint64_t pid, vcpu, reason;
	enum top_column sort;
	bool ascending;
	char filter[32];
	bool filtering; /* the filter is being typed */
	bool paused, help, since_start;
	char message[160]; /* until the next key */

	uint64_t selected;   /* key of the selected row */
	unsigned int cursor; /* its index */

	/* made by top_view_update() */
	struct top_node **row;
	unsigned int nr_rows, capacity;
};

void top_view_init(struct top_view *v);
void top_view_close(struct top_view *v);

/* After each reading and key: the rows as sorted and filtered. 0 or -ENOMEM with the error message set. */
int top_view_update(struct top_view *v, const struct top_model *m);

/* page: rows on a screen. To be followed by top_view_update(). */
enum top_action top_view_key(struct top_view *v, int key, unsigned int page);

/* The node whose list is shown, and the VM that it belongs to; NULL: it has ended, or there is none. */
const struct top_node *top_view_parent(const struct top_view *v, const struct top_model *m);
const struct top_node *top_view_vm(const struct top_view *v, const struct top_model *m);

/* Does a list have this column? */
bool top_list_has(enum top_list list, enum top_column column);

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
	const char *cause;	    /* the same, of top_cause_print() */
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
