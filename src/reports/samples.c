// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens what reports of samples read, and says what it is. */
#include "reports/profile.h"

#include <errno.h>

#include "analyzers/profile/samples.h"
#include "base/error.h"
#include "base/units.h"
#include "base/version.h"
#include "output/report.h"
#include "readers/osv/osv.h"
#include "reports/head.h"

static int events_open(void *arg, struct reader **ret)
{
	struct input_set *in = arg;
	int err = input_set_open_all_times(in, NULL, NULL);

	*ret = in->reader;
	return err;
}

/* Of the last input: the guest's trace, if there is one. */
static const char *source_kind(void *arg)
{
	const struct input_set *in = arg;

	return in->input[input_set_nr(in) - 1].reader->info.kind;
}

/* --since and so on count from the trace's start. */
static int range_make(struct sample_source *s)
{
	uint64_t start, end, since, until;

	samples_span(s->trace, &start, &end);
	if (!input_options_window(s->in->options, start, end, &since, &until))
		return 0;
	if (since >= until)
		return fail(-EINVAL, "--since is not before --until");
	s->range = (struct time_range){since > 0, until < UINT64_MAX, (double)since, (double)until};
	return 0;
}

/* ---- one OSv trace, filtered ---- */

static bool sample_selects(void *source, const struct sample *sample)
{
	const struct sample_source *s = source;
	struct event ev;

	return !s->in->options->reasons.nr && osv_event_make(s->events, sample, &ev) &&
	       input_set_selects(s->in, &ev);
}

static int osv_filtered_open(struct sample_source *s)
{
	const struct input_options *o = s->in->options;
	int err = sample_range_of_osv(o, false, &s->range);

	if (!err)
		err = input_set_open_all_times(s->in, NULL, NULL);
	if (!err)
		err = osv_open(s->in->input[0].path, input_set_files(s->in), &s->trace);
	if (!err)
		err = osv_events_new(s->trace, &s->events);
	if (err)
		return err;
	s->trace->selects = sample_selects;
	s->trace->selects_arg = s;
	return 0;
}

/* ---- open and close ---- */

int sample_source_open(struct sample_source *s, struct input_set *in)
{
	struct samples_input input = {.open = events_open,
				      .kind = source_kind,
				      .arg = in,
				      .first_source = in->nr_guests ? in->nr_hosts : 0,
				      .files = input_set_files(in),
				      .code = in->options->code,
				      .name = in->input[input_set_nr(in) - 1].path};
	int err;

	s->in = in;
	if (input_set_nr(in) == 1 && osv_is_trace(in->input[0].path, input_set_files(in)) > 0)
		return osv_filtered_open(s);
	input_set_want_stacks(in);
	err = samples_open(&input, &s->trace);
	return err ? err : range_make(s);
}

int sample_source_open_osv(struct sample_source *s, const char *path, struct open_files *files)
{
	return osv_open(path, files, &s->trace);
}

void sample_source_close(struct sample_source *s)
{
	sample_trace_close(s->trace);
	osv_events_free(s->events);
	input_set_close(s->in);
	*s = (struct sample_source){0};
}

/* With compat a time of 0 counts as not given, as in OSv's tool. */
int sample_range_of_osv(const struct input_options *o, bool compat, struct time_range *ret)
{
	const char *from = o->since.text, *to = o->until.text, *length = o->period.text;
	double period_ns = 0;
	int err = 0;

	*ret = (struct time_range){0};
	if (from)
		err = parse_signed_duration(from, 1e9, &ret->since_ns);
	if (!err && to)
		err = parse_signed_duration(to, 1e9, &ret->until_ns);
	if (!err && length)
		err = parse_signed_duration(length, 1, &period_ns);
	if (err)
		return err;
	ret->has_since = from && (ret->since_ns != 0 || !compat);
	ret->has_until = to && ret->until_ns != 0;
	if (!length)
		return 0;
	if (ret->has_since && ret->has_until)
		return fail(-EINVAL, "--period cannot be used when both --since and --until are "
				     "specified");
	if (!ret->has_since && !ret->has_until)
		return fail(-EINVAL, "--period must be used with --since or --until specified");
	if (ret->has_since)
		ret->until_ns = ret->since_ns + period_ns;
	else
		ret->since_ns = ret->until_ns - period_ns;
	ret->has_since = ret->since_ns != 0 || !compat;
	ret->has_until = ret->until_ns != 0;
	return 0;
}

json_t *sample_source_head(const struct sample_source *s, const char *command, const json_t *more)
{
	if (s->in)
		return inputs_head(s->in, command, more);
	return json_pack("{s:{s:s, s:s}, s:[{s:o, s:s, s:I, s:i}], s:{s:s, s:i}, s:[]}", "hostrace",
			 "version", HOSTRACE_VERSION, "command", command, "inputs", "file",
			 json_text(s->trace->file), "kind", s->trace->kind, "events",
			 (json_int_t)s->trace->nr_read, "lost", 0, "clock", "method",
			 "guest uptime", "error_ns", 0, "caveats");
}
