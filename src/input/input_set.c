// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "clock/align.h"
#include "event/thread_names.h"
#include "event/trim_reason.h"
#include "event/region_names.h"
#include "event/vm_names.h"
#include "input/companion.h"
#include "input/input_set.h"
#include "input/vm_filter.h"
#include "readers/readers.h"

/* Made when first needed: the alignment may have to read all of the host's trace. */
struct input_clocks {
	struct align *align;
	unsigned int nr_users;
};

/* ---- making a set ---- */

static void input_add(struct input_set *set, const char *path, bool is_guest)
{
	unsigned int *nr = is_guest ? &set->nr_guests : &set->nr_hosts, nth = *nr + 1;
	struct input *in = &set->input[input_set_nr(set)];
	const char *kind = is_guest ? "guest" : "host";

	in->path = path;
	in->is_guest = is_guest;
	if (nth == 1)
		snprintf(in->name, sizeof(in->name), "%s", kind);
	else
		snprintf(in->name, sizeof(in->name), "%s%u", kind, nth);
	++*nr;
}

int input_set_new(const struct input_options *options, struct input_set **ret)
{
	struct input_set *set = calloc(1, sizeof(*set));
	struct input_clocks *clocks = calloc(1, sizeof(*clocks));

	if (!set || !clocks) {
		free(set);
		free(clocks);
		return fail(-ENOMEM, "out of memory");
	}
	clocks->nr_users = 1;
	set->clocks = clocks;
	set->options = options;
	set->until_ns = UINT64_MAX;
	for (unsigned int i = 0; i < options->files.nr; i++)
		input_add(set, options->files.item[i], false);
	if (!options->files.nr)
		input_add(set, INPUT_DEFAULT, false);
	for (unsigned int i = 0; i < options->guests.nr; i++)
		input_add(set, options->guests.item[i], true);
	*ret = set;
	return 0;
}

static int companion_add(struct input_set *set, char *path)
{
	if (!path)
		return -ENOMEM;
	set->companion[set->nr_companions++] = path;
	input_add(set, path, true);
	return 0;
}

int input_set_copy(const struct input_set *set, struct input_set **ret)
{
	struct input_set *copy;
	int err = input_set_new(set->options, &copy);

	if (err)
		return err;
	free(copy->clocks);
	copy->clocks = set->clocks;
	copy->clocks->nr_users++;
	for (unsigned int i = 0; !err && i < set->nr_companions; i++)
		err = companion_add(copy, strdup(set->companion[i]));
	if (err) {
		input_set_close(copy);
		return fail(err, "out of memory");
	}
	*ret = copy;
	return 0;
}

/* Does --event select any of a guest's events? */
static bool guests_selected(const struct input_options *o)
{
	for (unsigned int i = 0; i < o->globs.nr; i++)
		if (strchr("g*?[", o->globs.item[i][0]))
			return true;
	return !o->globs.nr;
}

void input_set_add_companions(struct input_set *set, void (*note)(const char *fmt, ...))
{
	const struct input_options *o = set->options;
	char *found[OPTION_LIST_MAX];
	unsigned int nr = 0;

	if (!set->nr_guests && !o->no_guest && set->nr_hosts == 1 && guests_selected(o))
		nr = companions_find(set->input[0].path, note, found, OPTION_LIST_MAX);
	for (unsigned int i = 0; i < nr; i++)
		companion_add(set, found[i]);
}

static void reader_drop(struct input_set *set)
{
	reader_close(take_ptr(set->reader));
	for (unsigned int i = 0; i < input_set_nr(set); i++)
		set->input[i].reader = NULL;
}

void input_set_close(struct input_set *set)
{
	if (!set)
		return;
	reader_drop(set);
	vm_names_free(set->vms);
	region_names_free(set->regions);
	if (!--set->clocks->nr_users) {
		align_free(set->clocks->align);
		free(set->clocks);
	}
	for (unsigned int i = 0; i < set->nr_companions; i++)
		free(set->companion[i]);
	free(set);
}

/* ---- questions ---- */

const char *input_set_name(const struct input_set *set, unsigned int source)
{
	return source < input_set_nr(set) ? set->input[source].name : "?";
}

bool input_set_is_guest(const struct input_set *set, unsigned int source)
{
	return source < input_set_nr(set) && set->input[source].is_guest;
}

void input_set_want_thread_names(struct input_set *set)
{
	set->thread_names = true;
}

bool input_set_selects(const struct input_set *set, const struct event *ev)
{
	return !set->is_trimmed || trim_passes(set->reader, ev);
}

uint64_t input_set_start_ns(const struct input_set *set)
{
	uint64_t start_ns = set->reader->info.start_ns;

	return start_ns > set->since_ns ? start_ns : set->since_ns;
}

