// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What else goes into a recording next to the collector's events (see struct record_part). A new
 * part: its file here next to, its line in `parts`, and its options, if it has any, in the tables.
 */

#include "commands/common/vm_options.h"
#include "commands/live/record.h"

static const struct record_part *const parts[] = {
	&record_control_part,
	&record_cost_part,
	&record_guest_part,
	&record_sample_part,
	&record_heap_part,
	&record_trigger_part,
	&record_stop_on_part,
	&record_symbols_part,
	&record_stuck_part,
	&record_tasks_part,
	&record_regions_part,
	&record_silence_part,
	&record_limits_part,
	&record_exits_part, /* last: needs to know what the others record */
	NULL,
};

const struct option_row *const record_option_tables[] = {
	record_own_options,
	vm_user_options,
	vm_tcg_options,
	record_cost_options,
	record_guest_options,
	record_sample_options,
	record_exits_options,
	record_trigger_options,
	record_stop_on_options,
	record_wait_options,
	record_symbols_options,
	record_stuck_options,
	record_tasks_options,
	record_regions_options,
	NULL,
};

#define FOR_EACH_PART(p)                                                                           \
	for (const struct record_part *const *it = parts, *p; (p = *it); it++)

/* Up to the first that fails: its error. */
#define PARTS_RUN(method, ...)                                                                     \
	({                                                                                         \
		int err_ = 0;                                                                      \
		FOR_EACH_PART(p) {                                                                 \
			err_ = p->method ? p->method(__VA_ARGS__) : 0;                             \
			if (err_)                                                                  \
				break;                                                             \
		}                                                                                  \
		err_;                                                                              \
	})

int parts_choose(struct collector_options *c)
{
	return PARTS_RUN(choose, c);
}

int parts_begin(struct recording *r)
{
	return PARTS_RUN(begin, r);
}

int parts_start(struct recording *r)
{
	return PARTS_RUN(start, r);
}

int parts_round(struct recording *r, uint64_t now_ns)
{
	return PARTS_RUN(round, r, now_ns);
}

/* All are stopped even if one fails; the first error is returned. */
int parts_stop(struct recording *r)
{
	int err = 0;

	FOR_EACH_PART(p) {
		int one = p->stop ? p->stop(r) : 0;

		err = err ? err : one;
	}
	return err;
}

void parts_meta(struct recording *r, json_t *meta, bool final)
{
	FOR_EACH_PART(p)
		if (p->meta)
			p->meta(r, meta, final);
}

void parts_summary(struct recording *r)
{
	FOR_EACH_PART(p)
		if (p->summary)
			p->summary(r);
}

void parts_close(struct recording *r)
{
	FOR_EACH_PART(p)
		if (p->close)
			p->close(r);
}
