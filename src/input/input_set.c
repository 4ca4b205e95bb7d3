// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How several inputs become one reader: hosts and guests are opened, companions (the guest trace, the symbols, the
 * annotations next to a recording) are found, clocks are aligned in a first pass over the hosts, then all are merged
 * in time order and trimmed.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "clock/align.h"
#include "event/region_names.h"
#include "event/trim_reason.h"
#include "event/vm_names.h"
#include "input/input_private.h"
#include "readers/readers.h"

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

struct open_files *input_set_files(const struct input_set *set)
{
	return &set->clocks->files;
}

static int companion_add(struct input_set *set, char *path)
{
	if (!path)
		return -ENOMEM;
	set->companion[set->nr_companions++] = path;
	input_add(set, path, true);
	return 0;
}

int input_set_copy_for(const struct input_set *set, const struct input_options *options,
		       struct input_set **ret)
{
	struct input_set *copy;
	int err = input_set_new(options, &copy);

	if (err)
		return err;
	free(copy->clocks);
	copy->clocks = set->clocks;
	copy->clocks->nr_users++;
	copy->note = set->note;
	for (unsigned int i = 0; !err && i < set->nr_companions; i++)
		err = companion_add(copy, strdup(set->companion[i]));
	if (err) {
		input_set_close(copy);
		return fail(err, "out of memory");
	}
	*ret = copy;
	return 0;
}

int input_set_copy(const struct input_set *set, struct input_set **ret)
{
	return input_set_copy_for(set, set->options, ret);
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

	if (!set->nr_guests && !o->no_guest && !o->follow && set->nr_hosts == 1 &&
	    guests_selected(o))
		nr = companions_find(set->input[0].path, note, found, OPTION_LIST_MAX,
				     &set->clocks->files);
	set->note = note;
	for (unsigned int i = 0; i < nr; i++)
		companion_add(set, found[i]);
}

/* Input i, a companion that could not be opened, which the error message explains. Those after it take its place. */
static void companion_leave_out(struct input_set *set, unsigned int i)
{
	unsigned int k = i - set->nr_hosts;
	char *path = set->companion[k];

	if (set->note)
		set->note("guest trace %s is left out: %s (disable with --no-guest)", path,
			  error_text());
	set->nr_companions--;
	set->nr_guests--;
	for (; k < set->nr_companions; k++, i++) {
		set->companion[k] = set->companion[k + 1];
		set->input[i].path = set->companion[k];
	}
	set->left_out[set->nr_left_out++] = path;
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
		survey_free(set->clocks->survey);
		open_files_close(&set->clocks->files);
		free(set->clocks);
	}
	for (unsigned int i = 0; i < set->nr_companions; i++)
		free(set->companion[i]);
	for (unsigned int i = 0; i < set->nr_left_out; i++)
		free(set->left_out[i]);
	free(set);
}

/* ---- questions ---- */

const char *input_set_name(const struct input_set *set, unsigned int source)
{
	return source < input_set_nr(set) ? set->input[source].name : "?";
}

const char *input_set_path(const struct input_set *set, unsigned int source)
{
	return source < input_set_nr(set) ? set->input[source].path : NULL;
}

bool input_set_is_guest(const struct input_set *set, unsigned int source)
{
	return source < input_set_nr(set) && set->input[source].is_guest;
}

void input_set_want_thread_names(struct input_set *set)
{
	set->thread_names = true;
}

void input_set_want_stacks(struct input_set *set)
{
	set->stacks = true;
}

void input_set_where_on(struct input_set *set, bool (*where_on)(const char *event))
{
	set->where_on = where_on;
}

void input_set_want_other_threads(struct input_set *set)
{
	set->other_threads = true;
}

bool input_set_selects_any_thread(const struct input_set *set, const struct event *ev)
{
	return !set->is_trimmed || trim_passes_of_any_thread(set->reader, ev);
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

/* Has the input events, as far as it knows? */
static bool has_times(const struct trace_info *info)
{
	return info->start_ns || info->end_ns;
}

uint64_t input_set_host_start_ns(const struct input_set *set)
{
	uint64_t start_ns = UINT64_MAX;

	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		const struct trace_info *info = &set->input[i].reader->info;

		if (has_times(info) && info->start_ns < start_ns)
			start_ns = info->start_ns;
	}
	if (start_ns == UINT64_MAX)
		return input_set_start_ns(set);
	return start_ns > set->since_ns ? start_ns : set->since_ns;
}

