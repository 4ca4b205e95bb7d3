/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps of flight recorders in a directory, for exemplars: what triggered each of them is in its metadata
 * (doc/format.md, "trigger"), with the VM. Only regular files are read that belong to root or to the directory's
 * owner; what they contain is untrusted.
 */
#ifndef HOSTRACE_EXPORTER_DUMPS_H
#define HOSTRACE_EXPORTER_DUMPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

enum {
	DUMP_FILE_MAX = 119, /* bytes of a file's name, with its end: an exemplar has 128 characters */
	DUMP_TEXT_MAX = 128,
};

struct exported_dump {
	char file[DUMP_FILE_MAX];
	pid_t pid; /* of the VM */
	char vm[DUMP_TEXT_MAX], uuid[DUMP_TEXT_MAX];
	char trigger[DUMP_TEXT_MAX]; /* "exit-latency" */
	char what[DUMP_TEXT_MAX];    /* the exit's reason, the request's device; "": none */
	unsigned int vcpu;	     /* UINT_MAX: another thread of the VM */
	uint64_t value_ns; /* how long it took, or had taken when it was noticed */
	uint64_t unix_ms;  /* when */
};

struct exported_dumps;

/* Opens the directory. NULL with the error message set. */
struct exported_dumps *exported_dumps_new(const char *dir);
void exported_dumps_free(struct exported_dumps *d);
DEFINE_CLEANUP(exported_dumps, struct exported_dumps *, exported_dumps_free);

/* Reads new files, a few at a time, and forgets those that are gone. 0 or -ENOMEM with the error message set. */
int exported_dumps_scan(struct exported_dumps *d);

/* Dumps that can be exemplars; other files *.hrt: damaged, of another owner, without a trigger, beyond the limit. */
unsigned int exported_dumps_nr(const struct exported_dumps *d);
unsigned int exported_dumps_ignored(const struct exported_dumps *d);

/* The newest one with the same VM, trigger and `what`, of vCPUs `first` to `last`. NULL: there is none. */
const struct exported_dump *exported_dumps_find(const struct exported_dumps *d,
						const struct exported_dump *like,
						unsigned int first, unsigned int last);

/* What the metadata say of its trigger and VM; `file` is not set. False: it cannot be an exemplar. */
bool exported_dump_parse(const json_t *meta, struct exported_dump *ret);

#endif
