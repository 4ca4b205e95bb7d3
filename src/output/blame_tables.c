// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of `hostrace blame`: causes, groups of exits, and the longest exits with their parts. Text and CSV have
 * the first two, with a column for each cause; JSON has all three, with an object of causes.
 */
#include <errno.h>

#include "base/error.h"
#include "base/json_text.h"
#include "output/blame_report.h"
#include "output/report.h"

enum {
	WHAT_BYTES = BLAME_TASK_BYTES,
	CAUSES_NAMED = 3, /* of a group */
	SHARE_MIN = 1000, /* smaller ones are not named; 1/1000 of a percent */
};

static struct cell reason_cell(struct table *t, uint32_t reason, uint32_t isa)
{
	char text[WHAT_BYTES];

	if (reason == BLAME_NO_REASON)
		return (struct cell){.text = NULL};
	return (struct cell){0, table_text(t, blame_reason_print(reason, isa, text, sizeof(text)))};
}

static struct cell what_cell(struct table *t, enum blame_cause cause, const struct blame_who *who)
{
	char text[WHAT_BYTES];

	return (struct cell){0, table_text(t, blame_who_print(cause, who, text, sizeof(text)))};
}

static struct cell tid_cell(const struct blame_who *who)
{
	return (struct cell){who->tid, who->tid && who->tid != BLAME_SEVERAL ? NULL : cell_absent};
}

static struct cell comm_cell(struct table *t, const struct blame_who *who)
{
	return (struct cell){0, *who->comm ? table_text(t, who->comm) : cell_absent};
}

/* An object with all causes, also those that are 0: their sum is the time. */
static struct cell get_causes(struct table *t, const void *at)
{
	const uint64_t *time_ns = at;
	struct table *causes;
	struct cell cell = table_nest(t, NULL, &causes), *row;

	for (unsigned int i = 0; causes && i < BLAME_CAUSES; i++)
		table_column(causes, blame_cause_names[i], NULL, COL_NS, 0);
	row = causes ? table_row(causes) : NULL;
	for (unsigned int i = 0; row && i < BLAME_CAUSES; i++)
		row[i].number = time_ns[i];
	return cell;
}

/* ---- the keys of a group ---- */

static const struct blame_by *by_of(const struct table *t)
{
	const struct blame_report *r = t->report;

	return &r->summary->by;
}

static bool is_by_vm(const struct table *t)
{
	return by_of(t)->vm;
}

static bool is_by_vcpu(const struct table *t)
{
	return by_of(t)->vcpu;
}

static bool is_by_reason(const struct table *t)
{
	return by_of(t)->reason;
}

static bool is_by_code(const struct table *t)
{
	return by_of(t)->code;
}

GET_CELL(get_group_reason, const struct blame_group *g, reason_cell(t, g->reason, g->isa))
GET_TEXT(get_code, const struct blame_group *g, g->code || t->tree ? g->code : "-")

static const struct column_def group_keys[] = {
	{"vm", "VM", COL_TEXT, offsetof(struct blame_group, pid), column_vm, .when = is_by_vm,
	 .doc = "name of the VM (--by vm)"},
	{"vcpu", "vcpu", COL_COUNT, offsetof(struct blame_group, vcpu), column_vcpu,
	 .nullable = true, .when = is_by_vcpu, .doc = "index of the vCPU (--by vcpu)"},
	{"reason", "reason", COL_TEXT, .get = get_group_reason, .when = is_by_reason,
	 .doc = "exit reason (--by reason)"},
	{"symbol", "symbol", COL_TEXT, .get = get_code, .nullable = true, .when = is_by_code,
	 .doc = "the guest's function (--by symbol)"},
	{0},
};

/* ---- causes ---- */

GET_TEXT(get_cause, const struct blame_total *x, blame_cause_names[x->cause])
GET_CELL(get_what, const struct blame_total *x, what_cell(t, x->cause, &x->who))
GET_CELL(get_tid, const struct blame_total *x, tid_cell(&x->who))
GET_CELL(get_comm, const struct blame_total *x, comm_cell(t, &x->who))
GET_NUMBER(get_share, const struct blame_total *x,
	   percent_of(x->time_ns, ((const struct blame_report *)t->report)->summary->time_ns))

