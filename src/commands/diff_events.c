// SPDX-License-Identifier: GPL-2.0-or-later
/* What hostrace diff compares: causes of blame, stages of virtqueue requests, tasks of the guest. */
#include <errno.h>

#include "analyzers/compare/guest_tasks.h"
#include "analyzers/virtqueue/queues.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/diff.h"
#include "reports/blame.h"

/* ---- causes ---- */

struct causes {
	const struct input_options *options;
	struct series_set *set;
};

static int exit_add(void *arg, const struct blame_exit *x)
{
	struct causes *c = arg;
	int err = 0;

	if (!blame_exit_selected((void *)c->options, x))
		return 0;
	for (uint64_t i = 0; i < BLAME_CAUSES && !err; i++)
		if (x->causes[i])
			err = series_add(c->set, &i, x->end_ns, x->causes[i], 1);
	return err;
}

static void causes_restart(void *arg)
{
	struct causes *c = arg;

	series_clear(c->set);
}

static bool cause_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	(void)arg;
	snprintf(buf, size, "%s", blame_cause_names[*label]);
	return true;
}

static int blame_handle(void *arg, const struct event *ev)
{
	return blame_event(arg, ev);
}

/* Without events of the scheduler there are exits, but no causes. */
int diff_read_causes(const struct input_options *options, struct series_set **ret)
{
	struct causes c = {.options = options};
	struct blame_sink sink = {.ended = exit_add, .restart = causes_restart, .arg = &c};
	_cleanup_(blame_cleanup_) struct blame *b = blame_new(&sink);
	struct input_options all = *options;
	_cleanup_input_set_ struct input_set *in = NULL;

	all.vcpus.nr = all.tids.nr = all.reasons.nr = all.globs.nr = 0;
	int err = b ? input_set_new(&all, &in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = input_set_open(in, blame_wants, NULL);
	if (!err && !(c.set = series_new(input_set_start_ns(in), 1)))
		err = -ENOMEM;
	if (!err)
		err = reader_each(in->reader, blame_handle, b);
	if (!err)
		err = blame_end(b);
	if (!err)
		err = diff_series_end(c.set, in, cause_name, NULL);
	if (!err && (blame_counts(b)->switches || blame_counts(b)->blocks))
		*ret = take_ptr(c.set);
	series_free(c.set);
	return err;
}

/* ---- stages ---- */

struct stages {
	struct queues *queues;
	struct series_set *set;
	uint64_t until_ns;
};

static int stage_add(void *arg, const struct queue_figures *f, enum queue_stage stage,
		     uint64_t end_ns, uint64_t ns)
{
	struct stages *s = arg;

	return series_add(s->set, (const uint64_t[]){(uintptr_t)f, stage}, end_ns, ns, 1);
}

static int stages_handle(void *arg, const struct event *ev)
{
	const struct stages *s = arg;

	return ev->time_ns < s->until_ns ? queues_event(s->queues, ev) : 0;
}

static bool stage_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	const struct queue_figures *f = (const void *)(uintptr_t)label[0];

	(void)arg;
	snprintf(buf, size, "%s queue %u %s", *f->device ? f->device : "unknown", f->queue,
		 queue_stages[label[1]].name);
	return true;
}

int diff_read_stages(const struct input_options *options, struct series_set **ret)
{
	_cleanup_(queues_cleanup_) struct queues *queues = NULL;
	_cleanup_input_set_ struct input_set *in = NULL;
	struct stages s = {0};
	int err = input_set_new(options, &in);

	if (!err)
		err = input_set_open_window(in, true, queues_wants, NULL);
	if (err)
		return err;
	s.queues = queues = queues_new(input_set_start_ns(in));
	s.set = series_new(input_set_start_ns(in), 2);
	s.until_ns = in->until_ns;
	if (!queues || !s.set)
		err = fail(-ENOMEM, "out of memory");
	else
		queues_watch(queues, stage_add, &s);
	if (!err)
		err = reader_each(in->reader, stages_handle, &s);
	if (!err)
		err = diff_series_end(s.set, in, stage_name, NULL);
	if (!err && s.set->nr)
		*ret = take_ptr(s.set);
	series_free(s.set);
	return err;
}

/* ---- tasks of the guest ---- */

/* Names of tasks, as numbers for the labels. */
struct tasks {
	struct series_set *set;
	struct hash_table by_name;
	char *name[SERIES_MAX];
	uint32_t nr;
};

struct task_number {
	const char *name;
	uint32_t number;
};

static int task_add(void *arg, const char *comm, uint64_t end_ns, uint64_t ns)
{
	struct tasks *t = arg;
	struct task_number *n = hash_find_text(&t->by_name, comm);

	if (!n) {
		char *copy = t->nr < SERIES_MAX ? strdup(comm) : NULL;

		n = copy ? hash_add_text(&t->by_name, copy, NULL) : NULL;
		if (!n) {
			free(copy);
			t->set->refused++;
			return 0;
		}
		n->number = t->nr;
		t->name[t->nr++] = copy;
	}
	return series_add(t->set, (const uint64_t[]){n->number}, end_ns, ns, 1);
}

static bool task_name(void *arg, const uint64_t *label, char *buf, size_t size)
{
	const struct tasks *t = arg;

	snprintf(buf, size, "%s", t->name[*label]);
	return true;
}

static int tasks_handle(void *arg, const struct event *ev)
{
	return guest_tasks_event(arg, ev);
}

static int tasks_read(struct tasks *t, struct input_set *in)
{
	_cleanup_(guest_tasks_cleanup_) struct guest_tasks *switches = guest_tasks_new(task_add, t);
	int err = switches ? input_set_open(in, guest_tasks_wants, NULL) : -ENOMEM;

	if (!err && !(t->set = series_new(input_set_start_ns(in), 1)))
		err = -ENOMEM;
	if (!err)
		err = reader_each(in->reader, tasks_handle, switches);
	return err ? err : diff_series_end(t->set, in, task_name, t);
}

int diff_read_tasks(const struct input_options *options, struct series_set **ret)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_free_ struct tasks *t = calloc(1, sizeof(*t));
	int err = t ? input_set_new(options, &in) : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	t->by_name = HASH_TABLE_OF_TEXTS(struct task_number, SERIES_MAX);
	input_set_add_companions(in, command_note);
	err = tasks_read(t, in);
	if (!err && t->set->nr)
		*ret = take_ptr(t->set);
	series_free(t->set);
	hash_deinit(&t->by_name);
	while (t->nr)
		free(t->name[--t->nr]);
	return err;
}
