// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace blame` as text and as folded stacks, and what limits the figures; blame_tables.c has its tables, and with
 * these CSV and JSON. Causes are those of analyzers/blame/blame.h.
 */
#include "output/blame_report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/units.h"
#include "output/folded.h"
#include "output/report.h"

enum {
	WHAT_BYTES = BLAME_TASK_BYTES,
	REASON_BYTES = 64,
	PARTS_LISTED = 40, /* of an exit */
	FRAMES_LISTED = 8, /* of a holder's stack */
};

/* ---- notes ---- */

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
	char most[16];

	if (n->exits)
		caveats_of_events(n, list);
	if (s->nested)
		caveat_add(list,
			   "of these exits %" PRIu64 " are of nested guests (L2), see 'hostrace "
			   "exits --by level'",
			   s->nested);
	caveat_count(list, "exits dropped, as their begin or end may be among the lost events",
		  n->lost);
	if (n->unseen)
		caveat_add(list,
			   "exits dropped, as the switch back to their thread is missing: %" PRIu64
			   ", of at most %s in all",
			   n->unseen, duration_print(n->unseen_ns, most, sizeof(most)));
	caveat_count(list, "exits dropped, as their end is missing", n->unmatched);
	caveat_count(list, "exits still open at the end of the trace or the time window", n->open);
	caveat_count(list, "exits that began before the time window, counted whole", n->cut);
	caveat_count(list,
		     "sleeps in KVM_RUN that may be halts or page faults: kvm_vcpu_wakeup was not "
		     "recorded",
		     n->open_sleeps);
	caveat_count(list,
		     "halts whose duration was not recorded: polling and sleeping in them is "
		     "\"kernel\" or unknown",
		     n->untimed_halts);
	caveat_count(list, "HLT exits attributed entirely to \"halted\"", n->halts);
	caveat_count(list,
		     "HLT exits shorter than 5us, which are \"kernel\": the vCPU was not idle "
		     "(halt polling, or something was pending, as a page that is fetched)",
		     n->busy_halts);
	caveat_count(list, "exits whose later parts are summed up, as they have too many",
		  n->too_long);
	caveat_count(list, "... of which some time is unknown, as there are too many sums",
		  n->unnamed);
	caveat_count(list,
		     "waits for a CPU for which the task that ran is unknown, as too many threads "
		     "wait for it",
		     n->ready);
	caveat_count(list,
		     "sched_switch without the CPU in this trace: which task ran while a thread "
		     "waited for a CPU is not recorded",
		     n->cpuless);
	caveat_count(list,
		     "waits for the global mutex whose owner is unknown, as too many vCPUs wait",
		     n->crowded);
	caveat_count(list, "events dropped: thread table full", n->refused);
	caveat_count(list, "exits missing among the rows, as there are too many", s->not_kept);
	caveat_count(list, "causes or groups missing, as there are too many",
		  s->groups.refused + s->totals.refused + s->texts.refused);
	return list;
}

/* Times in KVM_RUN are counted apart, as `exits` does not have them. */
const char *blame_report_first_line(const struct blame_report *r, char *buf, size_t size)
{
	uint64_t in_run = r->summary->in_run, exits = r->summary->exits - in_run;
	char time[16], apart[80] = "";

	if (in_run)
		snprintf(apart, sizeof(apart), " and %" PRIu64 " time%s off the CPU in KVM_RUN",
			 in_run, in_run == 1 ? "" : "s");
	snprintf(buf, size, "%" PRIu64 " %s%s%s%s took %s", exits,
		 r->counts->userspace ? "exit" : "VM exit", exits == 1 ? "" : "s",
		 r->counts->userspace ? " to the VMM" : "", apart,
		 duration_print(r->summary->time_ns, time, sizeof(time)));
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
	snprintf(buf, size, "%s%s%s vCPU %s %s%s%s%s took %s", time, *vm ? " " : "", vm,
		 vcpu_print(x->vcpu, vcpu, sizeof(vcpu)),
		 x->reason == BLAME_NO_REASON ? "exit, reason " : "",
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