uint64_t input_set_host_end_ns(const struct input_set *set)
{
	uint64_t end_ns = 0;

	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		const struct trace_info *info = &set->input[i].reader->info;

		if (has_times(info) && info->end_ns > end_ns)
			end_ns = info->end_ns;
	}
	if (!end_ns)
		return input_set_end_ns(set);
	return end_ns < set->until_ns ? end_ns : set->until_ns;
}

bool input_set_strict_failed(const struct input_set *set)
{
	bool missing = set->nr_left_out;

	if (!set->reader) /* a table of another tool */
		return false;
	missing |= set->reader->info.lost != 0;
	for (unsigned int i = 0; i < input_set_nr(set); i++)
		missing |= set->input[i].reader->info.truncated;
	return set->options->strict && missing;
}

bool input_set_foreign(const struct input_set *set)
{
	for (unsigned int i = 0; i < set->nr_hosts; i++)
		if (!strcmp(set->input[i].reader->info.kind, "text") ||
		    json_object_get(set->input[i].reader->info.meta, "hostrace"))
			return false;
	return set->nr_hosts > 0;
}

bool input_set_recorded(const struct input_set *set, const char *event)
{
	return array_any(set->nr_hosts, i, trace_info_recorded(&set->input[i].reader->info, event));
}

unsigned int input_set_nr_vms(const struct input_set *set)
{
	return set->nr_pids ? set->nr_pids : vm_names_nr(set->vms);
}

/* ---- clocks ---- */

static int align_make(const struct input_set *set)
{
	const struct input_options *o = set->options;
	const char *paths[OPTION_LIST_MAX];
	unsigned int nr_pids;
	uint32_t *pids;
	int err = set->clocks->align ? 0 : input_pids(set, &pids, &nr_pids);

	if (set->clocks->align || err)
		return err;
	for (unsigned int i = 0; i < set->nr_hosts; i++)
		paths[i] = set->input[i].path;
	err = align_new(paths, set->nr_hosts, o->clock,
			&(struct align_selection){.tsc_khz = o->tsc_khz,
						  .pids = pids,
						  .nr_pids = nr_pids,
						  .vcpus = o->vcpus.item,
						  .nr_vcpus = o->vcpus.nr,
						  .tids = o->tids.item,
						  .nr_tids = o->tids.nr,
						  .files = &set->clocks->files,
						  .no_guest = !set->nr_guests},
			&set->clocks->align);
	free(pids);
	return err;
}

bool input_set_can_align(const struct input_set *set)
{
	return set->nr_hosts == 1 && !set->nr_guests && !set->clocks->align &&
	       !input_options_have_window(set->options) &&
	       !input_options_have_filter(set->options);
}

int input_set_align_begin(const struct input_set *set, struct align **ret)
{
	return align_begin(set->input[0].path, set->options->clock,
			   &(struct align_selection){.tsc_khz = set->options->tsc_khz,
						     .files = &set->clocks->files,
						     .no_guest = true},
			   ret);
}

int input_set_align_end(const struct input_set *set, struct align *align)
{
	int err = align_end(align, NULL, &set->input[0].reader->info);

	if (err)
		return err;
	align_free(set->clocks->align);
	set->clocks->align = align;
	return 0;
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
	int err = in->is_guest ? align_open(set->clocks->align, in->path, hint, &in->reader)
			       : reader_open(in->path, hint, &in->reader);

	if (err)
		in->reader = NULL;
	if (err == -ENOENT && !set->options->files.nr && !in->is_guest)
		fail_hint(err, "name a trace with -i FILE, or create one with 'hostrace record'");
	return err;
}

static bool can_leave_out(const struct input_set *set, const struct input *in, int err)
{
	return in->is_guest && set->nr_companions && !set->options->clock && err != -ENOMEM;
}

