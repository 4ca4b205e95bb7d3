// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread is in one system call at a time: its begin waits by the thread's id. KVM_RUN is told from other ioctls by
 * the begin's arguments, which the end does not have. Where a trace has both the events that all calls share and those
 * for each call, the one that comes second, of either kind, is the same call's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/syscalls/internal.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/order.h"
#include "event/losses.h"
#include "event/syscall_table.h"
#include "event/thread_names.h"
#include "model/loss_state.h"

struct open_call {
	uint64_t tid;
	uint64_t since_ns;
	uint32_t pid;
	const char *name;
	bool is_raw; /* of its last event */
	bool ended;  /* stays for the end's other event */
	char comm[17];
	struct loss_mark mark;
	char args[SYSCALLS_CALL_BYTES];
};

struct call_name {
	char *text; /* owned */
};

struct row_entry {
	uint64_t key[2]; /* pid and tid; name */
	struct syscalls_row *row; /* owned */
};

struct syscalls {
	bool by_tid;
	bool seen[2]; /* events for each call; events that all share */
	struct syscall_kind *kind; /* by index of the type */
	size_t nr_kinds;
	struct hash_table open, names, rows;
	struct thread_names *threads;
	struct loss_state losses;
	struct syscalls_notes notes;
};

struct syscalls *syscalls_new(bool by_tid)
{
	struct syscalls *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->by_tid = by_tid;
	s->open = HASH_TABLE(struct open_call, 1, SYSCALLS_THREADS_MAX);
	s->names = HASH_TABLE_OF_TEXTS(struct call_name, SYSCALLS_NAMES_MAX);
	s->rows = HASH_TABLE(struct row_entry, 2, SYSCALLS_ROWS_MAX);
	s->threads = thread_names_new();
	if (s->threads)
		return s;
	syscalls_free(s);
	return NULL;
}

void syscalls_free(struct syscalls *s)
{
	const struct row_entry *r;
	const struct call_name *n;

	if (!s)
		return;
	for (uint32_t at = 0; (r = hash_next(&s->rows, &at));) {
		quantiles_free(&r->row->ns);
		free(r->row);
	}
	for (uint32_t at = 0; (n = hash_next(&s->names, &at));)
		free(n->text);
	hash_deinit(&s->rows);
	hash_deinit(&s->names);
	hash_deinit(&s->open);
	loss_state_deinit(&s->losses);
	thread_names_free(s->threads);
	free(s->kind);
	free(s);
}

static bool is_loss(const char *event)
{
	return !strcmp(event, "lost") || !strcmp(event, "gap") || !strcmp(event, "probe_dropped");
}

bool syscalls_wants(const char *event, void *arg)
{
	(void)arg;
	return syscalls_is_one(event) || is_loss(event) || !strcmp(event, "thread");
}

static bool loses_calls(const char *event, void *arg)
{
	(void)arg;
	return syscalls_is_one(event);
}

/* ---- rows ---- */

/* One text for each name; NULL: too many. */
static const char *name_intern(struct syscalls *s, const char *name)
{
	struct call_name *known = hash_find_text(&s->names, name);
	char *copy;

	if (known)
		return known->text;
	copy = strdup(name);
	if (!copy || !hash_add_text(&s->names, copy, NULL)) {
		free(copy);
		s->notes.refused++;
		return NULL;
	}
	return copy;
}

/* NULL: too many, which is counted, or *err. */
static struct syscalls_row *row_of(struct syscalls *s, const struct open_call *c, int *err)
{
	const uint64_t key[2] = {(uint64_t)c->pid << 32 | (s->by_tid ? (uint32_t)c->tid : 0),
				 (uintptr_t)c->name};
	struct row_entry *e = hash_add_words(&s->rows, key, NULL);

