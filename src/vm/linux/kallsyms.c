// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The RAM of a guest as one range of bytes, by offsets (struct guest_ram). What is contiguous in the guest's physical
 * memory is so there. Pages that the process does not have are not read: a read would make them resident.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "vm/linux/kallsyms.h"

enum {
	LINUX_PIECE = 2 << 20, /* of a walk */
	LINUX_OVERLAP = 64,    /* a piece has so many bytes of the next one, if they are there */
};

#define PAGEMAP_HAS (UINT64_C(3) << 62) /* present, or swapped out: admin-guide/mm/pagemap.rst */

enum { PIECE_PAGES = LINUX_PIECE / GUEST_PAGE };

int linux_ram_read(const struct linux_ram *r, uint64_t offset, void *buf, size_t size)
{
	uint8_t *to = buf;
	int err = 0;

	while (size && !err) {
		uint64_t left, at = guest_ram_at(&r->at, offset, &left);
		size_t part = left < size ? (size_t)left : size;

		err = at ? memory_read(r->memory, at, to, part) : -EFAULT;
		to += part;
		offset += part;
		size -= part;
	}
	return err;
}

/* Of nr pages that the process has in one range. Where the answer is unknown, pages count as present. */
static void range_present(const struct linux_ram *r, uint64_t process, bool *ret, unsigned int nr)
{
	uint64_t entry[PIECE_PAGES + 1];
	uint64_t at = process / GUEST_PAGE * sizeof(*entry);
	bool known = r->pagemap >= 0 && pread(r->pagemap, entry, nr * sizeof(*entry), (off_t)at) ==
						(ssize_t)(nr * sizeof(*entry));

	for (unsigned int i = 0; i < nr; i++)
		ret[i] = !known || entry[i] & PAGEMAP_HAS;
}

/* Of nr pages from the offset on; those beyond the RAM's end are not there. */
static void pages_present(const struct linux_ram *r, uint64_t offset, bool *ret, unsigned int nr)
{
	for (unsigned int i = 0, part; i < nr; i += part) {
		uint64_t left, at = guest_ram_at(&r->at, offset + (uint64_t)i * GUEST_PAGE, &left);
		uint64_t pages = (left + GUEST_PAGE - 1) / GUEST_PAGE;

		part = pages < nr - i ? (unsigned int)pages : nr - i;
		if (!at) {
			memset(ret + i, 0, (nr - i) * sizeof(*ret));
			return;
		}
		range_present(r, at, ret + i, part);
	}
}

bool linux_ram_present(const struct linux_ram *r, uint64_t offset)
{
	bool present;

	pages_present(r, offset, &present, 1);
	return present;
}

struct walk {
	const struct linux_ram *ram;
	uint64_t to;
	linux_piece_fn fn;
	void *arg;
	uint8_t *buf;
};

/* The pages of one piece, by runs of those that are there. */
static int piece_walk(struct walk *w, uint64_t from, size_t size)
{
	unsigned int pages = (unsigned int)((size + GUEST_PAGE - 1) / GUEST_PAGE);
	bool present[PIECE_PAGES + 1];
	int ret = 0;

	pages_present(w->ram, from, present, pages + 1);
	for (unsigned int i = 0, end; i < pages && !ret; i = end + 1) {
		uint64_t offset = from + (uint64_t)i * GUEST_PAGE;
		uint64_t stop;

		for (end = i; end < pages && present[end];)
			end++;
		stop = from + (uint64_t)end * GUEST_PAGE + (present[end] ? LINUX_OVERLAP : 0);
		stop = stop < w->to ? stop : w->to;
		if (end > i && !linux_ram_read(w->ram, offset, w->buf, stop - offset))
			ret = w->fn(w->arg, offset, w->buf, stop - offset);
	}
	return ret;
}

