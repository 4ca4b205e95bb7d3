// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --trigger: a flight recorder that writes a dump when a span becomes too long, --after
 * later. What else is triggered until then is in the same dump. When --keep dumps or --max-disk
 * bytes are there, further triggers are only counted: the dumps of a problem's beginning are kept,
 * and nothing is deleted or overwritten.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record_trigger.h"

enum { RING_DEFAULT = 64 << 20 };

static struct {
	struct text_list triggers;
	uint64_t before_ns, after_ns, keep, max_disk;
} opt = {.before_ns = 5 * NS_PER_S, .after_ns = NS_PER_S, .keep = 5};

/* clang-format off */
const struct option_row record_trigger_options[] = {
	{0, "trigger",  OPT_LIST,     &opt.triggers,  "NAME>T", "flight recorder: write a dump when an exit-latency, request-age, bql-wait or another analyzer's span exceeds T, or at vm-end"},
	{0, "before",   OPT_DURATION, &opt.before_ns, "T",      "with --trigger: a dump begins this long before the span (default 5s)"},
	{0, "after",    OPT_DURATION, &opt.after_ns,  "T",      "with --trigger: a dump ends this long after the trigger (default 1s)"},
	{0, "keep",     OPT_U64,      &opt.keep,      "N",      "with --trigger: no more than N dumps; further triggers are counted (default 5)"},
	{0, "max-disk", OPT_SIZE,     &opt.max_disk,  "SIZE",   "with --trigger: dumps and reports take no more than SIZE"},
	{0},
};
/* clang-format on */

struct flight {
	struct trigger_expression e[TRIGGERS_MAX];
	unsigned int nr;
	struct trigger_watch *watch;
	struct dump_files files;

	bool pending;
	struct dump_cause cause; /* of the pending dump */
	uint64_t due_ns;
	uint64_t triggered, suppressed;
	bool logged; /* that triggers are suppressed */
};

static uint64_t suppressed(const struct flight *f)
{
	return f->suppressed + f->files.suppressed;
}

bool record_has_triggers(void)
{
	return opt.triggers.nr;
}

static int parse_all(struct trigger_expression e[TRIGGERS_MAX])
{
	int err = 0;

	if (opt.triggers.nr > TRIGGERS_MAX)
		return fail_usage(-E2BIG, "--trigger: more than %d conditions", TRIGGERS_MAX);
	for (unsigned int i = 0; i < opt.triggers.nr && !err; i++)
		err = trigger_parse("--trigger", opt.triggers.item[i], &e[i]);
	return err;
}

/* ---- hooks of the recording ---- */

/* What the conditions look at; unless events were selected, also what explains an exit. */
static int record_trigger_choose(struct collector_options *c)
{
	struct trigger_expression e[TRIGGERS_MAX];
	int err = parse_all(e);

	if (!opt.triggers.nr || err)
		return err;
	if (!record_opt.ring_bytes)
		record_opt.ring_bytes = RING_DEFAULT;
	if (!record_opt.events && !record_opt.analyzers)
		err = events_choose_for("blame", c->wants);
	c->wants[EV_vm_state] = true; /* exits of a stopped VM do not count */
	for (unsigned int i = 0; i < opt.triggers.nr && !err; i++)
		if (e[i].analyzer)
			err = events_choose_for(e[i].analyzer->name, c->wants);
	return err;
}

static void on_trigger(void *arg, const struct trigger_culprit *c)
{
	struct flight *f = arg;

	f->triggered++;
	if (f->pending) {
		if (f->cause.nr_more < DUMP_MORE_MAX)
			f->cause.more[f->cause.nr_more] = *c;
		f->cause.nr_more++;
		return;
	}
	if (!dumps_have_room(&f->files)) {
		f->suppressed++;
		if (!f->logged)
			journal_note(4,
				     "triggers are only counted from now on: --keep or "
				     "--max-disk is reached; move dumps away: %s-*",
				     f->files.prefix);
		f->logged = true;
		return;
	}
	f->logged = false;
	f->pending = true;
	f->cause = (struct dump_cause){.culprit = *c,
				       .name = f->e[c->which].name,
				       .min_ns = f->e[c->which].min_ns,
				       .before_ns = opt.before_ns,
				       .after_ns = opt.after_ns,
				       .suppressed = suppressed(f)};
	f->due_ns = c->end_ns + opt.after_ns;
}