static const struct column_def cause_columns[] = {
	{"cause", "cause", COL_TEXT, .get = get_cause, .doc = "what the time went into"},
	{"what", NULL, COL_TEXT, .get = get_what, .when = table_is_tree,
	 .doc = "what it names: a device, a thread, a system call, ..."},
	{"share", "share", COL_PERCENT, .get = get_share, .when = table_is_flat,
	 .doc = "percent of the time of all exits"},
	{"time_ns", "time", COL_NS, MEMBER(struct blame_total, time_ns), .doc = "all together"},
	{"exits", "exits", COL_COUNT, MEMBER(struct blame_total, exits),
	 .doc = "in how many exits"},
	{"what", "what", COL_TEXT, .get = get_what, .when = table_is_flat, .doc = ""},
	{"tid", NULL, COL_COUNT, .get = get_tid, .optional = true, .when = table_is_tree,
	 .doc = "the thread that it names"},
	{"comm", NULL, COL_TEXT, .get = get_comm, .optional = true, .when = table_is_tree,
	 .doc = "its name"},
	{0},
};

/* In text and CSV causes are those of all exits. */
const struct table_def blame_causes_table = {"blame", "", "a cause", {cause_columns, group_keys}};
static const struct table_def causes_flat_table = {.block = {cause_columns}};

int blame_report_totals(const struct blame_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ const struct blame_total **total = blame_summary_totals(r->summary, &nr);
	int err = total ? 0 : fail(-ENOMEM, "out of memory");

	table_open(t, t->tree ? &blame_causes_table : &causes_flat_table, r, r->vms);
	for (size_t i = 0; !err && i < nr; i++)
		err = table_add(t, total[i], total[i]->group);
	return err;
}

/* ---- groups ---- */

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
		    (k && percent_of(g->causes[best], g->time_ns) < SHARE_MIN))
			break;
		named[best] = true;
		len += (size_t)snprintf(buf + len, size - len, "%s%s %.1f%%", k ? ", " : "",
					blame_cause_names[best],
					(double)percent_of(g->causes[best], g->time_ns) / 1000);
	}
	return buf;
}

static struct cell get_causes_named(struct table *t, const void *at)
{
	char what[WHAT_BYTES];

	return (struct cell){0, table_text(t, causes_print(at, what, sizeof(what)))};
}

#define CAUSE(key, cause, ...) \
	{key, NULL, COL_NS, MEMBER(struct blame_group, causes[cause]), .when = table_is_flat, \
	 .doc = __VA_ARGS__}

static const struct column_def group_columns[] = {
	{"exits", "exits", COL_COUNT, MEMBER(struct blame_group, exits), .doc = "how many exits"},
	{"time_ns", "time", COL_NS, MEMBER(struct blame_group, time_ns), .doc = "all together"},
	{"max_ns", "max", COL_NS, MEMBER(struct blame_group, max_ns), .doc = "the longest"},
	{NULL, "causes", COL_TEXT, .get = get_causes_named, .doc = "the largest causes"},
	{"causes", NULL, COL_OBJECT, offsetof(struct blame_group, causes), get_causes,
	 .when = table_is_tree, .doc = "ns by cause, which add up to time_ns"},
	CAUSE("kernel_ns", BLAME_KERNEL, "of time_ns, by cause: KVM handles the exit"),
	CAUSE("fault_ns", BLAME_FAULT, "page faults of the guest's memory or the VMM's"),
	CAUSE("device_ns", BLAME_DEVICE, "the VMM handles it"),
	CAUSE("signal_ns", BLAME_SIGNAL, "a signal ended KVM_RUN"),
	CAUSE("global_mutex_ns", BLAME_GLOBAL_MUTEX,
	      "asleep until another thread of QEMU releases the global mutex"),
	CAUSE("handover_ns", BLAME_HANDOVER,
	      "asleep, the mutex is free: the thread woken for it has no CPU"),
	CAUSE("lock_ns", BLAME_LOCK, "asleep on another futex"),
	CAUSE("preempted_ns", BLAME_PREEMPTED, "ready without a CPU: switched out"),
	CAUSE("runqueue_ns", BLAME_RUNQUEUE, "ready without a CPU: woken"),
	CAUSE("syscall_ns", BLAME_SYSCALL, "asleep in a system call"),
	CAUSE("halt_poll_ns", BLAME_HALT_POLL, "halted: KVM polls"),
	CAUSE("halted_ns", BLAME_HALTED, "halted: asleep"),
	CAUSE("halted_or_fault_ns", BLAME_HALTED_OR_FAULT,
	      "asleep in KVM_RUN: halted, or a page fault"),
	CAUSE("stopped_ns", BLAME_STOPPED, "stopped by a signal (SIGSTOP) or a tracer"),
	CAUSE("inject_ns", BLAME_INJECT, "KVM has injected an interrupt, until the entry"),
	CAUSE("unknown_ns", BLAME_UNKNOWN, "not known"),
	{0},
};

