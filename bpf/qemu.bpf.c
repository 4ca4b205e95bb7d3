// SPDX-License-Identifier: GPL-2.0-or-later
/* QEMU's devices and machine: status, resets, errors, run state, port I/O of guests without KVM. */
#include "qemu.bpf.h"

/* ---- devices ---- */

static __always_inline int set_status(hr_u64 vdev, hr_u32 status)
{
	struct rec_virtio_set_status *rec;
	struct emit e;

	if (!device_begin(&e, vdev))
		return 0;
	rec = reserve(&e, virtio_set_status);
	if (!rec)
		return 0;
	rec->vdev = vdev;
	rec->status = status & 0xff;
	emit_publish(&e);
	return 0;
}

/* int virtio_set_status(VirtIODevice *vdev, uint8_t val) */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_set_status, hr_u64 vdev, hr_u32 status)
{
	return set_status(vdev, status);
}

SEC("usdt")
int usdt_virtio_set_status(struct pt_regs *ctx)
{
	return set_status(mark_arg(ctx, 0), mark_arg(ctx, 1));
}

static __always_inline int reset(hr_u64 vdev, hr_u32 leave)
{
	struct rec_virtio_reset *rec;
	struct emit e;

	if (!device_begin(&e, vdev))
		return 0;
	rec = reserve(&e, virtio_reset);
	if (!rec)
		return 0;
	rec->vdev = vdev;
	rec->leave = leave;
	emit_publish(&e);
	return 0;
}

/* void virtio_reset(void *opaque) */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_reset, hr_u64 vdev)
{
	struct thread_state *state = thread_enters();

	if (state)
		state->reset_vdev = vdev;
	return reset(vdev, 0);
}

SEC("uretprobe")
int ret_virtio_reset(struct pt_regs *ctx)
{
	struct thread_state *state = thread_returns(EV_virtio_reset);

	return state && state->reset_vdev ? reset(state->reset_vdev, 1) : 0;
}

/* void virtio_queue_reset(VirtIODevice *vdev, uint32_t queue_index) */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_queue_reset, hr_u64 vdev, hr_u32 index)
{
	struct rec_virtio_queue_reset *rec;
	struct emit e;

	if (!device_begin(&e, vdev))
		return 0;
	rec = reserve(&e, virtio_queue_reset);
	if (!rec)
		return 0;
	rec->vdev = vdev;
	rec->queue = index;
	emit_publish(&e);
	return 0;
}

/* void virtio_delete_queue(VirtQueue *vq) */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_delete_queue, hr_u64 vq)
{
	struct rec_virtio_delete_queue *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	device_forget(&e, q.vdev);
	rec = reserve(&e, virtio_delete_queue);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->queue = q.index;
	emit_publish(&e);
	return 0;
}

/* void virtio_cleanup(VirtIODevice *vdev): each device's unrealize ends with it */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_cleanup, hr_u64 vdev)
{
	struct rec_virtio_cleanup *rec;
	struct emit e;

	if (!device_begin(&e, vdev))
		return 0;
	rec = reserve(&e, virtio_cleanup);
	if (!rec)
		return 0;
	rec->vdev = vdev;
	emit_publish(&e);
	device_forget(&e, vdev);
	return 0;
}

/* void virtio_error(VirtIODevice *vdev, const char *fmt, ...) */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_error, hr_u64 vdev)
{
	struct rec_virtio_error *rec;
	struct emit e;

	if (!device_begin(&e, vdev))
		return 0;
	rec = reserve(&e, virtio_error);
	if (!rec)
		return 0;
	rec->vdev = vdev;
	emit_publish(&e);
	return 0;
}

