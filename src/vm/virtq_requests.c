// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The requests in a virtqueue's rings: offered by the guest and not popped, or popped by the device and not returned.
 *
 * A ring says exactly what is offered. Which of the popped requests have not been returned it says only in part: an
 * entry of the available ring is overwritten after as many requests as the queue has entries, and a head that was
 * returned and popped again in the meantime cannot be distinguished from one that was popped and returned. QEMU's own
 * elements (virtq_elements.h) decide: a popped request has one. `certain` is whether these, or the rings alone, leave
 * only one reading.
 *
 * Rings and descriptors are the guest's: each is read once into a copy, a chain is followed over at most as many
 * descriptors as the queue or the indirect table has, and guest addresses are read inside the guest's RAM only.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "vm/virtq_requests.h"

/* virtio 1.2, 2.7.5 and 2.8.13 */
enum {
	DESC_NEXT = 1,
	DESC_WRITE = 2,
	DESC_INDIRECT = 4,
	INDIRECT_MAX = 1024, /* VIRTQUEUE_MAX_SIZE of QEMU */
};

struct desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next; /* packed: id, flags */
};

struct reading {
	const struct virtq_view *view;
	const struct virtq_device *device;
	const struct virtq_state *state;
	uint8_t *desc, *avail, *used; /* copies; split: avail and used with idx */
	struct virtq_request *list;
	unsigned int nr;
};

/* ---- guest memory ---- */

static int guest_read(const struct virtq_view *v, uint64_t address, void *buf, size_t size)
{
	static const struct guest_space physical = {.paging = GUEST_PHYSICAL};

	for (size_t done = 0; done < size;) {
		uint64_t at = v->ram ? guest_address(v->m, v->ram, &physical, address + done) : 0;
		size_t part = GUEST_PAGE - (address + done) % GUEST_PAGE;

		part = part < size - done ? part : size - done;
		if (!at || memory_read(v->m, at, (uint8_t *)buf + done, part))
			return -EFAULT;
		done += part;
	}
	return 0;
}

/* ---- chains ---- */

static struct desc desc_at(const struct reading *r, const uint8_t *table, unsigned int i)
{
	const uint8_t *p = table + (size_t)i * DESC_BYTES;
	struct desc d = {.addr = memory_le(p, 8), .len = (uint32_t)memory_le(p + 8, 4)};

	d.flags = (uint16_t)memory_le(p + (r->state->packed ? 14 : 12), 2);
	d.next = (uint16_t)memory_le(p + (r->state->packed ? 12 : 14), 2);
	return d;
}

