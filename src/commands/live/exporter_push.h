/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exporter --otlp: sends the figures to a receiver of OpenTelemetry's protocol at intervals, through hostrace-http. One
 * request is on its way at a time; the exporter does not wait for it. A request that fails is not repeated: all figures
 * are totals, so that the next one has what it had.
 */
#ifndef HOSTRACE_COMMANDS_EXPORTER_PUSH_H
#define HOSTRACE_COMMANDS_EXPORTER_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/page.h"

struct exporter_push_options {
	const char *url, *cacert, *headers; /* headers, cacert: files, or NULL */
	uint64_t interval_ns;
	bool exponential;
};

struct exporter_push;

/* Starts hostrace-http: before confine(). Errors with the error message set. */
int exporter_push_open(const struct exporter_push_options *o, struct exporter_push **ret);
void exporter_push_close(struct exporter_push *p);

/* How long until a request is due, at most `most`; while one is on its way, `most`. */
int exporter_push_pause_ms(const struct exporter_push *p, int most);

/* Sends the request that is due. -errno with the error message set: hostrace-http has ended. */
int exporter_push_send(struct exporter_push *p, const void *data, size_t len);

/* Can be read when there is an answer, or -1. */
int exporter_push_fd(const struct exporter_push *p);

/*
 * Takes a part of the answer. A request that failed is reported, the next one that fails in the same way is not. -errno
 * with the error message set: hostrace-http has ended.
 */
int exporter_push_receive(struct exporter_push *p);

/* For the page. */
struct export_pushes exporter_push_counts(const struct exporter_push *p);

/* The process that sends. */
pid_t exporter_push_pid(const struct exporter_push *p);

#endif
