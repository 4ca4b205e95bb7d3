// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of the kernel's fields, which change between versions, and finding their values in a record or a line. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/guest_fields.h"

enum { LINE_BYTES = 256, MINOR_BITS = 20 };

static const char *const field_names[] = {
#define GUEST_FIELD(name) [GUEST_FIELD_##name] = #name,
	GUEST_FIELDS(GUEST_FIELD)
#undef GUEST_FIELD
};

static const struct {
	const char *system, *name;
	enum guest_event kind;
} known[] = {
	{"sched", "sched_switch", GUEST_SCHED_SWITCH},
	{"sched", "sched_process_exec", GUEST_SCHED_EXEC},
	{"sched", "sched_process_fork", GUEST_SCHED_FORK},
	{"sched", "sched_wakeup", GUEST_SCHED_WAKEUP},
	{"sched", "sched_wakeup_new", GUEST_SCHED_WAKEUP},
	{"sched", "sched_waking", GUEST_SCHED_WAKEUP},
	{"task", "task_newtask", GUEST_TASK_NEW},
	{"task", "task_rename", GUEST_TASK_RENAME},
	{"irq", "irq_handler_entry", GUEST_IRQ_ENTRY},
	{"irq", "irq_handler_exit", GUEST_IRQ_EXIT},
	{"block", "block_rq_issue", GUEST_BLOCK_ISSUE},
	{"block", "block_rq_complete", GUEST_BLOCK_COMPLETE},
	{"timer", "hrtimer_expire_entry", GUEST_TIMER},
};

/* "SYSTEM:NAME"; `guest`: its system is "guest", whatever the kernel's is. */
static enum guest_event event_named(const char *full, bool guest)
{
	const char *name = strchr(full, ':');

	for (size_t i = 0; name && i < sizeof(known) / sizeof(known[0]); i++) {
		const char *system = guest ? "guest" : known[i].system;
		size_t len = strlen(system);

		if ((size_t)(name - full) == len && !strncmp(full, system, len) &&
		    !strcmp(name + 1, known[i].name))
			return known[i].kind;
	}
	return GUEST_OTHER;
}

enum guest_event guest_event_named(const char *name)
{
	return strcmp(name, "osv:virtio_kicked_event_idx") ? event_named(name, true) : GUEST_KICK;
}

enum guest_event kernel_event_named(const char *name)
{
	enum guest_event kind = guest_event_named(name);

	return kind ? kind : event_named(name, false);
}

unsigned int guest_fields_bound(const struct event_type *type)
{
	return type->kernel ? NR_GUEST_FIELDS : 0;
}

void guest_fields_bind(struct event_type *type, const struct field **bound)
{
	for (unsigned int i = 0; i < NR_GUEST_FIELDS; i++)
		bound[i] = event_field(type, field_names[i]);
	type->bound = bound;
}

static bool line_of(const struct event *ev, char *line)
{
	const struct field *f = ev->type->bound[GUEST_FIELD_text];

	if (!f)
		return false;
	event_text(ev, f, line, LINE_BYTES);
	return true;
}

/* "KEY=" at the beginning of a word; a value ends before the next word that has a '='. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = strstr(line, key); p; p = strstr(p + 1, key))
		if ((p == line || p[-1] == ' ') && p[len] == '=')
			return p + len + 1;
	return NULL;
}

bool guest_field_number(const struct event *ev, enum guest_field field, uint64_t *ret)
{
	const struct field *f = ev->type->bound[field];
	char line[LINE_BYTES];
	const char *p;

	if (f && (f->kind == FIELD_UINT || f->kind == FIELD_SINT)) {
		*ret = event_u64(ev, f);
		return true;
	}
	p = line_of(ev, line) ? value_of(line, field_names[field]) : NULL;
	if (!p || !isdigit((unsigned char)*p))
		return false;
	*ret = strtoull(p, NULL, 0);
	return true;
}

bool guest_field_text(const struct event *ev, enum guest_field field, char *buf, size_t size)
{
	const struct field *f = ev->type->bound[field];
	char line[LINE_BYTES];
	const char *p, *end;

	if (f && (f->kind == FIELD_TEXT || f->kind == FIELD_DYNTEXT)) {
		event_text(ev, f, buf, size);
		text_sanitize(buf);
		return true;
	}
	p = line_of(ev, line) ? value_of(line, field_names[field]) : NULL;
	if (!p)
		return false;
	end = strchr(p, '=');
	if (end) {
		while (end > p && *end != ' ')
			end--;
		if (end > p + 4 && !strncmp(end - 4, " ==>", 4))
			end -= 4;
	} else {
		end = p + strlen(p);
	}
	snprintf(buf, size, "%.*s", (int)(end - p), p);
	text_sanitize(buf);
	return true;
}

static char op_of(const char *rwbs)
{
	char op = rwbs[0] == 'F' && rwbs[1] && strchr("RWD", rwbs[1]) ? rwbs[1] : rwbs[0];

	return op && strchr("RWDF", op) ? op : 0;
}

/* "254,0 RS 65536 () 0 + 128 [dd]"; block_rq_complete has no byte count: "254,0 RS () 0 + 128 [0]" */
static bool block_line(const char *line, struct guest_block *ret)
{
	char rwbs[16];
	const char *p = strchr(line, ')');

	if (sscanf(line, "%" SCNu32 ",%" SCNu32 " %15s", &ret->major, &ret->minor, rwbs) != 3 ||
	    !p || sscanf(p + 1, "%" SCNu64 " + %" SCNu32, &ret->sector, &ret->sectors) != 2)
		return false;
	ret->op = op_of(rwbs);
	return true;
}

bool guest_block(const struct event *ev, struct guest_block *ret)
{
	uint64_t dev, sector, sectors;
	char line[LINE_BYTES], rwbs[16] = "";

	if (line_of(ev, line))
		return block_line(line, ret);
	if (!guest_number(ev, dev, &dev) || !guest_number(ev, sector, &sector) ||
	    !guest_number(ev, nr_sector, &sectors))
		return false;
	guest_text(ev, rwbs, rwbs, sizeof(rwbs));
	*ret = (struct guest_block){.major = (uint32_t)(dev >> MINOR_BITS),
				    .minor = (uint32_t)dev & ((1u << MINOR_BITS) - 1),
				    .sectors = (uint32_t)sectors,
				    .sector = sector,
				    .op = op_of(rwbs)};
	return true;
}
