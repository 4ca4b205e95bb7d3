// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the profiles interpret each event: tables of names, since events of a guest have no other description. In text of
 * ftrace, values are found by the names before them.
 */
#include <ctype.h>

#include "analyzers/profile/call_chains.h"
#include "analyzers/profile/samples_internal.h"
#include "base/array.h"

#define ALLOC_FORMAT "buf=%p, req_len=%d, alloc_len=%d, align=%d"

/* clang-format off */
const struct sample_made_row sample_made_rows[MADE_NR] = {
	[MADE_WAIT]	   = {"sched_wait", "", "", {.event = "sched_switch", .base = "sched_off"}},
	[MADE_WAIT_RET]	   = {"sched_wait_ret", "", "", {.base = "sched_off", .ends = true}},
	[MADE_PREEMPT]	   = {"sched_preempt", "", "", {.event = "sched_switch", .base = "sched_off"}},
	[MADE_PREEMPT_RET] = {"sched_preempt_ret", "", "", {.base = "sched_off", .ends = true}},
	[MADE_IDLE]	   = {"sched_idle", "", "", {.base = "sched_idle", .per_cpu = true}},
	[MADE_IDLE_RET]	   = {"sched_idle_ret", "", "", {.base = "sched_idle", .per_cpu = true, .ends = true}},
	[MADE_WAKE]	   = {"sched_wake", "Q", "tid=%d", {.event = "sched_wakeup"}},
	[MADE_LOAD]	   = {"sched_load", "Q", "load=%d", {0}},
	[MADE_LOCK]	   = {"mutex_lock_wait", "P", "%p", {.event = "contention_begin", .base = "mutex_lock_wait",
							   .keyed = true, .in_thread = true, .keeps_first = true}},
	[MADE_LOCK_END]	   = {"mutex_lock_wake", "P", "%p", {.event = "contention_end", .base = "mutex_lock_wait",
							   .keyed = true, .in_thread = true, .ends = true}},
	[MADE_KMALLOC]	   = {"kmalloc", "PQQQ", ALLOC_FORMAT, {.allocator = "kmalloc"}},
	[MADE_SLAB]	   = {"kmem_cache_alloc", "PQQQ", ALLOC_FORMAT, {.allocator = "slab"}},
	[MADE_PAGE]	   = {"mm_page_alloc", "PQQQ", ALLOC_FORMAT, {.allocator = "page"}},
};

/* Events that are not described by their name alone. */
static const struct {
	const char *event;
	enum sample_what what;
	uint8_t made;
	const char *fields[SAMPLE_SLOTS];
} special[] = {
	{"sched_switch", WHAT_SWITCH, 0, {"prev_tid|prev_pid", "prev_state", "next_tid|next_pid", "prev_comm", "next_comm"}},
	{"sched_wakeup", WHAT_WAKE, 0, {"wake_tid|pid", "target_cpu", "comm"}},
	{"sched_wakeup_new", WHAT_WAKE, 0, {"pid", "target_cpu", "comm"}},
	{"sched_waking", WHAT_WAKE, 1, {"pid", "target_cpu", "comm"}},
	{"sched_migrate_task", WHAT_MIGRATE, 0, {"pid", "orig_cpu", "dest_cpu"}},
	{"contention_begin", WHAT_LOCK, 0, {"lock_addr"}},
	{"contention_end", WHAT_LOCK_END, 0, {"lock_addr"}},
	{"bql_lock", WHAT_LOCK, 0, {0}},
	{"bql_locked", WHAT_LOCK_END, 0, {0}},
	{"mutex_lock", WHAT_LOCK, 0, {"mutex"}},
	{"mutex_locked", WHAT_LOCK_END, 0, {"mutex"}},
	{"kmalloc", WHAT_ALLOC, MADE_KMALLOC, {"ptr", "bytes_req", "bytes_alloc"}},
	{"kmalloc_node", WHAT_ALLOC, MADE_KMALLOC, {"ptr", "bytes_req", "bytes_alloc"}},
	{"kmem_cache_alloc", WHAT_ALLOC, MADE_SLAB, {"ptr", "bytes_req", "bytes_alloc"}},
	{"kmem_cache_alloc_node", WHAT_ALLOC, MADE_SLAB, {"ptr", "bytes_req", "bytes_alloc"}},
	{"mm_page_alloc", WHAT_PAGES, MADE_PAGE, {"pfn", "order"}},
	{"kernel_stack", WHAT_STACK, 0, {"size"}},
	{"call_chain", WHAT_STACK, 0, {"size"}},
	{"user_stack", WHAT_NOTHING, 0, {0}},
	{"kvm_exit", WHAT_EXIT, 0, {"rip", "reason", "isa"}},
	{"kvm_userspace_exit", WHAT_USER_EXIT, 0, {"reason"}},
	{"sys_enter", WHAT_SYSCALL, 0, {"id"}},
	{"sys_exit", WHAT_SYSCALL, 0, {"id"}},
	{"syscall_enter", WHAT_SYSCALL, 0, {"id"}},
	{"syscall_exit", WHAT_SYSCALL, 0, {"id"}},
	{"thread", WHAT_NAME, 0, {"comm"}},
	{"lost", WHAT_NOTHING, 0, {0}}, {"clock_pair", WHAT_NOTHING, 0, {0}},
	{"vcpu_tsc", WHAT_NOTHING, 0, {0}}, {"virtio_device", WHAT_NOTHING, 0, {0}},
	{"virtio_kind", WHAT_NOTHING, 0, {0}},
};

