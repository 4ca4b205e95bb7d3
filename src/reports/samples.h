/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reports of samples read: one OSv trace as it is, or the events of any inputs, as the samples that they mean
 * (analyzers/profile/samples.h).
 */
#ifndef HOSTRACE_REPORTS_SAMPLES_H
#define HOSTRACE_REPORTS_SAMPLES_H

#include <jansson.h>

#include "event/sample.h"
#include "input/input_set.h"

struct sample_source {
	struct sample_trace *trace;
	struct time_range range; /* that is asked for; the report looks at it: a pair may begin before */
	struct input_set *in;	 /* what trace reads; NULL: an OSv trace as it is */
};

/* Of a zeroed source, to be closed also after a failure. Steals `in`, which is not open. */
int sample_source_open(struct sample_source *s, struct input_set *in);
int sample_source_open_osv(struct sample_source *s, const char *path);
void sample_source_close(struct sample_source *s);

/*
 * The time window of an OSv trace, as OSv's tool takes it: --since and --until in seconds unless a unit is given,
 * --period in nanoseconds. -EINVAL with the error message set.
 */
int sample_range_of_osv(const struct input_options *o, bool compat, struct time_range *ret);

/* The head of its JSON answer. New reference. */
json_t *sample_source_head(const struct sample_source *s, const char *command, const json_t *more);

#endif