static uint32_t sum(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

static void desc_add(const struct reading *r, const struct desc *d, struct virtq_request *q)
{
	if (!q->descs++)
		q->first = d->addr;
	if (d->flags & DESC_WRITE) {
		q->in_bytes = sum(q->in_bytes, d->len);
		return;
	}
	if (!q->out_bytes) {
		size_t bytes = d->len < sizeof(q->header) ? d->len : sizeof(q->header);

		if (!guest_read(r->view, d->addr, q->header, bytes))
			q->header_bytes = (uint8_t)bytes;
	}
	q->out_bytes = sum(q->out_bytes, d->len);
}

/* Descriptors of an indirect table follow by NEXT in a split ring, and in order in a packed one. */
static void indirect_walk(const struct reading *r, const struct desc *head, struct virtq_request *q)
{
	unsigned int nr = head->len / DESC_BYTES, at = 0;
	_cleanup_free_ uint8_t *table = NULL;

	q->indirect = true;
	q->broken = !nr || head->len % DESC_BYTES || nr > INDIRECT_MAX;
	if (q->broken || !r->view->ram)
		return;
	table = malloc(head->len);
	if (!table || guest_read(r->view, head->addr, table, head->len)) {
		q->broken = true;
		return;
	}
	for (unsigned int i = 0; i < nr; i++) {
		struct desc d = desc_at(r, table, at);

		if (d.flags & DESC_INDIRECT)
			break;
		desc_add(r, &d, q);
		if (r->state->packed ? i + 1 == nr : !(d.flags & DESC_NEXT))
			return;
		at = r->state->packed ? i + 1 : d.next;
		if (at >= nr)
			break;
	}
	q->broken = true; /* a loop, or beyond the table */
}

/* From descriptor `at` of the ring. Returns how many descriptors of the ring the chain takes. */
static unsigned int chain_walk(const struct reading *r, unsigned int at, struct virtq_request *q)
{
	const unsigned int size = r->state->size;

	for (unsigned int i = 0; i < size && at < size; i++) {
		struct desc d = desc_at(r, r->desc, at);

		if (r->state->packed)
			q->head = d.next; /* the id of the chain's last descriptor counts */
		if (d.flags & DESC_INDIRECT)
			indirect_walk(r, &d, q);
		else
			desc_add(r, &d, q);
		if (!(d.flags & DESC_NEXT) || d.flags & DESC_INDIRECT)
			return i + 1;
		at = r->state->packed ? (at + 1) % size : d.next;
	}
	q->broken = true;
	return 1;
}

static struct virtq_request *request_add(struct reading *r, enum virtq_stage stage)
{
	struct virtq_request *q = array_room(r->list, r->nr) ? NULL : &r->list[r->nr];

	if (!q)
		return NULL;
	r->nr++;
	*q = (struct virtq_request){.stage = stage};
	return q;
}

/* ---- elements ---- */

/* QEMU's element of a chain: same index, same first buffer, as many segments at least. A device's own note is taken. */
static bool element_match(const struct reading *r, struct virtq_request *q)
{
	const struct virtq_elements *all = r->view->elements;
	const struct virtq_element *e = all ? virtq_elements_of(all, q->head) : NULL;

	for (; e && e < all->list + all->nr && e->index == q->head; e++) {
		if (q->first && e->first != q->first)
			continue;
		if (!q->block)
			q->block = virtq_element_block(r->view->m, e, r->device->vdev, r->state->vq,
						       r->view->now_ns, &q->note);
		if (q->block && q->note.begin_ns)
			q->note.begin_ns -= (uint64_t)r->view->ahead_ns;
		q->element = q->first || q->block;
		if (q->element) {
			q->address = e->address;
			q->bytes = e->bytes;
		}
		if (q->block)
			break;
	}
	return q->element;
}

/* ---- split rings ---- */

static uint16_t avail_at(const struct reading *r, uint16_t i)
{
	return (uint16_t)memory_le(r->avail + 4 + 2 * (size_t)(i % r->state->size), 2);
}

static uint32_t used_at(const struct reading *r, uint16_t i)
{
	return (uint32_t)memory_le(r->used + 4 + USED_ELEMENT_BYTES *
						      (size_t)(i % r->state->size),
				    4);
}

static int split_add(struct reading *r, uint16_t head, enum virtq_stage stage, bool certain)
{
	struct virtq_request *q = request_add(r, stage);

	if (!q)
		return -ENOMEM;
	q->head = head;
	chain_walk(r, head, q);
	q->certain = certain;
	if (stage == VIRTQ_POPPED)
		element_match(r, q);
	return 0;
}

/* How likely it is that a head is at the device. */
enum {
	LIKELY_NOT,
	POPPED_AND_USED, /* both are in the rings, in unknown order */
	POPPED_NOT_USED, /* in the available ring, and not in the used ring */
	HAS_ELEMENT,	 /* QEMU has its element */
	HAS_BOTH,	 /* an element, and not in the used ring */
	SCORES,
};

struct candidate {
	uint16_t age; /* entries of the available ring since it was popped; UINT16_MAX: not there any more */
	uint8_t score;
};

/* What the rings say of each head. `popped`: index after the last popped entry. */
static void candidates_of_rings(const struct reading *r, uint16_t popped, struct candidate *c)
{
	const struct virtq_state *s = r->state;
	uint16_t offered = (uint16_t)(s->ring_avail_idx - popped);
	/* of an index that has wrapped since, older entries are not looked at */
	unsigned int in_avail = popped < s->size ? popped : s->size,
		     in_used = s->ring_used_idx < s->size ? s->ring_used_idx : s->size;

	for (unsigned int i = 0; i < s->size; i++)
		c[i] = (struct candidate){.age = UINT16_MAX};
	for (uint16_t i = 1; i + offered <= (int)s->size && i <= in_avail; i++) {
		uint16_t head = avail_at(r, (uint16_t)(popped - i));

		if (head < s->size && c[head].age == UINT16_MAX)
			c[head] = (struct candidate){i, POPPED_NOT_USED};
	}
	for (uint16_t i = 1; i <= in_used; i++) {
		uint32_t id = used_at(r, (uint16_t)(s->ring_used_idx - i));

		if (id < s->size && c[id].score == POPPED_NOT_USED)
			c[id].score = POPPED_AND_USED;
	}
}

/* Adds the elements to it. Those of heads that are offered again are of the past. */
static void candidates_of_elements(struct reading *r, uint16_t popped, struct candidate *c)
{
	const struct virtq_state *s = r->state;
	uint16_t offered = (uint16_t)(s->ring_avail_idx - popped);

	for (uint16_t head = 0; head < s->size; head++) {
		struct virtq_request probe = {.head = head};

		chain_walk(r, head, &probe);
		if (element_match(r, &probe))
			c[head].score = c[head].score == POPPED_NOT_USED ? HAS_BOTH : HAS_ELEMENT;
	}
	for (uint16_t i = 0; i < offered && i < s->size; i++) {
		uint16_t head = avail_at(r, (uint16_t)(popped + i));

		if (head < s->size)
			c[head].score = LIKELY_NOT;
	}
}

static unsigned int count_from(const struct reading *r, const struct candidate *c, uint8_t score)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->state->size; i++)
		nr += c[i].score >= score;
	return nr;
}

