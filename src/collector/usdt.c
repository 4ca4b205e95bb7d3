// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "collector/usdt.h"

enum { NT_STAPSDT = 3 };

static const char *text_take(struct buffer *b)
{
	const uint8_t *end = memchr(b->pos, 0, buffer_left(b));
	const char *text = (const char *)b->pos;

	if (!end) {
		b->cut = true;
		return NULL;
	}
	b->pos = end + 1;
	return text;
}

/* The note was written before linking was complete: it moves with .stapsdt.base (prelink). */
static bool mark_take(const uint8_t *desc, size_t len, uint64_t base_now, struct usdt_mark *ret)
{
	struct buffer b = buffer_of(desc, len, "", 0);
	uint64_t pc = buffer_u64(&b), base = buffer_u64(&b), semaphore = buffer_u64(&b);
	uint64_t moved = base_now ? base_now - base : 0;

	ret->provider = text_take(&b);
	ret->name = ret->provider ? text_take(&b) : NULL;
	ret->args = ret->name ? text_take(&b) : NULL;
	ret->address = pc + moved;
	ret->semaphore = semaphore ? semaphore + moved : 0;
	return ret->args && !b.cut;
}

static int mark_add(struct usdt_marks *marks, const struct usdt_mark *mark)
{
	if (marks->nr == USDT_MARKS_MAX) {
		marks->broken++;
		return 0;
	}
	if (array_room(marks->mark, marks->nr))
		return -ENOMEM;
	marks->mark[marks->nr++] = *mark;
	return 0;
}

static int notes_read(const uint8_t *notes, size_t len, uint64_t base_now, struct usdt_marks *ret)
{
	struct buffer b = buffer_of(notes, len, "", 0);
	int err = 0;

	while (buffer_left(&b) >= 12 && !err) {
		uint32_t name_len = buffer_u32(&b), desc_len = buffer_u32(&b),
			 type = buffer_u32(&b);
		const uint8_t *name = buffer_bytes(&b, ((size_t)name_len + 3) & ~(size_t)3);
		const uint8_t *desc = buffer_bytes(&b, ((size_t)desc_len + 3) & ~(size_t)3);
		struct usdt_mark mark;

		if (!name || !desc) {
			ret->broken++;
			break;
		}
		if (type != NT_STAPSDT || name_len != sizeof("stapsdt") ||
		    memcmp(name, "stapsdt", name_len))
			continue;
		if (mark_take(desc, desc_len, base_now, &mark))
			err = mark_add(ret, &mark);
		else
			ret->broken++;
	}
	return err;
}

int usdt_read(const struct elf_file *e, struct usdt_marks *ret)
{
	uint64_t address, base = 0;
	size_t len, base_len;
	const uint8_t *notes = elf_file_section(e, ".note.stapsdt", &len, &address);
	int err;

	*ret = (struct usdt_marks){0};
	if (!notes)
		return 0;
	elf_file_section(e, ".stapsdt.base", &base_len, &base);
	err = notes_read(notes, len, base, ret);
	if (err)
		usdt_free(ret);
	return err;
}

void usdt_free(struct usdt_marks *marks)
{
	free(marks->mark);
	*marks = (struct usdt_marks){0};
}

/* After "SIZE@": %reg, $number, number(%reg), (%reg) */
static bool operand_readable(const char *p, const char *end)
{
	const char *paren = memchr(p, '(', (size_t)(end - p));

	if (p == end)
		return false;
	if (*p == '%' || *p == '$')
		return !paren;
	if (!paren || end[-1] != ')' || memchr(p, ',', (size_t)(end - p)) || paren[1] != '%')
		return false;
	for (; p < paren; p++)
		if (!isdigit((unsigned char)*p) && *p != '-' && *p != '+')
			return false;
	return strncmp(paren, "(%rip", 5) != 0;
}

bool usdt_args_readable(const char *args, unsigned int nr)
{
	unsigned int seen = 0;

	while (seen < nr) {
		size_t len;
		const char *at;

		args += strspn(args, " ");
		len = strcspn(args, " ");
		at = memchr(args, '@', len);
		if (!len || !at || !operand_readable(at + 1, args + len))
			return false;
		args += len;
		seen++;
	}
	return true;
}
