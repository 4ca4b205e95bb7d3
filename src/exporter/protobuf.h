/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prometheus' protobuf format: families as messages of prometheus.proto by libprotobuf-c, each after its length.
 * Histograms have native buckets and classic ones; a family without samples is left out.
 */
#ifndef HOSTRACE_EXPORTER_PROTOBUF_H
#define HOSTRACE_EXPORTER_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct metric_labels;
struct metric_histogram;

/* The family that is being written. Zero-initialised: none. */
struct proto_family {
	uint8_t *data;
	size_t len, capacity;
	bool is_counter, has_samples;
	int err; /* the first one */
};

/* proto_family_end() comes before the next family. */
void proto_family_begin(struct proto_family *f, const char *name, const char *type,
			const char *help);
void proto_number(struct proto_family *f, const struct metric_labels *l, double value);
void proto_histogram(struct proto_family *f, const struct metric_labels *l,
		     const struct metric_histogram *h);

/* Nothing to do if none was begun. */
void proto_family_end(struct proto_family *f, FILE *out);

/* 0 or -ENOMEM. */
int proto_family_free(struct proto_family *f);

#endif
