// SPDX-License-Identifier: GPL-2.0-or-later
/* What every report prints about its inputs: files, clock, losses, notes. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/saturate.h"
#include "base/version.h"
#include "clock/align.h"
#include "output/clock_report.h"
#include "reports/empty.h"
#include "reports/head.h"

/* Events in the file, where that is known without reading it; else those that were read. */
static uint64_t events_of(const struct input_set *set, struct reader *r)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));
	uint64_t sum = 0;

	if (!counts || !r->ops->counts)
		return r->info.nr_events;
	if (r->ops->counts(r, counts)) {
		trace_info_caveat(&set->reader->info, "how many events %s has is unknown: %s",
				  r->info.file, error_text());
		return r->info.nr_events;
	}
	for (unsigned int i = 0; i < event_types_count(); i++)
		sum += counts[i];
	return sum;
}

static json_t *inputs_json(const struct input_set *set)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < input_set_nr(set); i++) {
		struct reader *in = set->input[i].reader;
		const struct trace_info *info = &in->info;

		json_array_append_new(list, json_pack("{s:o, s:s, s:I, s:o, s:o*}", "file",
						      json_text(info->file), "kind", info->kind,
						      "events", (json_int_t)events_of(set, in),
						      "lost", json_u64(info->lost), "truncated",
						      info->truncated ? json_true() : NULL));
	}
	return list;
}

/* One caveat for all events that `record --budget` dropped at the same time: their reports end there. */
static void caveat_budget(json_t *list, const struct trace_info *info)
{
	const json_t *budget = json_object_get(info->meta, "budget"), *d, *next;
	const json_t *dropped = json_object_get(budget, "dropped");
	char names[256] = "", text[512];
	size_t i, len = 0;

	json_array_foreach (dropped, i, d) {
		json_int_t at = json_integer_value(json_object_get(d, "time_ns"));
		const char *event = json_string_value(json_object_get(d, "event"));

		if (len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.40s",
						len ? ", " : "", event ? event : "?");
		next = json_array_get(dropped, i + 1);
		if (next && json_integer_value(json_object_get(next, "time_ns")) == at)
			continue;
		snprintf(text, sizeof(text),
			 "not recorded after %.3f s: %s; the budget of %.2f %% of the VM's CPU "
			 "time was exceeded",
			 (double)(at - (json_int_t)info->start_ns) / 1e9, names,
			 json_number_value(json_object_get(budget, "limit_percent")));
		text_sanitize(text);
		json_array_append_new(list, json_string(text));
		len = 0;
	}
}

/* Why an input has lost events: a text only says that they are missing. */
static const char *lost_reason_of(const struct trace_info *info, const struct loss_sums *losses)
{
	if (!strcmp(info->kind, "QEMU log") || strstr(info->kind, " text"))
		return "the text says so";
	if (!strcmp(info->kind, "CTF") || !strcmp(info->kind, "Perfetto"))
		return "the tracer discarded them, or parts of the file cannot be read";
	return losses_reason(losses);
}

static const char *lost_reason(const struct input_set *set, const struct loss_sums *losses)
{
	const char *reason = NULL;

	for (unsigned int i = 0; i < input_set_nr(set); i++) {
		const struct trace_info *info = &set->input[i].reader->info;
		const char *other = info->lost ? lost_reason_of(info, losses) : reason;

		reason = !reason || !strcmp(reason, other) ? other : "the inputs say so";
	}
	return reason ? reason : losses_reason(losses);
}

/* Of our own recordings also what was lost, and where. */
static void caveat_lost(json_t *list, const struct input_set *set)
{
	const struct trace_info *info = &set->reader->info;
	struct loss_sums losses = {0};
	char text[512];

	if (input_losses(set, &losses))
		snprintf(text, sizeof(text), "it is unknown where: %s", error_text());
	else
		losses_print(&losses, info->start_ns, text, sizeof(text));
	caveat_add(list, "%" PRIu64 " events were lost: %s%s%s%s", info->lost,
		   lost_reason(set, &losses), *text ? " (" : "", text, *text ? ")" : "");
}

static json_t *caveats_json(const struct input_set *set, const json_t *more)
{
	const struct trace_info *info = &set->reader->info;
	json_t *list = json_copy(info->caveats);
	size_t i;
	json_t *text;

	for (unsigned int n = 0; n < input_set_nr(set); n++)
		caveat_budget(list, &set->input[n].reader->info);
	if (info->lost)
		caveat_lost(list, set);
	for (unsigned int n = 0; n < set->nr_left_out; n++)
		caveat_add(list, "guest trace %s is left out", set->left_out[n]);
	for (unsigned int g = 0; g < set->nr_guests; g++) {
		const struct align_guest *guest;
		struct align *align;

		if (input_set_align(set, (int)g, &align, &guest))
			continue;
		if (guest->relation.note[0])
			json_array_append_new(list, json_string(guest->relation.note));
		clock_report_unverified(guest, set->nr_guests > 1, list);
	}
	json_array_foreach (more, i, text)
		json_array_append(list, text);
	return list;
}

