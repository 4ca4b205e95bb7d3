/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mutates a text trace (doc/format.md) by lines: events of any type with values that a hostile recording may have,
 * copies of lines at other times, other numbers, lines that are missing, several times there or in another order.
 */
#ifndef HOSTRACE_FUZZ_MUTATE_TEXT_H
#define HOSTRACE_FUZZ_MUTATE_TEXT_H

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "event/event.h"
#include "mutate.h"
#include "tracefile/tracefile.h"

enum { LINE_MAX_BYTES = 2048, NS_PER_S = 1000000000 };

#define PICK(array, seed) ((array)[mutate_random(seed) % (sizeof(array) / sizeof(*(array)))])

/* A line, with its newline. */
static inline struct piece line_at(const uint8_t *data, size_t size, size_t at)
{
	const uint8_t *end;

	while (at && data[at - 1] != '\n')
		at--;
	end = memchr(data + at, '\n', size - at);
	return (struct piece){at, end ? (size_t)(end + 1 - data) - at : size - at};
}

/* A line from `from` on; if possible an event. */
static inline struct piece line_pick(const uint8_t *data, size_t size, size_t from,
				     unsigned int *seed)
{
	struct piece p = {from, 0};

	for (int i = 0; i < 4 && from < size; i++) {
		p = line_at(data, size, from + mutate_random(seed) % (size - from));
		if (p.at >= from && isdigit(data[p.at]))
			break;
	}
	return p.at < from ? (struct piece){from, 0} : p;
}

static inline uint64_t value_hostile(unsigned int *seed)
{
	static const uint64_t values[] = {
		0,	  1,	      2,	   3,	       7,	   63,	      64,
		202,	  255,	      256,	   1000,       0x1000,	   65535,     65536,
		INT32_MAX, UINT32_MAX, 1ull << 32, NS_PER_S,   INT64_MAX,  1ull << 63, UINT64_MAX,
		UINT64_MAX - 1,
	};
	uint64_t v = PICK(values, seed);

	switch (mutate_random(seed) % 6) {
	case 0:
		return mutate_random(seed) % 16;
	case 1:
		return (uint64_t)1 << mutate_random(seed) % 64;
	case 2:
		return v + mutate_random(seed) % 3 - 1;
	case 3:
		return (uint64_t)mutate_random(seed) << 32 | mutate_random(seed);
	default:
		return v;
	}
}

/* ---- times ---- */

static inline uint64_t time_parse(const uint8_t *line, size_t len)
{
	uint64_t s = 0, ns = 0, unit = NS_PER_S / 10;
	size_t i = 0;

	for (; i < len && isdigit(line[i]); i++)
		s = s * 10 + line[i] - '0';
	if (i < len && line[i] == '.')
		for (i++; i < len && isdigit(line[i]); i++, unit /= 10)
			ns += unit * (line[i] - '0');
	return s * NS_PER_S + ns;
}

static inline uint64_t time_near(uint64_t ns, unsigned int *seed)
{
	static const uint64_t steps[] = {0, 0, 1, 10, 1000, 5000, 1000000, 1000000000, 60000000000};

	switch (mutate_random(seed) % 32) {
	case 0:
		return value_hostile(seed);
	case 1:
		return ns - PICK(steps, seed);
	default:
		return ns + PICK(steps, seed) + mutate_random(seed) % 4;
	}
}

/* ---- events ---- */

static inline void field_fill(const struct field *f, uint8_t *record, unsigned int *seed)
{
	static const char *const texts[] = {"qemu",
					    "CPU 0/KVM",
					    "IO iothread1",
					    "vhost-10",
					    "",
					    "a<b&\"'>",
					    "\xe2\x80\xae\x1b[7m",
					    "kworker/0:1",
					    "\xff\xfe",
					    "virtio-blk",
					    "requestq",
					    "running",
					    "paused",
					    "=;, "};
	uint64_t v = value_hostile(seed);

	if (f->kind == FIELD_TEXT)
		snprintf((char *)record + f->offset, f->size, "%s", PICK(texts, seed));
	else if (f->kind != FIELD_DYNTEXT)
		memcpy(record + f->offset, &v, f->size < 8 ? f->size : 8);
}

/* The type of the event in this line, or one of ours. */
static inline const struct event_type *type_pick(const uint8_t *line, size_t len,
						 unsigned int *seed)
{
	const struct event_type *type = NULL;
	char name[EVENT_NAME_MAX] = "";
	const uint8_t *word = memchr(line, ' ', len);

	if (word && mutate_random(seed) % 4) {
		snprintf(name, sizeof(name), "%.*s", (int)(line + len - word - 1),
			 (const char *)word + 1);
		name[strcspn(name, " \n")] = '\0';
		type = event_type_named(name);
	}
	while (!type)
		type = event_type_ours(1 + mutate_random(seed) % (EV_LIMIT - 1));
	return type;
}