const struct table_def blame_groups_table = {
	"blame", "--by KEY", "a group of exits", {group_keys, group_columns}};

int blame_report_groups(const struct blame_report *r, struct table *t)
{
	size_t nr;
	_cleanup_free_ const struct blame_group **group = blame_summary_groups(r->summary, &nr);
	int err = group ? 0 : fail(-ENOMEM, "out of memory");

	table_open(t, &blame_groups_table, r, r->vms);
	for (size_t i = 0; !err && i < nr; i++)
		err = table_add(t, group[i], group[i]);
	return err;
}

/* ---- single exits ---- */

static const struct column_def function_column[] = {
	{"", NULL, COL_TEXT, .doc = "function, innermost first"},
	{0},
};

/* Functions, innermost first; null if unknown. */
static struct cell stack_cell(struct table *t, uint32_t id)
{
	const struct blame_report *r = t->report;
	const char *stack = blame_stack(r->blame, id);
	struct table *functions;
	struct cell cell = {0}, *row;

	if (!stack)
		return cell;
	cell = table_nest(t, function_column, &functions);
	while (functions && *stack && (row = table_row(functions))) {
		size_t len = strcspn(stack, ";");

		*row = table_print(functions, "%.*s", (int)len, stack);
		stack += len + (stack[len] == ';');
	}
	return cell;
}

GET_NUMBER(get_part_ns, const struct blame_part *p, p->end_ns - p->start_ns)
GET_TEXT(get_part_cause, const struct blame_part *p, blame_cause_names[p->cause])
GET_CELL(get_part_what, const struct blame_part *p, what_cell(t, p->cause, &p->who))
GET_CELL(get_part_tid, const struct blame_part *p, tid_cell(&p->who))
GET_CELL(get_part_comm, const struct blame_part *p, comm_cell(t, &p->who))
GET_CELL(get_stack, const struct blame_part *p, stack_cell(t, p->who.stack))
GET_CELL(get_stack_if_any, const struct blame_part *p,
	 p->who.stack ? stack_cell(t, p->who.stack) : (struct cell){0, cell_absent})

static const struct column_def holder_columns[] = {
	{"tid", NULL, COL_COUNT, MEMBER(struct blame_part, who.tid), .doc = "its thread id"},
	{"comm", NULL, COL_TEXT, MEMBER(struct blame_part, who.comm), .doc = "its name"},
	{"stack", NULL, COL_ROWS, .get = get_stack, .nullable = true, .nested = function_column,
	 .doc = "what it did; null: unknown"},
	{0},
};

static const struct column_def part_columns[] = {
	{"start_ns", NULL, COL_NS, MEMBER(struct blame_part, start_ns), .doc = "when it began"},
	{"duration_ns", NULL, COL_NS, .get = get_part_ns, .doc = "how long it took"},
	{"cause", NULL, COL_TEXT, .get = get_part_cause, .doc = "what the time went into"},
	{"what", NULL, COL_TEXT, .get = get_part_what, .doc = "what that names"},
	{"tid", NULL, COL_COUNT, .get = get_part_tid, .optional = true,
	 .doc = "the thread that it names"},
	{"comm", NULL, COL_TEXT, .get = get_part_comm, .optional = true, .doc = "its name"},
	{"stack", NULL, COL_ROWS, .get = get_stack_if_any, .nullable = true, .optional = true,
	 .nested = function_column, .doc = "what the holder of the mutex did"},
	{0},
};

static struct cell get_holder(struct table *t, const void *at)
{
	const struct blame_part *p = blame_exit_holder(at);
	struct table *holder;
	struct cell cell = table_nest(t, holder_columns, &holder);

	if (p && holder)
		table_add(holder, p);
	return cell;
}

static struct cell get_parts(struct table *t, const void *at)
{
	const struct blame_exit *x = at;
	struct table *parts;
	struct cell cell = table_nest(t, part_columns, &parts);

	for (unsigned int i = 0; parts && i < x->nr_parts && !table_add(parts, &x->part[i]); i++)
		;
	return cell;
}