uint64_t input_set_end_ns(const struct input_set *set)
{
	uint64_t end_ns = set->reader->info.end_ns;

	return end_ns < set->until_ns ? end_ns : set->until_ns;
}

bool input_set_strict_failed(const struct input_set *set)
{
	return set->options->strict && set->reader->info.lost;
}

unsigned int input_set_nr_vms(const struct input_set *set)
{
	return set->nr_pids ? set->nr_pids : vm_names_nr(set->vms);
}

/* ---- the selection ---- */

/* What --vm, --vcpu and --tid select, as lists of numbers. */
struct selected {
	uint32_t *pids;
	unsigned int nr_pids;
};

/* The VMs that the inputs list, as far as they are open. */
static int selected_make(const struct input_set *set, struct selected *ret)
{
	json_t *vms;
	int err;

	*ret = (struct selected){0};
	if (!set->options->vms.nr)
		return 0;
	vms = json_array();
	for (unsigned int i = 0; i < input_set_nr(set) && set->input[i].reader; i++) {
		json_t *list = json_object_get(set->input[i].reader->info.meta, "vms");

		if (list)
			json_array_extend(vms, list);
	}
	err = vm_filter_pids(&set->options->vms, vms, &ret->pids, &ret->nr_pids);
	json_decref(vms);
	return err;
}

/* ---- clocks ---- */

static int align_make(const struct input_set *set)
{
	const struct input_options *o = set->options;
	const char *paths[OPTION_LIST_MAX];
	struct selected selected;
	int err = set->clocks->align ? 0 : selected_make(set, &selected);

	if (set->clocks->align || err)
		return err;
	for (unsigned int i = 0; i < set->nr_hosts; i++)
		paths[i] = set->input[i].path;
	err = align_new(paths, set->nr_hosts, o->clock,
			&(struct align_selection){.tsc_khz = o->tsc_khz,
						  .pids = selected.pids,
						  .nr_pids = selected.nr_pids,
						  .vcpus = o->vcpus.item,
						  .nr_vcpus = o->vcpus.nr,
						  .tids = o->tids.item,
						  .nr_tids = o->tids.nr,
						  .no_guest = !set->nr_guests},
			&set->clocks->align);
	free(selected.pids);
	return err;
}

int input_set_align(const struct input_set *set, int guest, struct align **ret,
		    const struct align_guest **ret_guest)
{
	int err = align_make(set);

	if (err)
		return err;
	*ret = set->clocks->align;
	return align_guest(*ret, guest < 0 ? NULL : set->input[set->nr_hosts + guest].path,
			   ret_guest);
}

/* ---- opening ---- */

static void inputs_close(struct input_set *set)
{
	for (unsigned int i = 0; i < input_set_nr(set); i++)
		reader_close(take_ptr(set->input[i].reader));
}

static int input_open(struct input_set *set, struct input *in, const struct read_hint *hint)
{
	int err = in->is_guest ? align_make(set) : 0;

	if (err)
		return err;
	err = in->is_guest ? align_open(set->clocks->align, in->path, hint, &in->reader)
			   : reader_open(in->path, hint, &in->reader);
	if (err)
		in->reader = NULL;
	if (err == -ENOENT && !set->options->files.nr && !in->is_guest)
		fail_hint(err, "name a trace with -i FILE, or create one with 'hostrace record'");
	return err;
}

static int inputs_open(struct input_set *set, const struct read_hint *hint)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < input_set_nr(set); i++)
		err = input_open(set, &set->input[i], hint);
	if (err)
		inputs_close(set);
	return err;
}

/* Has one of the hosts' inputs, which are open, times in ticks of an unknown rate? */
static bool any_in_ticks(const struct input_set *set)
{
	for (unsigned int i = 0; i < set->nr_hosts; i++)
		if (trace_info_in_ticks(&set->input[i].reader->info))
			return true;
	return false;
}

static int ticks_reject(const struct trace_info *info)
{
	if (!json_object_get(info->meta, "tsc_map"))
		return fail(-EINVAL, "%s: it has no timestamps, which this report needs",
			    info->file);
	return fail_hint(fail(-EINVAL, "%s: its timestamps are ticks of an unknown frequency",
			      info->file),
			 "give it with --tsc-khz KHZ");
}

/* A command that prints times in ns must not be given ticks; and ns cannot be merged with ticks. */
static int units_check(const struct input_set *set)
{
	bool first = trace_info_in_ticks(&set->input[0].reader->info);

	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		const struct trace_info *info = &set->input[i].reader->info;

		if (trace_info_in_ticks(info) != first ||
		    (trace_info_in_ticks(info) && !set->options->allow_ticks))
			return ticks_reject(first ? &set->input[0].reader->info : info);
	}
	return 0;
}

