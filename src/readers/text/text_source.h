/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes lines of a recording that is no text, for the reader of texts: that knows the kernel's events, threads and
 * VMs. Besides lines that tools print there is one for losses, in ns (0: from the beginning):
 *
 *	CPU:3 [LOST 12 EVENTS] from 12000000 until 13000000
 *
 * The first member of its own struct. Each error message is set.
 */
#ifndef HOSTRACE_TEXT_SOURCE_H
#define HOSTRACE_TEXT_SOURCE_H

#include <sys/types.h>

#include "event/reader.h"

struct text_source {
	const char *kind; /* "CTF": for struct trace_info */
	int (*open)(struct text_source *s, struct trace_info *info); /* 0 or -errno; notes go to info->caveats */
	ssize_t (*read)(struct text_source *s, char *to, size_t len); /* bytes, 0: the end, -errno */
	int (*rewind)(struct text_source *s); /* the same lines again */
	void (*close)(struct text_source *s);
};

/* As tracetext_reader's open(), of the lines that `source` makes of `path`. Owns the source, also on failure. */
int text_source_read(const char *path, const struct read_hint *hint, struct text_source *source,
		     struct reader **ret);

#endif
