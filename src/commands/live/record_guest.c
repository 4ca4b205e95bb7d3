// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --guest SOURCE: the guest's own trace in the same recording (src/fetch/source.h). It goes to
 * a file of its own next to the recording, vm.hrt and vm.guest, which reports merge with --guest;
 * the recording names it.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "fetch/source.h"

static struct text_list sources;
static uint64_t file_bytes = GUEST_SOURCE_FILE_DEFAULT;

/* clang-format off */
const struct option_row record_guest_options[] = {
	{0, "guest", OPT_LIST, &sources, "SOURCE", "also record the guest's own trace from serial:PATH, vsock:CID:PORT, shm:FILE, mem:WHERE or file:FILE"},
	{0, "guest-size", OPT_SIZE, &file_bytes, "SIZE", "stop taking a guest's trace after this size (default 1G)"},
	{0},
};
/* clang-format on */

bool record_guest_pending(const struct recording *r)
{
	return array_any(r->nr_guests, i, !guest_source_found(r->guest[i].source));
}

int record_guest_paths(const struct recording *r, struct confine_paths *paths)
{
	int err = 0;

	for (unsigned int i = 0; i < r->nr_guests && !err; i++) {
		err = confine_paths_write(paths, r->guest[i].path, false);
		if (!err && !strncmp(sources.item[i], "shm:", 4))
			err = confine_paths_update(paths, sources.item[i] + 4);
	}
	return err;
}

static int record_guest_choose(struct collector_options *c)
{
	int err = 0;

	(void)c;
	for (unsigned int i = 0; i < sources.nr && !err; i++)
		err = guest_source_check(sources.item[i]);
	return err;
}

/* vm.hrt -> vm.guest, vm.guest2, ... */
static char *path_make(unsigned int i)
{
	const char *out = record_opt.output;
	size_t size = strlen(out) + 32;
	char *path = malloc(size);

	if (path && i)
		snprintf(path, size, "%.*s.guest%u", record_output_stem(), out, i + 1);
	else if (path)
		snprintf(path, size, "%.*s.guest", record_output_stem(), out);
	return path;
}

static int record_guest_start(struct recording *r)
{
	if (sources.nr && r->nr_vms != 1)
		return fail_usage(-EINVAL, "--guest requires exactly one VM");
	for (unsigned int i = 0; i < sources.nr; i++) {
		struct recorded_guest *g = &r->guest[i];
		int err;

		g->path = path_make(i);
		err = g->path ? guest_source_open(sources.item[i], r->vms[0].pid, g->path, !r->argv,
						  &g->source)
			      : fail(-ENOMEM, "out of memory");
		if (err)
			return err;
		guest_source_limit(g->source, file_bytes);
		r->nr_guests++;
	}
	return 0;
}

static int round_take(struct recording *r, uint64_t now_ns)
{
	(void)now_ns;
	for (unsigned int i = 0; i < r->nr_guests; i++)
		guest_source_round(r->guest[i].source);
	return 0;
}

static int record_guest_stop(struct recording *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->nr_guests && !r->guests_stopped; i++) {
		guest_source_stop(r->guest[i].source);
		if (!err && record_opt.sync.at_end)
			err = guest_source_sync(r->guest[i].source);
	}
	r->guests_stopped = true;
	return err;
}

static void meta_add(struct recording *r, json_t *meta, bool final)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < r->nr_guests; i++)
		json_array_append_new(list, guest_source_json(r->guest[i].source));
	if (final && r->nr_guests)
		json_object_set(meta, "guests", list);
	json_decref(list);
}

static void record_guest_summary(struct recording *r)
{
	bool any = false;

	for (unsigned int i = 0; i < r->nr_guests; i++) {
		json_t *j = guest_source_json(r->guest[i].source);
		const char *kind = json_string_value(json_object_get(j, "kind")),
			   *error = json_string_value(json_object_get(j, "error"));
		json_int_t units = json_integer_value(json_object_get(j, "units"));
		json_int_t bytes = json_integer_value(json_object_get(j, "bytes"));

		if (*kind)
			command_note("guest: %s, %" JSON_INTEGER_FORMAT " %s, %" JSON_INTEGER_FORMAT
				     " KiB in %s%s%s",
				     sources.item[i], units,
				     strcmp(kind, "guest-ring") ? "frames" : "records",
				     bytes / 1024, r->guest[i].path, *error ? "; " : "", error);
		else
			command_note("guest: %s: %s", sources.item[i],
				     *error ? error : "no data received");
		any |= *kind;
		json_decref(j);
	}
	if (any)
		command_note("next: hostrace list -i %s (host and guest; --no-guest: host only)",
			     record_opt.output);
}

static void close_all(struct recording *r)
{
	for (unsigned int i = 0; i < OPTION_LIST_MAX; i++) {
		guest_source_close(r->guest[i].source);
		free(r->guest[i].path);
	}
}

const struct record_part record_guest_part = {
	.choose = record_guest_choose,
	.start = record_guest_start,
	.round = round_take,
	.stop = record_guest_stop,
	.meta = meta_add,
	.summary = record_guest_summary,
	.close = close_all,
};
