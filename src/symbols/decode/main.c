// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace-decode: decodes functions of a VM's executable for hostrace, by libcapstone. That library has 77,000
 * pointers that the dynamic linker adjusts in each start, three quarters of all that hostrace would have; and the code
 * that it parses is another program's, for which this process needs no rights.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/helper.h"
#include "symbols/decode/decode.h"
#include "confine/confine.h"

static int decode(const struct decode_question *q, const uint8_t *code, size_t len,
		  struct decode_answer *ret)
{
	switch (q->what) {
	case DECODE_PLACE:
		return decode_place(code, len, q->arg, &ret->at);
	case DECODE_AT:
		return decode_at(code, len, &ret->at);
	case DECODE_WITHIN:
		return decode_within(code, len, q->address, &ret->at);
	case DECODE_MEMBER:
		return decode_member(code, len, q->arg, q->bytes, &ret->member);
	case DECODE_VARIABLES:
		ret->nr_variables = decode_variables(code, len, q->address, q->arg, ret->variable,
						     DECODE_VARIABLES_MAX);
		return 0;
	case DECODE_LINES:
		break;
	}
	return -EPROTO;
}

static int lines_reply(const struct decode_question *q, const uint8_t *code, size_t len)
{
	uint8_t reply[HELPER_MESSAGE_MAX];
	struct decode_line line[DECODE_LINES_BYTES];
	uint32_t used;
	unsigned int nr = decode_lines(code, len, q->address, line, &used);

	_Static_assert(sizeof(used) + sizeof(line) <= HELPER_MESSAGE_MAX, "one message");
	memcpy(reply, &used, sizeof(used));
	memcpy(reply + sizeof(used), line, nr * sizeof(*line));
	return helper_reply(DECODE_TEXT, reply, sizeof(used) + nr * sizeof(*line));
}

static int decode_request(uint32_t kind, const uint8_t *data, size_t len)
{
	struct decode_question q;
	struct decode_answer a = {0};

	if (kind != DECODE_QUESTION || len < sizeof(q))
		return -EPROTO;
	memcpy(&q, data, sizeof(q));
	if (q.what == DECODE_LINES)
		return lines_reply(&q, data + sizeof(q), len - sizeof(q));
	a.err = decode(&q, data + sizeof(q), len - sizeof(q), &a);
	return helper_reply(DECODE_ANSWER, &a, sizeof(a));
}

int main(void)
{
	struct confinement c = {.phase = CONFINE_SERVE};
	int err = confine(&c);
	const char *why = err ? error_text() : "";

	if (helper_reply(DECODE_READY, why, strlen(why) + 1) || err)
		return EXIT_FAILURE;
	return helper_serve(decode_request);
}
