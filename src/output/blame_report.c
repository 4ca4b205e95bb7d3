// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/blame_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "output/folded.h"
#include "output/report.h"

enum {
	WHAT_BYTES = 160,
	REASON_BYTES = 64,
	GROUP_BYTES = VM_NAME_BYTES + REASON_BYTES + 32,
	CAUSES_NAMED = 3, /* of a group */
	PARTS_LISTED = 40, /* of an exit */
	FRAMES_LISTED = 8, /* of a holder's stack */
	SHARE_MIN = 1000, /* smaller ones are not named; 1/1000 of a percent */
};

static uint64_t share_of(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)part * 100000 / whole) : 0;
}

/* ---- notes ---- */

static void count_add(json_t *list, const char *what, uint64_t nr)
{
	if (nr)
		caveat_add(list, "%s: %" PRIu64, what, nr);
}

static void caveats_of_events(const struct blame_counts *n, json_t *list)
{
	if (n->userspace)
		caveat_add(list,
			   "no kvm_exit in this trace: exits are userspace exits, from the return "
			   "of KVM_RUN to its next call%s",
			   n->blocks ? ", and times without a CPU in KVM_RUN" : "");
	if (n->user_exits && !n->runs)
		caveat_add(
			list,
			"no kvm_run in this trace: time in the VMM lasts until the VM-entry, and "
			"contains what KVM does before it; try: hostrace record --for blame");
	if (!n->switches)
		caveat_add(list,
			   "no sched_switch in this trace: time without a CPU counts as kernel or "
			   "device; try: hostrace record --for blame");
	else if (!n->blocks)
		caveat_add(list,
			   "no sched_block in this trace: what threads sleep in is unknown; try: "
			   "hostrace record --for blame");
}

json_t *blame_report_caveats(const struct blame_report *r)
{
	const struct blame_counts *n = r->counts;
	const struct blame_summary *s = r->summary;
	json_t *list = json_array();

	if (n->exits)
		caveats_of_events(n, list);
	if (s->nested)
		caveat_add(list,
			   "of these exits %" PRIu64 " are of nested guests (L2), see 'hostrace "
			   "exits --by level'",
			   s->nested);
	count_add(list, "exits dropped, as their begin or end may be among the lost events",
		  n->lost);
	count_add(list, "exits dropped, as the switch back to their thread is missing", n->unseen);
	count_add(list, "exits dropped, as their end is missing", n->unmatched);
	count_add(list, "exits that had not ended when the trace or the time window did", n->open);
	count_add(list, "exits for hlt that count as halted from begin to end", n->halts);
	count_add(list, "exits whose later parts are summed up, as they have too many",
		  n->too_long);
	count_add(list, "... of which some time is unknown, as there are too many sums",
		  n->unnamed);
	count_add(list, "events ignored, as there are too many threads", n->refused);
	count_add(list, "exits missing among the rows, as there are too many", s->not_kept);
	count_add(list, "causes or groups missing, as there are too many",
		  s->groups.refused + s->totals.refused + s->texts.refused);
	return list;
}

const char *blame_report_first_line(const struct blame_report *r, char *buf, size_t size)
{
	char time[16];

	snprintf(buf, size, "%" PRIu64 " %sexit%s took %s", r->summary->exits,
		 r->counts->userspace ? "" : "VM ", r->summary->exits == 1 ? "" : "s",
		 duration_print(r->summary->time_ns, time, sizeof(time)));
	return buf;
}

/* ---- tables ---- */

int blame_report_totals(const struct blame_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ const struct blame_total **total = blame_summary_totals(r->summary, &nr);
	char what[WHAT_BYTES];

	if (!total)
		return fail(-ENOMEM, "out of memory");
	table_column(t, "cause", "cause", COL_TEXT, 0);
	table_column(t, "share", "share", COL_PERCENT, 0);
	table_column(t, "time_ns", "time", COL_NS, 0);
	table_column(t, "exits", "exits", COL_COUNT, 0);
	table_column(t, "what", "what", COL_TEXT, 0);
	for (size_t i = 0; i < nr; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row[0].text = blame_cause_names[total[i]->cause];
		row[1].number = share_of(total[i]->time_ns, r->summary->time_ns);
		row[2].number = total[i]->time_ns;
		row[3].number = total[i]->exits;
		row[4].text = table_text(
			t, blame_who_print(total[i]->cause, &total[i]->who, what, sizeof(what)));
	}
	return 0;
}

