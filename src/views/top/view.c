// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What of the model is shown, and what keys do to it: the list and its parent, the order, the filter, the selected row.
 * It refers to nodes by their keys, since they come and go. No terminal is needed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "views/top/frame.h"

#define TOP_NO_KEY (UINT64_MAX - 1) /* of no node */

void top_view_init(struct top_view *v)
{
	*v = (struct top_view){.list = TOP_VMS, .sort = TOP_BY_TIME, .selected = TOP_NO_KEY};
}

void top_view_close(struct top_view *v)
{
	free(v->row);
	v->row = NULL;
}

const struct top_node *top_view_vm(const struct top_view *v, const struct top_model *m)
{
	return v->list == TOP_VMS ? NULL : top_node_find(&m->host, TOP_VMS, v->pid);
}

const struct top_node *top_view_parent(const struct top_view *v, const struct top_model *m)
{
	const struct top_node *n = top_view_vm(v, m);

	if (v->list == TOP_VMS)
		return &m->host;
	if (n && v->of_vcpu)
		n = top_node_find(n, TOP_VCPUS, v->vcpu);
	if (n && v->list == TOP_CAUSES)
		n = top_node_find(n, TOP_REASONS, v->reason);
	return n;
}

bool top_list_has(enum top_list list, enum top_column column)
{
	switch (column) {
	case TOP_BY_COUNT:
		return list != TOP_CAUSES;
	case TOP_BY_USER:
	case TOP_BY_P50:
	case TOP_BY_P99:
	case TOP_BY_MAX:
		return list != TOP_CAUSES && list != TOP_PORTS && list != TOP_TASKS;
	default:
		return true;
	}
}

/* ---- rows ---- */

static uint64_t value_of(const struct top_node *n, enum top_column column)
{
	switch (column) {
	case TOP_BY_COUNT:
		return n->values.count;
	case TOP_BY_USER:
		return n->values.user;
	case TOP_BY_P50:
		return n->values.p50_ns;
	case TOP_BY_P99:
		return n->values.p99_ns;
	case TOP_BY_MAX:
		return n->values.max_ns;
	default:
		return n->values.time_ns;
	}
}

struct order {
	enum top_column sort;
	bool ascending;
};

/* Rows that are equal stay in the order of their keys, so that they do not jump. */
static int view_compare(const void *a, const void *b, void *arg)
{
	const struct top_node *x = *(struct top_node *const *)a, *y = *(struct top_node *const *)b;
	const struct order *o = arg;
	uint64_t vx = value_of(x, o->sort), vy = value_of(y, o->sort);
	int cmp = (vx < vy) - (vx > vy);

	if (o->sort == TOP_BY_NAME)
		cmp = x->kind == TOP_VCPU ? (x->key > y->key) - (x->key < y->key)
					  : strcmp(x->name, y->name);
	if (!cmp && o->sort == TOP_BY_TIME) /* ports whose time is unknown */
		cmp = (x->values.count < y->values.count) - (x->values.count > y->values.count);
	if (!cmp)
		return (x->key > y->key) - (x->key < y->key);
	return o->ascending ? -cmp : cmp;
}

/* What has vanished is left. */
static void leave_ended(struct top_view *v, const struct top_model *m)
{
	if (v->list == TOP_VMS || top_view_parent(v, m))
		return;
	if (!top_view_vm(v, m))
		snprintf(v->message, sizeof(v->message), "the VM of process %d has ended",
			 (int)v->pid);
	v->list = TOP_VMS;
	v->of_vcpu = false;
	v->selected = TOP_NO_KEY;
	*v->filter = '\0';
}

static void cursor_find(struct top_view *v)
{
	for (unsigned int i = 0; i < v->nr_rows; i++)
		if (v->row[i]->key == v->selected) {
			v->cursor = i;
			return;
		}
	if (v->cursor >= v->nr_rows)
		v->cursor = v->nr_rows ? v->nr_rows - 1 : 0;
	v->selected = v->nr_rows ? v->row[v->cursor]->key : TOP_NO_KEY;
}

int top_view_update(struct top_view *v, const struct top_model *m)
{
	struct order order = {v->sort, v->ascending};
	const struct top_node *parent;
	unsigned int nr;

	leave_ended(v, m);
	parent = top_view_parent(v, m);
	nr = parent->list[v->list].nr;
	if (array_reserve(v->row, nr, v->capacity))
		return -ENOMEM;
	v->nr_rows = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct top_node *n = parent->list[v->list].node[i];

		if (!*v->filter || strcasestr(n->name, v->filter))
			v->row[v->nr_rows++] = n;
	}
	if (!top_list_has(v->list, order.sort))
		order.sort = TOP_BY_TIME;
	if (v->nr_rows)
		qsort_r(v->row, v->nr_rows, sizeof(*v->row), view_compare, &order);
	cursor_find(v);
	return 0;
}

/* ---- keys ---- */

static void select_index(struct top_view *v, unsigned int i)
{
	if (!v->nr_rows)
		return;
	v->cursor = i < v->nr_rows ? i : v->nr_rows - 1;
	v->selected = v->row[v->cursor]->key;
}

static void list_enter(struct top_view *v, enum top_list list, uint64_t selected)
{
	v->list = list;
	v->selected = selected;
	v->cursor = 0;
	*v->filter = '\0';
}