static bool is_worse(const struct align_guest *a, const struct align_guest *b)
{
	static const int badness[] = {
		[CLOCK_VERIFIED] = 0, [CLOCK_NOT_CHECKED] = 1, [CLOCK_UNRELIABLE] = 2};
	int x = badness[align_verdict(a, NULL)], y = badness[align_verdict(b, NULL)];

	return x != y ? x > y : a->error_ns > b->error_ns;
}

/* The guest with the largest error, one whose clock is not verified first; NULL: there is only the host's clock. */
static const struct align_guest *worst_guest(const struct input_set *set)
{
	const struct align_guest *worst = NULL, *g;
	struct align *align;

	for (unsigned int i = 0; i < set->nr_guests; i++)
		if (!input_set_align(set, (int)i, &align, &g) && (!worst || is_worse(g, worst)))
			worst = g;
	return worst;
}

json_t *inputs_head(const struct input_set *set, const char *command, const json_t *more)
{
	const struct align_guest *g = worst_guest(set);
	enum clock_verdict verdict = g ? align_verdict(g, NULL) : CLOCK_VERIFIED;
	json_t *refuted = verdict == CLOCK_UNRELIABLE ? json_true() : NULL;
	json_t *inputs = inputs_json(set); /* may find a caveat */

	json_t *head = json_pack(
		"{s:{s:s, s:s}, s:o, s:{s:s, s:I, s:o*, s:s*}, s:o}", "hostrace", "version",
		HOSTRACE_VERSION, "command", command, "inputs", inputs, "clock", "method",
		g ? g->relation.protocol->name : "host", "error_ns",
		int64_of_double(g ? ceil(g->error_ns) : 0), "refuted", refuted, "verdict",
		g ? clock_verdict_name(verdict) : NULL, "caveats", caveats_json(set, more));

	return trace_info_in_ticks(&set->reader->info) ? report_json_in_ticks(head) : head;
}

static enum tone clock_tone(const struct align_guest *g)
{
	static const enum tone tones[] = {[CLOCK_NOT_CHECKED] = TONE_WARNING,
					  [CLOCK_UNRELIABLE] = TONE_BAD,
					  [CLOCK_VERIFIED] = TONE_GOOD};

	return tones[align_verdict(g, NULL)];
}

static void print_clock(const struct align_guest *g, bool ticks, bool color, FILE *out)
{
	char text[128];

	clock_report_verdict(g, ticks ? "ticks" : "ns", text, sizeof(text));
	caveat_print_tone(text, color ? clock_tone(g) : TONE_NONE, out);
}

/* Losses limit every figure; an unreliable clock makes all times of the guest wrong. */
static enum tone note_tone(const char *text)
{
	if (strstr(text, "unreliable"))
		return TONE_BAD;
	return strstr(text, " lost") || strstr(text, " missing") ? TONE_WARNING : TONE_NONE;
}

void inputs_foot(const struct input_set *set, const json_t *more, const struct output *out,
		 FILE *file)
{
	json_t *list = out->notes == NOTES_NONE ? NULL : caveats_json(set, more);
	size_t i;
	json_t *text;

	if (list && worst_guest(set))
		print_clock(worst_guest(set), trace_info_in_ticks(&set->reader->info), out->color,
			    file);
	json_array_foreach (list, i, text)
		caveat_print_tone(json_string_value(text),
				  out->color ? note_tone(json_string_value(text)) : TONE_NONE,
				  file);
	json_decref(list);
}

static json_t *report_head(const struct report *r)
{
	return inputs_head(r->inputs, r->command, r->caveats);
}

static void report_foot(const struct report *r)
{
	inputs_foot(r->inputs, r->caveats, r->out, r->out->file);
}

struct report report_of_inputs(const struct input_set *in, const char *command,
			       const struct output *out)
{
	return (struct report){.reader = in->reader,
			       .out = out,
			       .command = command,
			       .ticks = trace_info_in_ticks(&in->reader->info),
			       .wide = out->wide,
			       .inputs = in,
			       .head = report_head,
			       .foot = report_foot,
			       .note = out->note,
			       .empty = empty_explain};
}