static int record_trigger_start(struct recording *r)
{
	struct flight *f = opt.triggers.nr ? calloc(1, sizeof(*f)) : NULL;
	int err;

	if (!opt.triggers.nr)
		return 0;
	if (!f)
		return fail(-ENOMEM, "out of memory");
	r->flight = f;
	f->nr = opt.triggers.nr;
	err = parse_all(f->e);
	f->files = (struct dump_files){.keep = opt.keep, .max_bytes = opt.max_disk};
	if (!err)
		err = dumps_open(&f->files);
	if (err)
		return err;
	f->watch = trigger_watch_new(f->e, f->nr, on_trigger, f);
	return f->watch ? 0 : error_code();
}

int record_trigger_record(struct recording *r, const struct record_hdr *rec)
{
	return r->flight ? trigger_watch_record(r->flight->watch, rec) : 0;
}

static void dump(struct recording *r, bool always)
{
	struct flight *f = r->flight;

	f->pending = false;
	if (dumps_start(&f->files, r, &f->cause, always)) {
		r->dumps_failed++;
		journal_note(3, "cannot write a dump: %s", error_text());
	}
}

int record_trigger_round(struct recording *r, uint64_t watermark_ns)
{
	struct flight *f = r->flight;
	int err = f ? trigger_watch_round(f->watch, watermark_ns) : 0;

	if (!f || err)
		return err;
	dumps_reap(&f->files, false);
	if (f->pending && watermark_ns >= f->due_ns && !f->files.child)
		dump(r, false);
	return 0;
}

/* Without a condition: SIGUSR1, or the VM's end. */
static void dump_now(struct recording *r, const char *name, bool always)
{
	struct flight *f = r->flight;
	uint64_t now = monotonic_ns();

	dumps_reap(&f->files, true);
	f->cause = (struct dump_cause){.culprit = {.start_ns = now, .end_ns = now},
				       .name = name,
				       .before_ns = now, /* all that there is */
				       .suppressed = suppressed(f)};
	dump(r, always);
}

void record_trigger_signal(struct recording *r)
{
	if (r->flight->pending) {
		dumps_reap(&r->flight->files, true);
		dump(r, false);
	}
	dump_now(r, "signal", true);
}

/* The condition without a span: vm-end. NULL: none. */
static const struct trigger_expression *end_condition(const struct flight *f)
{
	for (unsigned int i = 0; f && i < f->nr; i++)
		if (!f->e[i].analyzer)
			return &f->e[i];
	return NULL;
}

bool record_trigger_at_end(const struct recording *r)
{
	return end_condition(r->flight);
}

static void vm_ended(struct recording *r)
{
	struct flight *f = r->flight;

	f->triggered++;
	if (dumps_have_room(&f->files))
		dump_now(r, end_condition(f)->name, false);
	else
		f->suppressed++;
}

/* What is pending is written with what there is. */
static int record_trigger_stop(struct recording *r)
{
	struct flight *f = r->flight;

	if (!f || !f->watch)
		return 0;
	if (f->pending) {
		dumps_reap(&f->files, true);
		dump(r, false);
	}
	dumps_reap(&f->files, true);
	if (r->vms_ended && end_condition(f))
		vm_ended(r);
	dumps_reap(&f->files, true);
	r->dumps_failed += f->files.failed;
	return 0;
}

static void meta(struct recording *r, json_t *meta, bool final)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < opt.triggers.nr; i++)
		json_array_append_new(list, json_string(opt.triggers.item[i]));
	if (opt.triggers.nr && !final)
		json_object_set(meta, "triggers", list);
	if (r->flight && final)
		json_object_set_new(meta, "suppressed_triggers",
				    json_integer((json_int_t)suppressed(r->flight)));
	json_decref(list);
}

void record_trigger_summary(struct recording *r)
{
	struct flight *f = r->flight;

	command_note("triggers: %" PRIu64 ", dumps written: %" PRIu64
		     ", triggers suppressed: %" PRIu64 "%s",
		     f->triggered, f->files.written, suppressed(f),
		     suppressed(f) ? " (--keep, --max-disk)" : "");
}

int record_trigger_paths(const struct recording *r, struct confine_paths *paths)
{
	return r->flight ? confine_paths_dumps(paths, r->flight->files.prefix) : 0;
}

static void close_all(struct recording *r)
{
	if (!r->flight)
		return;
	trigger_watch_free(r->flight->watch);
	dumps_close(&r->flight->files);
	free(r->flight);
}

const struct record_part record_trigger_part = {
	.choose = record_trigger_choose,
	.start = record_trigger_start,
	.stop = record_trigger_stop,
	.meta = meta,
	.close = close_all,
};
