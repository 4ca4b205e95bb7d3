/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_EXPORTER_H
#define HOSTRACE_EXPORTER_H

#include <stddef.h>
#include <sys/types.h>

#include "commands/live/top.h"
#include "exporter/page.h"
#include "exporter/server.h"

struct exporter_events_options {
	bool queues, downtime;	  /* which of them */
	unsigned int devices_max; /* of a VM that have series of their own */
};

struct exporter_events;

/* Errors with the error message set. */
int exporter_events_open(const struct exporter_events_options *o, struct exporter_events **ret);
void exporter_events_close(struct exporter_events *e);

/*
 * Attaches to VMs that are new, and forgets those that have ended. A VM to which nothing can be attached is not
 * watched. -ENOMEM with the error message set.
 */
int exporter_events_follow(struct exporter_events *e, const struct top_vms *vms);

/* Are its requests followed, its stops? */
bool exporter_events_watch_devices(const struct exporter_events *e, pid_t pid);
bool exporter_events_watch_downtime(const struct exporter_events *e, pid_t pid);

/* How long events may wait to be read. */
int exporter_events_pause_ms(const struct exporter_events *e);

/* Reads the events that have come. */
int exporter_events_drain(struct exporter_events *e);

/* What is in flight, and how long VMs have been stopped: to be called before a page is written. */
int exporter_events_read(struct exporter_events *e, struct export_state *ret);

/* The i-th of the probes that are attached to QEMU; false: there are no more. */
bool exporter_events_probe(struct exporter_events *e, unsigned int i, struct export_probe *ret);

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