	if (!e) {
		s->notes.refused++;
		return NULL;
	}
	if (e->row)
		return e->row;
	e->row = calloc(1, sizeof(*e->row));
	if (!e->row) {
		hash_remove(&s->rows, e);
		*err = fail(-ENOMEM, "out of memory");
		return NULL;
	}
	e->row->pid = c->pid;
	e->row->tid = s->by_tid ? (uint32_t)c->tid : 0;
	e->row->name = c->name;
	snprintf(e->row->comm, sizeof(e->row->comm), "%s", s->by_tid ? c->comm : "");
	return e->row;
}

static bool is_error(int64_t ret)
{
	return ret < 0 && ret >= -4095;
}

static void error_count(struct syscalls_row *r, uint32_t number)
{
	r->errors++;
	for (unsigned int i = 0; i < SYSCALLS_ERRORS; i++) {
		if (r->error[i].count && r->error[i].number != number)
			continue;
		r->error[i].number = number;
		r->error[i].count++;
		return;
	}
	r->other_errors++;
}

static void slowest_set(struct syscalls_row *r, const struct open_call *c, int64_t ret)
{
	const char *error = is_error(ret) ? syscall_error_name((unsigned int)-ret) : NULL;
	int room = (int)sizeof(r->slowest) - 80, len = (int)strcspn(c->name, "(");

	if (error)
		snprintf(r->slowest, sizeof(r->slowest), "%.*s(%.*s) = -%s", len, c->name, room,
			 c->args, error);
	else
		snprintf(r->slowest, sizeof(r->slowest),
			 ret > -65536 && ret < 65536 ? "%.*s(%.*s) = %lld"
						     : "%.*s(%.*s) = 0x%llx",
			 len, c->name, room, c->args, (long long)ret);
}

static int call_count(struct syscalls *s, const struct open_call *c, const struct event *ev,
		      int64_t ret)
{
	uint64_t ns = ev->time_ns > c->since_ns ? ev->time_ns - c->since_ns : 0;
	int err = 0;
	struct syscalls_row *r = row_of(s, c, &err);

	if (!r)
		return err;
	if (!r->ns.count || ns > r->ns.max)
		slowest_set(r, c, ret);
	if (is_error(ret))
		error_count(r, (uint32_t)-ret);
	return quantiles_add(&r->ns, ns) ? fail(-ENOMEM, "out of memory") : 0;
}

/* ---- events ---- */

/* "ioctl" also ends "ioctl(KVM_RUN)". */
static bool call_is(const struct open_call *c, const struct syscall_seen *seen)
{
	size_t len = strlen(seen->name);

	return seen->any ||
	       (!strncmp(c->name, seen->name, len) && (!c->name[len] || c->name[len] == '('));
}

static void call_open(struct syscalls *s, struct open_call *c, const struct event *ev,
		      const struct syscall_seen *seen)
{
	const char *comm = thread_comm(s->threads, ev);

	c->since_ns = ev->time_ns;
	c->pid = ev->pid;
	c->is_raw = seen->is_raw;
	c->ended = false;
	c->mark = loss_mark_of(&s->losses, ev);
	snprintf(c->comm, sizeof(c->comm), "%s", comm ? comm : "");
	memcpy(c->args, seen->args, sizeof(c->args));
}

static int call_begin(struct syscalls *s, const struct event *ev, const struct syscall_seen *seen)
{
	const char *name = name_intern(s, seen->name);
	bool first;
	struct open_call *c = name ? hash_add_u64(&s->open, ev->tid, &first) : NULL;

	if (!c)
		return 0; /* counted by the table */
	if (!first && !c->ended && c->is_raw != seen->is_raw && call_is(c, seen))
		return 0;
	if (!first && !c->ended) {
		if (end_may_be_missing(&s->losses, &c->mark))
			s->notes.unknown++;
		else
			s->notes.no_end++;
	}
	c->name = name;
	call_open(s, c, ev, seen);
	return 0;
}

/* The first event of a new thread is the end of the call that made it. */
static bool begins_thread(const struct syscall_seen *seen)
{
	return !seen->ret && word_is_listed("clone clone3 fork vfork", seen->name);
}

