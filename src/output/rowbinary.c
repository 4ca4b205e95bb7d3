// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block of rows in RowBinary: numbers are little-endian, as this machine's are, and a text has its length before it,
 * as LEB128.
 */
#include <errno.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "output/rowbinary.h"
#include "record.h"

enum { OWN_BYTES = 128 /* of numbers in the first columns */ };

void rowbinary_begin(struct rowbinary *b, uint32_t chunk, uint64_t upload)
{
	b->len = 0;
	b->rows = 0;
	b->crc = 0;
	b->chunk = chunk;
	b->upload = upload;
}

void rowbinary_deinit(struct rowbinary *b)
{
	free(b->data);
	*b = (struct rowbinary){0};
}

int rowbinary_reserve(struct rowbinary *b, size_t more)
{
	return array_reserve(b->data, b->len + more, b->size);
}

void rowbinary_put(struct rowbinary *b, const void *value, size_t len)
{
	memcpy(b->data + b->len, value, len);
	b->len += len;
}

static size_t varint_make(uint8_t *to, uint64_t value)
{
	size_t len = 0;

	for (; value > 0x7f; value >>= 7)
		to[len++] = (uint8_t)(value | 0x80);
	to[len++] = (uint8_t)value;
	return len;
}

void rowbinary_put_length(struct rowbinary *b, uint64_t value)
{
	b->len += varint_make(b->data + b->len, value);
}

void rowbinary_put_text(struct rowbinary *b, const char *text)
{
	size_t len = strlen(text);

	rowbinary_put_length(b, len);
	rowbinary_put(b, text, len);
}

int rowbinary_row(struct rowbinary *b, const struct rowbinary_trace *trace,
		  const struct rowbinary_thread *thread, size_t more)
{
	int32_t vcpu = thread->vcpu == RECORD_NO_VCPU ? -1 : thread->vcpu;

	if (rowbinary_reserve(b, strlen(trace->host) + strlen(trace->id) + strlen(thread->vm) +
					 OWN_BYTES + more))
		return -ENOMEM;
	b->row = b->len;
	rowbinary_put(b, &b->upload, sizeof(b->upload));
	rowbinary_put(b, &trace->day, sizeof(trace->day));
	rowbinary_put_text(b, trace->host);
	rowbinary_put_text(b, trace->id);
	rowbinary_put(b, &b->chunk, sizeof(b->chunk));
	rowbinary_put(b, &trace->offset_ns, sizeof(trace->offset_ns));
	rowbinary_put_text(b, thread->vm);
	rowbinary_put(b, &thread->pid, sizeof(thread->pid));
	rowbinary_put(b, &thread->tid, sizeof(thread->tid));
	rowbinary_put(b, &vcpu, sizeof(vcpu));
	return 0;
}

void rowbinary_row_end(struct rowbinary *b)
{
	size_t from = b->row + sizeof(b->upload);

	b->crc = crc32c(b->crc, b->data + from, b->len - from);
	b->rows++;
}

/* ---- a file ---- */

static unsigned int names_count(const char *names)
{
	unsigned int nr = 1;

	for (; *names; names++)
		nr += *names == ',';
	return nr;
}

static void names_put(const char *names, FILE *out)
{
	uint8_t varint[ROWBINARY_VARINT_MAX];

	while (*names) {
		size_t len = strcspn(names, ",");

		fwrite(varint, 1, varint_make(varint, len), out);
		fwrite(names, 1, len, out);
		names += len + (names[len] == ',');
	}
}

void rowbinary_head(const char *columns, const char *types, FILE *out)
{
	uint8_t varint[ROWBINARY_VARINT_MAX];

	fwrite(varint, 1, varint_make(varint, names_count(columns)), out);
	names_put(columns, out);
	names_put(types, out);
}
