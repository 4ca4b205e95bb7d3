// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of a table, by their names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

enum { NAME_BYTES = 160 };

const struct tool_row tool_no_figures = {.total_ns = TOOL_TABLE_UNKNOWN,
					 .min_ns = TOOL_TABLE_UNKNOWN,
					 .mean_ns = TOOL_TABLE_UNKNOWN,
					 .max_ns = TOOL_TABLE_UNKNOWN,
					 .per_s = TOOL_TABLE_UNKNOWN,
					 .value = TOOL_TABLE_UNKNOWN};

struct place {
	const char *key; /* the row's name, which is owned by the row */
	size_t index;
};

/* "EXIT_REASON_HLT", "EXIT_HLT", "hlt": as the kernel prints it. */
static void reason_print(const char *name, size_t len, char *buf, size_t size)
{
	static const char prefix[] = "EXIT_REASON_";
	const char *known = NULL;
	uint32_t isa, reason;

	if (len > sizeof(prefix) && !strncmp(name, prefix, sizeof(prefix) - 1)) {
		name += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	if (exit_reason_parse(name, len, &isa, &reason))
		known = exit_reason_name(reason, isa);
	if (known)
		snprintf(buf, size, "%s", known);
	else
		snprintf(buf, size, "%.*s", (int)len, name);
}

/* "kvm:kvm_exit", "kvm:kvm_exit:H" are kvm_exit; "kvm:kvm_exit:u", which counts fewer, is kvm_exit:u. */
static void event_print(const char *name, size_t len, char *buf, size_t size)
{
	const char *system = memchr(name, ':', len), *end = name + tool_event_len(name, len);

	if (system && system > name && system + 1 < end)
		name = system + 1;
	snprintf(buf, size, "%.*s", (int)(end - name), name);
}

static void name_print(enum tool_row_of of, const char *name, size_t len, char *buf)
{
	if (of == ROW_OF_REASON)
		reason_print(name, len, buf, NAME_BYTES);
	else if (of == ROW_OF_EVENT)
		event_print(name, len, buf, NAME_BYTES);
	else
		snprintf(buf, NAME_BYTES, "%.*s", (int)len, name);
}

void tool_rows_init(struct tool_table *t)
{
	*t = (struct tool_table){.names = HASH_TABLE_OF_TEXTS(struct place, TOOL_TABLE_ROWS_MAX)};
}

struct tool_row *tool_row_find(struct tool_table *t, enum tool_row_of of, const char *name,
			       size_t len)
{
	char text[NAME_BYTES];

	name_print(of, name, len, text);
	const struct place *at = hash_find_text(&t->names, text);

	return at ? &t->row[at->index] : NULL;
}

struct tool_row *tool_row_get(struct tool_table *t, enum tool_row_of of, const char *name,
			      size_t len)
{
	struct tool_row *row = tool_row_find(t, of, name, len);
	char text[NAME_BYTES];
	struct place *at;

	if (row)
		return row;
	name_print(of, name, len, text);
	if (t->nr >= TOOL_TABLE_ROWS_MAX) {
		t->dropped++;
		return NULL;
	}
	if (array_room(t->row, t->nr))
		return NULL;
	row = &t->row[t->nr];
	*row = tool_no_figures;
	row->of = of;
	row->name = strdup(text);
	at = row->name ? hash_add_text(&t->names, row->name, NULL) : NULL;
	if (!at) {
		free(row->name);
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	at->index = t->nr++;
	return row;
}

void tool_table_clear(struct tool_table *t)
{
	hash_clear(&t->names);
	for (size_t i = 0; i < t->nr; i++)
		free(t->row[i].name);
	t->nr = 0;
	t->has_total = false;
	t->total = 0;
}

void tool_table_again(struct tool_table *t)
{
	if (t->nr)
		tool_table_clear(t);
	t->tables++;
}

void tool_rows_drop(struct tool_table *t)
{
	size_t nr = t->nr;

	hash_clear(&t->names);
	t->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct place *at =
			t->row[i].maybe ? NULL : hash_add_text(&t->names, t->row[i].name, NULL);

		if (!at) {
			free(t->row[i].name);
			continue;
		}
		at->index = t->nr;
		t->row[t->nr++] = t->row[i];
	}
}