/* Pairs whose ends have different names. key: the field that is equal in both. */
static const struct {
	const char *begin, *end, *base, *key;
} pairs[] = {
	{"kvm_exit", "kvm_entry", "kvm_exit", NULL},
	{"kvm_userspace_exit", "kvm_run", "kvm_userspace_exit", NULL},
	{"virtqueue_pop", "virtqueue_fill", "virtqueue_pop", "elem"},
	{"sys_enter", "sys_exit", "syscall", NULL},
	{"syscall_enter", "syscall_exit", "syscall", NULL},
	{"block_rq_issue", "block_rq_complete", "block_rq", "sector"},
	{"io_schedule_enter", "io_schedule_exit", "io_schedule", NULL},
	{"function_entry", "function_exit", "function", "function"}, /* guestside/ring_functions.h */
	{"function entry", "function exit", "function", "function"}, /* OSv */
};

/* Pairs by name: NAME_entry and NAME_exit. cpu: of interrupts, which belong to a CPU and not to a thread. */
static const struct {
	const char *begin, *end;
} suffixes[] = {
	{"_entry", "_exit"}, {"_enter", "_exit"}, {"_begin", "_end"}, {"_start", "_end"}, {"_start", "_done"},
};
static const char *const of_cpu[] = {
	"irq_handler", "softirq", "tasklet", "local_timer", "reschedule", "call_function", "call_function_single",
	"x86_platform_ipi", "irq_work", "hrtimer_expire", "timer_expire", "error_apic", "spurious_apic", "thermal_apic",
};
/* clang-format on */

/* Removes "guest:" and ftrace's systems; samples of OSv and of the ring are described by their names. */
const char *sample_event_name(const struct event_type *type)
{
	const char *colon = strrchr(type->name, ':');

	return colon ? colon + 1 : type->name;
}

static bool is_of_cpu(const char *base)
{
	return array_any(sizeof(of_cpu) / sizeof(of_cpu[0]), i, !strcmp(base, of_cpu[i]));
}

static void pair_by_suffix(const char *name, struct sample_kind *ret)
{
	size_t len = strlen(name);

	/* sys_enter_read and sys_exit_read: in the middle of the name */
	if (!strncmp(name, "sys_enter_", 10) || !strncmp(name, "sys_exit_", 9)) {
		ret->ends = name[5] == 'x';
		if (asprintf((char **)&ret->base, "sys_%s", name + (ret->ends ? 9 : 10)) < 0)
			ret->base = NULL;
		return;
	}
	for (size_t i = 0; i < 2 * sizeof(suffixes) / sizeof(suffixes[0]) && !ret->base; i++) {
		const char *suffix = i & 1 ? suffixes[i / 2].end : suffixes[i / 2].begin;
		size_t n = strlen(suffix);

		if (len <= n || strcmp(name + len - n, suffix))
			continue;
		ret->base = strndup(name, len - n);
		ret->ends = i & 1;
		ret->per_cpu = ret->base && is_of_cpu(ret->base);
	}
}

static void pair_make(const char *name, struct sample_rule *ret)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		bool ends = !strcmp(name, pairs[i].end);

		if (!ends && strcmp(name, pairs[i].begin))
			continue;
		ret->kind.base = strdup(pairs[i].base);
		ret->kind.ends = ends;
		if (pairs[i].key) {
			ret->kind.keyed = ret->has_key = true;
			ret->fields[0] = pairs[i].key;
			ret->kind.nests = !strcmp(pairs[i].key, "function");
			ret->kind.in_thread = ret->kind.nests;
		}
		return;
	}
	pair_by_suffix(name, &ret->kind);
}