int linux_ram_walk(const struct linux_ram *r, uint64_t from, uint64_t to, linux_piece_fn fn,
		   void *arg)
{
	_cleanup_free_ uint8_t *buf = malloc(LINUX_PIECE + GUEST_PAGE);
	struct walk w = {.ram = r,
			 .to = to < r->at.size ? to : r->at.size,
			 .fn = fn,
			 .arg = arg,
			 .buf = buf};
	int ret = buf ? 0 : fail(-ENOMEM, "out of memory");

	from -= from % GUEST_PAGE;
	for (; !ret && from < w.to; from += LINUX_PIECE) {
		uint64_t left = w.to - from;

		if (r->until_ns && monotonic_ns() > r->until_ns)
			return -ETIMEDOUT;
		ret = piece_walk(&w, from, left < LINUX_PIECE ? left : LINUX_PIECE);
	}
	return ret;
}

/*
 * The token table of a Linux kernel's kallsyms (scripts/kallsyms.c), by which all of its symbol tables are found.
 *
 * Names are compressed: each byte of a compressed name stands for one of 256 tokens. kallsyms_token_table has the
 * tokens as C strings, kallsyms_token_index, directly after it, the u16 offset of each. Digits always are tokens of
 * their own, 48 to 57, so the bytes "0\0" "1\0" ... "9\0" are in each table; what makes a hit certain is that all 256
 * offsets of the index are those of the strings.
 */

enum {
	BEFORE = 4096, /* so much may be before the digits */
	WINDOW = TOKENS_BYTES_MAX + 1024,
	INDEX_BYTES = 2 * TOKENS,
};

/* The terminating zeros of the array are part of the digits, too. */
static const char digits[20] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";

/* Where the strings begin in the window, if `at` is that of "0"; but not the first one: nothing separates it. */
static bool starts_find(const uint8_t *w, size_t size, size_t at, size_t start[TOKENS + 1])
{
	size_t p = at;

	for (int i = '0' - 1; i > 0; i--) {
		if (p < 2)
			return false;
		for (p--; p && w[p - 1];)
			p--;
		if (!p)
			return false;
		start[i] = p;
	}
	p = at;
	for (int i = '0'; i <= TOKENS; i++) {
		const uint8_t *end = memchr(w + p, 0, size - p);

		start[i] = p;
		if (!end)
			return false;
		p = (size_t)(end + 1 - w);
		if (p == size)
			return false;
	}
	return true;
}

/* Does the index at `at` agree with the strings? It says where the first one begins. */
static bool index_agrees(const uint8_t *w, size_t size, size_t at, size_t start[TOKENS + 1])
{
	uint16_t index[TOKENS];

	if (at > size || size - at < sizeof(index))
		return false;
	memcpy(index, w + at, sizeof(index));
	if (index[0] || !index[1] || index[1] > start[1])
		return false;
	start[0] = start[1] - index[1];
	for (int i = 1; i < TOKENS; i++)
		if (start[i] - start[0] != index[i])
			return false;
	return start[TOKENS] - start[0] <= TOKENS_BYTES_MAX;
}

/* `offset` is that of the digits. */
static bool table_read(const struct linux_ram *r, uint64_t offset, struct kallsyms_tokens *ret)
{
	uint64_t from = offset > BEFORE ? offset - BEFORE : 0;
	size_t start[TOKENS + 1], left = r->at.size - from;
	size_t size = left < WINDOW ? left : WINDOW;
	uint8_t w[WINDOW];

	if (linux_ram_read(r, from, w, size) || !starts_find(w, size, offset - from, start))
		return false;
	for (size_t align = 8; align >= 4; align /= 2) {
		size_t at = ((from + start[TOKENS] + align - 1) & ~(align - 1)) - from;

		if (!index_agrees(w, size, at, start))
			continue;
		ret->table = from + start[0];
		ret->end = from + at + INDEX_BYTES;
		for (int i = 0; i <= TOKENS; i++)
			ret->start[i] = (uint16_t)(start[i] - start[0]);
		memcpy(ret->text, w + start[0], start[TOKENS] - start[0]);
		return true;
	}
	return false;
}

