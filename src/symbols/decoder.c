// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The side of hostrace-decode that asks: a question and the code are one message, the answer another. The helper gets
 * only as much of a function as it looks at.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "symbols/decoder.h"

int decoder_start(struct helper *h)
{
	char why[HELPER_MESSAGE_MAX];
	struct helper_head head;
	int err = helper_start(h, "hostrace-decode");

	if (!err)
		err = helper_receive(h, &head, why);
	if (err || (head.kind == DECODE_READY && head.len == 1))
		return err;
	helper_stop(h);
	return fail(-EPERM, "hostrace-decode: %.*s", (int)head.len, why);
}

int decoder_check(const struct helper *h)
{
	return h->pid ? 0 : fail(-EPIPE, "hostrace-decode has ended");
}

static int question_send(struct helper *h, const struct decode_question *q, const uint8_t *code,
			 size_t len)
{
	uint8_t message[sizeof(*q) + DECODE_FUNCTION_MAX + 1];

	memcpy(message, q, sizeof(*q));
	memcpy(message + sizeof(*q), code, len);
	return helper_send(h, DECODE_QUESTION, message, sizeof(*q) + len);
}

/* Of the code, at most `max` bytes are needed. */
static int decoder_ask(struct helper *h, const struct decode_question *q, const uint8_t *code,
		       size_t len, size_t max, struct decode_answer *ret)
{
	uint8_t reply[HELPER_MESSAGE_MAX];
	struct helper_head head;
	int err = decoder_check(h);

	if (!err)
		err = question_send(h, q, code, len < max ? len : max);
	if (!err)
		err = helper_receive(h, &head, reply);
	if (err)
		return err;
	if (head.kind != DECODE_ANSWER || head.len != sizeof(*ret)) {
		helper_stop(h);
		return fail(-EPIPE, "hostrace-decode: an answer of %u bytes", head.len);
	}
	memcpy(ret, reply, sizeof(*ret));
	return ret->err;
}

int decoder_place(struct helper *h, const uint8_t *code, size_t len, unsigned int nr_args,
		  struct decoded *ret)
{
	const struct decode_question q = {.what = DECODE_PLACE, .arg = nr_args};
	struct decode_answer a;
	int err = decoder_ask(h, &q, code, len, DECODE_FUNCTION_MAX + 1, &a);

	if (!err)
		*ret = a.at;
	return err;
}

int decoder_at(struct helper *h, const uint8_t *code, size_t len, struct decoded *ret)
{
	const struct decode_question q = {.what = DECODE_AT};
	struct decode_answer a;
	int err = decoder_ask(h, &q, code, len, DECODE_INSN_MAX, &a);

	if (!err)
		*ret = a.at;
	return err;
}

int decoder_within(struct helper *h, const uint8_t *code, size_t len, uint64_t offset,
		   struct decoded *ret)
{
	const struct decode_question q = {.what = DECODE_WITHIN, .address = offset};
	struct decode_answer a;
	int err = decoder_ask(h, &q, code, len, DECODE_FUNCTION_MAX, &a);

	if (!err)
		*ret = a.at;
	return err;
}

int decoder_member(struct helper *h, const uint8_t *code, size_t len, unsigned int arg,
		   unsigned int bytes, int64_t *ret)
{
	const struct decode_question q = {.what = DECODE_MEMBER, .arg = arg, .bytes = bytes};
	struct decode_answer a;
	int err = decoder_ask(h, &q, code, len, DECODE_PROLOGUE_MAX, &a);

	if (!err)
		*ret = a.member;
	return err;
}

unsigned int decoder_variables(struct helper *h, const uint8_t *code, size_t len, uint64_t address,
			       unsigned int arg, uint64_t *ret)
{
	const struct decode_question q = {
		.what = DECODE_VARIABLES, .arg = arg, .address = address};
	struct decode_answer a;

	if (decoder_ask(h, &q, code, len, DECODE_FUNCTION_MAX, &a) ||
	    a.nr_variables > DECODE_VARIABLES_MAX)
		return 0;
	memcpy(ret, a.variable, a.nr_variables * sizeof(*ret));
	return a.nr_variables;
}

static int lines_call(const uint8_t *reply, size_t len, size_t base,
		      int (*line)(void *arg, size_t offset, const char *text), void *arg)
{
	struct decode_line l;
	int err = 0;

	for (size_t at = 0; at < len && !err; at += sizeof(l)) {
		if (len - at < sizeof(l))
			return fail(-EPIPE, "hostrace-decode: an answer of %zu bytes", len);
		memcpy(&l, reply + at, sizeof(l));
		l.text[sizeof(l.text) - 1] = '\0';
		err = line(arg, base + l.offset, l.text);
	}
	return err;
}

int decoder_lines(struct helper *h, const uint8_t *code, size_t len, uint64_t address,
		  int (*line)(void *arg, size_t offset, const char *text), void *arg)
{
	uint8_t reply[HELPER_MESSAGE_MAX];
	struct helper_head head;
	int err = decoder_check(h);

	for (size_t at = 0, next; at < len && !err; at = next) {
		const struct decode_question q = {.what = DECODE_LINES, .address = address + at};
		size_t left = len - at, room = DECODE_LINES_BYTES + DECODE_INSN_MAX;

		err = question_send(h, &q, code + at, left < room ? left : room);
		if (!err)
			err = helper_receive(h, &head, reply);
		if (err)
			break;
		if (head.kind != DECODE_TEXT || head.len < sizeof(uint32_t)) {
			helper_stop(h);
			return fail(-EPIPE, "hostrace-decode: an answer of %u bytes", head.len);
		}
		uint32_t used;

		memcpy(&used, reply, sizeof(used));
		next = used && used <= left ? at + used : len;
		err = lines_call(reply + sizeof(used), head.len - sizeof(used), at, line, arg);
	}
	return err;
}

bool decode_is_nop5(const uint8_t *code, size_t len)
{
	static const uint8_t nopl[] = {0x0f, 0x1f, 0x44, 0x00};

	return len >= 5 && !memcmp(code, nopl, sizeof(nopl));
}
