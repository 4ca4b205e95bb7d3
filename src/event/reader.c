// SPDX-License-Identifier: GPL-2.0-or-later
/* What all readers share: reading event by event, and the facts about an input, with bounded lists of metadata. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "event/reader.h"

enum { META_KEY_BYTES = 112 }; /* of memory, without the key itself */

int reader_each(struct reader *r, int (*put)(void *arg, const struct event *ev), void *arg)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	int more = 0, ret = batch ? 0 : fail(-ENOMEM, "out of memory");

	while (!ret && (more = reader_next(r, batch)) > 0)
		for (unsigned int i = 0; !ret && i < batch->nr; i++)
			ret = put(arg, &batch->ev[i]);
	return ret ? ret : more;
}

int trace_info_init(struct trace_info *info, const char *file, const char *kind)
{
	*info = (struct trace_info){.file = strdup(file), .kind = kind, .meta = json_object(),
				    .caveats = json_array()};
	if (info->file && info->meta && info->caveats)
		return 0;
	trace_info_deinit(info);
	return fail(-ENOMEM, "%s: out of memory", file);
}

void trace_info_deinit(struct trace_info *info)
{
	free((void *)info->file);
	json_decref(info->meta);
	json_decref(info->caveats);
	free(info->types_read);
	*info = (struct trace_info){0};
}

void trace_info_caveat(struct trace_info *info, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	size_t i;
	json_t *old;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_sanitize(text); /* the file's name may be hostile, and JSON takes no broken UTF-8 */
	json_array_foreach(info->caveats, i, old)
		if (!strcmp(json_string_value(old), text))
			return;
	json_array_append_new(info->caveats, json_string(text));
}

bool trace_info_more_notes(struct trace_info *info)
{
	if (json_array_size(info->caveats) < META_NOTES_MAX)
		return true;
	trace_info_caveat(info, "%s: further notes in the metadata are left out", info->file);
	return false;
}

/* Removes the elements from the n-th on; returns how many. */
static size_t array_cut(json_t *list, size_t n)
{
	size_t nr = json_array_size(list);

	for (size_t i = nr; i > n; i--)
		json_array_remove(list, i - 1);
	return nr > n ? nr - n : 0;
}

static size_t object_cut(json_t *o, size_t n)
{
	size_t nr = json_object_size(o), i = 0;
	const char *key;
	json_t *value;
	void *next;

	if (nr <= n)
		return 0;
	json_object_foreach_safe (o, next, key, value)
		if (i++ >= n)
			json_object_del(o, key);
	return nr - n;
}

static void meta_cut(struct trace_info *info, json_t *meta)
{
	size_t cut_names = object_cut(json_object_get(meta, "threads"), META_THREADS_MAX);
	json_t *vms = json_object_get(meta, "vms"), *vm;
	size_t cut_vms = array_cut(vms, META_VMS_MAX), cut_vcpus = 0, capacity = META_VCPUS_MAX, i;

	json_array_foreach (vms, i, vm) {
		json_t *vcpus = json_object_get(vm, "vcpus");

		cut_vcpus += array_cut(vcpus, capacity);
		capacity -= json_array_size(vcpus);
	}
	if (cut_vms)
		trace_info_caveat(info, "%s: %zu VMs beyond the first %d have no names", info->file,
				  cut_vms, META_VMS_MAX);
	if (cut_names)
		trace_info_caveat(info,
				  "%s: the names of %zu threads beyond the first %d are ignored",
				  info->file, cut_names, META_THREADS_MAX);
	if (cut_vcpus)
		trace_info_caveat(info, "%s: %zu vCPU threads beyond the first %d are not listed",
				  info->file, cut_vcpus, META_VCPUS_MAX);
}

void trace_info_cut(struct trace_info *info)
{
	meta_cut(info, info->meta);
}

static bool is_maps(const char *key, size_t len)
{
	return len == strlen("code_maps") && !memcmp(key, "code_maps", len);
}

static void meta_ignored(struct trace_info *info, size_t max)
{
	trace_info_caveat(info, "%s: metadata beyond %zu MiB of memory is ignored", info->file,
			  max >> 20);
}

static void meta_add(struct trace_info *info, json_t *meta)
{
	const char *key;
	json_t *value;

	meta_cut(info, meta);
	json_object_foreach (meta, key, value) {
		json_t *old = json_object_get(info->meta, key);
		size_t bytes = info->meta_bytes + json_bytes(value) - json_bytes(old);

		bytes += old ? 0 : META_KEY_BYTES + strlen(key);
		if (is_maps(key, strlen(key))) {
			bytes = info->meta_bytes;
		} else if (bytes > META_BYTES_MAX) {
			meta_ignored(info, META_BYTES_MAX);
			continue;
		}
		info->meta_bytes = bytes;
		json_object_set(info->meta, key, value);
	}
}

struct meta_loading {
	struct trace_info *info;
	size_t bytes;
};

