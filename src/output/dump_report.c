// SPDX-License-Identifier: GPL-2.0-or-later
/* What was found in a dump, as text: the culprit, a diagnosis of its time, stacks, and what was unusual since it. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "output/dump_report.h"

const char *dump_line_print(const struct dump_cause *cause, char *buf, size_t size)
{
	const struct trigger_culprit *c = &cause->culprit;
	char length[16], limit[16], vcpu[24] = "";

	if (!cause->min_ns) {
		snprintf(buf, size, "%s", cause->name);
		return buf;
	}
	if (c->vcpu != RECORD_NO_VCPU)
		snprintf(vcpu, sizeof(vcpu), "vCPU %u ", c->vcpu);
	snprintf(buf, size, "%s %s%s > %s: %s(pid %u, tid %u) %s", cause->name,
		 duration_print(c->end_ns - c->start_ns, length, sizeof(length)),
		 c->open ? " so far" : "", duration_print(cause->min_ns, limit, sizeof(limit)),
		 vcpu, c->pid, c->tid, c->labels);
	return buf;
}

const char *dump_next(const struct dump_cause *cause, char *buf, size_t size)
{
	static const char *const of_vcpus[] = {"exit-latency", "userspace-exit", "bql-wait",
					       "bql-hold"};
	const char *name = cause->name;

	if (array_any(sizeof(of_vcpus) / sizeof(of_vcpus[0]), i, !strcmp(name, of_vcpus[i])))
		return "blame --list";
	if (!cause->min_ns)
		return "exits";
	if (!strcmp(name, "sched-out"))
		return "sched --by task";
	if (!strcmp(name, "request-age") || !strcmp(name, "virtqueue")) {
		if (cause->culprit.open)
			return "leaks";
		name = "virtqueue";
	}
	snprintf(buf, size, "list-spans %s", name); /* its events are in the dump */
	return buf;
}

static void head_write(const struct dump_findings *d, FILE *f)
{
	const struct dump_cause *cause = d->cause;
	const struct trigger_culprit *c = &cause->culprit;
	uint64_t after = d->last_ns > c->end_ns ? d->last_ns - c->end_ns : 0;
	char a[16], b[16];

	if (!cause->min_ns)
		return;
	if (c->start_ns < d->first_ns) {
		fprintf(f,
			"in the dump: from %s after the culprit began until %s after the trigger\n"
			"note: --ring is too small: it has not kept the culprit's beginning, so "
			"reports do not know that it is open\n",
			duration_print(d->first_ns - c->start_ns, a, sizeof(a)),
			duration_print(after, b, sizeof(b)));
		return;
	}
	fprintf(f, "in the dump: from %s before the culprit until %s after the trigger\n",
		duration_print(c->start_ns - d->first_ns, a, sizeof(a)),
		duration_print(after, b, sizeof(b)));
	if (c->start_ns - d->first_ns < cause->before_ns)
		fprintf(f,
			"note: --before %s was asked for: the recording had just begun, or --ring "
			"is too small\n",
			duration_print(cause->before_ns, a, sizeof(a)));
}

static bool is_same(const struct trigger_culprit *a, const struct trigger_culprit *b)
{
	return a->tid == b->tid && !strcmp(a->labels, b->labels);
}

/* One line for those of the same thread and kind. */
static void repeated_write(const struct trigger_culprit *more, uint64_t nr, uint64_t i, FILE *f)
{
	const struct trigger_culprit *c = &more[i];
	uint64_t times = 0, longest = 0;
	char length[16];

	if (array_any(i, k, is_same(&more[k], c)))
		return;
	for (uint64_t k = i; k < nr; k++) {
		if (!is_same(&more[k], c))
			continue;
		times++;
		if (more[k].end_ns - more[k].start_ns > longest)
			longest = more[k].end_ns - more[k].start_ns;
	}
	fprintf(f, "  tid %u %s%s %s", c->tid, times > 1 ? "up to " : "",
		duration_print(longest, length, sizeof(length)), c->labels);
	fprintf(f, times > 1 ? ", %" PRIu64 " times\n" : "\n", times);
}

static void more_write(const struct dump_cause *cause, FILE *f)
{
	uint64_t nr = cause->nr_more < DUMP_MORE_MAX ? cause->nr_more : DUMP_MORE_MAX;

	if (cause->nr_more)
		fprintf(f, "%" PRIu64 " further triggers until the dump:\n", cause->nr_more);
	for (uint64_t i = 0; i < nr; i++)
		repeated_write(cause->more, nr, i, f);
	if (cause->nr_more > nr)
		fprintf(f, "  # %" PRIu64 " more\n", cause->nr_more - nr);
	if (cause->suppressed)
		fprintf(f, "%" PRIu64 " earlier triggers were suppressed (--keep, --max-disk)\n",
			cause->suppressed);
}

