// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collector/plan_internal.h"

struct probe_plan *plan_add(struct plan *plan, const char *event, const char *group,
			    const char *about)
{
	struct probe_plan *p;

	if (plan->nr == PROBES_MAX)
		return NULL;
	p = &plan->probe[plan->nr++];
	*p = (struct probe_plan){
		.event = event, .group = group, .about = about, .how = PROBE_ABSENT};
	return p;
}

static int plan_fill(const char *qemu_exe, bool kernel, struct plan *ret)
{
	struct plan plan = {.probe = calloc(PROBES_MAX, sizeof(*plan.probe)),
			    .users = calloc(1, sizeof(*plan.users))};
	int err = 0;

	if (!plan.probe || !plan.users) {
		free(plan.probe);
		free(plan.users);
		return fail(-ENOMEM, "out of memory");
	}
	*plan.users = 1;
	if (kernel)
		plan_kernel(&plan);
	if (qemu_exe)
		err = plan_qemu(qemu_exe, &plan);
	if (err) {
		plan_free(&plan);
		return err;
	}
	*ret = plan;
	return 0;
}

int plan_make(const char *qemu_exe, struct plan *ret)
{
	return plan_fill(qemu_exe, true, ret);
}

int plan_make_qemu(const char *qemu_exe, struct plan *ret)
{
	return plan_fill(qemu_exe, false, ret);
}

struct plan plan_share(const struct plan *plan)
{
	++*plan->users;
	return *plan;
}

void plan_free(struct plan *plan)
{
	if (plan->users && !--*plan->users) {
		free(plan->probe);
		free(plan->users);
	}
	*plan = (struct plan){0};
}

const struct probe_plan *plan_of(const struct plan *plan, const char *event)
{
	for (unsigned int i = 0; i < plan->nr; i++)
		if (!strcmp(plan->probe[i].event, event))
			return &plan->probe[i];
	return NULL;
}

const char *plan_how(const struct probe_plan *probe)
{
	static const char *const names[] = {
		[PROBE_ABSENT] = "absent",
		[PROBE_TRACEPOINT] = "tracepoint",
		[PROBE_USDT] = "usdt",
		[PROBE_FUNCTION] = "function",
	};

	return names[probe->how];
}

static size_t place_print(const struct probe_place *place, const char *before, char *buf,
			  size_t size)
{
	int n;

	if (*place->mark)
		n = snprintf(buf, size, "mark %s, %u site%s", place->mark, place->sites,
			     place->sites == 1 ? "" : "s");
	else if (!*place->insn)
		n = snprintf(buf, size, "%s", place->function);
	else if (place->at_return && !strcmp(before, place->function))
		n = snprintf(buf, size, "return +%llu %s", (unsigned long long)place->offset,
			     place->insn);
	else
		n = snprintf(buf, size, "%s%s+%llu %s", place->at_return ? "return " : "",
			     place->function, (unsigned long long)place->offset, place->insn);
	return (size_t)n;
}

const char *plan_where(const struct probe_plan *probe, char *buf, size_t size)
{
	const char *before = "";
	size_t len = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < probe->nr_places && len < size; i++) {
		if (i)
			len += (size_t)snprintf(buf + len, size - len, ", ");
		if (len < size)
			len += place_print(&probe->place[i], before, buf + len, size - len);
		before = probe->place[i].function;
	}
	return buf;
}

const char *plan_cost(const struct probe_plan *probe)
{
	if (probe->how != PROBE_USDT && probe->how != PROBE_FUNCTION)
		return "";
	for (unsigned int i = 0; i < probe->nr_places; i++)
		if (!probe->place[i].emulated)
			return "expensive";
	return "cheap";
}

static json_t *places_json(const struct probe_plan *probe)
{
	json_t *all = json_array();
	char hex[32];

	for (unsigned int i = 0; i < probe->nr_places; i++) {
		const struct probe_place *p = &probe->place[i];

		snprintf(hex, sizeof(hex), "0x%" PRIx64, p->file_offset);
		json_array_append_new(all, json_pack("{s:s,s:s,s:I,s:s,s:s,s:b,s:b}", "function",
						     p->function, "mark", p->mark, "offset",
						     (json_int_t)p->offset, "file_offset", hex,
						     "insn", p->insn, "return", p->at_return,
						     "cheap", p->emulated));
	}
	return all;
}

json_t *plan_json(const struct plan *plan)
{
	json_t *all = json_array(), *one;
	char where[512];

	for (unsigned int i = 0; i < plan->nr; i++) {
		const struct probe_plan *p = &plan->probe[i];

		one = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "event", p->event, "group", p->group,
				"how", plan_how(p), "where", plan_where(p, where, sizeof(where)),
				"cost", plan_cost(p), "reason", p->reason);
		if (p->how == PROBE_USDT || p->how == PROBE_FUNCTION)
			json_object_set_new(one, "places", places_json(p));
		json_array_append_new(all, one);
	}
	return all;
}