bool kallsyms_tokens_next(const struct linux_ram *r, uint64_t offset, const uint8_t *data,
			  size_t size, size_t *pos, struct kallsyms_tokens *ret)
{
	while (*pos < size) {
		const uint8_t *hit = memmem(data + *pos, size - *pos, digits, sizeof(digits));

		if (!hit)
			break;
		*pos = (size_t)(hit - data) + sizeof(digits);
		if (table_read(r, offset + (uint64_t)(hit - data), ret))
			return true;
	}
	return false;
}

enum {
	BLOCK = 256,		   /* symbols from one marker to the next */
	BLOCK_MIN = BLOCK * 2,	   /* bytes of one: a length and a token */
	BLOCK_MAX = BLOCK * 200,
	MARKERS_TRIED = 6,	   /* that a place of the names must fit before all are decoded */
	SORTED_PERCENT = 99,
};

/* What lies before the tokens, in the order of addresses. */
struct tables {
	const struct linux_ram *ram;
	const struct kallsyms_tokens *tokens;
	uint8_t *data; /* what lies before the token table */
	size_t size;
	uint64_t offset;      /* of data in RAM */
	size_t markers;	      /* in data */
	size_t marker_bytes;  /* 4 or 8 */
	size_t nr_markers;
	size_t names, number; /* in data; number: of num_syms */
	uint32_t nr;
};

static uint64_t marker(const struct tables *t, size_t i)
{
	return memory_le(t->data + t->markers + i * t->marker_bytes, t->marker_bytes);
}

/* ---- where the tables are ---- */

/* The longest run of rising numbers that begins with 0. */
static bool markers_find(struct tables *t, size_t bytes)
{
	size_t best = 0, start = 0, nr = 0;
	uint64_t last = 1;

	for (size_t at = 0; at + bytes <= t->size; at += bytes) {
		uint64_t v = memory_le(t->data + at, bytes);

		if (v && nr && v > last && v - last >= BLOCK_MIN && v - last <= BLOCK_MAX) {
			nr++;
		} else {
			nr = v == 0;
			start = at;
		}
		last = v;
		if (nr > best) {
			best = nr;
			t->markers = start;
		}
	}
	t->marker_bytes = bytes;
	t->nr_markers = best;
	return best >= 2 && best <= KALLSYMS_MAX / BLOCK;
}

/* The length of the compressed name at *p, which is then set to its end. 0: none. */
static size_t name_length(const struct tables *t, size_t *p)
{
	size_t len, end = t->markers;

	if (*p >= end)
		return 0;
	len = t->data[(*p)++];
	if (len & 0x80) {
		if (*p >= end)
			return 0;
		len = (len & 0x7f) | (size_t)t->data[(*p)++] << 7;
	}
	return len <= end - *p ? len : 0;
}

/* Do the first names, if they begin here, end where the markers say? */
static bool names_fit(const struct tables *t, size_t names)
{
	size_t p = names;

	for (size_t m = 1; m < t->nr_markers && m < MARKERS_TRIED; m++) {
		for (unsigned int i = 0; i < BLOCK; i++) {
			size_t len = name_length(t, &p);

			if (!len)
				return false;
			p += len;
		}
		if (p - names != marker(t, m))
			return false;
	}
	return true;
}

/* num_syms is directly before the names, or before 4 bytes of padding. */
static bool number_find(struct tables *t, size_t names)
{
	for (size_t gap = 4; gap <= 8; gap += 4) {
		uint64_t nr;

		if (names < gap)
			return false;
		nr = memory_le(t->data + names - gap, gap);
		if (nr > (t->nr_markers - 1) * BLOCK && nr <= t->nr_markers * BLOCK) {
			t->number = names - gap;
			t->names = names;
			t->nr = (uint32_t)nr;
			return true;
		}
	}
	return false;
}