/* "device 61.2%, global-mutex 30.1%": the largest ones. */
static const char *causes_print(const struct blame_group *g, char *buf, size_t size)
{
	bool named[BLAME_CAUSES] = {false};
	size_t len = 0;

	*buf = '\0';
	for (unsigned int k = 0; k < CAUSES_NAMED; k++) {
		unsigned int best = BLAME_CAUSES;

		for (unsigned int i = 0; i < BLAME_CAUSES; i++)
			if (!named[i] && g->causes[i] &&
			    (best == BLAME_CAUSES || g->causes[i] > g->causes[best]))
				best = i;
		if (best == BLAME_CAUSES ||
		    (k && share_of(g->causes[best], g->time_ns) < SHARE_MIN))
			break;
		named[best] = true;
		len += (size_t)snprintf(buf + len, size - len, "%s%s %.1f%%", k ? ", " : "",
					blame_cause_names[best],
					(double)share_of(g->causes[best], g->time_ns) / 1000);
	}
	return buf;
}

static const char *vcpu_print(uint16_t vcpu, char *buf, size_t size)
{
	if (vcpu == RECORD_NO_VCPU)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%u", vcpu);
	return buf;
}

/* The columns of the keys that make the groups. */
static void group_columns(const struct blame_report *r, struct table *t)
{
	if (r->summary->by.vm)
		table_column(t, "vm", "VM", COL_TEXT, 0);
	if (r->summary->by.vcpu)
		table_column(t, "vcpu", "vcpu", COL_COUNT, 0);
	if (r->summary->by.reason)
		table_column(t, "reason", "reason", COL_TEXT, 0);
	if (r->summary->by.code)
		table_column(t, "symbol", "symbol", COL_TEXT, 0);
}

static struct cell *group_cells(const struct blame_report *r, const struct blame_group *g,
				struct table *t, struct cell *row)
{
	char text[VM_NAME_BYTES];

	if (r->summary->by.vm)
		(row++)->text = table_text(t, vm_name(r->vms, g->pid, text, sizeof(text)));
	if (r->summary->by.vcpu)
		*row++ = (struct cell){g->vcpu, g->vcpu == RECORD_NO_VCPU ? "-" : NULL};
	if (r->summary->by.reason)
		(row++)->text = table_text(
			t, blame_reason_print(g->reason, g->isa, text, sizeof(text)));
	if (r->summary->by.code)
		(row++)->text = g->code ? g->code : "-";
	return row;
}

int blame_report_groups(const struct blame_report *r, struct table *t)
{
	static const char *const keys[BLAME_CAUSES] = {
		"kernel_ns",   "fault_ns",   "device_ns",    "signal_ns",   "global_mutex_ns",
		"handover_ns", "lock_ns",    "preempted_ns", "runqueue_ns", "syscall_ns",
		"halt_poll_ns", "halted_ns", "inject_ns",    "unknown_ns",
	};
	size_t nr;
	_cleanup_free_ const struct blame_group **group = blame_summary_groups(r->summary, &nr);
	char what[WHAT_BYTES];

	if (!group)
		return fail(-ENOMEM, "out of memory");
	group_columns(r, t);
	table_column(t, "exits", "exits", COL_COUNT, 0);
	table_column(t, "time_ns", "time", COL_NS, 0);
	table_column(t, "max_ns", "max", COL_NS, 0);
	table_column(t, NULL, "causes", COL_TEXT, 0);
	for (unsigned int i = 0; i < BLAME_CAUSES; i++)
		table_column(t, keys[i], NULL, COL_NS, 0);
	for (size_t k = 0; k < nr; k++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row = group_cells(r, group[k], t, row);
		(row++)->number = group[k]->exits;
		(row++)->number = group[k]->time_ns;
		(row++)->number = group[k]->max_ns;
		(row++)->text = table_text(t, causes_print(group[k], what, sizeof(what)));
		for (unsigned int i = 0; i < BLAME_CAUSES; i++)
			(row++)->number = group[k]->causes[i];
	}
	return 0;
}

/* ---- folded stacks ---- */

static void group_put(const struct blame_report *r, const struct blame_group *g, FILE *f)
{
	char text[VM_NAME_BYTES];

	if (r->summary->by.vm) {
		folded_frame_put(vm_name(r->vms, g->pid, text, sizeof(text)), f);
		fputc(';', f);
	}
	if (r->summary->by.vcpu)
		fprintf(f, "vCPU %s;", vcpu_print(g->vcpu, text, sizeof(text)));
	if (r->summary->by.reason) {
		folded_frame_put(blame_reason_print(g->reason, g->isa, text, sizeof(text)), f);
		fputc(';', f);
	}
	if (r->summary->by.code) {
		folded_frame_put(g->code ? g->code : "-", f);
		fputc(';', f);
	}
}

/* From the outermost function on. */
static void stack_put(const struct blame_report *r, uint32_t id, FILE *f)
{
	const char *stack = blame_stack(r->blame, id);
	size_t end = stack ? strlen(stack) : 0;

	while (end) {
		size_t start = end;

		while (start && stack[start - 1] != ';')
			start--;
		fprintf(f, ";%.*s", (int)(end - start), stack + start);
		end = start ? start - 1 : 0;
	}
}