static void go_down(struct top_view *v)
{
	uint64_t key = v->selected;

	if (!v->nr_rows)
		return;
	switch (v->list) {
	case TOP_VMS:
		v->pid = key;
		v->of_vcpu = false;
		return list_enter(v, TOP_VCPUS, TOP_NO_KEY);
	case TOP_VCPUS:
		v->vcpu = key;
		v->of_vcpu = true;
		return list_enter(v, TOP_REASONS, TOP_NO_KEY);
	case TOP_REASONS:
		v->reason = key;
		return list_enter(v, TOP_CAUSES, TOP_NO_KEY);
	default:
		return;
	}
}

static void go_up(struct top_view *v)
{
	switch (v->list) {
	case TOP_CAUSES:
		return list_enter(v, TOP_REASONS, v->reason);
	case TOP_REASONS:
		if (v->of_vcpu) {
			v->of_vcpu = false;
			return list_enter(v, TOP_VCPUS, v->vcpu);
		}
		return list_enter(v, TOP_VMS, v->pid);
	case TOP_VCPUS:
	case TOP_PORTS:
	case TOP_QUEUES:
	case TOP_TASKS:
		return list_enter(v, TOP_VMS, v->pid);
	default:
		return;
	}
}

/* The lists of a VM: vCPUs, reasons of all vCPUs, ports, queues, tasks. */
static void next_list(struct top_view *v)
{
	switch (v->list) {
	case TOP_VMS:
		return go_down(v);
	case TOP_VCPUS:
		return list_enter(v, TOP_REASONS, TOP_NO_KEY);
	case TOP_REASONS:
	case TOP_CAUSES:
		v->of_vcpu = false;
		return list_enter(v, TOP_PORTS, TOP_NO_KEY);
	case TOP_PORTS:
		return list_enter(v, TOP_QUEUES, TOP_NO_KEY);
	case TOP_QUEUES:
		return list_enter(v, TOP_TASKS, TOP_NO_KEY);
	default:
		return list_enter(v, TOP_VCPUS, TOP_NO_KEY);
	}
}

static void next_sort(struct top_view *v, int step)
{
	do {
		v->sort = (enum top_column)(((int)v->sort + step + TOP_COLUMNS) % TOP_COLUMNS);
	} while (!top_list_has(v->list, v->sort));
	v->ascending = false;
}

static void filter_key(struct top_view *v, int key)
{
	size_t len = strlen(v->filter);

	if (key == TOP_KEY_ENTER) {
		v->filtering = false;
	} else if (key == TOP_KEY_ESCAPE) {
		v->filtering = false;
		*v->filter = '\0';
	} else if (key == TOP_KEY_BACKSPACE) {
		if (len)
			v->filter[len - 1] = '\0';
	} else if (key >= ' ' && key <= '~' && len + 1 < sizeof(v->filter)) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = '\0';
	}
}

static bool moved(struct top_view *v, int key, unsigned int page)
{
	unsigned int at = v->cursor;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		select_index(v, at ? at - 1 : 0);
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		select_index(v, at + 1);
		return true;
	case TOP_KEY_PAGE_UP:
		select_index(v, at > page ? at - page : 0);
		return true;
	case TOP_KEY_PAGE_DOWN:
		select_index(v, at + page);
		return true;
	case TOP_KEY_HOME:
		select_index(v, 0);
		return true;
	case TOP_KEY_END:
		select_index(v, UINT32_MAX);
		return true;
	default:
		return false;
	}
}

static enum top_action command_key(struct top_view *v, int key)
{
	switch (key) {
	case 'q':
		return TOP_QUIT;
	case 'w':
		return TOP_SNAPSHOT;
	case 'c':
		if (v->paused) {
			snprintf(v->message, sizeof(v->message), "paused: p continues");
			return TOP_NOTHING;
		}
		v->since_start = !v->since_start;
		return TOP_READ;
	case 'p':
	case ' ':
		v->paused = !v->paused;
		return v->paused ? TOP_NOTHING : TOP_READ;
	case TOP_KEY_ENTER:
	case TOP_KEY_RIGHT:
		go_down(v);
		break;
	case TOP_KEY_BACKSPACE:
	case TOP_KEY_LEFT:
	case TOP_KEY_ESCAPE:
		go_up(v);
		break;
	case TOP_KEY_TAB:
		next_list(v);
		break;
	case 's':
	case '>':
		next_sort(v, 1);
		break;
	case 'S':
	case '<':
		next_sort(v, -1);
		break;
	case 'r':
		v->ascending = !v->ascending;
		break;
	case '/':
		v->filtering = true;
		*v->filter = '\0';
		break;
	case '?':
	case 'h':
		v->help = true;
		break;
	default:
		break;
	}
	return TOP_NOTHING;
}

enum top_action top_view_key(struct top_view *v, int key, unsigned int page)
{
	*v->message = '\0';
	if (v->help) {
		v->help = false;
		return key == 'q' ? TOP_QUIT : TOP_NOTHING;
	}
	if (v->filtering) {
		filter_key(v, key);
		return TOP_NOTHING;
	}
	return moved(v, key, page) ? TOP_NOTHING : command_key(v, key);
}