static bool names_find(struct tables *t)
{
	uint64_t last = marker(t, t->nr_markers - 1);
	size_t high, low;

	if (last > t->markers)
		return false;
	high = (t->markers - last) & ~(size_t)3;
	low = high > BLOCK_MAX ? high - BLOCK_MAX : 0;
	for (size_t at = high; at >= low + 4; at -= 4)
		if (number_find(t, at) && names_fit(t, at))
			return true;
	return false;
}

/* ---- names ---- */

static int name_decode(struct kallsyms *k, const struct tables *t, size_t p, size_t len)
{
	const struct kallsyms_tokens *tokens = t->tokens;
	char name[KALLSYM_NAME_MAX + 1];
	size_t bytes = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t token = t->data[p + i];
		size_t n = tokens->start[token + 1] - tokens->start[token] - 1;

		if (n > sizeof(name) - bytes)
			return -EBADMSG;
		memcpy(name + bytes, tokens->text + tokens->start[token], n);
		bytes += n;
	}
	return bytes < 2 ? -EBADMSG : kallsyms_add(k, 0, name[0], name + 1, bytes - 1, NULL);
}

static int names_decode(struct kallsyms *k, const struct tables *t)
{
	size_t p = t->names;
	int err = 0;

	for (uint32_t i = 0; i < t->nr && !err; i++) {
		size_t len;

		if (i % BLOCK == 0 && p - t->names != marker(t, i / BLOCK))
			return -EBADMSG;
		len = name_length(t, &p);
		err = len ? name_decode(k, t, p, len) : -EBADMSG;
		p += len;
	}
	return err ? err : t->markers - p < 8 ? 0 : -EBADMSG;
}

/* ---- addresses ---- */

/* base: KALLSYMS_SELF_RELATIVE: offset in RAM of the table; otherwise relative_base. */
static void addresses_set(struct kallsyms *k, const int32_t *v, uint64_t base)
{
	size_t below = 0;

	for (size_t i = 0; i < k->nr; i++)
		below += v[i] < 0;
	for (size_t i = 0; i < k->nr; i++) {
		uint64_t value = (uint64_t)(int64_t)v[i];

		if (k->layout == KALLSYMS_SELF_RELATIVE)
			k->symbol[i].address = base + 4 * i + value;
		else if (below <= k->nr / 2)
			k->symbol[i].address = base + (uint32_t)v[i];
		else
			k->symbol[i].address = v[i] < 0 ? base - 1 - value : value;
	}
}

static bool addresses_sorted(const struct kallsyms *k)
{
	size_t rising = 1;

	for (size_t i = 1; i < k->nr; i++)
		rising += k->symbol[i].address >= k->symbol[i - 1].address;
	return rising >= k->nr / 100 * SORTED_PERCENT;
}

static bool layout_try(struct kallsyms *k, const struct linux_ram *r, enum kallsyms_layout layout,
		       uint64_t offsets, uint64_t base_at, int32_t *v)
{
	uint64_t base = offsets;

	if (linux_ram_read(r, offsets, v, k->nr * sizeof(*v)))
		return false;
	if (layout != KALLSYMS_SELF_RELATIVE &&
	    (linux_ram_read(r, base_at, &base, sizeof(base)) || base < LINUX_IMAGE_MAP ||
	     base % GUEST_PAGE))
		return false;
	k->layout = layout;
	addresses_set(k, v, base);
	return addresses_sorted(k);
}

static int addresses_find(struct kallsyms *k, const struct tables *t)
{
	_cleanup_free_ int32_t *v = calloc(k->nr, sizeof(*v));
	uint64_t bytes = (uint64_t)k->nr * sizeof(*v), padded = (bytes + 7) & ~(uint64_t)7;
	uint64_t number = t->offset + t->number;
	uint64_t after = (t->tokens->end + 7) & ~(uint64_t)7;

	if (!v)
		return fail(-ENOMEM, "out of memory");
	if (number >= 8 + padded && layout_try(k, t->ram, KALLSYMS_BEFORE_NAMES,
					       number - 8 - padded, number - 8, v))
		return 0;
	if (layout_try(k, t->ram, KALLSYMS_AFTER_TOKENS, after, after + padded, v) ||
	    layout_try(k, t->ram, KALLSYMS_SELF_RELATIVE, t->tokens->end, 0, v))
		return 0;
	return -EBADMSG;
}

