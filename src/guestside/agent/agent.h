/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostrace-guest, the agent in a Linux guest: takes the kernel's own trace, with the TSC as its clock, and sends it to
 * the host as a guest stream (../stream.h). One static program, nothing but libc.
 *
 *   main.c     options, the life of one session
 *   tracefs.c  an instance of its own in tracefs: events on, pages out, and gone at the end
 *   stream.c   what is in tracefs and /proc becomes frames
 *   sink*.c    the ways to the host
 *
 * It must not harm the guest: what it changes is in its own instance, which it removes however it ends (a killed one's
 * is removed by the next); it never waits for the host without looking for a signal; when the host does not take the
 * data the kernel's buffers overflow, which the kernel counts.
 */
#ifndef HOSTRACE_AGENT_H
#define HOSTRACE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints an error message to stderr. Returns err. */
int complain(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A signal arrived: blocking calls return. */
extern volatile int agent_signalled;

/* ---- ways to the host ---- */

struct sink;

enum { SINK_STOP = 1 }; /* sink_look(): the host wants the rest and the end */

/* `to`: serial:PORT, vsock:PORT, shm:FILE, file:FILE or -. 0 or -errno, complained of. */
int sink_open(const char *to, struct sink **ret);

/* Until a host is there. 0; -EINTR: a signal; -errno. */
int sink_wait(struct sink *s);

/*
 * Everything, or -EPIPE: the host disconnected; -ETIMEDOUT: it did not read everything by until_ms (of
 * monotonic_ms(); 0: no limit but a few seconds after a signal); -errno.
 */
int sink_write(struct sink *s, const void *data, size_t len, uint64_t until_ms);

/* What the host has said meanwhile, within timeout_ms: 0, SINK_STOP, -EPIPE, -EINTR. */
int sink_look(struct sink *s, int timeout_ms);

/* The stream is whole: waits briefly until the host has read what is in transit. */
void sink_end(struct sink *s);
void sink_close(struct sink *s);

/* ---- tracefs ---- */

enum { TRACE_CPUS_MAX = 4096 };

struct trace {
	char dir[256]; /* the instance; "" if there is none */
	const char *root;
	int pipe[TRACE_CPUS_MAX]; /* trace_pipe_raw of each CPU, -1 where there is none */
	unsigned int nr_cpus;
	size_t page_size;
};

struct trace_options {
	const char *events; /* comma-separated SYSTEM, SYSTEM:GLOB; NULL: the default ones */
	const char *clock;
	uint64_t buffer_kb;
	bool stack;
};

/* Makes the instance, events chosen, tracing off. 0 or -errno, complained of; close in any case. */
int trace_open(struct trace *t, const struct trace_options *opt);
void trace_close(struct trace *t);

int trace_on(struct trace *t, bool on);

/* A whole file under the instance ("set_event") or, with a '/' before it, under tracefs's root. NULL, or to free. */
char *trace_read(const struct trace *t, const char *name, size_t *ret_len);

/* The next page of a CPU, page_size bytes. 1, 0: nothing there now, -errno. */
int trace_page(struct trace *t, unsigned int cpu, uint8_t *page);

/* ---- the stream ---- */

struct stream {
	struct sink *sink;
	uint64_t until_ms; /* of sink_write() */
	uint8_t *buf;
	size_t len;
	uint64_t bytes, pages;
};

int stream_open(struct stream *st, struct sink *sink);
void stream_close(struct stream *st);

int stream_frame(struct stream *st, unsigned int kind, unsigned int cpu, const void *data,
		 size_t len);
int stream_flush(struct stream *st);

/* All that comes before the first page: what this is, the formats, the symbols if they are wanted, the names. */
int stream_begin(struct stream *st, const struct trace *t, const char *clock, bool symbols);

/* All pages that are there now. */
int stream_pages(struct stream *st, struct trace *t);

/* All that comes after the last page. */
int stream_end(struct stream *st, const struct trace *t, const char *why);

/* For sink*.c only. */

struct stream_shm;

struct sink {
	const struct sink_ops *ops;
	const char *to; /* after the ':' */
	int fd, listener;
	bool stop_said;
	/* sink_shm.c */
	struct stream_shm *shm;
	uint8_t *data;
	size_t shm_bytes, data_bytes;
	uint64_t head, beat_ms;
	uint32_t beat;
};

struct sink_ops {
	const char *name;
	int (*open)(struct sink *s);
	int (*wait)(struct sink *s);
	/* Some of it: > 0; 0: nothing fits now; -errno. */
	long (*put)(struct sink *s, const void *data, size_t len);
	int (*look)(struct sink *s, int timeout_ms, bool writing);
	void (*end)(struct sink *s);
};

#endif
