// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "readers/ftrace/ftrace_rows.h"

static bool layout_make(const struct ftrace_events *e, unsigned int id,
			const struct rows_request *request, unsigned int kind,
			struct ftrace_layout *l)
{
	*l = (struct ftrace_layout){.kind = kind};
	for (unsigned int i = 0; i < request->nr_values; i++) {
		if (request->value[i].kind != kind)
			continue;
		struct ftrace_load *load = &l->field[l->nr].load;

		if (!ftrace_events_load(e, id, request->value[i].field, load))
			return false;
		l->field[l->nr].widens = !load->bytes || (!load->is_signed && !load->to_signed &&
							  load->bytes <= load->to_bytes);
		l->field[l->nr++].value = i;
	}
	return true;
}

struct rows_plan *ftrace_rows_plan(const struct ftrace_events *e, const uint64_t *nr,
				   const struct rows_request *request)
{
	struct rows_plan *p = calloc(1, sizeof(*p));

	for (unsigned int id = 0; p && id + 1 < ftrace_events_slots(e); id++)
		for (unsigned int k = 0; nr[id] && k < request->nr_kinds; k++) {
			if (!ftrace_events_is(e, id, request->kind[k]))
				continue;
			if (p->nr == FTRACE_LAYOUTS_MAX ||
			    !layout_make(e, id, request, k, &p->layout[p->nr++])) {
				free(p);
				return NULL;
			}
			p->by_id[id] = (uint8_t)p->nr;
		}
	return p;
}