/* An event that could follow this line. Returns its length. */
static inline size_t line_make(const uint8_t *line, size_t len, char *to, unsigned int *seed)
{
	static uint8_t record[EVENT_RECORD_MAX] __attribute__((aligned(8)));
	static const uint32_t tids[] = {10, 11, 12, 13, 20, 21, 1};
	const struct event_type *type = type_pick(line, len, seed);
	uint32_t vcpu = mutate_random(seed) % 4;
	struct event ev = {
		.time_ns = time_near(time_parse(line, len), seed),
		.type = type,
		.data = record,
		.size = type->size,
		.pid = mutate_chance(seed, 8) ? 20 : 10,
		.tid = mutate_chance(seed, 16) ? (uint32_t)value_hostile(seed) : PICK(tids, seed),
		.cpu = (uint16_t)(mutate_chance(seed, 32) ? value_hostile(seed) : vcpu),
		.vcpu = (uint16_t)(mutate_chance(seed, 4)    ? RECORD_NO_VCPU
				   : mutate_chance(seed, 32) ? value_hostile(seed)
							     : vcpu),
	};
	FILE *f = fmemopen(to, LINE_MAX_BYTES, "w");
	long n;

	if (!f)
		abort();
	memset(record, 0, type->size);
	for (unsigned int i = 0; i < type->nr_fields; i++)
		if (mutate_random(seed) % 3)
			field_fill(&type->fields[i], record, seed);
	textfile_print(&ev, f);
	fputc('\n', f);
	n = ftell(f);
	fclose(f);
	return n > 0 && n < LINE_MAX_BYTES && to[n - 1] == '\n' ? (size_t)n : 0;
}

/* Copies a line with another time. Returns its length. */
static inline size_t line_copy(const uint8_t *line, size_t len, uint64_t ns, char *to)
{
	const uint8_t *rest = memchr(line, ' ', len);

	if (!rest || !isdigit(*line))
		return 0;
	len -= (size_t)(rest - line);
	if (len > LINE_MAX_BYTES - 64)
		return 0;
	int n = snprintf(to, 64, "%" PRIu64 ".%09" PRIu64, ns / NS_PER_S, ns % NS_PER_S);

	memcpy(to + n, rest, len);
	return (size_t)n + len;
}

static inline size_t text_insert(uint8_t *data, size_t size, size_t max, size_t at,
				 const char *what, size_t len)
{
	struct piece gap = {at, 0};

	return len && len <= max - size
		       ? piece_replace(data, size, &gap, (const uint8_t *)what, len)
		       : size;
}

/* ---- mutations; each returns the new size ---- */

static inline size_t events_insert(uint8_t *data, size_t size, size_t max, size_t from,
				   unsigned int *seed)
{
	char line[LINE_MAX_BYTES];

	for (uint32_t nr = 1 + mutate_random(seed) % 4; nr; nr--) {
		struct piece p = line_pick(data, size, from, seed);
		size_t len = line_make(data + p.at, p.len, line, seed);

		size = text_insert(data, size, max, p.at + p.len, line, len);
	}
	return size;
}

/* Copies some lines once or several times, each copy after the one before. */
static inline size_t events_repeat(uint8_t *data, size_t size, size_t max, size_t from,
				   unsigned int *seed)
{
	struct piece first = line_pick(data, size, from, seed);
	uint32_t nr = 1 + mutate_random(seed) % 8, times = 1 + mutate_random(seed) % 8;
	size_t end = first.at, at;
	uint64_t span = time_near(0, seed);
	char line[LINE_MAX_BYTES];

	for (uint32_t i = 0; i < nr && end < size; i++)
		end += line_at(data, size, end).len;
	for (uint32_t i = times; i; i--) {
		at = end;
		for (size_t next = first.at; next < end;) {
			struct piece p = line_at(data, size, next);
			uint64_t ns = time_parse(data + p.at, p.len) + span * i;
			size_t len = line_copy(data + p.at, p.len, ns, line), before = size;

			size = text_insert(data, size, max, at, line, len);
			at += size - before;
			next += p.len;
		}
	}
	return size;
}

static inline size_t lines_remove(uint8_t *data, size_t size, size_t from, unsigned int *seed)
{
	for (uint32_t nr = 1 + mutate_random(seed) % 3; nr; nr--) {
		struct piece p = line_pick(data, size, from, seed);

		size = piece_replace(data, size, &p, NULL, 0);
	}
	return size;
}

static inline size_t line_move(uint8_t *data, size_t size, size_t max, size_t from,
			       unsigned int *seed)
{
	struct piece p = line_pick(data, size, from, seed);
	size_t to = line_pick(data, size, from, seed).at;

	if (p.len > max - size)
		return size;
	size = piece_double(data, size, max, p, to);
	p.at += to <= p.at ? p.len : 0;
	return piece_replace(data, size, &p, NULL, 0);
}

/* Another number in place of one of a line. */
static inline size_t number_mutate(uint8_t *data, size_t size, size_t max, size_t from,
				   unsigned int *seed)
{
	struct piece p = line_pick(data, size, from, seed), number;
	size_t at = p.len ? p.at + mutate_random(seed) % p.len : p.at, end = p.at + p.len;
	char text[32];
	int n;

	while (at < end && !isdigit(data[at]))
		at++;
	while (at > p.at && isdigit(data[at - 1]))
		at--;
	for (number = (struct piece){at, 0}; at < end && isdigit(data[at]); at++)
		number.len++;
	n = snprintf(text, sizeof(text), "%" PRIu64, value_hostile(seed));
	if (!number.len || (size_t)n > max - size)
		return size;
	return piece_replace(data, size, &number, (const uint8_t *)text, (size_t)n);
}

/* Changes what follows `from`. */
static inline size_t text_mutate(uint8_t *data, size_t size, size_t max, size_t from,
				 unsigned int *seed)
{
	struct piece p;

	switch (mutate_random(seed) % 8) {
	case 0:
	case 1:
		return events_insert(data, size, max, from, seed);
	case 2:
		return events_repeat(data, size, max, from, seed);
	case 3:
		return lines_remove(data, size, from, seed);
	case 4:
		return line_move(data, size, max, from, seed);
	case 5:
		p = line_pick(data, size, from, seed);
		return piece_mutate(data, size, max, &p, false);
	default:
		return number_mutate(data, size, max, from, seed);
	}
}

#endif
