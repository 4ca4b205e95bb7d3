// SPDX-License-Identifier: GPL-2.0-or-later
/* Is it certain that the fast path gives the result of the slow path? The analyzer is checked here, and the types. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "pairing/fast_plan.h"

bool fast_unsuited(const char *why)
{
	debug("read", "fast path not used: %s", why);
	return false;
}

/* ---- the analyzer ---- */

static bool is_suited(const struct pairing *p)
{
	const struct analyzer *a = p->a;

	if (a->feed || a->elements || a->access)
		return false;
	return !a->end || (p->nr_keys == 1 && !strcmp(p->keys[0], "tid"));
}

static bool value_plan(const struct from *f, struct fast_value *v)
{
	static const int sources[] = {
		[FROM_FIELD] = FAST_FIELD, [FROM_PID] = FAST_PID,   [FROM_VM] = FAST_PID,
		[FROM_TID] = FAST_TID,
		[FROM_VCPU] = FAST_VCPU,   [FROM_CPU] = FAST_CPU,   [FROM_DIR] = FAST_DIR,
		[FROM_PAGE] = FAST_PAGE,   [FROM_NOTHING] = FAST_ZERO,
	};

	if (f->source == FROM_DEVICE || f->source == FROM_TEXT || f->source == FROM_EXIT_RIP ||
	    f->source == FROM_ACCESS || f->source == FROM_GUEST_TASK || f->source == FROM_LEVEL ||
	    f->source == FROM_HANDLER)
		return false; /* their meaning depends on other events, or on the order */
	v->source = sources[f->source];
	v->field = f->field;
	v->high = f->source == FROM_FIELD ? f->isa : NULL;
	if (v->source == FAST_DIR && strcmp(f->field->name, "type"))
		v->source = FAST_FIELD;
	return true;
}

static bool begin_plan(struct fast_plan *plan, const struct pairing *p, const struct binding *b,
		       const struct event_type *type)
{
	if (plan->begin)
		return fast_unsuited("more than one event begins a span");
	plan->begin = type;
	plan->weight = b->weight;
	plan->size = b->size;
	plan->duration = p->a->end ? NULL : b->duration;
	plan->skip_zero = b->skip_zero;
	plan->nr_labels = p->nr_labels;
	for (unsigned int i = 0; i < p->nr_labels; i++)
		if (!value_plan(&b->label[i], &plan->label[i]))
			return fast_unsuited("labels depend on other events");
	return true;
}

bool fast_type_plan(struct fast_plan *plan, struct pairing *p, const struct event_type *type,
		    uint8_t *ret_role)
{
	const struct binding *b = p->binding[type->index];

	if (!b && !(b = pair_bind(p, type)))
		return fast_unsuited("out of memory");
	if (b->roles & (ROLE_FED | ROLE_ELEMENTS) || (b->roles & ROLE_GAP && !plan->rows))
		return fast_unsuited("the analyzer needs other events");
	if (b->roles & (ROLE_NESTED | ROLE_REFLECTED))
		return fast_unsuited("exits of nested guests are told apart");
	*ret_role = b->roles & (ROLE_BEGIN | ROLE_END | ROLE_MARK | ROLE_LOST);
	plan->has_lost |= *ret_role & ROLE_LOST;
	if (*ret_role == ROLE_LOST)
		return true;
	if (*ret_role & ROLE_LOST)
		return fast_unsuited("it pairs lost events");
	if (*ret_role && p->a->end && b->key[0].source != FROM_TID)
		return fast_unsuited("spans are not paired by thread");
	return !(*ret_role & ROLE_BEGIN) || begin_plan(plan, p, b, type);
}

/* Types that do not occur according to the file are foreign. */
static bool types_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (!counts || !r->ops->counts || r->ops->counts(r, counts))
		return fast_unsuited("events are not counted");
	for (unsigned int id = 0; id < 1 << 16; id++) {
		const struct event_type *type = plan->src.types[id];

		if (!type || !plan->src.wanted[id])
			continue;
		plan->role[id] = ROLE_FOREIGN;
		if (counts[type->index] && !fast_type_plan(plan, p, type, &plan->role[id]))
			return false;
	}
	return true;
}

static bool hrt_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	return (tracefile_source(r, &plan->src) ||
		fast_unsuited("the input is not one complete recording")) &&
	       types_plan(plan, r, p) && fast_chunks_plan(plan, r);
}

bool fast_plan_make(struct fast_plan *plan, struct reader *r, struct pairing *p,
		    const struct span_fold *fold, const struct pairing_options *opt)
{
	plan->fold = fold;
	plan->since_ns = p->since_ns;
	plan->until_ns = p->until_ns;
	if (!fold->spans || !fold->merge)
		return fast_unsuited("the view depends on the order of spans");
	if (!is_suited(p))
		return fast_unsuited("spans are not paired by thread");
	if (!(r->ops->rows ? fast_rows_plan(plan, r, p) : hrt_plan(plan, r, p)))
		return false;
	plan->point = !p->a->end;
	return (plan->begin || fast_unsuited("it has no begin event")) &&
	       fast_rounds_plan(plan, opt);
}

void fast_plan_free(struct fast_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->nr_segments; i++)
		free(plan->segments[i].border);
	free(plan->segments);
	free(plan->rounds);
	free(plan->losses);
	free(plan->pieces);
	free(plan->rows_plan);
	free(plan);
}
