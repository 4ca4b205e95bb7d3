/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The request of OpenTelemetry's protocol (OTLP/HTTP) that carries all families: messages of opentelemetry.proto by
 * libprotobuf-c. https://opentelemetry.io/docs/specs/otlp/
 *
 * Names are those that a scraper gets, but counters without "_total", which a receiver that stores them for Prometheus
 * adds: https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/. A family without samples
 * is left out.
 */
#ifndef HOSTRACE_EXPORTER_OTLP_H
#define HOSTRACE_EXPORTER_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

#endif
