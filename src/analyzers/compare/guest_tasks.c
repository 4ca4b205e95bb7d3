// SPDX-License-Identifier: GPL-2.0-or-later
/* Per CPU of each guest, the task that has it since when: the next sched_switch ends it, a loss makes it unknown. */
#include "analyzers/compare/guest_tasks.h"

#include <errno.h>

#include "base/error.h"
#include "base/hash.h"
#include "event/guest_fields.h"

struct cpu {
	uint64_t key; /* source, CPU */
	uint64_t since_ns;
	char comm[32]; /* "": unknown, or idle */
};

struct guest_tasks {
	guest_task_fn *fn;
	void *arg;
	struct hash_table cpus;
};

struct guest_tasks *guest_tasks_new(guest_task_fn *fn, void *arg)
{
	struct guest_tasks *t = calloc(1, sizeof(*t));

	if (!t) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	t->fn = fn;
	t->arg = arg;
	t->cpus = HASH_TABLE(struct cpu, 1, GUEST_TASK_CPUS_MAX);
	return t;
}

void guest_tasks_free(struct guest_tasks *t)
{
	if (!t)
		return;
	hash_deinit(&t->cpus);
	free(t);
}

static bool is_loss(const char *event)
{
	return !strcmp(event, "lost") || !strcmp(event, "gap");
}

bool guest_tasks_wants(const char *event, void *arg)
{
	(void)arg;
	return is_loss(event) || guest_event_named(event) == GUEST_SCHED_SWITCH;
}

int guest_tasks_event(struct guest_tasks *t, const struct event *ev)
{
	uint64_t next = 0;

	if (is_loss(ev->type->name))
		hash_clear(&t->cpus); /* a switch may be missing */
	if (ev->cpu == RECORD_CPU_UNKNOWN || guest_event_kind(ev->type) != GUEST_SCHED_SWITCH ||
	    !guest_number(ev, next_pid, &next))
		return 0;
	struct cpu *c = hash_add_u64(&t->cpus, (uint64_t)ev->source << 32 | ev->cpu, NULL);
	int err =
		c && *c->comm ? t->fn(t->arg, c->comm, ev->time_ns, ev->time_ns - c->since_ns) : 0;

	if (!c)
		return err;
	*c->comm = '\0';
	c->since_ns = ev->time_ns;
	if (next && !guest_text(ev, next_comm, c->comm, sizeof(c->comm)))
		snprintf(c->comm, sizeof(c->comm), "%u", (uint32_t)next);
	return err;
}
