/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families of samples in a format of Prometheus. */
#ifndef HOSTRACE_EXPORTER_TEXT_H
#define HOSTRACE_EXPORTER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporter/format.h"

struct metric_labels;
struct metric_histogram;

/* Who sends, and what holds for all samples; given before the first family. */
struct otlp_sender {
	const char *version, *host;
	uint64_t now_unix_ns;
	bool exponential; /* exponential histograms instead of explicit buckets */
};

struct otlp_bytes {
	size_t len;
	uint8_t *data;
};

struct otlp_list {
	struct otlp_bytes *item;
	size_t nr;
};

/* Zero-initialised but for the sender. */
struct otlp_request {
	struct otlp_sender sender;
	uint64_t start_unix_ns; /* since when the samples that follow count */
	const char *name, *type, *help; /* of the family that is being written; NULL: none */
	struct otlp_list points, metrics;
	int err; /* the first one */
};

void otlp_family(struct otlp_request *r, const char *name, const char *type, const char *help);
void otlp_integer(struct otlp_request *r, const struct metric_labels *l, uint64_t value);
void otlp_double(struct otlp_request *r, const struct metric_labels *l, double value);
void otlp_histogram(struct otlp_request *r, const struct metric_labels *l,
		    const struct metric_histogram *h);

/* Comes last, and frees all. 0 or -ENOMEM. */
int otlp_end(struct otlp_request *r, FILE *out);

/*
 * The receiver's answer with a status of success; it is not trusted. 0: all samples are accepted; 1: some are rejected;
 * -EPROTO: it is no answer of this protocol. `why` says it for a message, "" for 0.
 */
int otlp_answer_read(const void *answer, size_t len, char *why, size_t size);

struct metric_labels;
struct metric_histogram;

/* The family that is being written. Zero-initialised: none. */
struct proto_family {
	uint8_t *data;
	size_t len, capacity;
	bool is_counter, has_samples;
	int err; /* the first one */
};

enum {
	METRIC_LABELS_MAX = 4096, /* bytes of all labels of a sample; further labels are left out */
	METRIC_PAIRS_MAX = 32,	  /* labels of a sample; the same */
	METRIC_VALUE_MAX = 128,	  /* bytes of a label's value; longer ones are cut */
};

struct metric_text {
	FILE *out;	    /* NULL: samples are only counted */
	enum metric_format format;
	const char *family; /* name */
	uint64_t samples; /* as text has them: a line each */
	struct proto_family proto;
	struct otlp_request otlp;
};

/* name="value",... */
struct metric_labels {
	char text[METRIC_LABELS_MAX];
	size_t len;
	unsigned int nr;
};

/*
 * The value is untrusted: backslash and quote are escaped; control characters and what is no UTF-8, for which
 * Prometheus would reject the whole page, become '?'.
 */
void metric_label(struct metric_labels *l, const char *name, const char *value);
void metric_label_number(struct metric_labels *l, const char *name, uint64_t value);

/* The same, divided. */
struct metric_pairs {
	struct {
		char *name, *value; /* in text */
	} pair[METRIC_PAIRS_MAX];
	unsigned int nr;
	char text[METRIC_LABELS_MAX];
};

void metric_labels_split(const struct metric_labels *l, struct metric_pairs *ret);

/* The samples that follow belong to it. `type`: "counter", "gauge", "histogram". */
void metric_family(struct metric_text *t, const char *name, const char *type, const char *help);

/* A sample of the family; NULL: no labels. */
void metric_number(struct metric_text *t, const struct metric_labels *l, uint64_t value);
void metric_seconds(struct metric_text *t, const struct metric_labels *l, uint64_t ns);

/* A value that a histogram counted, and the file that explains it. */
struct metric_exemplar {
	const char *file; /* less than 119 characters, none of which is escaped */
	uint64_t value_ns, unix_ms;
};

/* Counts per bucket, and the upper bounds of all buckets but the last, which has none. */
struct metric_histogram {
	const uint64_t *bound_ns, *count;
	unsigned int nr; /* of buckets */
	const uint64_t *native; /* counts of EXPORT_NATIVES buckets (exporter/buckets.h) */
	uint64_t sum_ns;
	const struct metric_exemplar *exemplar; /* of the bucket of its value; not in text 0.0.4; NULL: none */
};

void metric_histogram(struct metric_text *t, const struct metric_labels *l,
		      const struct metric_histogram *h);

/* The double that a reader of the text gets. */
double metric_seconds_value(uint64_t ns);

/* Comes last. 0 or -ENOMEM with the error message set. */
int metric_end(struct metric_text *t);

#endif
