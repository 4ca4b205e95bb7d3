// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Companion files: the guest traces that `record --guest` saved together with a recording. The recording holds their
 * names and sizes (doc/format.md, "guests").
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "clock/align.h"
#include "input/input_private.h"
#include "readers/readers.h"
#include "tracefile/tracefile.h"

enum { PATH_BYTES = 4096 };

/* A regular file in our format: it can be opened twice. */
static bool is_recording(const char *path, struct open_files *files)
{
	const struct reader_ops *ops;
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !reader_recognize(path, files, &ops) &&
	       (ops == &tracefile_reader || ops == &textfile_reader);
}

static bool wants_nothing(const char *event, void *arg)
{
	(void)event;
	(void)arg;
	return false;
}

/* The part of a path after the last '/'. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* -1: no such file; 1: it has this size; 0: it has another size. */
static int size_matches(const char *path, uint64_t bytes)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	return (uint64_t)st.st_size == bytes;
}

/* The name that `record` would give it now: vm.hrt -> vm.guest, vm.guest2, ... */
static void default_name(const char *recording, size_t nr, char path[PATH_BYTES])
{
	size_t len = strlen(recording);
	char number[32] = "";

	if (len > 4 && !strcmp(recording + len - 4, ".hrt"))
		len -= 4;
	if (nr)
		snprintf(number, sizeof(number), "%zu", nr + 1);
	snprintf(path, PATH_BYTES, "%.*s.guest%s", (int)len, recording, number);
}

/* `file` comes from the recording and is untrusted: only its last part is used. */
static char *guest_find(const char *recording, const char *file, size_t nr, uint64_t bytes,
			void (*note)(const char *fmt, ...))
{
	const char *name = base_of(file);
	char path[2][PATH_BYTES], safe[256];
	int match[2];

	snprintf(safe, sizeof(safe), "%s", name);
	text_sanitize(safe);
	snprintf(path[0], PATH_BYTES, "%.*s%s", (int)(base_of(recording) - recording), recording,
		 name);
	default_name(recording, nr, path[1]);
	for (int i = 0; i < 2; i++) {
		match[i] = *name ? size_matches(path[i], bytes) : -1;
		if (match[i] > 0)
			return strdup(path[i]);
	}
	if (match[0] < 0 && match[1] < 0)
		note("the guest trace %s, recorded with %s, is missing in its folder", safe,
		     recording);
	else
		note("guest trace %s is not merged: the one recorded with %s had %" PRIu64 " bytes",
		     match[0] < 0 ? path[1] : safe, recording, bytes);
	return NULL;
}

unsigned int companions_find(const char *recording, void (*note)(const char *fmt, ...), char **ret,
			     unsigned int max, struct open_files *files)
{
	const struct read_hint hint = {
		.until_ns = UINT64_MAX, .wants = wants_nothing, .files = files};
	_cleanup_reader_ struct reader *r = NULL;
	unsigned int nr = 0;
	json_t *guest, *all;
	size_t i;

	if (!is_recording(recording, files) || reader_open(recording, &hint, &r))
		return 0;
	all = json_object_get(r->info.meta, "guests");
	json_array_foreach (all, i, guest) {
		const char *file = json_string_value(json_object_get(guest, "file")),
			   *kind = json_string_value(json_object_get(guest, "kind"));
		json_int_t bytes = json_integer_value(json_object_get(guest, "bytes"));

		if (i == max) {
			note("%zu of the guest traces recorded with %s are not looked for",
			     json_array_size(all) - i, recording);
			break;
		}
		if (!file || !kind || !*kind || bytes <= 0)
			continue;
		ret[nr] = guest_find(recording, file, i, (uint64_t)bytes, note);
		nr += ret[nr] != NULL;
	}
	return nr;
}

/* The names of threads, from all of the inputs: whether one from the metadata holds depends on later events, too. */

/* Opens input i alone, with all events that name threads. */
static int names_open(const struct input_set *set, unsigned int i, struct reader **ret)
{
	struct read_hint hint = {.until_ns = UINT64_MAX,
				 .tsc_khz = set->options->tsc_khz,
				 .files = &set->clocks->files,
				 .wants = thread_names_wants};
	const struct input *in = &set->input[i];
	const struct align_guest *guest;
	struct align *align;
	int err;

	if (!in->is_guest)
		return reader_open(in->path, &hint, ret);
	err = input_set_align(set, (int)(i - set->nr_hosts), &align, &guest);
	return err ? err : align_open(align, in->path, &hint, ret);
}

static int input_look(const struct input_set *set, unsigned int i, struct thread_names *names)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	_cleanup_reader_ struct reader *r = NULL;
	int err = batch ? names_open(set, i, &r) : fail(-ENOMEM, "out of memory"), more = 0;

	if (err)
		r = NULL;
	while (!err && (more = reader_next(r, batch)) > 0)
		for (unsigned int k = 0; k < batch->nr; k++) {
			batch->ev[k].source = (uint16_t)i;
			thread_names_look(names, &batch->ev[k]);
		}
	if (!err && !more)
		thread_names_looked(names, i);
	return err ? err : more;
}

int input_set_thread_names(const struct input_set *set, struct thread_names *names)
{
	int err = 0;

	for (unsigned int i = 0; i < input_set_nr(set) && !err; i++) {
		const json_t *meta = set->input[i].reader->info.meta;
		struct stat st;

		thread_names_meta(names, i, meta);
		if (!json_object_size(json_object_get(meta, "threads")))
			continue;
		if (stat(set->input[i].path, &st))
			err = fail(-errno, "%s: %s", set->input[i].path, strerror(errno));
		else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
			err = input_look(set, i, names);
	}
	return err;
}

/* Where a recording begins and ends that was cut when it was converted. */

/* An input that was cut before may be merged with one that was not. */
static bool is_cut(const struct input_set *set)
{
	for (unsigned int i = 0; i < input_set_nr(set); i++)
		if (json_object_get(set->input[i].reader->info.meta, "window_start_ns"))
			return true;
	return set->is_trimmed;
}

static void companion_put(const struct input_set *set, const char *key, uint64_t ns, json_t *meta)
{
	if (is_cut(set))
		json_object_set_new(meta, key, json_integer((json_int_t)ns));
}

void input_set_put_start(const struct input_set *set, json_t *meta)
{
	companion_put(set, "window_start_ns", input_set_start_ns(set), meta);
}

void input_set_put_end(const struct input_set *set, json_t *meta)
{
	companion_put(set, "window_end_ns", input_set_end_ns(set), meta);
}
