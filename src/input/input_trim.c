// SPDX-License-Identifier: GPL-2.0-or-later
/* What the options select of the merged events: VMs, vCPUs, threads, names, reasons, the time window. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "clock/align.h"
#include "event/trim_reason.h"
#include "input/input_private.h"
#include "input/vm_filter.h"
#include "readers/readers.h"

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
	if (err)
		reader_close(all);
	else
		err = trim_open(all, &trim, ret);
	free(pids);
	return err;
}