/* int vhost_dev_start(struct vhost_dev *hdev, VirtIODevice *vdev, ...) */
SEC("uprobe")
int BPF_KPROBE(fn_vhost_start, hr_u64 hdev, hr_u64 vdev)
{
	struct rec_vhost_start *rec;
	struct emit e;

	if (!device_begin(&e, vdev))
		return 0;
	rec = reserve(&e, vhost_start);
	if (!rec)
		return 0;
	rec->vdev = vdev;
	emit_publish(&e);
	return 0;
}

/* ---- the machine ---- */

static __always_inline int vm_state(hr_u32 running, hr_u32 state)
{
	struct emit e;
	struct rec_vm_state *rec = record_begin(&e, vm_state);

	if (!rec)
		return 0;
	rec->running = running & 0xff; /* a bool */
	rec->state = state;
	emit_publish(&e);
	return 0;
}

/* void vm_state_notify(bool running, RunState state) */
SEC("uprobe")
int BPF_KPROBE(fn_vm_state, hr_u32 running, hr_u32 state)
{
	return vm_state(running, state);
}

SEC("usdt")
int usdt_vm_state(struct pt_regs *ctx)
{
	return vm_state(mark_arg(ctx, 0), mark_arg(ctx, 1));
}

/*
 * Port I/O of a TCG guest: the accessors of address spaces; "I/O" is the one for ports. An
 * AddressSpace begins with an RCU head of two pointers, then its name. Its address is cached once
 * found.
 */
enum { ADDRESS_SPACE_NAME = 16 };

static __always_inline bool is_io_space(struct vm_settings *s, hr_u64 as)
{
	char name[4] = "";

	if (s->address_space_io)
		return s->address_space_io == as;
	bpf_probe_read_user(name, sizeof(name), (void *)user_u64(as + ADDRESS_SPACE_NAME));
	if (name[0] != 'I' || name[1] != '/' || name[2] != 'O' || name[3])
		return false;
	s->address_space_io = as;
	return true;
}

static __always_inline int pio(hr_u64 as, hr_u64 port, hr_u32 val, hr_u32 size, hr_u32 write)
{
	struct rec_qemu_pio *rec;
	struct vm_settings *s;
	struct emit e;
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32;

	s = bpf_map_lookup_elem(&vms, &pid);
	if (!s || !is_io_space(s, as) || !emit_begin(&e))
		return 0;
	rec = reserve(&e, qemu_pio);
	if (!rec)
		return 0;
	rec->port = port;
	rec->count = 1;
	rec->val = val;
	rec->size = size;
	rec->write = write;
	emit_publish(&e);
	return 0;
}

/* void address_space_stb(AddressSpace *as, hwaddr addr, uint8_t val, MemTxAttrs attrs, MemTxResult
 * *result) */
SEC("uprobe")
int BPF_KPROBE(fn_qemu_pio_stb, hr_u64 as, hr_u64 port, hr_u32 val)
{
	return pio(as, port, val & 0xff, 1, 1);
}

SEC("uprobe")
int BPF_KPROBE(fn_qemu_pio_stw, hr_u64 as, hr_u64 port, hr_u32 val)
{
	return pio(as, port, val & 0xffff, 2, 1);
}

SEC("uprobe")
int BPF_KPROBE(fn_qemu_pio_stl, hr_u64 as, hr_u64 port, hr_u32 val)
{
	return pio(as, port, val, 4, 1);
}

/* uint8_t address_space_ldub(AddressSpace *as, hwaddr addr, MemTxAttrs attrs, MemTxResult *result)
 */
SEC("uprobe")
int BPF_KPROBE(fn_qemu_pio_ldub, hr_u64 as, hr_u64 port)
{
	return pio(as, port, 0, 1, 0);
}

SEC("uprobe")
int BPF_KPROBE(fn_qemu_pio_lduw, hr_u64 as, hr_u64 port)
{
	return pio(as, port, 0, 2, 0);
}

SEC("uprobe")
int BPF_KPROBE(fn_qemu_pio_ldl, hr_u64 as, hr_u64 port)
{
	return pio(as, port, 0, 4, 0);
}
