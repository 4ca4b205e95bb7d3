// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/blame_answer.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "commands/common/blame_filter.h"
#include "commands/common/empty.h"

const struct report_needs blame_needs = {.events = "kvm_exit,kvm_userspace_exit",
					 .ends = "kvm_entry,kvm_run",
					 .record = "hostrace record --for blame"};

static int handle(void *arg, const struct event *ev)
{
	return blame_event(arg, ev);
}

int blame_read(struct blame *b, struct input_set **ret)
{
	struct input_options given = input_given;
	int err;

	blame_unfilter(&input_given);
	err = input_open(false, blame_wants, NULL, ret);
	input_given = given;
	if (!err)
		blame_set_regions(b, (*ret)->regions);
	if (!err && input_set_foreign(*ret))
		blame_set_foreign(b);
	if (!err)
		err = reader_each((*ret)->reader, handle, b);
	return err ? err : blame_end(b);
}

static void caveats_of_locks(const struct input_set *in, json_t *caveats)
{
	for (unsigned int i = 0; i < in->nr_hosts; i++) {
		json_t *locks = json_object_get(in->input[i].reader->info.meta, "locks"), *lock;
		size_t k;

		json_array_foreach (locks, k, lock)
			if (!json_object_get(lock, "address"))
				caveat_add(caveats, "%s",
					   json_string_value(json_object_get(lock, "note")));
	}
}

json_t *blame_answer_begin(struct blame_report *r, const struct input_set *in)
{
	json_t *caveats = blame_report_caveats(r);

	caveats_of_locks(in, caveats);
	r->vms = input_set_nr_vms(in) > 1 ? in->vms : NULL;
	r->start_ns = input_set_start_ns(in);
	return caveats;
}

bool blame_none_selected(const struct blame_report *r)
{
	return r->summary->min_ns && !r->summary->exits && r->counts->exits;
}

const char *blame_none_print(const struct blame_report *r, char *buf, size_t size)
{
	snprintf(buf, size, "no exit matches --min-latency (of %" PRIu64 ")",
		 r->counts->exits);
	return buf;
}

int blame_answer_json(const struct blame_report *r, const struct input_set *in, json_t *caveats,
		      FILE *f)
{
	json_t *more = blame_report_json(r);

	if (!more)
		return fail(-ENOMEM, "out of memory");
	if (blame_none_selected(r)) {
		char none[96];

		caveat_add(caveats, "%s", blame_none_print(r, none, sizeof(none)));
	} else if (!r->summary->exits) {
		json_t *why = empty_lines(in, &blame_needs);

		json_array_extend(caveats, why);
		json_decref(why);
	}
	input_json(in, caveats, more, f);
	return 0;
}
