// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The life of a virtqueue element in QEMU, from the guest's kick to the interrupt: notify, pop,
 * fill, flush, notify.
 *
 * A user probe costs at least half a microsecond, so a request passes as few of them as possible: two
 * for pop (the queue is known at the function's entry, the element at its return) and one for each of
 * the others.
 */
#include "qemu.bpf.h"

/* ---- pop ---- */

/* Set before loading: write blk_request? */
const volatile bool blk_requests = false;

/* What a request to a virtio-blk begins with (virtio 1.2, 5.2.6). */
struct blk_header {
	hr_u32 type, ioprio;
	hr_u64 sector;
};

/*
 * It is in the first segment that the device reads: VirtQueueElement.out_sg[0], a struct iovec. out_sg is the fourth
 * pointer after the numbers that end with in_num, in all releases. A driver may split the header, which none does.
 */
static __always_inline void blk_request(struct emit *e, const struct queue *q, hr_u64 elem,
					hr_u32 head)
{
	enum { OUT_SG_AFTER_IN_NUM = 32 };
	struct device_key key = {.vdev = q->vdev, .pid = e->pid};
	hr_u8 *kind = bpf_map_lookup_elem(&devices_named, &key);
	struct rec_blk_request *rec;
	struct blk_header header;
	hr_u64 out_sg[2] = {0};

	if (!kind || *kind != DEVICE_BLOCK)
		return;
	bpf_probe_read_user(out_sg, sizeof(out_sg),
			    (void *)user_u64(elem + q->settings->elem_in + OUT_SG_AFTER_IN_NUM));
	if (out_sg[1] < sizeof(header) ||
	    bpf_probe_read_user(&header, sizeof(header), (void *)out_sg[0]))
		return;
	rec = reserve(e, blk_request);
	if (!rec)
		return;
	rec->vq = q->vq;
	rec->sector = header.sector;
	rec->head = head;
	rec->type = header.type;
	emit_publish(e);
}

static __always_inline int pop(hr_u64 vq, hr_u64 elem)
{
	struct rec_virtqueue_pop *rec;
	struct element el;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtqueue_pop);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->elem = elem;
	element_read(&el, elem);
	rec->head = element_word(&el, q.settings->elem_head);
	rec->in_num = element_word(&el, q.settings->elem_in);
	rec->out_num = element_word(&el, q.settings->elem_out);
	rec->ndescs = element_word(&el, q.settings->elem_ndescs);
	rec->queue = q.index;
	emit_publish(&e);
	if (blk_requests)
		blk_request(&e, &q, elem, element_word(&el, q.settings->elem_head));
	return 0;
}

/* void *virtqueue_pop(VirtQueue *vq, size_t sz): NULL if the queue is empty */
SEC("uprobe")
int BPF_KPROBE(fn_virtqueue_pop, hr_u64 vq)
{
	struct thread_state *state = thread_enters();

	if (state)
		state->pop_vq = vq;
	return 0;
}

SEC("uretprobe")
int BPF_KRETPROBE(ret_virtqueue_pop, hr_u64 elem)
{
	struct thread_state *state = elem ? thread_returns(EV_virtqueue_pop) : NULL;

	return state && state->pop_vq ? pop(state->pop_vq, elem) : 0;
}

SEC("usdt")
int usdt_virtqueue_pop(struct pt_regs *ctx)
{
	return pop(mark_arg(ctx, 0), mark_arg(ctx, 1));
}

/* ---- fill, flush ---- */

static __always_inline int fill(hr_u64 vq, hr_u64 elem, hr_u32 len, hr_u32 idx)
{
	struct rec_virtqueue_fill *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtqueue_fill);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->elem = elem;
	rec->head = user_u32(elem + q.settings->elem_head);
	rec->len = len;
	rec->queue = q.index;
	rec->idx = idx;
	emit_publish(&e);
	return 0;
}

/* void virtqueue_fill(VirtQueue *vq, const VirtQueueElement *elem, unsigned len, unsigned idx) */
SEC("uprobe")
int BPF_KPROBE(fn_virtqueue_fill, hr_u64 vq, hr_u64 elem, hr_u32 len, hr_u32 idx)
{
	return fill(vq, elem, len, idx);
}

SEC("usdt")
int usdt_virtqueue_fill(struct pt_regs *ctx)
{
	return fill(mark_arg(ctx, 0), mark_arg(ctx, 1), mark_arg(ctx, 2), mark_arg(ctx, 3));
}

static __always_inline int flush(hr_u64 vq, hr_u32 count)
{
	struct rec_virtqueue_flush *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtqueue_flush);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->count = count;
	rec->queue = q.index;
	emit_publish(&e);
	return 0;
}

/* void virtqueue_flush(VirtQueue *vq, unsigned count) */
SEC("uprobe")
int BPF_KPROBE(fn_virtqueue_flush, hr_u64 vq, hr_u32 count)
{
	return flush(vq, count);
}

SEC("usdt")
int usdt_virtqueue_flush(struct pt_regs *ctx)
{
	return flush(mark_arg(ctx, 0), mark_arg(ctx, 1));
}

/* ---- returned unused: no release of QEMU has marks for these ---- */

