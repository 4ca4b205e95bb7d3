// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is behind a block device of QEMU: the block drivers that a request passes, and those of them that hold requests,
 * out of QEMU's memory and without its symbols.
 *
 *   VirtIOBlock ─► BlockBackend ─► root BdrvChild ─► BlockDriverState ─► BlockDriver.format_name "throttle"
 *                                   "root"              │ children
 *                                                       └─► BdrvChild "file" ─► BlockDriverState ─► "blkdebug" ...
 *
 * Each step is one pointer at the beginning of a structure (QEMU 7.2 to 11.1: include/sysemu/block-backend.h,
 * include/block/block_int-common.h), and must end at the name of a driver. A throttled member (ThrottleGroupMember)
 * contains a pointer to its own beginning, followed by the numbers of reads and writes that it holds; a request at
 * a blkdebug breakpoint is in a list that points back at its head.
 */
#include <ctype.h>

#include "base/array.h"
#include "event/event.h"
#include "vm/virtq_requests.h"

enum {
	DEVICE_BYTES = 2048, /* of the device, in which BlockConf.blk is */
	BACKEND_ROOT = 16,
	BACKEND_BYTES = 1024,
	CHILD_NAME = 8,
	NODE_DRIVER = 16,
	NODE_OPAQUE = 24,
	NODE_FILE_FROM = 32, /* BlockDriverState.filename begins within these */
	NODE_FILE_TO = 96,
	NODE_BYTES = 20480, /* its children follow four paths */
	NODE_PIECE = 512,
	STATE_BYTES = 4096, /* of a driver's state */
	SELF_MIN = 64,	    /* from the beginning of a ThrottleGroupMember to its pointer to itself */
	SELF_MAX = 512,
	PENDING_MAX = 1 << 20,
	SUSPENDED_MAX = 1024,
	REQUEST_BYTES = 1024, /* of a VirtIOSCSIReq, without its buffers */
	ADAPTER_BYTES = 4096, /* in which its bus is */
	SCSI_DEV = 8,
};

struct walk {
	const struct memory *m;
	struct block_backend *ret;
	uint64_t seen[BLOCK_NODES_MAX];
};

static uint64_t u64_read(const struct memory *m, uint64_t at)
{
	uint8_t p[8];

	return !at || at & 7 || memory_read(m, at, p, sizeof(p)) ? 0 : memory_le(p, 8);
}

static void text_read(const struct memory *m, uint64_t at, char *buf, size_t size)
{
	memset(buf, 0, size);
	for (size_t i = 0; at && i + 1 < size; i++)
		if (memory_read(m, at + i, buf + i, 1) || !buf[i])
			break;
}

/* What can be read of a structure whose size is unknown; the rest is 0. */
static void bytes_read(const struct memory *m, uint64_t at, uint8_t *buf, size_t size)
{
	memset(buf, 0, size);
	for (size_t done = 0; done < size; done += NODE_PIECE)
		if (memory_read(m, at + done, buf + done, NODE_PIECE)) {
			memset(buf + done, 0, size - done);
			return;
		}
}

/* "null-co", "qcow2", "copy-on-read" */
static bool is_driver_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	return len > 1 && !name[len] && islower((unsigned char)*name);
}

static bool driver_read(const struct memory *m, uint64_t bs, char *name, size_t size)
{
	text_read(m, u64_read(m, u64_read(m, bs + NODE_DRIVER)), name, size);
	return is_driver_name(name);
}

/* ---- nodes that hold requests ---- */

/* Adds the requests that a ThrottleGroupMember in these bytes holds. */
static void throttled_add(struct walk *w, const uint8_t *p, size_t size, uint64_t base)
{
	for (size_t at = SELF_MIN; at + 16 <= size; at += 8) {
		uint64_t self = memory_le(p + at, 8);
		uint32_t reads = (uint32_t)memory_le(p + at + 8, 4),
			 writes = (uint32_t)memory_le(p + at + 12, 4);

		/* two callbacks are before it */
		if (self < base || base + at < self + SELF_MIN || base + at > self + SELF_MAX ||
		    !memory_le(p + at - 8, 8) || !memory_le(p + at - 16, 8) ||
		    reads > PENDING_MAX || writes > PENDING_MAX)
			continue;
		w->ret->throttled += reads + writes;
		return;
	}
}

/* BlkdebugSuspendedReq {co, tag, next, prev}: prev points at what points at it. */
static void suspended_add(struct walk *w, const uint8_t *p, size_t size, uint64_t base)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t from = base + at, one = memory_le(p + at, 8);

		for (unsigned int i = 0; one && i < SUSPENDED_MAX; i++) {
			char tag[BLOCK_NAME_MAX];

			if (u64_read(w->m, one + 24) != from)
				break;
			text_read(w->m, u64_read(w->m, one + 8), tag, sizeof(tag));
			if (!isgraph((unsigned char)tag[0]))
				break;
			text_sanitize(tag);
			snprintf(w->ret->breakpoint, sizeof(w->ret->breakpoint), "%s", tag);
			w->ret->suspended++;
			from = one + 16;
			one = u64_read(w->m, from);
		}
	}
}

