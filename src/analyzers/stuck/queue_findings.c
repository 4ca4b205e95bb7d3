// SPDX-License-Identifier: GPL-2.0-or-later
/* What is wrong with the queues: requests not returned, requests not popped and why, interrupts not taken. */
#include <inttypes.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"

struct judged {
	struct stuck_report *report;
	const struct stuck_queue *q, *before;
	const struct virtio_device *dev;
	uint64_t span_ns; /* between the looks */
};

/* ---- requests ---- */

struct waiting {
	unsigned int nr;
	uint64_t oldest_ns;
	bool exact;
};

static struct waiting waiting_count(const struct judged *j, enum virtq_stage stage)
{
	struct waiting w = {0};

	for (unsigned int i = 0; i < j->report->nr_requests; i++) {
		const struct stuck_request *s = &j->report->request[i];

		if (s->queue != j->q || s->request->stage != stage || !s->stands)
			continue;
		w.nr++;
		if (s->age_ns > w.oldest_ns) {
			w.oldest_ns = s->age_ns;
			w.exact = s->age_exact;
		}
	}
	return w;
}

/* " (throttle > blkdebug > file /var/disk.img)": what the device's requests pass. */
static void nodes_print(const struct block_backend *b, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < b->nr && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s%s",
					i ? " > " : "; block nodes: ", b->node[i].driver,
					b->node[i].file[0] ? " " : "", b->node[i].file);
}

static int popped_find(const struct judged *j)
{
	struct waiting w = waiting_count(j, VIRTQ_POPPED);
	const struct block_backend *b = stuck_backend(j->report->now, j->q);
	const char *plural = w.nr == 1 ? "" : "s";
	char nodes[STUCK_TEXT / 2], disk[VIRTQ_PATH_MAX + 8] = "device";

	if (!w.nr)
		return 0;
	nodes_print(b, nodes, sizeof(nodes));
	if (*b->disk)
		snprintf(disk, sizeof(disk), "disk %s", b->disk);
	if (b->throttled)
		return stuck_find(
			j->report, "throttled", j->q, 0, w.oldest_ns,
			"%u request%s popped and not returned: QEMU's I/O throttling holds %" PRIu32
			" request%s of the %s%s",
			w.nr, plural, b->throttled, b->throttled == 1 ? "" : "s", disk, nodes);
	if (b->suspended)
		return stuck_find(j->report, "suspended", j->q, 0, w.oldest_ns,
				  "%u request%s popped and not returned: blkdebug holds %" PRIu32
				  " request%s of the %s, at its breakpoint '%s'%s",
				  w.nr, plural, b->suspended, b->suspended == 1 ? "" : "s", disk,
				  b->breakpoint, nodes);
	return stuck_find(j->report, "not-returned", j->q, 0, w.oldest_ns,
			  "%u request%s popped and not returned%s", w.nr, plural, nodes);
}

static int outside_find(const struct judged *j)
{
	struct waiting w = waiting_count(j, VIRTQ_OUTSIDE);

	return w.nr ? stuck_find(j->report, "not-returned", j->q, 0, w.oldest_ns,
				 "%u request%s not returned by the device outside QEMU (vhost); "
				 "whether it "
				 "has popped them is unknown%s",
				 w.nr, w.nr == 1 ? "" : "s",
				 j->q->kicks > 0 ? "; it has not handled the guest's last kick"
						 : "")
		    : 0;
}

/* How many descriptors of a packed ring are from `at` to the offset that a side asked for, in the ring's order. */
static unsigned int packed_distance(const struct virtq_state *s, unsigned int at, bool wrap,
				    const struct virtq_notify *n)
{
	return (n->at + (n->wrap != wrap ? s->size : 0) + 2 * s->size - at) % (2 * s->size);
}

/*
 * Must a driver that has offered these requests have kicked? With event indices (virtio 1.2, 2.7.10.1 and 2.8.10): if
 * the device asked for a kick at one of them.
 */