static bool has_symbols(const struct table *t)
{
	return ((const struct blame_report *)t->report)->symbols;
}

/* The function at this address; absent if that is unknown. */
static struct cell get_symbol(struct table *t, const void *at)
{
	const struct blame_report *r = t->report;
	uint64_t rip = *(const uint64_t *)at;
	const char *name = rip ? addresses_name(r->symbols, rip) : cell_absent;

	return (struct cell){0, name && rip ? table_text(t, name) : name};
}

static bool has_events(const struct table *t)
{
	return ((const struct blame_report *)t->report)->around;
}

static struct cell get_events(struct table *t, const void *at)
{
	const struct blame_report *r = t->report;

	return (struct cell){0, r->around[(const struct blame_exit *)at - r->summary->kept]};
}

static struct cell get_left_out(struct table *t, const void *at)
{
	const struct blame_report *r = t->report;
	uint64_t nr = r->left_out[(const struct blame_exit *)at - r->summary->kept];

	return (struct cell){nr, nr ? NULL : cell_absent};
}

GET_CELL(get_exit_reason, const struct blame_exit *x, reason_cell(t, x->reason, x->isa))
GET_CELL(get_rip, const struct blame_exit *x, (struct cell){x->rip, x->rip ? NULL : cell_absent})
GET_NUMBER(get_latency, const struct blame_exit *x, x->end_ns - x->start_ns)

static const struct column_def exit_columns[] = {
	{"time_ns", NULL, COL_NS, MEMBER(struct blame_exit, start_ns), .doc = "when it began"},
	{"pid", NULL, COL_COUNT, MEMBER(struct blame_exit, pid), .doc = "process id of the VM"},
	{"tid", NULL, COL_COUNT, MEMBER(struct blame_exit, tid), .doc = "thread id of the vCPU"},
	COLUMN_VM(struct blame_exit, pid),
	COLUMN_VCPU(struct blame_exit, vcpu),
	{"reason", NULL, COL_TEXT, .get = get_exit_reason, .doc = "exit reason"},
	{"rip", NULL, COL_HEX, .get = get_rip, .optional = true,
	 .doc = "the guest's instruction, if known"},
	{"symbol", NULL, COL_TEXT, offsetof(struct blame_exit, rip), get_symbol, .nullable = true,
	 .optional = true, .when = has_symbols, .doc = "its function, with --symbols"},
	{"latency_ns", NULL, COL_NS, .get = get_latency, .doc = "how long it took"},
	{"causes", NULL, COL_OBJECT, offsetof(struct blame_exit, causes), get_causes,
	 .doc = "ns by cause, which add up to latency_ns"},
	{"holder", NULL, COL_OBJECT, .get = get_holder, .nullable = true, .nested = holder_columns,
	 .doc = "who held QEMU's global mutex in the longest wait for it whose stack is known; "
		"null: there was none"},
	{"parts", NULL, COL_ROWS, .get = get_parts, .nested = part_columns,
	 .doc = "what the time went into, in order"},
	{"events", NULL, COL_JSON, .get = get_events, .when = has_events,
	 .doc = "events around it (--around), as hostrace list has them"},
	{"events_left_out", NULL, COL_COUNT, .get = get_left_out, .optional = true,
	 .when = has_events, .doc = "how many more there were"},
	{0},
};

const struct table_def blame_exits_table = {
	"blame", "-f json", "one of the longest exits", {exit_columns}};

json_t *blame_report_json(const struct blame_report *r)
{
	struct table causes = {.tree = true}, groups = {.tree = true}, rows = {.tree = true};
	int err = blame_report_totals(r, &causes) + blame_report_groups(r, &groups);
	json_t *json;

	table_open(&rows, &blame_exits_table, r, r->vms);
	for (size_t i = 0; i < r->summary->nr_kept && !err; i++)
		err = table_add(&rows, &r->summary->kept[i]);
	json = json_pack("{s:{s:I,s:I,s:o},s:o,s:o,s:o}", "totals", "exits",
				 (json_int_t)r->summary->exits, "in_run",
				 (json_int_t)r->summary->in_run, "time_ns",
				 json_u64(r->summary->time_ns), "causes", table_json(&causes),
			 "groups", table_json(&groups), "rows", table_json(&rows));
	table_free(&causes);
	table_free(&groups);
	table_free(&rows);

	if (err) {
		json_decref(json);
		return NULL;
	}
	return json;
}
