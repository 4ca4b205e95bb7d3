// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors, infos and texts are three arrays. A descriptor's state_var has its id (index plus a multiple of the
 * number of descriptors) and a state; its text_blk_lpos has where its block in the ring of texts begins and ends, as
 * positions that are never reset; the block begins with the descriptor's id. Each array is copied at once, and a record
 * counts if all that refers to it agrees.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "vm/linux/lists.h"

/* The kernel log of a Linux guest, 5.10 and later (kernel/printk/printk_ringbuffer.c), by the offsets in its BTF. */

#define STATE_SHIFT 62
#define ID_MASK	    (~(UINT64_C(3) << STATE_SHIFT))

enum {
	STATE_COMMITTED = 1,
	STATE_FINALIZED = 2,
	DATALESS = 1, /* bit 0 of a position: the record has no text */
	ID_BYTES = 8,
	LEVEL_SHIFT = 5, /* in the byte that has flags:5 and level:3 */
};

struct layout {
	int count_bits, descs, infos, head, tail, size_bits, data;
	int state, begin, next, desc_bytes;
	int time, text_len, facility, level, info_bytes;
};

struct copy {
	struct layout l;
	uint8_t *desc, *info, *data;
	uint64_t head, tail;
	uint32_t count_bits, size_bits;
};

static int layout_find(const struct btf_types *t, struct layout *l)
{
	static const char ring[] = "printk_ringbuffer", desc[] = "prb_desc", info[] = "printk_info";

	*l = (struct layout){
		.count_bits = btf_offset(t, ring, "desc_ring.count_bits"),
		.descs = btf_offset(t, ring, "desc_ring.descs"),
		.infos = btf_offset(t, ring, "desc_ring.infos"),
		.head = btf_offset(t, ring, "desc_ring.head_id"),
		.tail = btf_offset(t, ring, "desc_ring.tail_id"),
		.size_bits = btf_offset(t, ring, "text_data_ring.size_bits"),
		.data = btf_offset(t, ring, "text_data_ring.data"),
		.state = btf_offset(t, desc, "state_var"),
		.begin = btf_offset(t, desc, "text_blk_lpos.begin"),
		.next = btf_offset(t, desc, "text_blk_lpos.next"),
		.desc_bytes = btf_size(t, desc),
		.time = btf_offset(t, info, "ts_nsec"),
		.text_len = btf_offset(t, info, "text_len"),
		.facility = btf_offset(t, info, "facility"),
		.level = btf_offset(t, info, "level"),
		.info_bytes = btf_size(t, info),
	};
	return l->count_bits < 0 || l->descs < 0 || l->infos < 0 || l->head < 0 || l->tail < 0 ||
			       l->size_bits < 0 || l->data < 0 || l->state < 0 || l->begin < 0 ||
			       l->next < 0 || l->time < 0 || l->text_len < 0 || l->facility < 0 ||
			       l->level < 0 || l->state > l->desc_bytes - 8 ||
			       l->begin > l->desc_bytes - 8 || l->next > l->desc_bytes - 8 ||
			       l->time > l->info_bytes - 8 || l->text_len > l->info_bytes - 2 ||
			       l->facility >= l->info_bytes || l->level >= l->info_bytes ||
			       l->desc_bytes > GUEST_PAGE || l->info_bytes > GUEST_PAGE
		       ? fail(-ENOENT, "the guest kernel's BTF has no usable printk_ringbuffer "
				       "(Linux 5.10 and later have it)")
		       : 0;
}

/* The array that `pointer` points to. */
static int array_copy(struct linux_guest *g, uint64_t pointer, size_t bytes, uint8_t **ret)
{
	uint64_t address;

	*ret = malloc(bytes);
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	if (linux_read_u64(g, pointer, &address) || linux_read(g, address, *ret, bytes))
		return fail(-EFAULT, "the guest's kernel log cannot be read");
	return 0;
}

static int ring_copy(struct linux_guest *g, uint64_t ring, struct copy *c)
{
	const struct layout *l = &c->l;
	int err;

	if (linux_read_u32(g, ring + (uint64_t)l->count_bits, &c->count_bits) ||
	    linux_read_u32(g, ring + (uint64_t)l->size_bits, &c->size_bits) || !c->count_bits ||
	    c->count_bits > LINUX_LOG_RECORDS_BITS || c->size_bits < 4 ||
	    c->size_bits > LINUX_LOG_BYTES_BITS ||
	    linux_read_u64(g, ring + (uint64_t)l->tail, &c->tail) ||
	    linux_read_u64(g, ring + (uint64_t)l->head, &c->head))
		return fail(-EFAULT, "the guest's kernel log cannot be read");
	if ((uint64_t)l->desc_bytes << c->count_bits > LINUX_LOG_TABLE_MAX ||
	    (uint64_t)l->info_bytes << c->count_bits > LINUX_LOG_TABLE_MAX)
		return fail(-EFAULT, "the guest's kernel log has tables larger than %d MiB",
			    LINUX_LOG_TABLE_MAX >> 20);
	err = array_copy(g, ring + (uint64_t)l->descs, (size_t)l->desc_bytes << c->count_bits,
			 &c->desc);
	if (!err)
		err = array_copy(g, ring + (uint64_t)l->infos,
				 (size_t)l->info_bytes << c->count_bits, &c->info);
	return err ? err : array_copy(g, ring + (uint64_t)l->data, (size_t)1 << c->size_bits,
				      &c->data);
}

