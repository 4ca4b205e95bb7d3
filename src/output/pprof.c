// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Profile is one message, whose fields may come in any order: the functions and strings of a sample are written
 * before it, when they are new. Strings are referred to by their position among all strings. A location is a function
 * here: lines and addresses are not known any more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "output/pprof.h"
#include "output/protobuf.h"

/* Field numbers, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3 };

enum { STACK_MAX = 256 }; /* frames of a sample; those further out are cut */

struct function {
	const char *name;
	uint64_t id; /* from 1; also its location's */
};

struct writer {
	FILE *out;
	struct hash_table functions;
	uint64_t nr_strings;
};

/* A field of the Profile. */
static void field_put(struct writer *w, unsigned int field, const struct pb *message)
{
	struct pb head = {0};

	pb_varint(&head, field << 3 | 2);
	pb_varint(&head, message->len);
	fwrite(head.data, 1, head.len, w->out);
	fwrite(message->data, 1, message->len, w->out);
}

static void number_put(struct writer *w, unsigned int field, uint64_t v)
{
	struct pb pb = {0};

	pb_uint(&pb, field, v);
	fwrite(pb.data, 1, pb.len, w->out);
}

/* Of any length. Returns its position. */
static uint64_t string_put(struct writer *w, const char *text)
{
	struct pb head = {0};
	size_t len = strlen(text);

	pb_varint(&head, PROFILE_STRING << 3 | 2);
	pb_varint(&head, len);
	fwrite(head.data, 1, head.len, w->out);
	fwrite(text, 1, len, w->out);
	return w->nr_strings++;
}

static void head_put(struct writer *w, const struct pprof *how)
{
	struct pb type = {0};

	string_put(w, ""); /* the first one must be */
	pb_uint(&type, TYPE_TYPE, string_put(w, how->times ? "time" : "samples"));
	pb_uint(&type, TYPE_UNIT, string_put(w, how->times ? "nanoseconds" : "count"));
	field_put(w, PROFILE_SAMPLE_TYPE, &type);
	number_put(w, PROFILE_COMMENT, string_put(w, how->about));
	if (how->realtime_ns)
		number_put(w, PROFILE_TIME, how->realtime_ns);
	number_put(w, PROFILE_DURATION, how->duration_ns);
}

static void function_put(struct writer *w, const struct function *f)
{
	struct pb function = {0}, line = {0}, location = {0};
	uint64_t name = string_put(w, f->name);

	pb_uint(&function, FUNCTION_ID, f->id);
	pb_uint(&function, FUNCTION_NAME, name);
	pb_uint(&function, FUNCTION_SYSTEM_NAME, name);
	field_put(w, PROFILE_FUNCTION, &function);
	pb_uint(&line, LINE_FUNCTION, f->id);
	pb_uint(&location, LOCATION_ID, f->id);
	pb_message(&location, LOCATION_LINE, &line);
	field_put(w, PROFILE_LOCATION, &location);
}

/* 0: out of memory, or there are too many. */
static uint64_t function_id(struct writer *w, const char *name)
{
	bool new;
	struct function *f = hash_add_text(&w->functions, name, &new);

	if (!f)
		return 0;
	if (new) {
		f->name = name;
		f->id = w->functions.nr;
		function_put(w, f);
	}
	return f->id;
}

/* Innermost frame first: from the end of the line, which is cut there. */
static int sample_put(struct writer *w, char *frames, uint64_t value)
{
	struct pb locations = {0}, values = {0}, sample = {0};
	char *name;

	for (unsigned int nr = 0; frames && nr < STACK_MAX; nr++) {
		char *before = strrchr(frames, ';');
		uint64_t id;

		name = before ? before + 1 : frames;
		id = function_id(w, name);
		if (!id)
			return w->functions.nr == PPROF_FRAMES_MAX
				       ? fail(-E2BIG, "more than %d functions in one profile",
					      PPROF_FRAMES_MAX)
				       : fail(-ENOMEM, "out of memory");
		pb_varint(&locations, id);
		if (before)
			*before = 0;
		else
			frames = NULL;
	}
	pb_varint(&values, value);
	pb_message(&sample, SAMPLE_LOCATION, &locations);
	pb_message(&sample, SAMPLE_VALUE, &values);
	field_put(w, PROFILE_SAMPLE, &sample);
	return 0;
}

int pprof_put(char *folded, const struct pprof *how, FILE *out, uint64_t *ret_nr)
{
	struct writer w = {.out = out,
			   .functions = HASH_TABLE_OF_TEXTS(struct function, PPROF_FRAMES_MAX)};
	char *save = NULL;
	int err = 0;

	*ret_nr = 0;
	head_put(&w, how);
	for (char *line = strtok_r(folded, "\n", &save); line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		char *blank = strrchr(line, ' ');

		if (!blank)
			continue;
		*blank = 0;
		err = sample_put(&w, line, strtoull(blank + 1, NULL, 10));
		++*ret_nr;
	}
	hash_deinit(&w.functions);
	return err;
}
