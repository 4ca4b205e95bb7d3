// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"

#include "hostrace.skel.h" /* knows record.h's types */

struct messages {
	char warning[256]; /* libbpf's first one since the last load */
	char error[384];
};

/* libbpf's callback has no argument for a context, so the messages belong to the thread, as errno does. */
static struct messages *messages(void)
{
	static _Thread_local struct messages messages;

	return &messages;
}

static int message_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *line = NULL;
	char *kept = messages()->warning;
	size_t len;

	if (level == LIBBPF_DEBUG && !debug_on("libbpf"))
		return 0;
	if (vasprintf(&line, fmt, ap) < 0) {
		line = NULL;
		return 0;
	}
	len = strlen(line);
	while (len && line[len - 1] == '\n')
		line[--len] = '\0';
	if (level == LIBBPF_WARN && !*kept)
		snprintf(kept, sizeof(messages()->warning), "%.255s", line);
	debug("attach", "%s", line);
	return 0;
}

void object_messages_keep(void)
{
	libbpf_set_print(message_print);
}

int object_open(bool maps, struct hostrace **ret)
{
	struct hostrace *skel = hostrace__open();
	struct bpf_program *prog;
	struct bpf_map *map;

	if (!skel)
		return fail(-errno, "cannot open the BPF object: %s", strerror(errno));
	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(prog, false);
	bpf_object__for_each_map(map, skel->obj) if (!maps && !bpf_map__is_internal(map))
		bpf_map__set_autocreate(map, false);
	*ret = skel;
	return 0;
}

int object_load(struct hostrace *skel, struct hostrace **ret)
{
	int err;

	messages()->warning[0] = '\0';
	err = hostrace__load(skel);
	if (err)
		hostrace__destroy(skel);
	else
		*ret = skel;
	return err;
}

const char *object_error(int err)
{
	struct messages *m = messages();

	snprintf(m->error, sizeof(m->error), "%.120s%s%.255s", strerror(-err),
		 *m->warning ? "; " : "", m->warning);
	return m->error;
}