static bool kick_was_due(const struct virtq_state *s)
{
	uint16_t offered = (uint16_t)(s->ring_avail_idx - s->last_avail_idx);

	if (s->kicks.mode != VIRTQ_AT)
		return s->kicks.mode == VIRTQ_ON;
	if (s->packed)
		return packed_distance(s, s->last_avail_idx, s->last_avail_wrap, &s->kicks) <
		       s->posted;
	return (uint16_t)(s->ring_avail_idx - s->kicks.at - 1) < offered;
}

/*
 * Does the device leave requests in the queue until what is behind it takes or has data? A handled kick then looks like
 * a lost one. An entropy device pops a request when data is there; a console's port and a network card keep the request
 * that their other side did not take, and pop no other until it does.
 */
static bool pops_later(const struct judged *j)
{
	const char *name = j->dev->name;
	bool keeps = strstr(name, "serial") || strstr(name, "console") || strstr(name, "net");

	return strstr(name, "rng") || (keeps && j->q->state.inuse);
}

static int offered_find(const struct judged *j)
{
	const struct virtq_state *s = &j->q->state;
	struct waiting w = waiting_count(j, VIRTQ_OFFERED);
	const char *plural = w.nr == 1 ? "" : "s";

	if (!w.nr)
		return 0;
	if (j->q->kicks > 0)
		return stuck_find(j->report, "kick-not-handled", j->q, 0, w.oldest_ns,
				  "%u request%s offered and not popped: the guest has kicked, and "
				  "QEMU's thread "
				  "has not handled it",
				  w.nr, plural);
	if (s->inuse >= s->size)
		return stuck_find(
			j->report, "queue-full", j->q, 0, w.oldest_ns,
			"%u request%s offered and not popped: the device has as many as it takes",
			w.nr, plural);
	if (stuck_process_stopped(j->report) && j->q->kicks < 0)
		return stuck_find(j->report, "not-popped", j->q, 0, w.oldest_ns,
				  "%u request%s offered and not popped: QEMU is stopped", w.nr,
				  plural);
	if (pops_later(j))
		return stuck_find(
			j->report, "not-popped", j->q, 0, w.oldest_ns,
			"%u request%s offered and not popped: what is behind the device takes or "
			"has no data (blocked, or limited in rate)%s",
			w.nr, plural, s->inuse ? "" : ", or a kick was lost");
	if (kick_was_due(s))
		return stuck_find(
			j->report, "lost-kick", j->q, 0, w.oldest_ns,
			"lost kick: %u request%s offered and not popped, the device waits for a "
			"kick, "
			"and none is pending: the driver did not kick, or its kick was lost",
			w.nr, plural);
	return stuck_find(
		j->report, "kicks-suppressed", j->q, 0, w.oldest_ns,
		"%u request%s offered and not popped: the device does not want kicks and does not "
		"look at the queue itself",
		w.nr, plural);
}

/* ---- interrupts ---- */

static bool stands_still(const struct judged *j)
{
	return j->before && j->before->state.used_idx == j->q->state.used_idx &&
	       j->before->state.ring_used_idx == j->q->state.ring_used_idx;
}

/* With INTx, a driver has looked at the device's queues after it has read the ISR register, which clears it. */
static bool intx_taken(const struct judged *j)
{
	return j->dev->known && j->dev->pci && !j->dev->msix && !(j->dev->isr & 1);
}

/* Has the device returned any? */
static bool any_returned(const struct virtq_state *s)
{
	return s->packed ? s->used_idx || !s->used_wrap : s->ring_used_idx;
}

/* How far the device is past the index at which the driver wants an interrupt; 0: it is not, or that is unknown. */
static unsigned int lag(const struct virtq_state *s)
{
	unsigned int beyond = (uint16_t)(s->ring_used_idx - s->interrupts.at);

	if (s->interrupts.mode != VIRTQ_AT)
		return 0;
	if (s->packed) {
		beyond = packed_distance(s, s->used_idx, s->used_wrap, &s->interrupts);
		beyond = beyond ? 2 * s->size - beyond : 0;
	} else if (!s->interrupts.at && s->ring_used_idx != 1) {
		return 0; /* 0 is also what Linux writes to disable interrupts */
	}
	return beyond <= s->size ? beyond : 0;
}