static const struct field *field_of(const struct event_type *type, const char *names)
{
	char name[64];
	const struct field *f = NULL;

	for (const char *p = names; p && *p && !f; p += strspn(p, "|")) {
		size_t n = strcspn(p, "|");

		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		f = event_field(type, name);
		p += n;
	}
	return f;
}

static void frames_find(const struct event_type *type, struct sample_rule *ret)
{
	char name[16] = "frame0";

	ret->frame = event_field(type, name);
	while (ret->frame && ret->nr_frames < 64 && event_field(type, name)) {
		ret->nr_frames++;
		snprintf(name, sizeof(name), "frame%u", ret->nr_frames);
	}
}

/* OSv's tracepoints are samples as they are: its sched_switch and mutex_lock are not those of Linux and QEMU. */
static void rule_of_osv(const struct event_type *type, const char *name, struct sample_rule *ret)
{
	if (!strncmp(name, "function ", 9))
		pair_make(name, ret);
	if (ret->has_key)
		ret->field[0] = field_of(type, ret->fields[0]);
	ret->frames_before = 1;
	frames_find(type, ret);
}

void sample_rule_make(const struct event_type *type, struct sample_rule *ret)
{
	const char *name = sample_event_name(type);

	*ret = (struct sample_rule){.what = WHAT_EVENT,
				    .kind = {.type = type},
				    .dead = type->id ? SAMPLE_STATE_DEAD : SAMPLE_STATE_EXITED};
	if (!strncmp(type->name, "osv:", 4)) {
		rule_of_osv(type, name, ret);
		return;
	}
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (strcmp(name, special[i].event))
			continue;
		ret->what = special[i].what;
		ret->made = special[i].made;
		memcpy(ret->fields, special[i].fields, sizeof(ret->fields));
	}
	if (ret->what == WHAT_EVENT || ret->what == WHAT_EXIT || ret->what == WHAT_USER_EXIT ||
	    ret->what == WHAT_SYSCALL)
		pair_make(name, ret);
	for (unsigned int i = 0; i < SAMPLE_SLOTS; i++)
		if (ret->fields[i])
			ret->field[i] = field_of(type, ret->fields[i]);
	if (type->nr_fields == 1)
		ret->text = event_field(type, "text");
	ret->is_chain =
		(ret->what == WHAT_STACK || type->id == EV_host_stack) && call_chain_is(type);
	frames_find(type, ret);
}

/* "... NAME=VALUE": the value of the first of the names that the text contains. */
static const char *text_find(const char *text, const char *names)
{
	for (const char *p = names; *p; p += strspn(p, "|")) {
		size_t n = strcspn(p, "|");

		for (const char *at = text; (at = strchr(at, *p)); at++)
			if ((at == text || at[-1] == ' ') && !strncmp(at, p, n) && at[n] == '=')
				return at + n + 1;
		p += n;
	}
	return NULL;
}

/* Addresses have no 0x there: they are recognized by their length. A task's state is a letter: R is 0. */
static uint64_t number_parse(const char *p)
{
	size_t digits = strspn(p, "0123456789abcdef");

	if (*p == 'R')
		return 0;
	if (*p == 'X' || *p == 'Z')
		return SAMPLE_STATE_EXITED;
	if (isupper((unsigned char)*p))
		return 1;
	return strtoull(p, NULL, digits == 16 || !strncmp(p, "0x", 2) ? 16 : 10);
}

uint64_t sample_u64(const struct sample_rule *r, const struct event *ev, unsigned int slot)
{
	char text[512];
	const char *p;

	if (r->field[slot])
		return event_u64(ev, r->field[slot]);
	if (!r->text || !r->fields[slot])
		return 0;
	event_text(ev, r->text, text, sizeof(text));
	p = text_find(text, r->fields[slot]);
	return p ? number_parse(p) : 0;
}

void sample_text(const struct sample_rule *r, const struct event *ev, unsigned int slot, char *buf,
		 size_t size)
{
	char text[512];
	const char *p = NULL;

	buf[0] = '\0';
	if (r->field[slot]) {
		event_text(ev, r->field[slot], buf, size);
	} else if (r->text && r->fields[slot]) {
		event_text(ev, r->text, text, sizeof(text));
		p = text_find(text, r->fields[slot]);
	}
	if (p)
		snprintf(buf, size, "%.*s", (int)strcspn(p, " "), p);
}
