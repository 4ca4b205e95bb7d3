// SPDX-License-Identifier: GPL-2.0-or-later
/* A file is a row of blocks: type, length, body, options, length. Numbers are little-endian, as this machine's. */
#include <string.h>

#include "output/samples/pcapng.h"

enum { BLOCK_SECTION = 0x0a0d0d0a, BLOCK_INTERFACE = 1, BLOCK_PACKET = 6 };
enum { OPTION_END = 0, OPTION_COMMENT = 1 };
enum { SECTION_PROGRAM = 4 };
enum { INTERFACE_NAME = 2, INTERFACE_RESOLUTION = 9 };
enum { PACKET_FLAGS = 2, FLAG_INBOUND = 1, FLAG_OUTBOUND = 2 };
enum { BYTE_ORDER_MAGIC = 0x1a2b3c4d, LINK_ETHERNET = 1, RESOLUTION_NS = 9 };
enum { OPTION_BYTES_MAX = UINT16_MAX };

struct option {
	uint16_t code;
	const void *data;
	size_t len;
};

struct part {
	const void *data;
	size_t len;
};

static uint32_t padded(size_t len)
{
	return (uint32_t)(len + 3) & ~3u;
}

static void put_padded(const void *data, size_t len, FILE *out)
{
	static const uint8_t zeros[3];

	fwrite(data, 1, len, out);
	fwrite(zeros, 1, padded(len) - len, out);
}

static void option_put(const struct option *o, FILE *out)
{
	const uint16_t head[] = {o->code, (uint16_t)o->len};

	fwrite(head, sizeof(head), 1, out);
	put_padded(o->data, o->len, out);
}

static struct option text_option(uint16_t code, const char *text)
{
	size_t len = strlen(text);

	return (struct option){code, text, len < OPTION_BYTES_MAX ? len : OPTION_BYTES_MAX};
}

/* The body is a head and, for packets, data. */
static void block_put(uint32_t type, const struct part *head, const struct part *data,
		      const struct option *options, unsigned int nr, FILE *out)
{
	const struct option end = {OPTION_END, "", 0};
	uint32_t len = 3 * sizeof(uint32_t) + padded(head->len) + padded(data->len) +
		       2 * sizeof(uint16_t);

	for (unsigned int i = 0; i < nr; i++)
		len += 2 * (uint32_t)sizeof(uint16_t) + padded(options[i].len);
	fwrite(&type, sizeof(type), 1, out);
	fwrite(&len, sizeof(len), 1, out);
	put_padded(head->data, head->len, out);
	put_padded(data->data, data->len, out);
	for (unsigned int i = 0; i < nr; i++)
		option_put(&options[i], out);
	option_put(&end, out);
	fwrite(&len, sizeof(len), 1, out);
}

void pcapng_begin(const char *program, const char *interface, const char *clock, FILE *out)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint64_t length;
	} section = {BYTE_ORDER_MAGIC, 1, 0, UINT64_MAX /* unknown */};
	const struct {
		uint16_t link, reserved;
		uint32_t snaplen;
	} link = {LINK_ETHERNET, 0, 0 /* no limit */};
	const uint8_t resolution = RESOLUTION_NS;
	const struct option about = text_option(SECTION_PROGRAM, program);
	const struct option options[] = {text_option(INTERFACE_NAME, interface),
					 {INTERFACE_RESOLUTION, &resolution, sizeof(resolution)},
					 text_option(OPTION_COMMENT, clock)};
	const struct part none = {"", 0};

	block_put(BLOCK_SECTION, &(struct part){&section, sizeof(section)}, &none, &about, 1, out);
	block_put(BLOCK_INTERFACE, &(struct part){&link, sizeof(link)}, &none, options,
		  sizeof(options) / sizeof(options[0]), out);
}

void pcapng_packet(const struct pcapng_packet *p, FILE *out)
{
	const uint32_t head[] = {0 /* interface */, (uint32_t)(p->time_ns >> 32),
				 (uint32_t)p->time_ns, p->len, p->len};
	const uint32_t flags = p->outbound ? FLAG_OUTBOUND : FLAG_INBOUND;
	const struct option options[] = {text_option(OPTION_COMMENT, p->comment),
					 {PACKET_FLAGS, &flags, sizeof(flags)}};

	block_put(BLOCK_PACKET, &(struct part){head, sizeof(head)},
		  &(struct part){p->data, p->len}, options, sizeof(options) / sizeof(options[0]),
		  out);
}
