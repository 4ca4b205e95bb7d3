// SPDX-License-Identifier: GPL-2.0-or-later
/* The units of the inputs' timestamps, and the time window over all inputs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "clock/align.h"
#include "event/trim_reason.h"
#include "input/input_private.h"
#include "readers/readers.h"
#include "vm/select.h"

static int vm_filter_pids(const struct text_list *wanted, const json_t *vms, uint32_t **ret,
			  unsigned int *ret_nr);

/* Has one of the hosts' inputs, which are open, times in ticks of an unknown rate? */
static bool any_in_ticks(const struct input_set *set)
{
	return array_any(set->nr_hosts, i, trace_info_in_ticks(&set->input[i].reader->info));
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

/* Does the command do with such times? */
static bool ticks_allowed(const struct input_options *o, const struct trace_info *info)
{
	return o->allow_ticks || (o->allow_order && !json_object_get(info->meta, "tsc_map"));
}

int input_units_check(const struct input_set *set)
{
	bool first = trace_info_in_ticks(&set->input[0].reader->info);

	for (unsigned int i = 0; i < set->nr_hosts; i++) {
		const struct trace_info *info = &set->input[i].reader->info;

		if (trace_info_in_ticks(info) != first ||
		    (trace_info_in_ticks(info) && !ticks_allowed(set->options, info)))
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

int input_window_make(struct input_set *set, struct read_hint *hint)
{
	const struct input_options *o = set->options;
	uint64_t start, end;
	int err;

	if (o->since.ns && o->until.ns && o->period.ns)
		return fail_usage(-EINVAL,
				  "--period cannot be combined with both --since and --until");
	if (any_in_ticks(set) && !json_object_get(set->input[0].reader->info.meta, "tsc_map"))
		return fail(-EINVAL, "%s: it has no timestamps: a time window cannot be applied",
			    set->input[0].path);
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

/* What the options select of the merged events: VMs, vCPUs, threads, names, reasons, the time window. */

int input_pids(const struct input_set *set, uint32_t **ret, unsigned int *ret_nr)
{
	json_t *vms;
	int err;

	*ret = NULL;
	*ret_nr = 0;
	if (!set->options->vms.nr)
		return 0;
	vms = json_array();
	for (unsigned int i = 0; i < input_set_nr(set) && set->input[i].reader; i++) {
		json_t *list = json_object_get(set->input[i].reader->info.meta, "vms");

		if (list)
			json_array_extend(vms, list);
	}
	err = vm_filter_pids(&set->options->vms, vms, ret, ret_nr);
	json_decref(vms);
	return err;
}

char *input_join(const struct text_list *list)
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

/* A pass over the hosts' inputs for the reasons of returns to the VMM. */
static int reasons_look(const struct input_set *set, struct trim_reason *reasons)
{
	struct read_hint hint = {
		.until_ns = UINT64_MAX, .wants = reason_wants, .files = &set->clocks->files};
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
	_cleanup_free_ char *globs = input_join(&set->options->reasons);
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

int input_trim_open(struct input_set *set, struct reader *all, const struct read_hint *hint,
		    const char *globs, struct reader **ret)
{
	const struct input_options *o = set->options;
	uint32_t *pids;
	uint16_t vcpus[NUMBER_LIST_MAX];
	struct trim trim = {.since_ns = hint->from_start ? 0 : hint->since_ns,
			    .until_ns = hint->until_ns,
			    .events = globs,
			    .tids = o->tids.item,
			    .nr_tids = o->tids.nr,
			    .vcpus = vcpus,
			    .guests_from = set->nr_hosts,
			    .guests_any_tid =
				    set->clocks->align && align_by_tids(set->clocks->align),
			    .thread_names = set->thread_names,
			    .stacks = set->stacks,
			    .where_on = set->where_on,
			    .other_threads = set->other_threads};
	int err = input_pids(set, &pids, &trim.nr_pids);

	if (err) {
		reader_close(all);
		return err;
	}
	for (unsigned int i = 0; i < o->vcpus.nr; i++)
		vcpus[trim.nr_vcpus++] = o->vcpus.item[i] < RECORD_NO_VCPU
						 ? (uint16_t)o->vcpus.item[i]
						 : RECORD_NO_VCPU - 1;
	trim.pids = pids;
	set->nr_pids = trim.nr_pids;
	err = reasons_make(set, &trim.reasons);
	if (!err && (err = input_where_make(set, &trim.where)))
		trim_reason_free(trim.reasons);
	if (err)
		reader_close(all);
	else
		err = trim_open(all, &trim, ret);
	free(pids);
	return err;
}

/* The option --vm of reports: which of the VMs that the inputs list it names. */

enum { LIST_TEXT = 400, ITEM_MAX = 256 };

struct pids {
	const json_t *vms; /* of the trace */
	uint32_t *pid;
	unsigned int nr;
};

static uint32_t pid_of(const json_t *vm)
{
	return (uint32_t)json_integer_value(json_object_get(vm, "pid"));
}

static bool vm_matches(const char *item, const json_t *vm)
{
	return vm_item_matches(item, pid_of(vm), json_string_value(json_object_get(vm, "name")),
			       json_string_value(json_object_get(vm, "uuid")));
}

static int pid_add(struct pids *p, uint32_t pid)
{
	for (unsigned int i = 0; i < p->nr; i++)
		if (p->pid[i] == pid)
			return 0;
	return array_add(p->pid, p->nr, pid);
}

/* "100 (red), 200 (blue)", and how many more there are. */
static void vms_list(const json_t *vms, char *text, size_t size)
{
	size_t i, len = 0;
	json_t *vm;

	text[0] = 0;
	json_array_foreach (vms, i, vm) {
		const char *name = json_string_value(json_object_get(vm, "name"));

		if (len + ITEM_MAX / 2 > size) {
			snprintf(text + len, size - len, " and %zu more", json_array_size(vms) - i);
			break;
		}
		len += (size_t)snprintf(text + len, size - len, "%s%" PRIu32 " (%.64s)",
					i ? ", " : "", pid_of(vm), name ? name : "");
	}
	text_sanitize(text);
}

static int item_unmatched(const char *item, const json_t *vms)
{
	char text[LIST_TEXT];

	if (!json_array_size(vms))
		return fail(-ESRCH,
			    "the trace has no VM names, so --vm %s matches nothing; use the pid, "
			    "or --tid",
			    item);
	vms_list(vms, text, sizeof(text));
	return fail(-ESRCH, "the trace has no VM '%s'; it has: %s", item, text);
}

static int item_add(void *arg, const char *item)
{
	struct pids *p = arg;
	const json_t *vms = p->vms;
	bool found = false;
	uint64_t pid;
	size_t i;
	json_t *vm;
	int err = 0;

	json_array_foreach (vms, i, vm) {
		if (err || !vm_matches(item, vm))
			continue;
		err = pid_add(p, pid_of(vm));
		found = true;
	}
	if (found || err)
		return err;
	if (json_array_size(vms) || parse_u64(item, &pid) || pid > UINT32_MAX)
		return item_unmatched(item, vms);
	return pid_add(p, (uint32_t)pid);
}

/*
 * The pids of the VMs that `wanted` names: PID, NAME, UUID or a glob of names, several separated by commas. `vms`: what
 * the inputs list, as "vms" in doc/format.md; if it is empty, only pids can be given, and all are accepted. *ret is
 * allocated. -ESRCH with the error message set, which lists the VMs of the trace, if one of the items names none.
 */
static int vm_filter_pids(const struct text_list *wanted, const json_t *vms, uint32_t **ret,
			  unsigned int *ret_nr)
{
	struct pids p = {.vms = vms};
	int err = 0;

	for (unsigned int i = 0; !err && i < wanted->nr; i++)
		err = vm_items_each(wanted->item[i], item_add, &p);
	if (!err && !p.nr)
		err = fail_usage(-EINVAL, "--vm requires a PID, NAME, UUID or glob");
	if (err) {
		free(p.pid);
		return err;
	}
	*ret = p.pid;
	*ret_nr = p.nr;
	return 0;
}
