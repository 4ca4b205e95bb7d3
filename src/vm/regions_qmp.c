// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of "info mtree -f -o" (QEMU, softmmu/memory.c):
 *
 *	FlatView #2
 *	 AS "I/O", root: io
 *	 Root memory region: io
 *	  0000000000000071-0000000000000071 (prio 0, i/o): rtc @0000000000000001 owner:{dev path=/machine/...}
 *	  000000000000c000-000000000000c03f (prio 1, i/o): e1000-io owner:{dev id=eth1}
 *
 * A device without an id of its own has a path only, which says less than the region's name. What no device has mapped
 * is a region "io" or "system", or none. Nothing in the text is trusted: ids are those of a command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "event/event.h"
#include "vm/qmp.h"
#include "vm/regions_qmp.h"

struct region_line {
	uint64_t first, last;
	char type[16], name[REGION_NAME_MAX], id[REGION_NAME_MAX];
};

/* Copies up to `end`, cut if need be. */
static void copy_until(char *to, size_t size, const char *from, const char *end)
{
	size_t len = (size_t)(end - from);

	snprintf(to, size, "%.*s", (int)(len < size ? len : size), from);
	text_sanitize(to);
}

/* Where the region's name ends: what follows it depends on the region. */
static const char *name_end(const char *name, const char *line_end)
{
	static const char *const next[] = {" @0", " owner:{", " parent:{", " KVM", " [", "\r"};
	const char *end = line_end;

	for (size_t i = 0; i < sizeof(next) / sizeof(next[0]); i++) {
		const char *at = memmem(name, (size_t)(end - name), next[i], strlen(next[i]));

		end = at ? at : end;
	}
	return end;
}

static bool line_parse(const char *line, const char *end, struct region_line *ret)
{
	static const char OWNER[] = " owner:{dev id=";
	const char *name = memmem(line, (size_t)(end - line), "): ", 3), *id, *id_end;
	char head[64];

	*ret = (struct region_line){0};
	if (!name)
		return false;
	copy_until(head, sizeof(head), line, name);
	if (sscanf(head, " %" SCNx64 "-%" SCNx64 " (prio %*d, %15[a-z/-]", &ret->first, &ret->last,
		   ret->type) != 3)
		return false;
	name += 3;
	copy_until(ret->name, sizeof(ret->name), name, name_end(name, end));
	id = memmem(name, (size_t)(end - name), OWNER, strlen(OWNER));
	id_end = id ? memchr(id, '}', (size_t)(end - id)) : NULL;
	if (id_end)
		copy_until(ret->id, sizeof(ret->id), id + strlen(OWNER), id_end);
	return ret->last >= ret->first && ret->last <= INT64_MAX && *ret->name;
}

/* Accesses to RAM do not leave KVM. */
static bool is_device(const struct region_line *l)
{
	return strcmp(l->type, "ram") && strcmp(l->name, "io") && strcmp(l->name, "system");
}

static void region_add(json_t *list, const char *space, const struct region_line *l)
{
	char name[2 * REGION_NAME_MAX + 8];

	snprintf(name, sizeof(name), *l->id ? "%s of %s" : "%s", l->name, l->id);
	json_array_append_new(list, json_pack("[s,I,I,s]", space, (json_int_t)l->first,
					      (json_int_t)l->last, name));
}

int qmp_regions_parse(const char *mtree, json_t **ret)
{
	json_t *list = json_array();
	const char *space = NULL, *end;

	for (const char *line = mtree; *line; line = *end ? end + 1 : end) {
		struct region_line l;

		end = strchrnul(line, '\n');
		if (!strncmp(line, "FlatView", 8))
			space = NULL;
		else if (!strncmp(line, " AS \"I/O\"", 9))
			space = "port";
		else if (!strncmp(line, " AS \"memory\"", 12))
			space = "mmio";
		else if (space && json_array_size(list) < REGIONS_MAX &&
			 line_parse(line, end, &l) && is_device(&l))
			region_add(list, space, &l);
	}
	if (json_array_size(list)) {
		*ret = list;
		return 0;
	}
	json_decref(list);
	return fail(-EBADMSG, "no region in the monitor's 'info mtree -f'");
}

int qmp_regions(const char *socket, json_t **ret, pid_t *ret_pid)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	json_t *text = NULL;
	int err = qmp_open(socket, 0, &q);

	if (!err)
		err = qmp_execute(q, "human-monitor-command",
				  json_pack("{s:s}", "command-line", "info mtree -f -o"), &text);
	if (!err) {
		*ret_pid = qmp_pid(q);
		err = qmp_regions_parse(json_is_string(text) ? json_string_value(text) : "", ret);
	}
	json_decref(text);
	return err;
}
