/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prometheus' text format, version 0.0.4: families of samples, each with its HELP and TYPE lines.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 *
 * The format is a few lines of code; a client library would keep a second copy of all counters.
 */
#ifndef HOSTRACE_EXPORTER_TEXT_H
#define HOSTRACE_EXPORTER_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	METRIC_LABELS_MAX = 4096, /* bytes of all labels of a sample; further labels are left out */
	METRIC_VALUE_MAX = 128,	  /* bytes of a label's value; longer ones are cut */
};

struct metric_text {
	FILE *out;	    /* NULL: samples are only counted */
	const char *family; /* name */
	uint64_t samples;
};

/* name="value",... */
struct metric_labels {
	char text[METRIC_LABELS_MAX];
	size_t len;
};

/*
 * The value is untrusted: backslash and quote are escaped; control characters and what is no UTF-8, for which
 * Prometheus would reject the whole page, become '?'.
 */
void metric_label(struct metric_labels *l, const char *name, const char *value);
void metric_label_number(struct metric_labels *l, const char *name, uint64_t value);

/* The samples that follow belong to it. `type`: "counter", "gauge", "histogram". */
void metric_family(struct metric_text *t, const char *name, const char *type, const char *help);

/* A sample of the family; NULL: no labels. */
void metric_number(struct metric_text *t, const struct metric_labels *l, uint64_t value);
void metric_seconds(struct metric_text *t, const struct metric_labels *l, uint64_t ns);

/* Counts per bucket, and the upper bounds of all buckets but the last, which has none. */
struct metric_histogram {
	const uint64_t *bound_ns, *count;
	unsigned int nr; /* of buckets */
	uint64_t sum_ns;
};

void metric_histogram(struct metric_text *t, const struct metric_labels *l,
		      const struct metric_histogram *h);

#endif
