// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report on a dump: what triggered it, what the time of the culprit went into, and what differs
 * from the time before it. It is made from the dump's file, by the analyzers of the reports that
 * read it later.
 */
#include <errno.h>

#include "base/error.h"
#include "base/new_file.h"
#include "base/order.h"
#include "reports/dump.h"
#include "tracefile/tracefile.h"

struct dump_read {
	struct dump_findings found;
	struct blame *blame;
	struct culprit_stacks *stacks;
	struct unusual *unusual;
	uint64_t now_ns; /* of the dump: what ends now has not ended; 0: not all has been read */
	struct blame_part
		held; /* the longest in which the global mutex had a holder with a known stack */
};

static struct dump_part part_named(const struct blame_part *p)
{
	struct dump_part ret = {.cause = p->cause, .ns = p->end_ns - p->start_ns};

	blame_who_print(p->cause, &p->who, ret.who, sizeof(ret.who));
	return ret;
}

/* `part` has been cut to the culprit. */
static void cause_add(struct dump_findings *f, const struct blame_part *part)
{
	const struct dump_part p = part_named(part);
	unsigned int i = 0;

	f->all_ns += p.ns;
	while (i < f->nr_parts && (f->part[i].cause != p.cause || strcmp(f->part[i].who, p.who)))
		i++;
	if (i == DUMP_CAUSES_MAX)
		f->other_ns += p.ns;
	else if (i < f->nr_parts)
		f->part[i].ns += p.ns;
	else
		f->part[f->nr_parts++] = p;
}

static void held_add(struct dump_read *d, const struct blame_part *part)
{
	if (part->who.stack && part->end_ns - part->start_ns > d->held.end_ns - d->held.start_ns)
		d->held = *part;
}

/* The parts of the culprit's own exits that are within it. */
static int on_exit_ended(void *arg, const struct blame_exit *x)
{
	struct dump_read *d = arg;
	const struct trigger_culprit *c = &d->found.cause->culprit;

	if (x->tid != c->tid || x->end_ns <= c->start_ns || x->start_ns >= c->end_ns)
		return 0;
	for (unsigned int i = 0; i < x->nr_parts; i++) {
		struct blame_part p = x->part[i];

		if (p.end_ns == d->now_ns)
			d->found.now = part_named(&p);
		if (p.start_ns < c->start_ns)
			p.start_ns = c->start_ns;
		if (p.end_ns > c->end_ns)
			p.end_ns = c->end_ns;
		if (p.start_ns >= p.end_ns)
			continue;
		cause_add(&d->found, &p);
		held_add(d, &p);
	}
	return 0;
}

static void on_restart(void *arg)
{
	struct dump_read *d = arg;

	d->found.nr_parts = 0;
	d->found.other_ns = d->found.all_ns = 0;
	d->held = (struct blame_part){0};
}

static int by_time(const void *a, const void *b)
{
	const struct dump_part *x = a, *y = b;

	return order_u64(y->ns, x->ns) ?: order_u64(x->cause, y->cause) ?: strcmp(x->who, y->who);
}

static int on_event(void *arg, const struct event *ev)
{
	struct dump_read *d = arg;
	struct dump_findings *f = &d->found;
	int err = blame_event(d->blame, ev);

	culprit_stacks_event(d->stacks, ev);
	f->first_ns = !f->first_ns || ev->time_ns < f->first_ns ? ev->time_ns : f->first_ns;
	f->last_ns = ev->time_ns > f->last_ns ? ev->time_ns : f->last_ns;
	return err ? err : unusual_event(d->unusual, ev);
}

static int dump_read(const char *dump, struct dump_read *d)
{
	const struct trigger_culprit *c = &d->found.cause->culprit;
	_cleanup_reader_ struct reader *r = NULL;
	int err = tracefile_reader.open(dump, NULL, &r);

	if (!err && trace_info_recorded(&r->info, "kvm_vcpu_wakeup"))
		blame_set_wakeups(d->blame);
	if (!err)
		err = reader_each(r, on_event, d);
	d->now_ns = d->found.last_ns > c->end_ns ? d->found.last_ns : c->end_ns;
	blame_end_open(d->blame, c->tid, d->now_ns);
	if (!err)
		err = blame_end(d->blame);
	return err ? err : unusual_end(d->unusual);
}

/* After all events. */
static int findings_end(struct dump_read *d)
{
	struct dump_findings *f = &d->found;

	qsort(f->part, f->nr_parts, sizeof(f->part[0]), by_time);
	if (d->held.end_ns)
		f->held = part_named(&d->held);
	f->held_stack = blame_stack(d->blame, d->held.who.stack);
	f->stack = culprit_stacks_longest(d->stacks, &f->stack_ns);
	return unusual_find(d->unusual, f);
}

static int write_file(const struct dump_read *d, const char *dump, const char *path)
{
	struct new_file file = {0};
	int err = new_file_open(&file, path, false);

	if (err)
		return err;
	dump_report_write(&d->found, dump, file.file);
	return new_file_close(&file, 0);
}

int dump_report(const char *dump, const char *path, const struct dump_cause *cause, char *line,
		size_t size)
{
	struct dump_read d = {.found.cause = cause};
	struct blame_sink sink = {.ended = on_exit_ended, .restart = on_restart, .arg = &d};
	int err;

	dump_line_print(cause, line, size);
	d.blame = blame_new(&sink);
	d.unusual = unusual_new(cause->culprit.start_ns);
	d.stacks = culprit_stacks_new(&cause->culprit);
	err = d.blame && d.unusual && d.stacks ? dump_read(dump, &d)
					       : fail(-ENOMEM, "out of memory");
	if (!err)
		err = findings_end(&d);
	if (!err)
		err = write_file(&d, dump, path);
	culprit_stacks_free(d.stacks);
	unusual_free(d.unusual);
	blame_free(d.blame);
	return err;
}