/* What differs between recordings without meaning anything. */
static struct blame_who anonymous(const struct blame_total *t)
{
	struct blame_who who = t->who;

	if (who.tid && who.tid != BLAME_SEVERAL)
		who.tid = BLAME_ANY;
	if (t->cause == BLAME_LOCK)
		who.number = 0;
	return who;
}

int blame_report_folded(const struct blame_report *r, FILE *f)
{
	size_t nr;
	_cleanup_free_ const struct blame_total **total = blame_summary_totals(r->summary, &nr);
	char what[WHAT_BYTES];

	if (!total)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		struct blame_who who = r->across ? anonymous(total[i]) : total[i]->who;

		if (total[i]->group)
			group_put(r, total[i]->group, f);
		fputs(blame_cause_names[total[i]->cause], f);
		if (*blame_who_print(total[i]->cause, &who, what, sizeof(what))) {
			fputc(';', f);
			folded_frame_put(what, f);
		}
		stack_put(r, total[i]->who.stack, f);
		fprintf(f, " %" PRIu64 "\n", total[i]->time_ns);
	}
	return 0;
}

/* ---- single exits ---- */

/* "in a < b < c": what the holder did, from the innermost function on. */
static void stack_list(const char *stack, FILE *f)
{
	unsigned int nr = 0;

	fprintf(f, "%23sin ", "");
	for (; *stack && nr < FRAMES_LISTED; nr++) {
		size_t len = strcspn(stack, ";");

		fprintf(f, "%s%.*s", nr ? " < " : "", (int)len, stack);
		stack += len + (stack[len] == ';');
	}
	fprintf(f, "%s\n", *stack ? " < ..." : "");
}

static void part_list(const struct blame_report *r, const struct blame_exit *x,
		      const struct blame_part *p, FILE *f)
{
	bool repeats = p != x->part && p[-1].who.stack == p->who.stack;
	const char *stack = repeats ? NULL : blame_stack(r->blame, p->who.stack);
	char what[WHAT_BYTES], from[16], took[16];

	blame_who_print(p->cause, &p->who, what, sizeof(what));
	fprintf(f, "  %9s %9s  %s%s%s\n",
		duration_print(p->start_ns - x->start_ns, from, sizeof(from)),
		duration_print(p->end_ns - p->start_ns, took, sizeof(took)),
		blame_cause_names[p->cause], *what ? ": " : "", what);
	if (stack)
		stack_list(stack, f);
}

const char *blame_exit_print(const struct blame_report *r, const struct blame_exit *x, char *buf,
			     size_t size)
{
	char time[32], vm[VM_NAME_BYTES] = "", vcpu[16], reason[REASON_BYTES], took[16];
	const char *code = r->symbols && x->rip ? addresses_name(r->symbols, x->rip) : NULL;

	seconds_print(x->start_ns > r->start_ns ? x->start_ns - r->start_ns : 0, time,
		      sizeof(time));
	if (r->vms)
		vm_name(r->vms, x->pid, vm, sizeof(vm));
	snprintf(buf, size, "%s%s%s vCPU %s %s%s%s took %s", time, *vm ? " " : "", vm,
		 vcpu_print(x->vcpu, vcpu, sizeof(vcpu)),
		 blame_reason_print(x->reason, x->isa, reason, sizeof(reason)),
		 code ? " in " : "", code ? code : "",
		 duration_print(x->end_ns - x->start_ns, took, sizeof(took)));
	return buf;
}

static void around_list(const struct blame_report *r, size_t i, FILE *f)
{
	fputs("  events:\n", f);
	fputs(r->around[i], f);
	if (r->left_out[i])
		fprintf(f, "  %" PRIu64 " more events\n", r->left_out[i]);
}

static void exit_list(const struct blame_report *r, const struct blame_exit *x, FILE *f)
{
	char text[VM_NAME_BYTES + REASON_BYTES + WHAT_BYTES];

	fprintf(f, "%s\n", blame_exit_print(r, x, text, sizeof(text)));
	for (unsigned int i = 0; i < x->nr_parts && i < PARTS_LISTED; i++)
		part_list(r, x, &x->part[i], f);
	if (x->nr_parts > PARTS_LISTED)
		fprintf(f, "  %u more parts (-f json)\n", x->nr_parts - PARTS_LISTED);
}

void blame_report_list(const struct blame_report *r, FILE *f)
{
	for (size_t i = 0; i < r->summary->nr_kept; i++) {
		if (i)
			fputc('\n', f);
		exit_list(r, &r->summary->kept[i], f);
		if (r->around)
			around_list(r, i, f);
	}
}
