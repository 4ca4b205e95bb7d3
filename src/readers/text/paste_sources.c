// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs of several machines, or of several VMs of one, come as one text from `docker compose logs`, from a journal of
 * several units, from pdsh or `grep` with several files:
 *
 *   vm1-qemu-1  | 2026-11-22T10:29:20.100000Z virtqueue_pop ...
 *   vm2-qemu-1  | 2026-11-22T10:29:20.100007Z virtqueue_pop ...
 *
 * Without their prefixes they would be events of one machine. Sources are mixed if one comes back after another: so a
 * program that logs each line by a process of its own, "root[4711]:", is not.
 */
#include "readers/text/paste_sources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { LINES_MIN = 3 }; /* of each source, that it is one */

void paste_sources_line(struct paste_sources *s, struct text_slice from, uint64_t line)
{
	char name[PASTE_SOURCE_BYTES];
	unsigned int i = 0;

	if (s->mixed_line || !from.len)
		return;
	s->lines++;
	snprintf(name, sizeof(name), "%.*s", (int)from.len, from.at);
	if ( s->nr && !strcmp(s->name[s->now], name))
		return;
	while (i < s->nr && strcmp(s->name[i], name) != 0)
		i++;
	if (i < s->nr) {
		s->mixed_line = line;
		s->mixed_with = s->now;
	} else if (i == PASTE_SOURCES_MAX) {
		i = (s->now + 1) % PASTE_SOURCES_MAX; /* the oldest */
	} else {
		s->nr++;
	}
	s->now = i;
	strcpy(s->name[i], name);
}

int paste_sources_check(struct paste_sources *s, struct trace_info *info)
{
	for (unsigned int i = 0; i < s->nr; i++)
		text_sanitize(s->name[i]);
	if (s->mixed_line) {
		fail(-EINVAL,
		     "%s: line %" PRIu64 ": the lines of '%s' and '%s' are mixed: they would be "
		     "shown as of one machine",
		     info->file, s->mixed_line, s->name[s->now], s->name[s->mixed_with]);
		return fail_hint(-EINVAL, "put each in a file of its own: grep -F '%s' %s",
				 s->name[s->now], info->file);
	}
	if (s->nr > 1 && s->lines >= s->nr * LINES_MIN)
		trace_info_caveat(info,
				  "%s: lines of '%s' are followed by those of '%s'%s: they are "
				  "shown as of one machine",
				  info->file, s->name[0], s->name[1],
				  s->nr > 2 ? " and of others" : "");
	return 0;
}