/*
 * The log of a QEMU does not say whose it is, and two QEMUs may have their queues at the same addresses. Other traces
 * of one host may be read together, as those of its CPUs or of several tools.
 */
static int qemu_logs_check(const struct input_set *set)
{
	const struct trace_info *first = NULL;

	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		const struct trace_info *info = &set->input[i].reader->info;
		bool earlier = first && info->start_ns < first->start_ns;

		if (!info->kind || strcmp(info->kind, "QEMU log") != 0)
			continue;
		if (first) {
			fail(-EINVAL,
			     "%s and %s: the logs of two QEMUs would be shown as of one VM",
			     first->file, info->file);
			return fail_hint(-EINVAL,
					 "read each alone; parts of one log, and for downtime "
					 "the logs of a migration's source and destination, in one "
					 "file: cat %s %s >both.log",
					 earlier ? info->file : first->file,
					 earlier ? first->file : info->file);
		}
		first = info;
	}
	return 0;
}

/* Guests are aligned when they are opened, after all hosts. */
static int inputs_open(struct input_set *set, const struct read_hint *hint)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < input_set_nr(set);) {
		struct input *in = &set->input[i];

		err = in->is_guest ? align_make(set) : 0;
		if (err)
			break;
		err = input_open(set, in, hint);
		if (err && can_leave_out(set, in, err)) {
			companion_leave_out(set, i);
			err = 0;
		} else {
			i++;
		}
	}
	err = err ?: qemu_logs_check(set);
	if (err)
		inputs_close(set);
	return err;
}

struct selection {
	bool (*wants)(const char *event, void *arg);
	void *arg;
	const char *globs;
	bool reasons, thread_names, stacks;
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
	if (s->stacks) /* which event a backtrace belongs to shows only among all */
		return true;
	return !s->globs || trim_name_matches(s->globs, name) || (type && trim_is_naming(type)) ||
	       (s->thread_names && thread_names_wants(name, NULL));
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
		err = input_trim_open(set, all, hint, globs, &set->reader);
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

/* A rate is of use to a host's timestamps that are ticks. */
static int tsc_khz_check(const struct input_set *set)
{
	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		const json_t *meta = set->input[i].reader->info.meta;
		const char *clock = json_string_value(json_object_get(meta, "clock"));

		if (clock && !strcmp(clock, "tsc"))
			return 0;
	}
	return set->options->tsc_khz
		       ? fail_usage(-EINVAL, "--tsc-khz has no effect: no host's trace is in ticks")
		       : 0;
}

static int set_open(struct input_set *set, bool (*wants)(const char *event, void *arg), void *arg,
		    enum window window)
{
	_cleanup_free_ char *globs = input_join(&set->options->globs);
	struct selection s = {wants, arg, globs, set->options->reasons.nr > 0,
			      set->thread_names, set->stacks};
	struct read_hint hint = {.until_ns = UINT64_MAX,
				 .tsc_khz = set->options->tsc_khz,
				 .files = &set->clocks->files,
				 .from_start = window == WINDOW_BEFORE,
				 .follow = set->options->follow,
				 .wants = wants || globs ? selection_wants : NULL,
				 .arg = &s};
	int err = 0;

	reader_drop(set);
	if (!input_options_have_window(set->options))
		window = WINDOW_NONE;
	if (window != WINDOW_NONE) { /* times count from the start, which is known once the inputs are open */
		err = inputs_open(set, &(struct read_hint){.until_ns = UINT64_MAX,
							   .tsc_khz = hint.tsc_khz,
							   .files = hint.files});
		if (!err)
			err = input_window_make(set, &hint);
		inputs_close(set);
	}
	set->since_ns = hint.since_ns;
	set->until_ns = hint.until_ns;
	set->is_trimmed = window == WINDOW_TRIM || input_options_have_filter(set->options);
	if (!err)
		err = inputs_open(set, &hint);
	if (!err && ((err = tsc_khz_check(set)) || (err = input_units_check(set)) ||
		     (err = names_read(set))))
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
