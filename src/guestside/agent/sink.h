/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For sink*.c only. */
#ifndef HOSTRACE_AGENT_SINK_H
#define HOSTRACE_AGENT_SINK_H

#include "guestside/agent/agent.h"

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

extern const struct sink_ops sink_file, sink_serial, sink_vsock, sink_shm;

#endif
