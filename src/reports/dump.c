// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report on a dump: what triggered it, what `hostrace diagnose` says of the culprit's time, and what differs from
 * the time before it. It is made from the dump's file, by the analyzers of the reports that read it later.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/new_file.h"
#include "base/clock.h"
#include "base/order.h"
#include "input/input_options.h"
#include "output/report/diagnosis.h"
#include "reports/dump.h"
#include "reports/page.h"
#include "tracefile/tracefile.h"

struct dump_read {
	struct dump_findings found;
	struct blame *blame;
	struct culprit_stacks *stacks;
	struct unusual *unusual;
	uint64_t start_ns; /* of the dump */
	uint64_t now_ns;   /* of the dump: what ends now has not ended; 0: not all has been read */
	struct blame_part
		held; /* the longest in which the global mutex had a holder with a known stack */
};

static struct dump_part part_named(const struct blame_part *p)
{
	struct dump_part ret = {.cause = p->cause, .ns = p->end_ns - p->start_ns};

	blame_who_print(p->cause, &p->who, ret.who, sizeof(ret.who));
	return ret;
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
		if (p.end_ns - p.start_ns > d->found.longest.ns)
			d->found.longest = part_named(&p);
		held_add(d, &p);
	}
	return 0;
}

static void on_restart(void *arg)
{
	struct dump_read *d = arg;

	d->held = (struct blame_part){0};
	d->found.longest = (struct dump_part){0};
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
		d->start_ns = r->info.start_ns;
	if (!err)
		err = reader_each(r, on_event, d);
	d->now_ns = d->found.last_ns > c->end_ns ? d->found.last_ns : c->end_ns;
	blame_end_open(d->blame, c->tid, d->now_ns);
	if (!err)
		err = blame_end(d->blame);
	return err ? err : unusual_end(d->unusual);
}

/* ---- the diagnosis ---- */

/* A time of the dump as it would be typed. */
static struct time_arg time_of(const struct dump_read *d, uint64_t ns, char *buf, size_t size)
{
	uint64_t after = ns > d->start_ns ? ns - d->start_ns : 0;

	snprintf(buf, size, "%" PRIu64 ".%09" PRIu64 "s", after / NS_PER_S, after % NS_PER_S);
	return (struct time_arg){.text = buf, .ns = after};
}

static int sections_make(const struct input_options *in, json_t **ret)
{
	_cleanup_input_set_ struct input_set *plain = NULL, *merged = NULL;
	json_auto_t *notes = json_array();
	struct page_query q = {.input = in, .notes = notes, .costs = true};
	bool lost;
	int err = input_set_new(in, &plain);

	if (!err)
		err = input_set_new(in, &merged);
	q.plain = plain;
	q.merged = merged;
	return err ? err : page_make(&q, ret, &lost);
}

/* As text; that there is none is no error. */
static char *diagnosis_text(const struct input_options *in, const char *files, const char *filters)
{
	json_auto_t *sections = NULL, *notes = json_array(), *diagnosis = NULL;
	char *text = NULL;
	size_t size = 0;
	int err = sections_make(in, &sections);
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (err)
		fprintf(f, "%s\n", error_text());
	else
		diagnosis = diagnosis_make(&(struct diagnosis_query){
			.sections = sections,
			.notes = notes,
			.files = files,
			.filters = filters,
			.threshold = DIAGNOSIS_THRESHOLD,
		});
	if (diagnosis)
		diagnosis_print(diagnosis, true, f);
	return memstream_close(f, &text) ? text : NULL;
}

/* Of the culprit's time, of its VM. */
static void diagnosis_add(struct dump_read *d, const char *dump)
{
	const struct trigger_culprit *c = &d->found.cause->culprit;
	char since[32], until[32], pid[16], files[4096], filters[128] = "";
	struct input_options in = {
		.files = {.item = {dump}, .nr = 1}, .no_guest = true, .allow_ticks = true};

	if (d->found.cause->min_ns) {
		in.since = time_of(d, c->start_ns, since, sizeof(since));
		in.until = time_of(d, c->end_ns + 1, until, sizeof(until)); /* with its end */
		snprintf(filters, sizeof(filters), "--since %s --until %s", since, until);
	}
	snprintf(pid, sizeof(pid), "%u", c->pid);
	if (c->pid)
		in.vms = (struct text_list){.item = {pid}, .nr = 1};
	snprintf(files, sizeof(files), "-i %s", dump);
	d->found.diagnosis = diagnosis_text(&in, files, filters);
}

/* After all events. */
static int findings_end(struct dump_read *d)
{
	struct dump_findings *f = &d->found;

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
		diagnosis_add(&d, dump);
	if (!err)
		err = write_file(&d, dump, path);
	free(d.found.diagnosis);
	culprit_stacks_free(d.stacks);
	unusual_free(d.unusual);
	blame_free(d.blame);
	return err;
}