/* ---- all of it ---- */

int kallsyms_read(const struct linux_ram *r, const struct kallsyms_tokens *tokens,
		  struct kallsyms *ret)
{
	uint64_t size = tokens->table < KALLSYMS_TABLE_BYTES_MAX ? tokens->table
								 : KALLSYMS_TABLE_BYTES_MAX;
	_cleanup_free_ uint8_t *data = NULL;
	struct tables t = {.ram = r, .tokens = tokens};
	int err = 0;

	*ret = (struct kallsyms){.table = tokens->table};
	size &= ~(uint64_t)7;
	t.offset = (tokens->table & ~(uint64_t)3) - size; /* from 7.0 on, it is aligned to 4 */
	t.size = size;
	t.data = data = malloc(size + 1);
	if (!data)
		return fail(-ENOMEM, "out of memory");
	if (linux_ram_read(r, t.offset, data, size))
		return -EBADMSG;
	if (!(markers_find(&t, 4) && names_find(&t)) && !(markers_find(&t, 8) && names_find(&t)))
		return -EBADMSG;
	err = names_decode(ret, &t);
	return err ? err : addresses_find(ret, &t);
}

void kallsyms_deinit(struct kallsyms *k)
{
	free(k->symbol);
	free(k->names);
	*k = (struct kallsyms){0};
}

void kallsyms_move(struct kallsyms *k, uint64_t delta)
{
	for (size_t i = 0; i < k->nr; i++)
		k->symbol[i].address += delta;
}

void kallsyms_write(const struct kallsyms *k, FILE *out)
{
	for (size_t i = 0; i < k->nr; i++)
		fprintf(out, "%016" PRIx64 " %c %s\n", k->symbol[i].address, k->symbol[i].type,
			kallsym_name(k, &k->symbol[i]));
}

const struct kallsym *kallsyms_find(const struct kallsyms *k, const char *name)
{
	return array_find(k->symbol, k->nr, i, !strcmp(kallsym_name(k, &k->symbol[i]), name));
}

/* Names are bytes of the guest's: what is not a graphic character becomes '?'. */
static int text_add(struct kallsyms *k, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool graphic = text[i] > ' ' && text[i] <= '~';

		if (array_room(k->names, k->names_bytes))
			return -ENOMEM;
		k->names[k->names_bytes++] = (char)(graphic ? text[i] : '?');
	}
	return 0;
}

static int byte_add(struct kallsyms *k, char c)
{
	int err = array_room(k->names, k->names_bytes);

	if (!err)
		k->names[k->names_bytes++] = c;
	return err;
}

int kallsyms_add(struct kallsyms *k, uint64_t address, char type, const char *name, size_t len,
		 const char *module)
{
	size_t more = module ? strlen(module) + 3 : 0;
	int err;

	if (k->nr == KALLSYMS_MAX || k->names_bytes + len + more + 1 > KALLSYMS_NAMES_MAX)
		return fail(-E2BIG, "the guest's symbol table has more than %d symbols",
			    KALLSYMS_MAX);
	err = array_room(k->symbol, k->nr);
	if (err)
		return err;
	k->symbol[k->nr++] = (struct kallsym){
		.address = address, .name = (uint32_t)k->names_bytes, .type = type};
	err = text_add(k, name, len);
	if (!err && module)
		err = byte_add(k, '\t');
	if (!err && module)
		err = text_add(k, "[", 1);
	if (!err && module)
		err = text_add(k, module, strlen(module));
	if (!err && module)
		err = text_add(k, "]", 1);
	return err ? err : byte_add(k, '\0');
}
