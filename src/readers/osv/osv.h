/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OSv's traces: a unikernel writes tracepoint samples into one ring per vCPU; they leave the guest
 * in three forms.
 *
 *   "tracefile" version 3   saved through gdb, or converted: a dictionary of the tracepoints used, then samples, one
 *                           after another without alignment, until the end of the file
 *   OSVT dump               the answer to GET /trace/buffers; TRCD the dictionary, one TRCS per CPU with records
 *                           as in the ring, MODS and SYMB modules and symbols
 *   images of the rings     see raw.h
 *
 * All are opened the same way here and return the same samples, in the order of OSv's own tool. A
 * sample's time is nanoseconds since the guest's boot; 0 means that the clock was not running yet.
 *
 * The guest is untrusted: all data is read through a bounded cursor over the mapped file.
 */
#ifndef HOSTRACE_OSV_H
#define HOSTRACE_OSV_H

#include <stdio.h>

#include "event/reader.h"
#include "event/sample.h"

#define OSV_DEFAULT_ELF "build/release/loader.elf" /* the ELF file in OSv's own tree */

enum {
	OSV_STREAMS_MAX = 4096,	  /* per-CPU chunks of one dump */
	OSV_BACKTRACE_MAX = 4096, /* addresses of one sample in a tracefile */
};

/* Does the file begin like one of the two? */
bool osv_is_tracefile(const uint8_t *head, size_t len);
bool osv_is_dump(const uint8_t *head, size_t len);

/*
 * Is the file there, and an OSv trace of any form: 1 or 0. -errno with the error message set: it cannot be read, which
 * is no reason to take it for something else. `files` keeps it (base/open_files.h), or is NULL.
 */
int osv_is_trace(const char *path, struct open_files *files);

/* Any of the three forms, kept in the same way. 0, or -errno with the error message set (file and offset). */
int osv_open(const char *path, struct open_files *files, struct sample_trace **ret);

/*
 * OSv's traces as events "osv:NAME": thread, comm, the arguments a0, a1, ... by their signature,
 * and the first return addresses as frame0, frame1, ... Times are the guest's uptime: meta "clock"
 * is "guest-uptime".
 */
extern const struct reader_ops osv_reader;

/*
 * A sample as the event that osv_reader makes of it, for filters on events; valid until the next one. False: its
 * signature is unknown, and osv_reader has no event of it. osv_events_new(): 0 or -errno with the error message set.
 */
struct osv_events;
int osv_events_new(const struct sample_trace *t, struct osv_events **ret);
void osv_events_free(struct osv_events *e);
bool osv_event_make(struct osv_events *e, const struct sample *s, struct event *ret);

/* Writes a trace as a tracefile of version 3. 0 or -errno with the error message set; the caller
 * finds write errors when it closes the file. */
int osv_convert(struct sample_trace *t, FILE *out);

#endif