static void longest_write(const struct dump_part *longest, FILE *f)
{
	char text[16];

	if (longest->ns)
		fprintf(f, "longest in one: %s%s%s, %s\n", blame_cause_names[longest->cause],
			*longest->who ? " " : "", longest->who,
			duration_print(longest->ns, text, sizeof(text)));
}

static void now_write(const struct dump_part *now, FILE *f)
{
	char text[16];

	if (!now->ns)
		return;
	fprintf(f, "it has not ended in this dump, and has been here for the last %s: %s%s%s\n",
		duration_print(now->ns, text, sizeof(text)), blame_cause_names[now->cause],
		*now->who ? " " : "", now->who);
}

static void diagnosis_write(const struct dump_findings *d, FILE *f)
{
	fprintf(f, "hostrace diagnose, of %s:\n%s\n",
		d->cause->min_ns ? "the culprit's time" : "all of the dump",
		d->diagnosis ? d->diagnosis : "out of memory\n");
}

/* "a;b" as "  a", "  b": frames one a line, innermost first. */
static void stack_frames_write(const char *stack, FILE *f)
{
	while (*stack) {
		size_t len = strcspn(stack, ";");

		fprintf(f, "  %.*s\n", (int)len, stack);
		stack += len + (stack[len] == ';');
	}
}

static void stack_write(const struct dump_findings *d, FILE *f)
{
	char text[16];

	if (!d->stack) {
		fputs("no stack of its thread for a tenth of that time: recorded are those of "
		      "threads that hold\n"
		      "QEMU's global mutex (--for blame) and of event loops (--for sched)\n",
		      f);
		return;
	}
	fprintf(f, "stack of its thread (tid %u) for %s of that time:\n", d->cause->culprit.tid,
		duration_print(d->stack_ns, text, sizeof(text)));
	stack_frames_write(d->stack, f);
}

/* What the holder of the global mutex did in the longest wait for it. */
static void held_write(const struct dump_findings *d, FILE *f)
{
	char text[16];

	if (!d->held_stack)
		return;
	fprintf(f, "stack of the holder of the global mutex for %s of that time (%s):\n",
		duration_print(d->held.ns, text, sizeof(text)), d->held.who);
	stack_frames_write(d->held_stack, f);
}

static const char *longest_print(const struct dump_side *s, char *buf, size_t size)
{
	return s->has_longest ? duration_print(s->longest_ns, buf, size) : "-";
}

static void unusual_write(const struct dump_findings *d, FILE *f)
{
	if (!d->compared) {
		fputs("compared with the time before: nothing, the dump has none of it\n", f);
		return;
	}
	if (d->nr_unusual)
		fputs("unusual from the culprit on, compared with the time before:\n"
		      "    before/s    since/s  longest     since  what\n",
		      f);
	else
		fputs("nothing else was unusual, compared with the time before\n", f);
	for (size_t i = 0; i < d->nr_unusual && i < DUMP_UNUSUAL_MAX; i++) {
		const struct dump_unusual *u = &d->unusual[i];
		char a[16], b[16];

		fprintf(f, "  %10.1f %10.1f  %8s  %8s  %s\n", u->before.per_second,
			u->since.per_second, longest_print(&u->before, a, sizeof(a)),
			longest_print(&u->since, b, sizeof(b)), u->what);
	}
	if (d->nr_unusual > DUMP_UNUSUAL_MAX)
		fprintf(f, "  # %zu more\n", d->nr_unusual - DUMP_UNUSUAL_MAX);
}

void dump_report_write(const struct dump_findings *d, const char *dump, FILE *f)
{
	char line[512], next[DUMP_NEXT_BYTES];

	fprintf(f, "%s\n", dump_line_print(d->cause, line, sizeof(line)));
	head_write(d, f);
	more_write(d->cause, f);
	diagnosis_write(d, f);
	if (d->cause->min_ns) {
		longest_write(&d->longest, f);
		now_write(&d->now, f);
		stack_write(d, f);
		held_write(d, f);
		unusual_write(d, f);
	}
	fprintf(f, "next: hostrace %s -i %s\n", dump_next(d->cause, next, sizeof(next)), dump);
}