static int call_end(struct syscalls *s, const struct event *ev, const struct syscall_seen *seen)
{
	struct open_call *c = hash_find_u64(&s->open, ev->tid);
	int err = 0;

	if (!c || c->ended) {
		bool is_second = c && c->is_raw != seen->is_raw && call_is(c, seen);

		s->notes.no_begin += !is_second && !begins_thread(seen);
		if (c)
			hash_remove(&s->open, c);
		return 0;
	}
	if (end_is_unknown(&s->losses, &c->mark, ev))
		s->notes.unknown++;
	else if (!call_is(c, seen))
		s->notes.no_begin++, s->notes.no_end++;
	else
		err = call_count(s, c, ev, seen->ret);
	c->ended = s->seen[false] && s->seen[true];
	c->is_raw = seen->is_raw;
	if (!c->ended)
		hash_remove(&s->open, c);
	return err;
}

static const struct syscall_kind *kind_of(struct syscalls *s, const struct event_type *type)
{
	size_t i = type->index;

	if (i >= s->nr_kinds) {
		struct syscall_kind *more = reallocarray(s->kind, i + 1, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + s->nr_kinds, 0, (i + 1 - s->nr_kinds) * sizeof(*more));
		s->kind = more;
		s->nr_kinds = i + 1;
	}
	if (s->kind[i].what == SYSCALL_UNSEEN)
		syscall_kind_of(type, &s->kind[i]);
	return &s->kind[i];
}

int syscalls_event(struct syscalls *s, const struct event *ev)
{
	const struct syscall_kind *k = kind_of(s, ev->type);
	struct syscall_seen seen;

	if (!k)
		return fail(-ENOMEM, "out of memory");
	thread_names_event(s->threads, ev);
	if (is_loss(ev->type->name))
		loss_state_add(&s->losses, ev, loss_matters(ev, loses_calls));
	if (k->what == SYSCALL_NONE)
		return 0;
	if (!syscall_read(k, ev, &seen)) {
		s->notes.unreadable++;
		return 0;
	}
	s->seen[seen.is_raw] = true;
	return seen.enters ? call_begin(s, ev, &seen) : call_end(s, ev, &seen);
}

/* ---- the end ---- */

/* Its thread has ended. */
static bool never_returns(const struct open_call *c)
{
	return !strcmp(c->name, "exit") || !strcmp(c->name, "exit_group");
}

static int in_progress_count(struct syscalls *s)
{
	const struct open_call *c;
	int err = 0;

	for (uint32_t at = 0; !err && (c = hash_next(&s->open, &at));) {
		struct syscalls_row *r;

		if (c->ended || never_returns(c))
			continue;
		if (end_may_be_missing(&s->losses, &c->mark)) {
			s->notes.unknown++;
			continue;
		}
		r = row_of(s, c, &err);
		if (r)
			r->in_progress++;
	}
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct syscalls_row *x = *(struct syscalls_row *const *)a,
				  *y = *(struct syscalls_row *const *)b;

	if (x->ns.sum != y->ns.sum)
		return x->ns.sum < y->ns.sum ? 1 : -1;
	return order_u64(y->ns.count, x->ns.count) ?: order_u64(x->pid, y->pid) ?:
	       order_u64(x->tid, y->tid) ?: strcmp(x->name, y->name);
}

int syscalls_rows(struct syscalls *s, struct syscalls_row ***ret, size_t *ret_nr)
{
	int err = in_progress_count(s);
	const struct row_entry *e;
	size_t nr = 0;

	*ret = err ? NULL : calloc(s->rows.nr + 1u, sizeof(**ret));
	if (!*ret)
		return err ? err : fail(-ENOMEM, "out of memory");
	for (uint32_t at = 0; !err && (e = hash_next(&s->rows, &at));) {
		(*ret)[nr++] = e->row;
		if (quantiles_flush(&e->row->ns))
			err = fail(-ENOMEM, "out of memory");
	}
	qsort(*ret, nr, sizeof(**ret), by_time);
	*ret_nr = nr;
	return err;
}

void syscalls_notes(const struct syscalls *s, struct syscalls_notes *ret)
{
	*ret = s->notes;
	ret->refused += s->open.refused;
}
