/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of the model is shown, and what keys do to it: the list and its parent, the order, the filter, the selected row.
 * It refers to nodes by their keys, since they come and go. No terminal is needed.
 */
#ifndef HOSTRACE_TOP_VIEW_H
#define HOSTRACE_TOP_VIEW_H

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

#endif