/* The text of a block; NULL: the positions contradict each other, or another record is there now. */
static const char *block_text(const struct copy *c, uint64_t id, const uint8_t *desc,
			      size_t *ret_len)
{
	uint64_t begin = memory_le(desc + c->l.begin, 8), next = memory_le(desc + c->l.next, 8);
	uint64_t mask = ((uint64_t)1 << c->size_bits) - 1, at = begin & mask, size;

	if (begin & next & DATALESS) {
		*ret_len = 0;
		return "";
	}
	if (begin >> c->size_bits == next >> c->size_bits) {
		size = next - begin;
	} else { /* it did not fit before the end: it is at the beginning */
		at = 0;
		size = next & mask;
	}
	if (size < ID_BYTES || size > mask + 1 - at || memory_le(c->data + at, ID_BYTES) != id)
		return NULL;
	*ret_len = *ret_len < size - ID_BYTES ? *ret_len : size - ID_BYTES;
	return (const char *)c->data + at + ID_BYTES;
}

static int text_add(struct linux_log *l, const char *text, size_t len)
{
	for (size_t i = 0; i <= len; i++) {
		if (array_room(l->text, l->text_bytes))
			return -ENOMEM;
		l->text[l->text_bytes++] = i == len ? '\0' : text[i] ? text[i] : '?';
	}
	return 0;
}

/* Blocks do not overlap: all texts together are no longer than their ring. */
static bool text_fits(const struct copy *c, const struct linux_log *l, size_t len)
{
	return l->text_bytes - l->nr + len <= (size_t)1 << c->size_bits;
}

/* 0 also if there is no such record any more. */
static int record_add(struct linux_guest *g, const struct copy *c, uint64_t id,
		      struct linux_log *ret)
{
	size_t index = id & (((size_t)1 << c->count_bits) - 1);
	const uint8_t *desc = c->desc + index * (size_t)c->l.desc_bytes;
	const uint8_t *info = c->info + index * (size_t)c->l.info_bytes;
	uint64_t state = memory_le(desc + c->l.state, 8);
	size_t len = memory_le(info + c->l.text_len, 2);
	const char *text;

	if ((state & ID_MASK) != id ||
	    (state >> STATE_SHIFT != STATE_COMMITTED && state >> STATE_SHIFT != STATE_FINALIZED))
		return 0;
	text = block_text(c, id, desc, &len);
	if (!text || !text_fits(c, ret, len)) {
		g->torn++;
		return 0;
	}
	if (array_room(ret->record, ret->nr))
		return -ENOMEM;
	ret->record[ret->nr++] = (struct linux_log_record){
		.time_ns = memory_le(info + c->l.time, 8),
		.level = info[c->l.level] >> LEVEL_SHIFT,
		.facility = info[c->l.facility],
		.text = ret->text_bytes,
	};
	return text_add(ret, text, len);
}

int linux_log_read(struct linux_guest *g, const struct btf_types *types, struct linux_log *ret)
{
	uint64_t symbol = linux_symbol(g, "prb"), ring, nr;
	struct copy c = {0};
	int err = layout_find(types, &c.l);

	*ret = (struct linux_log){0};
	if (err)
		return err;
	linux_reads_begin(g);
	if (!symbol || linux_read_u64(g, symbol, &ring))
		return fail(-ENOENT, "the guest's kernel has no symbol prb");
	err = ring_copy(g, ring, &c);
	nr = ((c.head - c.tail) & ID_MASK) + 1;
	if (!err && nr > (uint64_t)1 << c.count_bits)
		err = fail(-EFAULT, "the guest's kernel log is inconsistent");
	for (uint64_t i = 0; i < nr && !err; i++)
		err = record_add(g, &c, (c.tail + i) & ID_MASK, ret);
	free(c.desc);
	free(c.info);
	free(c.data);
	return linux_reads_end(g, err);
}

void linux_log_deinit(struct linux_log *l)
{
	free(l->record);
	free(l->text);
	*l = (struct linux_log){0};
}
