/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the QEMU probe programs. There are two ways to record each event:
 *
 *	usdt_X	the USDT probe (mark) that QEMU has if it was built with the dtrace backend
 *	fn_X	entry of the exported function that replaces it on stock builds, ret_X its return
 *
 * A mark or a function provides little more than addresses; the other fields are read from QEMU's memory at the offsets
 * that the collector put into vms (the same in all releases from 7.0 to 11.1). A read that fails (a page that is not
 * mapped) gives 0.
 */
#ifndef HOSTRACE_QEMU_BPF_H
#define HOSTRACE_QEMU_BPF_H

#include "emit.bpf.h"

#include <bpf/usdt.bpf.h>

/* ---- devices: the address is the key, the name is written once ---- */

enum { DEVICES_MAX = 8192 }; /* of all VMs; with more, some names are written repeatedly */

struct device_key {
	hr_u64 vdev;
	hr_u32 pid, pad;
};

enum { DEVICE_NAMED = 1, DEVICE_BLOCK }; /* DEVICE_BLOCK: it is a virtio-blk as well */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, DEVICES_MAX);
	__type(key, struct device_key);
	__type(value, hr_u8);
} devices_named SEC(".maps") __weak;

static __always_inline hr_u64 user_u64(hr_u64 addr)
{
	hr_u64 v = 0;

	bpf_probe_read_user(&v, sizeof(v), (void *)addr);
	return v;
}

static __always_inline hr_u32 user_u32(hr_u64 addr)
{
	hr_u32 v = 0;

	bpf_probe_read_user(&v, sizeof(v), (void *)addr);
	return v;
}

static __always_inline struct vm_settings *settings_of(struct emit *e)
{
	return bpf_map_lookup_elem(&vms, &e->pid);
}

/*
 * VirtIODevice.name follows DeviceState, whose size differs even between builds of one release (152 and 160 bytes
 * have been seen). So it is searched: the first pointer after it to a text with the prefix of these names.
 */
enum { VDEV_NAME_FIRST = 120, VDEV_NAME_LAST = 192 };

static __always_inline bool is_device_name(const char *s)
{
	return s[0] == 'v' && ((s[1] == 'i' && s[2] == 'r' && s[3] == 't' && s[4] == 'i') ||
			       (s[1] == 'h' && s[2] == 'o' && s[3] == 's' && s[4] == 't'));
}

/* "virtio-blk" */
static __always_inline bool is_block_device(const char *kind)
{
	return kind[0] == 'v' && kind[1] == 'i' && kind[7] == 'b' && kind[8] == 'l' &&
	       kind[9] == 'k' && !kind[10];
}

static __noinline int device_kind(hr_u32 pid, hr_u32 tid, hr_u64 vdev)
{
	struct emit e = {.pid = pid, .tid = tid, .vcpu = RECORD_NO_VCPU};
	struct rec_virtio_kind *rec;
	char kind[sizeof(rec->kind)] = "";

	ring_here(&e);
	/* Unrolled: the verifier of Linux 6.1 rejects a loop as endless if it does not track the counter. */
#pragma unroll
	for (int at = VDEV_NAME_FIRST; at <= VDEV_NAME_LAST && !is_device_name(kind); at += 8) {
		__builtin_memset(kind, 0, sizeof(kind));
		bpf_probe_read_user_str(kind, sizeof(kind), (void *)user_u64(vdev + at));
	}
	if (is_block_device(kind)) {
		struct device_key key = {.vdev = vdev, .pid = pid};
		hr_u8 block = DEVICE_BLOCK;

		bpf_map_update_elem(&devices_named, &key, &block, BPF_EXIST);
	}
	rec = e.ring && is_device_name(kind) ? reserve(&e, virtio_kind) : NULL;
	if (!rec)
		return 0;
	rec->vdev = vdev;
	__builtin_memcpy(rec->kind, kind, sizeof(kind));
	emit_publish(&e);
	return 0;
}

