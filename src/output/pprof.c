// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Profile is one message, whose fields may come in any order: the functions and strings of a sample are written
 * before it, when they are new. Strings are referred to by their position among all strings. A location is a function
 * here: lines and addresses are not known any more.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "output/folded.h"
#include "output/protobuf.h"
#include "profile.pb-c.h"

enum { STACK_MAX = 256 }; /* frames of a sample; those further out are cut */

struct function {
	const char *name;
	uint64_t id; /* from 1; also its location's */
};

struct writer {
	FILE *out;
	struct hash_table functions;
	int64_t nr_strings;
};

/* Part of the profile. */
static void part_put(struct writer *w, const Perftools__Profiles__Profile *part)
{
	protobuf_put(&part->base, w->out);
}

/* Of any length. Returns its position. */
static int64_t string_put(struct writer *w, const char *text)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	char *string = (char *)text;

	part.n_string_table = 1;
	part.string_table = &string;
	part_put(w, &part);
	return w->nr_strings++;
}

static void head_put(struct writer *w, const struct pprof *how)
{
	Perftools__Profiles__Profile head = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *types = &type;
	int64_t comment;

	string_put(w, ""); /* the first one must be */
	type.type = string_put(w, how->times ? "time" : how->bytes ? "space" : "samples");
	type.unit = string_put(w, how->times ? "nanoseconds" : how->bytes ? "bytes" : "count");
	comment = string_put(w, how->about);
	head.n_sample_type = 1;
	head.sample_type = &types;
	head.n_comment = 1;
	head.comment = &comment;
	head.time_nanos = (int64_t)how->realtime_ns;
	head.duration_nanos = (int64_t)how->duration_ns;
	part_put(w, &head);
}

static void function_put(struct writer *w, const struct function *f)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT,
				      *functions = &function;
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT, *lines = &line;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT,
				      *locations = &location;

	function.id = line.function_id = location.id = f->id;
	function.name = function.system_name = string_put(w, f->name);
	location.n_line = 1;
	location.line = &lines;
	part.n_function = part.n_location = 1;
	part.function = &functions;
	part.location = &locations;
	part_put(w, &part);
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
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *samples = &sample;
	uint64_t locations[STACK_MAX];
	int64_t number = (int64_t)value;

	for (; frames && sample.n_location_id < STACK_MAX; sample.n_location_id++) {
		char *before = strrchr(frames, ';');
		uint64_t id = function_id(w, before ? before + 1 : frames);

		if (!id)
			return w->functions.nr == PPROF_FRAMES_MAX
				       ? fail(-E2BIG, "more than %d functions in one profile",
					      PPROF_FRAMES_MAX)
				       : fail(-ENOMEM, "out of memory");
		locations[sample.n_location_id] = id;
		if (before)
			*before = 0;
		else
			frames = NULL;
	}
	sample.location_id = locations;
	sample.n_value = 1;
	sample.value = &number;
	part.n_sample = 1;
	part.sample = &samples;
	part_put(w, &part);
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
