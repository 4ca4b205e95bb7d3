/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks and notes of a recording, in a file next to it:
 *
 *	{"hostrace_notes": 1, "notes": [{"from_ns": 5000, "to_ns": 5001, "text": "here"}]}
 *
 * Times are those of the trace's clock, so that they stay right beside other inputs; a mark is 1 ns long. The file is
 * read for each request, so that two views of a recording have the same notes. One that hostrace did not write is never
 * replaced, and no link is followed.
 */
#ifndef HOSTRACE_BROWSE_NOTES_H
#define HOSTRACE_BROWSE_NOTES_H

#include <jansson.h>
#include <stdint.h>

enum {
	NOTES_MAX = 1000,
	NOTE_TEXT_MAX = 1000,	  /* bytes */
	NOTES_FILE_MAX = 8 << 20, /* bytes: that many notes, each byte of a text escaped */
};

struct note {
	uint64_t from_ns, to_ns;
	const char *text;
};

/* An array of the file's notes, sorted by time; empty: there is no file. 0 or -errno with the error message set. */
int notes_read(const char *path, json_t **ret);

/*
 * Writes the file with this note, or without it; *ret: what it has then. -EEXIST: there is one like it; -ENOENT: there
 * is none; -E2BIG, -EINVAL, ...: the error message is set.
 */
int notes_add(const char *path, const struct note *note, json_t **ret);
int notes_delete(const char *path, const struct note *note, json_t **ret);

#endif
