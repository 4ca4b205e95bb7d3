// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets of virtio-net devices. QEMU's net layer and the device call each other in one thread: a packet for the guest
 * comes before the elements that are popped for it, one of the guest's is sent after its element was popped.
 */
#include "analyzers/path/internal.h"

/* The thread was woken for the packet, if it was not at work already, or for a kick. */
static uint64_t arrival(const struct path *p, struct thread_log *log, const struct event *ev)
{
	const struct thread_log *waker;
	uint64_t ns = log ? log->woken_ns : 0;

	if (!ns)
		return 0;
	waker = threads_find(&p->threads, ev->source, log->waker_tid);
	log->woken_ns = 0;
	return waker && thread_is_vcpu(waker) && waker->model.pid == ev->pid ? 0 : ns;
}

void net_on_packet(struct path *p, const struct event *ev)
{
	struct path_net *n = hash_add_u64(&p->nets, ev->tid, NULL);

	p->totals.saw[POINT_RECEIVE] = true;
	if (!n)
		return;
	n->received = loss_mark_of(&p->losses, ev);
	n->arrive_ns = arrival(p, threads_find(&p->threads, ev->source, ev->tid), ev);
	p->totals.saw[POINT_ARRIVE] |= n->arrive_ns != 0;
}

/* Queues are rx0, tx0, rx1, ..., and the control queue, which has an even index, too: its handler comes later. */
bool net_popped(struct path *p, const struct path_queue *q, struct path_open *o,
		const struct event *ev)
{
	const struct thread_log *log = threads_find(&p->threads, ev->source, ev->tid);
	struct path_net *n = hash_add_u64(&p->nets, ev->tid, NULL);

	p->totals.packets = true;
	if (!n)
		return false;
	if ((uint32_t)q->key[0] % 2) {
		n->popped = loss_mark_of(&p->losses, ev);
		n->popped_key[0] = o->key[0];
		n->popped_key[1] = o->key[1];
		return false;
	}
	if (!path_goes_on(p, &n->received, ev) || n->received.ns <= q->handler_ns ||
	    (log && thread_slept(log, n->received.ns, ev->time_ns)))
		return false;
	o->arrive_ns = n->arrive_ns;
	o->receive_ns = n->received.ns;
	return true;
}

void net_on_send(struct path *p, const struct event *ev)
{
	struct path_net *n = hash_find_u64(&p->nets, ev->tid);
	bool goes_on = n && path_goes_on(p, &n->popped, ev);
	struct path_open *o = goes_on ? hash_find_words(&p->open, n->popped_key) : NULL;

	p->totals.saw[POINT_SEND] = true;
	if (o && !o->send_ns && o->pop_tid == ev->tid)
		o->send_ns = ev->time_ns;
}