/* A function of its own: it runs once per device and would be inlined dozens of times. */
static __noinline int device_name(hr_u32 pid, hr_u32 tid, hr_u64 vdev, hr_u32 vdev_path)
{
	struct emit e = {.pid = pid, .tid = tid, .vcpu = RECORD_NO_VCPU};
	struct device_key key = {.vdev = vdev, .pid = pid};
	struct rec_virtio_device *rec;
	hr_u8 one = DEVICE_NAMED;

	ring_here(&e);
	rec = e.ring ? reserve(&e, virtio_device) : NULL;
	if (!rec)
		return 0;
	rec->vdev = vdev;
	rec->path[0] = '\0';
	bpf_probe_read_user_str(rec->path, sizeof(rec->path), (void *)user_u64(vdev + vdev_path));
	if (rec->path[0] != '/') /* not a QOM path: these begin with it */
		rec->path[0] = '\0';
	emit_publish(&e);
	return (int)bpf_map_update_elem(&devices_named, &key, &one, BPF_ANY);
}

/* Writes the device's name before its first event. */
static __always_inline void device_seen(struct emit *e, const struct vm_settings *s, hr_u64 vdev)
{
	struct device_key key = {.vdev = vdev, .pid = e->pid};

	if (!vdev || bpf_map_lookup_elem(&devices_named, &key))
		return;
	device_name(e->pid, e->tid, vdev, s->vdev_path);
	device_kind(e->pid, e->tid, vdev);
}

/* A device's memory may be reused for another device. */
static __always_inline void device_forget(struct emit *e, hr_u64 vdev)
{
	struct device_key key = {.vdev = vdev, .pid = e->pid};

	bpf_map_delete_elem(&devices_named, &key);
}

/* The start of every queue event. False: not an event of a traced VM. */
struct queue {
	hr_u64 vq, vdev;
	hr_u32 index;
	struct vm_settings *settings;
};

/*
 * A read of user memory is the most expensive operation here, whatever its length, so adjacent members are read
 * at once. In a VirtQueue: the index, and a few words after it the device.
 */
static __always_inline void queue_read(struct queue *q)
{
	const struct vm_settings *s = q->settings;
	hr_u64 words[8] = {0};

	bpf_probe_read_user(words, sizeof(words), (void *)(q->vq + s->vq_queue));
	q->index = words[0] & 0xffff;
	q->vdev = words[(s->vq_vdev - s->vq_queue) / 8 & 7];
}

/* A VirtQueueElement begins with 4-byte numbers; only these are read, as they may end a page. */
struct element {
	hr_u32 words[8];
};

enum { ELEMENT_NUMBERS_BYTES = 20 };

static __always_inline void element_read(struct element *e, hr_u64 elem)
{
	__builtin_memset(e, 0, sizeof(*e));
	bpf_probe_read_user(e, ELEMENT_NUMBERS_BYTES, (void *)elem);
}

static __always_inline hr_u32 element_word(const struct element *e, hr_u32 offset)
{
	return e->words[offset / 4 & 7];
}

static __always_inline bool queue_begin(struct emit *e, struct queue *q, hr_u64 vq)
{
	if (!emit_begin(e))
		return false;
	q->settings = settings_of(e);
	if (!q->settings)
		return false;
	q->vq = vq;
	queue_read(q);
	device_seen(e, q->settings, q->vdev);
	return true;
}

static __always_inline bool device_begin(struct emit *e, hr_u64 vdev)
{
	struct vm_settings *s;

	if (!emit_begin(e))
		return false;
	s = settings_of(e);
	if (!s)
		return false;
	device_seen(e, s, vdev);
	return true;
}

/* The state of the current thread, which passes values from a function's entry to its return. NULL: no memory. */
static __always_inline struct thread_state *thread_enters(void)
{
	if (!vm_traced(bpf_get_current_pid_tgid() >> 32))
		return NULL;
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* The same at the return; if there is none, the return's record is lost, and counted. */
static __always_inline struct thread_state *thread_returns(hr_u16 type)
{
	struct thread_state *state = thread_enters();
	struct emit e;

	if (!state && emit_begin(&e))
		emit_lost(&e, type);
	return state;
}

static __always_inline hr_u64 mark_arg(struct pt_regs *ctx, hr_u64 nr)
{
	long v = 0;

	bpf_usdt_arg(ctx, nr, &v);
	return v;
}

#endif
