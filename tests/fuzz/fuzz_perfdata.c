// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's files, as a host's and as a guest's. The mutator changes one record, then its size, the data section's size
 * and the offsets of what follows; or it changes bytes outside the records in place.
 */
#include "lsan.h"
#include "mutate.h"
#include "readers/perf/perfdata.h"
#include "walk.h"

enum {
	HEAD_PIPE = 16,
	HEAD_FILE = 104,
	HEAD_SIZE = 8,
	ATTRS_AT = 24,
	DATA_AT = 40,
	DATA_SIZE = 48,
	FEATURE_BITS = 72,
	FEATURE_WORDS = 4,
	SECTION = 16,	   /* u64 offset, u64 size */
	RECORD_HEAD = 8,   /* u32 type, u16 misc, u16 size */
	TRACING_DATA = 66, /* a record type: u32 size of what follows the record */
	RECORD_MAX = 65528,
	WINDOW = 256,
};

struct layout {
	bool pipe;
	size_t data_at, data_end;
	struct piece record[PIECES_MAX];
	unsigned int nr;
};

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void u64_add(uint8_t *p, uint64_t delta)
{
	uint64_t v = u64_at(p) + delta;

	memcpy(p, &v, sizeof(v));
}

/* Bytes after the record that belong to it. */
static size_t extra_bytes(const uint8_t *record, size_t size, size_t left)
{
	uint32_t type, extra = 0;

	memcpy(&type, record, 4);
	if (type == TRACING_DATA && size >= RECORD_HEAD + 4)
		memcpy(&extra, record + RECORD_HEAD, 4);
	return extra < left - size ? extra : left - size;
}

static bool layout_of(const uint8_t *data, size_t size, struct layout *l)
{
	*l = (struct layout){.pipe = size >= HEAD_PIPE && u64_at(data + HEAD_SIZE) == HEAD_PIPE};
	if (!l->pipe && size < HEAD_FILE)
		return false;
	l->data_at = l->pipe ? (size_t)HEAD_PIPE : u64_at(data + DATA_AT);
	if (l->data_at > size)
		return false;
	l->data_end = l->pipe || u64_at(data + DATA_SIZE) > size - l->data_at
			      ? size
			      : l->data_at + u64_at(data + DATA_SIZE);
	for (size_t at = l->data_at; l->nr < PIECES_MAX && l->data_end - at >= RECORD_HEAD;) {
		uint16_t len;

		memcpy(&len, data + at + 6, 2);
		if (len < RECORD_HEAD || len > l->data_end - at)
			break;
		l->record[l->nr++] = (struct piece){at, len};
		at += len + extra_bytes(data + at, len, l->data_end - at);
	}
	return l->nr > 0;
}

/* The data section became longer. The table of features follows it. */
static void offsets_repair(uint8_t *data, size_t size, const struct layout *l, size_t delta)
{
	size_t table = l->data_end + delta;

	if (l->pipe)
		return;
	u64_add(data + DATA_SIZE, delta);
	if (u64_at(data + ATTRS_AT) >= l->data_end)
		u64_add(data + ATTRS_AT, delta);
	for (unsigned int i = 0; i < FEATURE_WORDS * 64; i++) {
		if (!(u64_at(data + FEATURE_BITS + i / 64 * 8) >> i % 64 & 1))
			continue;
		if (size - table < SECTION)
			return;
		u64_add(data + table, delta);
		table += SECTION;
	}
}

static size_t record_mutate(uint8_t *data, size_t size, size_t max, struct piece record)
{
	struct piece body = {record.at + RECORD_HEAD, record.len - RECORD_HEAD};
	size_t most = size + RECORD_MAX - record.len, resized;
	uint16_t len;

	resized = piece_mutate(data, size, max < most ? max : most, &body, false);
	len = (uint16_t)(body.len + RECORD_HEAD);
	memcpy(data + record.at + 6, &len, 2);
	return resized;
}

/* Before or after the records. */
static void outside_mutate(uint8_t *data, size_t size, const struct layout *l, unsigned int *seed)
{
	size_t left = l->data_at + (size - l->data_end);
	struct piece p = {left ? mutate_random(seed) % left : 0, WINDOW};

	if (p.at >= l->data_at)
		p.at += l->data_end - l->data_at;
	p.len = size - p.at < p.len ? size - p.at : p.len;
	if (p.len)
		piece_mutate(data, size, size, &p, true);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	struct layout l;
	struct piece p, type;
	size_t resized = size;

	if (!layout_of(data, size, &l) || mutate_chance(&seed, 16))
		return LLVMFuzzerMutate(data, size, max);
	p = l.record[mutate_random(&seed) % l.nr];
	switch (mutate_random(&seed) % 8) {
	case 0:
		type = (struct piece){p.at, 6};
		piece_mutate(data, size, max, &type, true);
		break;
	case 1:
		resized =
			piece_double(data, size, max, p, l.record[mutate_random(&seed) % l.nr].at);
		break;
	case 2:
		resized = piece_replace(data, size, &p, NULL, 0);
		break;
	case 3:
		outside_mutate(data, size, &l, &seed);
		break;
	default:
		resized = record_mutate(data, size, max, p);
	}
	offsets_repair(data, resized, &l, resized - size);
	return resized;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_file_both(&perfdata_reader, data, size);
	return 0;
}