/* Has the device returned requests past that index, which the driver has not moved since? */
static bool driver_lags(const struct judged *j)
{
	const struct virtq_notify *now = &j->q->state.interrupts,
				  *before = &j->before->state.interrupts;

	return !intx_taken(j) && lag(&j->q->state) && before->mode == VIRTQ_AT &&
	       before->at == now->at && before->wrap == now->wrap;
}

/* An INTx interrupt that was raised and whose cause no driver has read. */
static bool isr_unread(const struct judged *j)
{
	const struct virtio_device *b = &j->report->before->dev[j->before->dev];

	return j->dev->known && b->known && j->dev->isr & b->isr & 1 && j->dev->pci &&
	       !j->dev->msix && j->q->state.interrupts.mode != VIRTQ_OFF;
}

static bool vector_bit(uint64_t bits, uint16_t vector)
{
	return vector < 64 && bits >> vector & 1;
}

/* Why an interrupt does not reach the guest, as far as the device knows. */
static const char *obstacle(const struct judged *j)
{
	const struct virtio_device *d = j->dev;

	if (!d->pci)
		return "";
	if (!d->bus_master)
		return ": bus mastering is off in the device's PCI command register";
	if (d->msix && d->msix_masked)
		return ": all MSI-X vectors of the device are masked";
	if (d->msix && d->vectors_known && vector_bit(d->masked, j->q->state.vector))
		return ": its MSI-X vector is masked";
	if (d->msix && j->q->interrupts > 0)
		return ": it was signalled, and KVM has not consumed it";
	if (!d->msix && d->intx_disabled)
		return ": INTx is disabled in the device's PCI command register";
	if (!d->msix)
		return ": it was raised (INTx) and the guest has not read the device's ISR "
		       "register; is the "
		       "interrupt masked in the guest's interrupt controller?";
	return ": the interrupt was lost, or the guest has not handled it";
}

static int interrupts_find(const struct judged *j)
{
	const struct virtq_state *s = &j->q->state;
	bool pending;

	if (!j->before || !s->rings || !stands_still(j) || !any_returned(s))
		return 0;
	pending = j->dev->msix && j->dev->vectors_known && vector_bit(j->dev->pending, s->vector);
	if (!driver_lags(j) && !isr_unread(j) && !pending)
		return 0;
	if (driver_lags(j))
		return stuck_find(
			j->report, "lost-interrupt", j->q, 0, j->span_ns,
			"lost interrupt: the device has returned requests up to index %" PRIu16
			", the driver wanted an interrupt at %" PRIu16
			" and has not looked since%s",
			s->packed ? s->used_idx : s->ring_used_idx, s->interrupts.at, obstacle(j));
	return stuck_find(
		j->report, "lost-interrupt", j->q, 0, j->span_ns,
		"lost interrupt: the device has returned requests and the guest has not taken the "
		"interrupt%s",
		obstacle(j));
}

/* ---- a queue ---- */

static int device_find(const struct judged *j)
{
	if (!j->dev->known || !(j->dev->status & VIRTIO_NEEDS_RESET))
		return 0;
	return stuck_find(
		j->report, "device-broken", j->q, 0, j->span_ns,
		"the device is broken and waits to be reset: QEMU found its rings invalid");
}

static int queue_find(const struct judged *j)
{
	int err = device_find(j);

	if (!err)
		err = popped_find(j);
	if (!err)
		err = outside_find(j);
	if (!err)
		err = offered_find(j);
	return err ? err : interrupts_find(j);
}

int stuck_queue_findings(struct stuck_report *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->now->nr_queues && !err; i++) {
		const struct stuck_queue *q = &r->now->queue[i];
		struct judged j = {.report = r,
				   .q = q,
				   .before = stuck_queue_before(r, q),
				   .dev = &r->now->dev[q->dev],
				   .span_ns = r->now->time_ns - r->before->time_ns};

		err = queue_find(&j);
	}
	return err;
}