static void holders_add(struct walk *w, const char *driver, uint64_t opaque)
{
	uint8_t p[STATE_BYTES];

	if (!opaque)
		return;
	bytes_read(w->m, opaque, p, sizeof(p));
	if (!strcmp(driver, "throttle"))
		throttled_add(w, p, SELF_MAX, opaque);
	else if (!strcmp(driver, "blkdebug"))
		suspended_add(w, p, sizeof(p), opaque);
}

/* ---- nodes ---- */

static bool seen(const struct walk *w, uint64_t bs)
{
	return array_any(w->ret->nr, i, w->seen[i] == bs);
}

/* The name after the flags and pointers: the first text that is no part of a pointer, which has 6 bytes in use. */
static void file_read(const uint8_t *p, struct block_node *n)
{
	for (size_t at = NODE_FILE_FROM; at < NODE_FILE_TO; at++) {
		size_t len = 0;

		while (len < BLOCK_FILE_MAX - 1 && isprint(p[at + len]))
			len++;
		if (len < 3 || p[at + len] || (at + len - 1) / 8 == at / 8)
			continue;
		snprintf(n->file, sizeof(n->file), "%.*s", (int)len, (const char *)p + at);
		return;
	}
}

/* Appends a node; false: there are too many, it is known, or is none. */
static bool node_add(struct walk *w, uint64_t bs)
{
	struct block_node *n = &w->ret->node[w->ret->nr];

	if (w->ret->nr == BLOCK_NODES_MAX || seen(w, bs) ||
	    !driver_read(w->m, bs, n->driver, sizeof(n->driver)))
		return false;
	w->seen[w->ret->nr++] = bs;
	holders_add(w, n->driver, u64_read(w->m, bs + NODE_OPAQUE));
	return true;
}

/* Any pointer to a BdrvChild: {bs, name}. */
static void children_add(struct walk *w, const uint8_t *p)
{
	for (size_t at = NODE_FILE_TO; at + 8 <= NODE_BYTES; at += 8) {
		uint64_t child = memory_le(p + at, 8), bs;
		char name[BLOCK_NAME_MAX];

		if (!child || child & 7 || !(bs = u64_read(w->m, child)))
			continue;
		text_read(w->m, u64_read(w->m, child + CHILD_NAME), name, sizeof(name));
		if (is_driver_name(name))
			node_add(w, bs);
	}
}

static void nodes_walk(struct walk *w)
{
	uint8_t p[NODE_BYTES];

	for (unsigned int i = 0; i < w->ret->nr; i++) { /* grows meanwhile */
		bytes_read(w->m, w->seen[i], p, sizeof(p));
		file_read(p, &w->ret->node[i]);
		children_add(w, p);
	}
}

uint64_t block_scsi_disk(const struct memory *m, uint64_t vdev, uint64_t request, uint32_t bytes)
{
	uint8_t p[REQUEST_BYTES];

	bytes_read(m, request, p, sizeof(p));
	for (size_t at = 0; at + 8 <= sizeof(p) && at + 8 <= bytes; at += 8) {
		uint64_t sreq = memory_le(p + at, 8), bus = u64_read(m, sreq);

		if (bus > vdev && bus - vdev < ADAPTER_BYTES)
			return u64_read(m, sreq + SCSI_DEV);
	}
	return 0;
}

void block_backend_read(const struct memory *m, uint64_t device, struct block_backend *ret)
{
	struct walk w = {.m = m, .ret = ret};
	uint8_t p[DEVICE_BYTES], backend[BACKEND_BYTES];

	*ret = (struct block_backend){0};
	bytes_read(m, device, p, sizeof(p));
	for (size_t at = 0; at + 8 <= sizeof(p) && !ret->nr; at += 8) {
		uint64_t blk = memory_le(p + at, 8);
		uint64_t root = blk && !(blk & 7) ? u64_read(m, blk + BACKEND_ROOT) : 0;
		char name[BLOCK_NAME_MAX];

		if (!root)
			continue;
		text_read(m, u64_read(m, root + CHILD_NAME), name, sizeof(name));
		if (strcmp(name, "root") || !node_add(&w, u64_read(m, root)))
			continue;
		bytes_read(m, blk, backend, sizeof(backend));
		throttled_add(&w, backend, sizeof(backend), blk);
		nodes_walk(&w);
	}
}
