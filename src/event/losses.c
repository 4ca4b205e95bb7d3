// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of losses per event type, and the sentence made of them, the largest first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "event/losses.h"
#include "event/records.h"

enum { SHOWN = 4 };

uint64_t lost_record_count(const struct event *ev)
{
	if (ev->type->id != EV_lost)
		return 0;
	RECORD(lost, lost, ev);
	return lost->count;
}

uint64_t loss_until_ns(const struct event *ev)
{
	if (ev->type->id == EV_gap) {
		RECORD(gap, gap, ev);
		return gap->until;
	}
	RECORD(lost, lost, ev);
	return lost->until;
}

void losses_add(struct loss_sums *l, const struct event *ev)
{
	uint64_t count = lost_record_count(ev), until;
	struct loss *at = l->loss;

	if (!count)
		return;
	RECORD(lost, lost, ev);
	const struct event_type *type = event_type_numbered(lost->lost_event);
	uint32_t cpu = record_has(ev, lost, lost_cpu) ? lost->lost_cpu : LOSS_CPU_UNKNOWN;

	while (at < l->loss + l->nr && (at->type != type || at->cpu != cpu))
		at++;
	if (at == l->loss + LOSSES_MAX) {
		l->others += count;
		return;
	}
	if (at == l->loss + l->nr) {
		*at = (struct loss){.type = type, .cpu = cpu, .first_ns = ev->time_ns};
		l->nr++;
	}
	until = lost->until > ev->time_ns && lost->until < INT64_MAX ? lost->until : ev->time_ns;
	at->count += count;
	at->until_ns = until > at->until_ns ? until : at->until_ns;
}

static int by_count(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return order_u64(x->first_ns, y->first_ns) ?: order_u64(x->cpu, y->cpu) ?:
	       strcmp(x->type ? x->type->name : "", y->type ? y->type->name : "");
}

static double seconds(uint64_t ns, uint64_t start_ns)
{
	return (double)(ns > start_ns ? ns - start_ns : 0) / 1e9;
}

static int loss_print(const struct loss *l, uint64_t start_ns, char *buf, size_t size)
{
	double from = seconds(l->first_ns, start_ns), until = seconds(l->until_ns, start_ns);
	char when[80], cpu[32] = "of CPU (not recorded) ";

	if (until - from < 0.0005)
		snprintf(when, sizeof(when), "at %.3f s", from);
	else
		snprintf(when, sizeof(when), "between %.3f s and %.3f s", from, until);
	if (l->cpu == RECORD_NO_CPU || l->cpu == RECORD_NOT_WRITTEN)
		*cpu = '\0';
	else if (l->cpu != LOSS_CPU_UNKNOWN)
		snprintf(cpu, sizeof(cpu), "of CPU %u ", l->cpu);
	return snprintf(buf, size, "%" PRIu64 " %s %s%s", l->count,
			l->type ? l->type->name : "events of unknown type", cpu, when);
}

const char *losses_reason(const struct loss_sums *l)
{
	enum { FULL = 1, NOT_RUN = 2, NOT_WRITTEN = 4 };
	static const char *const reasons[] = {
		"buffers were full",
		"buffers were full",
		"the kernel did not run the programs that record them",
		"buffers were full, or the kernel did not run the programs that record them",
		"the file could not be written",
		"buffers were full, or the file could not be written",
		"the kernel did not run the programs that record them, or the file could not be "
		"written",
		"buffers were full, the kernel did not run the programs that record them, or the "
		"file could not be written",
	};
	unsigned int why = 0;

	for (unsigned int i = 0; i < l->nr; i++)
		why |= l->loss[i].cpu == RECORD_NO_CPU	      ? NOT_RUN
		       : l->loss[i].cpu == RECORD_NOT_WRITTEN ? NOT_WRITTEN
							      : FULL;
	return reasons[why];
}

const char *losses_print(struct loss_sums *l, uint64_t start_ns, char *buf, size_t size)
{
	uint64_t rest = l->others;
	size_t len = 0;

	*buf = '\0';
	qsort(l->loss, l->nr, sizeof(l->loss[0]), by_count);
	for (unsigned int i = 0; i < l->nr; i++) {
		if (i >= SHOWN) {
			rest += l->loss[i].count;
			continue;
		}
		if (i && len < size)
			len += (size_t)snprintf(buf + len, size - len, ", ");
		if (len < size)
			len += (size_t)loss_print(&l->loss[i], start_ns, buf + len, size - len);
	}
	if (rest && len < size)
		snprintf(buf + len, size - len, " and %" PRIu64 " other%s", rest,
			 rest == 1 ? "" : "s");
	return buf;
}