/* void virtqueue_detach_element(VirtQueue *vq, const VirtQueueElement *elem, unsigned len) */
SEC("uprobe")
int BPF_KPROBE(fn_virtqueue_detach, hr_u64 vq, hr_u64 elem)
{
	struct rec_virtqueue_detach *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtqueue_detach);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->elem = elem;
	rec->head = user_u32(elem + q.settings->elem_head);
	rec->queue = q.index;
	emit_publish(&e);
	return 0;
}

/* void virtqueue_unpop(VirtQueue *vq, const VirtQueueElement *elem, unsigned len) */
SEC("uprobe")
int BPF_KPROBE(fn_virtqueue_unpop, hr_u64 vq, hr_u64 elem)
{
	struct rec_virtqueue_unpop *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtqueue_unpop);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->elem = elem;
	rec->head = user_u32(elem + q.settings->elem_head);
	rec->queue = q.index;
	emit_publish(&e);
	return 0;
}

/* bool virtqueue_rewind(VirtQueue *vq, unsigned num) */
SEC("uprobe")
int BPF_KPROBE(fn_virtqueue_rewind, hr_u64 vq, hr_u32 count)
{
	struct rec_virtqueue_rewind *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtqueue_rewind);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->count = count;
	rec->queue = q.index;
	emit_publish(&e);
	return 0;
}

static __always_inline int drop_all(hr_u64 vq, hr_u32 leave)
{
	struct rec_virtqueue_drop_all *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtqueue_drop_all);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->queue = q.index;
	rec->leave = leave;
	emit_publish(&e);
	return 0;
}

/* unsigned virtqueue_drop_all(VirtQueue *vq): fills elements of its own, which were never popped */
SEC("uprobe")
int BPF_KPROBE(fn_virtqueue_drop_all, hr_u64 vq)
{
	struct thread_state *state = thread_enters();

	if (state)
		state->drop_vq = vq;
	return drop_all(vq, 0);
}

SEC("uretprobe")
int ret_virtqueue_drop_all(struct pt_regs *ctx)
{
	struct thread_state *state = thread_returns(EV_virtqueue_drop_all);

	return state && state->drop_vq ? drop_all(state->drop_vq, 1) : 0;
}

/* ---- kicks and interrupts ---- */

static __always_inline int notified(hr_u64 vq, hr_u64 vdev, hr_u32 index, hr_u32 eventfd)
{
	struct rec_virtio_queue_notify *rec;
	struct emit e;

	if (!device_begin(&e, vdev))
		return 0;
	rec = reserve(&e, virtio_queue_notify);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = vdev;
	rec->queue = index;
	rec->eventfd = eventfd;
	emit_publish(&e);
	return 0;
}

/* void virtio_queue_notify(VirtIODevice *vdev, int n): the guest's write came as a userspace exit
 */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_queue_notify, hr_u64 vdev, hr_u32 index)
{
	return notified(0, vdev, index, 0);
}

/* void virtio_queue_host_notifier_read(EventNotifier *n): it came through ioeventfd; n is a member
 * of the queue */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_queue_host_notifier_read, hr_u64 notifier)
{
	struct rec_virtio_queue_notify *rec;
	struct vm_settings *s;
	struct queue q;
	struct emit e;
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32;

	s = bpf_map_lookup_elem(&vms, &pid);
	if (!s || !queue_begin(&e, &q, notifier - s->vq_host_notifier))
		return 0;
	rec = reserve(&e, virtio_queue_notify);
	if (!rec)
		return 0;
	rec->vq = q.vq;
	rec->vdev = q.vdev;
	rec->queue = q.index;
	rec->eventfd = 1;
	emit_publish(&e);
	return 0;
}

/* virtio_queue_notify(vdev, n, vq): by ioeventfd or userspace exit; which one is unknown */
SEC("usdt")
int usdt_virtio_queue_notify(struct pt_regs *ctx)
{
	return notified(mark_arg(ctx, 2), mark_arg(ctx, 0), mark_arg(ctx, 1), 0);
}

static __always_inline int interrupt(hr_u64 vq, hr_u32 irqfd)
{
	struct rec_virtio_notify *rec;
	struct queue q;
	struct emit e;

	if (!queue_begin(&e, &q, vq))
		return 0;
	rec = reserve(&e, virtio_notify);
	if (!rec)
		return 0;
	rec->vq = vq;
	rec->vdev = q.vdev;
	rec->queue = q.index;
	rec->irqfd = irqfd;
	emit_publish(&e);
	return 0;
}

/* void virtio_notify(VirtIODevice *vdev, VirtQueue *vq): the function is also entered when the
 * guest wants none */
SEC("uprobe")
int BPF_KPROBE(fn_virtio_notify, hr_u64 vdev, hr_u64 vq)
{
	return interrupt(vq, 0);
}

SEC("uprobe")
int BPF_KPROBE(fn_virtio_notify_irqfd, hr_u64 vdev, hr_u64 vq)
{
	return interrupt(vq, 1);
}

SEC("usdt")
int usdt_virtio_notify(struct pt_regs *ctx)
{
	return interrupt(mark_arg(ctx, 1), 0);
}

SEC("usdt")
int usdt_virtio_notify_irqfd(struct pt_regs *ctx)
{
	return interrupt(mark_arg(ctx, 1), 1);
}