static bool meta_wanted(void *arg, const char *key, size_t len, size_t bytes)
{
	struct meta_loading *l = arg;
	size_t max = is_maps(key, len) ? META_MAPS_BYTES_MAX : META_BYTES_MAX;

	if (bytes > max || (!is_maps(key, len) && l->bytes + bytes > max)) {
		meta_ignored(l->info, max);
		return false;
	}
	l->bytes += is_maps(key, len) ? 0 : bytes;
	return true;
}

bool trace_info_load(struct trace_info *info, char *text, size_t len, json_error_t *why)
{
	struct meta_loading l = {.info = info};
	json_t *meta = json_text_bytes(text, len) <= META_BYTES_MAX
			       ? json_loadb(text, len, 0, why)
			       : json_text_load_members(text, len, meta_wanted, &l, why);
	bool valid = json_is_object(meta);

	if (valid)
		meta_add(info, meta);
	json_decref(meta);
	return valid;
}

void trace_info_window(struct trace_info *info)
{
	json_int_t start = json_integer_value(json_object_get(info->meta, "window_start_ns"));
	json_int_t end = json_integer_value(json_object_get(info->meta, "window_end_ns"));

	if (start > 0)
		info->start_ns = (uint64_t)start;
	if (end > 0)
		info->end_ns = (uint64_t)end;
	if (info->end_ns && info->end_ns < info->start_ns) /* a broken file, or its end is missing */
		info->end_ns = info->start_ns;
}

int64_t trace_info_realtime_offset(const struct trace_info *info)
{
	json_int_t real = json_integer_value(json_object_get(info->meta, "start_realtime_ns"));
	json_int_t mono = json_integer_value(json_object_get(info->meta, "start_monotonic_ns"));

	return real && mono ? real - mono : 0;
}

bool trace_info_in_ticks(const struct trace_info *info)
{
	const char *unit = json_string_value(json_object_get(info->meta, "time_unit"));

	return unit && !strcmp(unit, "ticks");
}

uint64_t trace_info_resolution(const struct trace_info *info)
{
	json_int_t ns = json_integer_value(json_object_get(info->meta, "resolution_ns"));

	return ns > 0 ? (uint64_t)ns : 0;
}

bool trace_info_recorded(const struct trace_info *info, const char *event)
{
	const json_t *probe;
	size_t i;

	json_array_foreach (json_object_get(info->meta, "probes"), i, probe) {
		const char *name = json_string_value(json_object_get(probe, "event"));
		const char *how = json_string_value(json_object_get(probe, "how"));

		if (name && how && !strcmp(name, event) && strcmp(how, "absent") != 0)
			return true;
	}
	return false;
}

bool trace_info_is_ring(const struct trace_info *info)
{
	const json_t *options = json_object_get(info->meta, "options");

	return json_integer_value(json_object_get(options, "ring_bytes")) > 0;
}

void trace_info_set_ticks(struct trace_info *info)
{
	json_object_set_new(info->meta, "time_unit", json_string("ticks"));
	trace_info_caveat(info,
			  "%s: times are ticks of the trace's clock, not ns: its frequency is "
			  "unknown (give it with --tsc-khz)",
			  info->file);
}

void trace_info_set_resolution(struct trace_info *info, uint64_t ns)
{
	if (ns > 1)
		json_object_set_new(info->meta, "resolution_ns", json_integer((json_int_t)ns));
	trace_info_unit_notes(info);
}

/* hostrace mark --pause. Reports measure nothing over a pause: its ends are gaps. */
static void paused_note(struct trace_info *info)
{
	const json_t *paused = json_object_get(info->meta, "paused");
	json_int_t nr = json_integer_value(json_object_get(paused, "count"));
	json_int_t events = json_integer_value(json_object_get(paused, "events"));
	double ns = json_number_value(json_object_get(paused, "ns"));

	if (nr > 0 && trace_info_more_notes(info))
		trace_info_caveat(info,
				  "%s was paused %" JSON_INTEGER_FORMAT
				  " time%s, for %.6f s in total: %" JSON_INTEGER_FORMAT
				  " events of these times are not recorded",
				  info->file, nr, nr == 1 ? "" : "s", ns / 1e9, events);
}

void trace_info_unit_notes(struct trace_info *info)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	uint64_t ns = trace_info_resolution(info);
	unsigned int unit = 0;

	for (; ns && unit < 3 && ns % 1000 == 0; unit++)
		ns /= 1000;
	if (ns && trace_info_more_notes(info))
		trace_info_caveat(info, "%s: timestamps have a resolution of %" PRIu64 " %s",
				  info->file, ns, units[unit]);
	paused_note(info);
	if (trace_info_in_ticks(info))
		trace_info_caveat(info,
				  "%s: times are ticks of the trace's clock, not ns: its frequency "
				  "was not known when it was converted",
				  info->file);
}