/* `nr` of them: the likeliest, of those popped at known times the oldest first. */
static int candidates_take(struct reading *r, struct candidate *c, unsigned int nr,
			   enum virtq_stage stage)
{
	bool sure = count_from(r, c, HAS_ELEMENT) == nr || count_from(r, c, POPPED_NOT_USED) == nr;
	int err = 0;

	for (unsigned int taken = 0; taken < nr && !err; taken++) {
		unsigned int best = 0;

		for (unsigned int i = 1; i < r->state->size; i++)
			if (c[i].score > c[best].score ||
			    (c[i].score == c[best].score && c[i].age > c[best].age))
				best = i;
		if (c[best].score == LIKELY_NOT)
			break;
		c[best].score = LIKELY_NOT;
		err = split_add(r, (uint16_t)best, stage, sure);
	}
	return err;
}

static int split_popped(struct reading *r)
{
	const struct virtq_state *s = r->state;
	bool outside = s->elsewhere;
	uint16_t popped = outside ? s->ring_avail_idx : s->last_avail_idx;
	unsigned int nr = outside ? (uint16_t)(s->ring_avail_idx - s->ring_used_idx) : s->inuse;
	_cleanup_free_ struct candidate *c = calloc(s->size, sizeof(*c));

	if (!c)
		return fail(-ENOMEM, "out of memory");
	if (nr > s->size)
		nr = s->size; /* the guest, or a device, errs */
	if (!nr)
		return 0;
	candidates_of_rings(r, popped, c);
	if (!outside)
		candidates_of_elements(r, popped, c);
	return candidates_take(r, c, nr, outside ? VIRTQ_OUTSIDE : VIRTQ_POPPED);
}

static int split_read(struct reading *r)
{
	const struct virtq_state *s = r->state;
	size_t avail = 4 + 2 * (size_t)s->size, used = 4 + USED_ELEMENT_BYTES * (size_t)s->size;

	r->avail = malloc(avail);
	r->used = malloc(used);
	if (!r->avail || !r->used)
		return fail(-ENOMEM, "out of memory");
	if (memory_read(r->view->m, s->at.avail, r->avail, avail) ||
	    memory_read(r->view->m, s->at.used, r->used, used))
		return fail(-EFAULT, "cannot read the rings");
	int err = split_popped(r);

	for (uint32_t i = 0; i < s->posted && i < s->size && !s->elsewhere && !err; i++)
		err = split_add(r, avail_at(r, (uint16_t)(s->last_avail_idx + i)), VIRTQ_OFFERED,
				s->posted <= s->size);
	return err;
}