/* The first and the last time of all inputs, which are open, as far as they know it. */
static void span_of(const struct input_set *set, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = UINT64_MAX;
	*ret_end = 0;
	for (unsigned int i = 0; i < input_set_nr(set); i++) {
		const struct trace_info *info = &set->input[i].reader->info;
		uint64_t end = info->last_ns > info->end_ns ? info->last_ns : info->end_ns;

		if (info->start_ns || end) /* else it has no events, or does not know */
			*ret_start = info->start_ns < *ret_start ? info->start_ns : *ret_start;
		*ret_end = end > *ret_end ? end : *ret_end;
	}
	*ret_start = *ret_start == UINT64_MAX ? 0 : *ret_start;
}

/* Reads those inputs to their ends that do not know them otherwise. They cannot be read again. */
static int ends_read(struct input_set *set)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more = batch ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < input_set_nr(set) && !more; i++) {
		struct reader *r = set->input[i].reader;

		while (!r->info.last_ns && (more = reader_next(r, batch)) > 0)
			;
	}
	return more;
}

/* The time window over all inputs, which are open. */
static int window_make(struct input_set *set, struct read_hint *hint)
{
	const struct input_options *o = set->options;
	uint64_t start, end;
	int err;

	if (o->since.ns && o->until.ns && o->period.ns)
		return fail_usage(-EINVAL,
				  "--period cannot be combined with both --since and --until");
	if (any_in_ticks(set))
		return fail_hint(fail(-EINVAL, "%s: the frequency of its timestamps is unknown: a "
					       "time window cannot be applied",
				      set->input[0].path),
				 "give it with --tsc-khz KHZ");
	span_of(set, &start, &end);
	if (input_options_window_needs_end(o, start, end)) {
		err = ends_read(set);
		if (err)
			return err;
		span_of(set, &start, &end);
	}
	input_options_window(o, start, end, &hint->since_ns, &hint->until_ns);
	if (hint->since_ns >= hint->until_ns)
		return fail_usage(-EINVAL, "--since is not before --until");
	return 0;
}

static char *join(const struct text_list *list)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = list->nr ? open_memstream(&text, &len) : NULL;

	for (unsigned int i = 0; f && i < list->nr; i++)
		fprintf(f, "%s%s", i ? "," : "", list->item[i]);
	if (list->nr)
		memstream_close(f, &text);
	return text;
}

static bool reason_wants(const char *event, void *arg)
{
	(void)arg;
	return trim_reason_wants(event);
}

struct selection {
	bool (*wants)(const char *event, void *arg);
	void *arg;
	const char *globs;
	bool reasons, thread_names;
};

/*
 * Losses are always counted. Events that name others pass --event, but only if the command asks for them at all.
 */
static bool selection_wants(const char *name, void *arg)
{
	const struct selection *s = arg;
	const struct event_type *type = event_type_named(name);

	if (type && (type->id == EV_lost || type->id == EV_gap))
		return true;
	if (s->reasons && trim_reason_wants(name))
		return true;
	if (s->wants && !s->wants(name, s->arg))
		return false;
	return !s->globs || trim_name_matches(s->globs, name) || (type && trim_is_naming(type)) ||
	       (s->thread_names && thread_names_wants(name, NULL));
}

/* A pass over the hosts' inputs for the reasons of returns to the VMM. */
static int reasons_look(const struct input_set *set, struct trim_reason *reasons)
{
	struct read_hint hint = {.until_ns = UINT64_MAX, .wants = reason_wants};
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int err = batch ? 0 : fail(-ENOMEM, "out of memory"), more = 1;

	for (unsigned int i = 0; !err && i < set->nr_hosts; i++) {
		_cleanup_reader_ struct reader *r = NULL;

		err = reader_open(set->input[i].path, &hint, &r);
		if (err)
			r = NULL;
		while (!err && (more = reader_next(r, batch)) > 0)
			for (unsigned int k = 0; k < batch->nr; k++)
				trim_reason_look(reasons, (uint16_t)i, &batch->ev[k]);
		err = err ? err : more;
	}
	return err;
}

/* *ret: of --reason, NULL if it was not given. */
static int reasons_make(const struct input_set *set, struct trim_reason **ret)
{
	_cleanup_free_ char *globs = join(&set->options->reasons);
	int err;

	*ret = NULL;
	if (!set->options->reasons.nr)
		return 0;
	*ret = globs ? trim_reason_new(globs) : NULL;
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	err = trim_reason_looks_ahead(*ret) ? reasons_look(set, *ret) : 0;
	if (err)
		trim_reason_free(take_ptr(*ret));
	return err;
}

