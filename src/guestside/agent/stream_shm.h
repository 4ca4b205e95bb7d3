/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest stream through memory that both sides see (an ivshmem device's, or the file behind it): one ring of bytes,
 * and who has come how far. Neither side's step costs an exit. doc/guest-stream.md specifies it.
 *
 *   | header, STREAM_SHM_HEAD bytes | data, to the end of the memory |
 *
 * The agent writes its half of the header and the data, the host the other half. Byte n of the stream is at data
 * offset n modulo the data's size. The agent begins (zeroed header, state WAITING, magic last); the host comes
 * (host_state HERE, its beat counts on); the agent streams until it ENDED, the host asks for the STOP or its beat
 * is stopped.
 */
#ifndef HOSTRACE_STREAM_SHM_H
#define HOSTRACE_STREAM_SHM_H

#include <stdint.h>

#define STREAM_SHM_MAGIC0 0x5453455547545248ull /* "HRTGUEST" */
#define STREAM_SHM_MAGIC1 0x1a0a4d4145525453ull /* "STREAM\n\032" */

enum {
	STREAM_SHM_VERSION = 1,
	STREAM_SHM_HEAD = 4096,
	STREAM_SHM_MIN = 64 << 10, /* bytes of the whole memory */
	STREAM_SHM_BEAT_MS = 10000, /* a host whose beat is stopped for so long is gone */
};

enum stream_shm_agent { STREAM_SHM_WAITING = 1, STREAM_SHM_STREAMING, STREAM_SHM_ENDED };
enum stream_shm_host { STREAM_SHM_NOBODY, STREAM_SHM_HERE, STREAM_SHM_STOP };

struct stream_shm {
	uint64_t magic[2];
	uint32_t version, state; /* enum stream_shm_agent */
	uint64_t data_bytes;
	uint64_t head; /* bytes written so far */
	uint8_t pad0[88];
	uint64_t tail;	     /* bytes read so far */
	uint32_t host_state; /* enum stream_shm_host */
	uint32_t host_beat;
	uint8_t pad1[112];
};

_Static_assert(sizeof(struct stream_shm) == 256, "format");

#endif