/* ---- packed rings ---- */

static bool packed_is_offered(const struct desc *d, bool wrap)
{
	return !(d->flags & PACKED_AVAIL) == !wrap && !(d->flags & PACKED_USED) == wrap;
}

/* Chains from descriptor `at` on for which the driver's marks still stand, `nr` descriptors at most. */
static int packed_walk(struct reading *r, unsigned int at, bool wrap, unsigned int nr,
		       enum virtq_stage stage)
{
	const unsigned int size = r->state->size;

	for (unsigned int i = 0; i < nr && i < size;) {
		struct desc d = desc_at(r, r->desc, at);
		unsigned int taken = 1;

		if (packed_is_offered(&d, wrap)) {
			struct virtq_request *q = request_add(r, stage);

			if (!q)
				return -ENOMEM;
			taken = chain_walk(r, at, q);
			q->certain = stage == VIRTQ_OFFERED || element_match(r, q);
		}
		i += taken;
		wrap ^= at + taken >= size;
		at = (at + taken) % size;
	}
	return 0;
}

static unsigned int packed_between(const struct virtq_state *s)
{
	return (s->last_avail_idx + s->size - s->used_idx) % s->size +
	       (s->last_avail_idx == s->used_idx && s->last_avail_wrap != s->used_wrap ? s->size
										       : 0);
}

static bool packed_has(const struct reading *r, uint16_t id)
{
	return array_any(r->nr, i, r->list[i].head == id);
}

/* Popped requests whose descriptors the device has overwritten with those that it returned before: blocks only. */
static int packed_elements(struct reading *r, unsigned int nr)
{
	const struct virtq_elements *all = r->view->elements;

	for (unsigned int i = 0; all && i < all->nr && nr; i++) {
		struct virtq_request q = {.stage = VIRTQ_POPPED,
					  .head = (uint16_t)all->list[i].index};

		if (packed_has(r, q.head) || !element_match(r, &q))
			continue;
		struct virtq_request *to = request_add(r, VIRTQ_POPPED);

		if (!to)
			return -ENOMEM;
		*to = q;
		nr -= all->list[i].ndescs < nr ? all->list[i].ndescs : nr;
	}
	return 0;
}

static int packed_read(struct reading *r)
{
	const struct virtq_state *s = r->state;
	unsigned int between = packed_between(s), found = 0;
	int err = 0;

	if (s->inuse && s->used_idx < s->size)
		err = packed_walk(r, s->used_idx, s->used_wrap, between, VIRTQ_POPPED);
	for (unsigned int i = 0; i < r->nr; i++)
		found += r->list[i].indirect ? 1 : r->list[i].descs;
	if (!err && s->inuse > found)
		err = packed_elements(r, s->inuse - found);
	for (unsigned int i = 0; i < r->nr; i++)
		r->list[i].certain |= found == s->inuse;
	return err ? err
		   : packed_walk(r, s->last_avail_idx, s->last_avail_wrap, s->posted,
				 VIRTQ_OFFERED);
}

/* ---- a queue ---- */

int virtq_requests_read(const struct virtq_view *v, const struct virtq_device *d,
			const struct virtq_state *s, struct virtq_request **ret,
			unsigned int *ret_nr)
{
	struct reading r = {.view = v, .device = d, .state = s};
	size_t bytes = (size_t)DESC_BYTES * s->size;
	int err = 0;

	*ret = NULL;
	*ret_nr = 0;
	if (!s->rings || !s->size || s->size > VIRTQ_ELEMENT_SEGMENTS_MAX) /* QEMU has no larger ones */
		return 0;
	r.desc = malloc(bytes);
	if (!r.desc)
		err = fail(-ENOMEM, "out of memory");
	else if (memory_read(v->m, s->at.desc, r.desc, bytes))
		err = fail(-EFAULT, "cannot read the descriptors");
	if (!err)
		err = s->packed ? packed_read(&r) : split_read(&r);
	free(r.desc);
	free(r.avail);
	free(r.used);
	if (err) {
		free(r.list);
		return err;
	}
	*ret = r.list;
	*ret_nr = r.nr;
	return 0;
}