/* Trims the merged reader `all`, which it owns, to what the options select. */
static int trimmed_open(struct input_set *set, struct reader *all,
			const struct read_hint *hint, const char *globs, struct reader **ret)
{
	const struct input_options *o = set->options;
	struct selected selected;
	uint16_t vcpus[OPTION_LIST_MAX];
	struct trim trim = {.since_ns = hint->from_start ? 0 : hint->since_ns,
			    .until_ns = hint->until_ns,
			    .events = globs,
			    .tids = o->tids.item,
			    .nr_tids = o->tids.nr,
			    .vcpus = vcpus,
			    .guests_from = set->nr_hosts,
			    .guests_any_tid =
				    set->clocks->align && align_by_tids(set->clocks->align),
			    .thread_names = set->thread_names};
	int err = selected_make(set, &selected);

	if (err) {
		reader_close(all);
		return err;
	}
	for (unsigned int i = 0; i < o->vcpus.nr; i++)
		vcpus[trim.nr_vcpus++] = o->vcpus.item[i] < RECORD_NO_VCPU
						 ? (uint16_t)o->vcpus.item[i]
						 : RECORD_NO_VCPU - 1;
	trim.pids = selected.pids;
	trim.nr_pids = selected.nr_pids;
	set->nr_pids = selected.nr_pids;
	err = reasons_make(set, &trim.reasons);
	if (err)
		reader_close(all);
	else
		err = trim_open(all, &trim, ret);
	free(selected.pids);
	return err;
}

/* The names of the VMs in the inputs, which are open, and of what is behind their addresses. */
static int names_read(struct input_set *set)
{
	vm_names_free(set->vms);
	region_names_free(set->regions);
	set->vms = vm_names_new();
	set->regions = region_names_new();
	if (!set->vms || !set->regions)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		vm_names_meta(set->vms, set->input[i].reader->info.meta);
		region_names_meta(set->regions, set->input[i].reader->info.meta);
	}
	return 0;
}

/* Merges the inputs, which are open, into set->reader. */
static int inputs_merge(struct input_set *set, const struct read_hint *hint, const char *globs)
{
	struct reader *inputs[INPUTS_MAX], *all;
	int err;

	for (unsigned int i = 0; i < input_set_nr(set); i++)
		inputs[i] = set->input[i].reader;
	err = merge_open(inputs, input_set_nr(set), &all);
	if (!err && set->is_trimmed)
		err = trimmed_open(set, all, hint, globs, &set->reader);
	else if (!err)
		set->reader = all;
	if (err) {
		set->reader = NULL;
		reader_drop(set); /* the inputs are closed */
	}
	return err;
}

/* Who applies the time window. */
enum window {
	WINDOW_TRIM,   /* the set's reader */
	WINDOW_CALLER, /* the caller */
	WINDOW_BEFORE, /* the caller, who needs all events from before it */
	WINDOW_NONE,   /* there is none */
};

static int set_open(struct input_set *set, bool (*wants)(const char *event, void *arg), void *arg,
		    enum window window)
{
	_cleanup_free_ char *globs = join(&set->options->globs);
	struct selection s = {wants, arg, globs, set->options->reasons.nr > 0, set->thread_names};
	struct read_hint hint = {.until_ns = UINT64_MAX,
				 .tsc_khz = set->options->tsc_khz,
				 .from_start = window == WINDOW_BEFORE,
				 .wants = wants || globs ? selection_wants : NULL,
				 .arg = &s};
	int err = 0;

	reader_drop(set);
	if (!input_options_have_window(set->options))
		window = WINDOW_NONE;
	if (window != WINDOW_NONE) { /* times count from the start, which is known once the inputs are open */
		err = inputs_open(set, &(struct read_hint){.until_ns = UINT64_MAX,
							   .tsc_khz = hint.tsc_khz});
		if (!err)
			err = window_make(set, &hint);
		inputs_close(set);
	}
	set->since_ns = hint.since_ns;
	set->until_ns = hint.until_ns;
	set->is_trimmed = window == WINDOW_TRIM || input_options_have_filter(set->options);
	if (!err)
		err = inputs_open(set, &hint);
	if (!err && ((err = units_check(set)) || (err = names_read(set))))
		inputs_close(set);
	return err ? err : inputs_merge(set, &hint, globs);
}

int input_set_open_all_times(struct input_set *set, bool (*wants)(const char *event, void *arg),
			     void *arg)
{
	return set_open(set, wants, arg, WINDOW_NONE);
}

int input_set_open_window(struct input_set *set, bool before,
			  bool (*wants)(const char *event, void *arg), void *arg)
{
	return set_open(set, wants, arg, before ? WINDOW_BEFORE : WINDOW_CALLER);
}

int input_set_open(struct input_set *set, bool (*wants)(const char *event, void *arg), void *arg)
{
	return set_open(set, wants, arg, WINDOW_TRIM);
}
