// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frames below an event. tracefs prints an event "<stack trace>" and a line "=> FUNCTION" for each. perf script
 * prints below the event that has a call chain, innermost first, inlined functions as frames of their own:
 *
 *	ffffffff82265ec8 __schedule+0x2c8 ([kernel.kallsyms])
 *	    55d7c0a01234 aio_poll (inlined)
 *	           f7b3a statx+0xa (/usr/lib/x86_64-linux-gnu/libc.so.6)
 *	               0 [unknown] ([unknown])
 *
 * which become an event of their own (event/call_chain.h), a function with its file but without folders and offset, or
 * its address where it has no name. A frame at the address 0 is none.
 */
#include <inttypes.h>

#include "readers/text/text_source.h"
#include "readers/text/tracetext.h"

/* "/usr/lib/libc.so.6" -> "libc.so.6" */
static struct text_slice dso_short(struct text_slice dso)
{
	static const char kernel[] = "[kernel";
	const char *slash = memrchr(dso.at, '/', dso.len);

	if (dso.len >= strlen(kernel) && !memcmp(dso.at, kernel, strlen(kernel)))
		return (struct text_slice){"[kernel]", 8};
	if (slash && dso.at[0] == '/' && slash + 1 < dso.at + dso.len)
		return (struct text_slice){slash + 1, (uint32_t)(dso.at + dso.len - slash - 1)};
	return dso;
}

static bool slice_is(struct text_slice s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

/* Takes " (DSO)" off the end of the frame. */
static struct text_slice dso_take(struct text_slice *frame)
{
	const char *open = NULL;
	struct text_slice dso = {0};

	if (!frame->len || frame->at[frame->len - 1] != ')')
		return dso;
	for (const char *p = frame->at; p + 1 < frame->at + frame->len; p++)
		if (p[0] == ' ' && p[1] == '(')
			open = p;
	if (!open)
		return dso;
	dso = (struct text_slice){open + 2, (uint32_t)(frame->at + frame->len - open - 3)};
	frame->len = (uint32_t)(open - frame->at);
	return dso;
}

static void offset_drop(struct text_slice *frame)
{
	const char *plus = memrchr(frame->at, '+', frame->len);

	if (plus && plus > frame->at && plus + 2 < frame->at + frame->len && plus[1] == '0' &&
	    plus[2] == 'x')
		frame->len = (uint32_t)(plus - frame->at);
}

/* A line's frame, of length 0 if it is none. */
static size_t frame_print(struct text_slice line, char *to, size_t size)
{
	const char *p = line.at, *end = line.at + line.len;
	uint64_t address = text_hex(&p);
	struct text_slice name = {text_skip_blanks(p), 0}, dso;
	int n;

	while (end > name.at && (end[-1] == ' ' || end[-1] == '\n'))
		end--;
	name.len = end > name.at ? (uint32_t)(end - name.at) : 0;
	dso = dso_take(&name);
	offset_drop(&name);
	if (!address)
		return 0;
	if (slice_is(dso, "inlined") || slice_is(dso, "[unknown]"))
		dso.len = 0;
	dso = dso.len ? dso_short(dso) : dso;
	if (!name.len || slice_is(name, "[unknown]"))
		n = snprintf(to, size, "0x%" PRIx64, address);
	else
		n = snprintf(to, size, "%.*s", (int)name.len, name.at);
	if (dso.len && n > 0 && (size_t)n < size)
		n += snprintf(to + n, size - (size_t)n, " (%.*s)", (int)dso.len, dso.at);
	for (char *c = to; n > 0 && (size_t)n < size && *c; c++)
		*c = *c == ';' ? ':' : *c;
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static bool has_frame(const struct text_line *l)
{
	char frame[TEXT_FRAME_BYTES];

	return l->is_call && frame_print(l->text, frame, sizeof(frame));
}

void text_chain_begin(struct tracetext *t, const struct read_hint *hint)
{
	t->chain = (struct text_name){.type = call_chain_type(t->guest, true), .is_chain = true};
	t->chain.wanted = t->chain.type && (!hint || !hint->wants ||
					    hint->wants(t->chain.type->name, hint->arg));
}

void text_chain_expect(struct tracetext *t, const struct text_name *name)
{
	t->chain_may_follow = t->line.layout == TEXT_PERF;
	t->stack_kept = name->wanted &&
			(name->is_stack || (t->chain_may_follow && t->chain.wanted));
}

bool text_chain_learn(struct tracetext *t)
{
	if (t->chain_may_follow && has_frame(&t->line)) {
		t->chain_may_follow = false;
		t->chain.nr++;
		t->reader.info.nr_events++;
	}
	return t->stack_kept;
}

bool text_chain_next(struct tracetext *t)
{
	if (!t->chain_may_follow || !has_frame(&t->line))
		return false;
	t->chain_may_follow = false;
	t->ahead = true;
	return true;
}

static struct text_slice chain_read(struct tracetext *t)
{
	static const char cut[] = "[cut off];";
	char *to = t->stack, *end = t->stack + sizeof(t->stack) - sizeof(cut);
	char frame[TEXT_FRAME_BYTES];
	enum text_line_kind kind;
	bool is_cut = false;

	while ((kind = tracetext_line(t)) == TEXT_STACK) {
		size_t len = t->line.is_call && !is_cut
				     ? frame_print(t->line.text, frame, sizeof(frame))
				     : 0;

		is_cut |= len + 1 > (size_t)(end - to);
		if (!len || is_cut)
			continue;
		to = mempcpy(to, frame, len);
		*to++ = ';';
	}
	if (is_cut)
		to = mempcpy(to, cut, strlen(cut));
	t->chains_cut += is_cut;
	t->ahead = kind != TEXT_EMPTY;
	return (struct text_slice){t->stack, (uint32_t)(to - t->stack)};
}

void text_chain_make(struct tracetext *t, struct event *ev)
{
	struct record_hdr hdr = t->chain_hdr;
	uint8_t *to = t->arena + t->used;
	struct text_slice frames = chain_read(t);

	hdr.size = (uint16_t)call_chain_put_text(frames.at, frames.len, to);
	hdr.type = t->chain.type->id;
	memcpy(to, &hdr, sizeof(hdr));
	*ev = (struct event){.time_ns = hdr.time, .type = t->chain.type, .data = to, .pid = hdr.pid,
			     .tid = hdr.tid, .size = hdr.size, .cpu = hdr.cpu, .vcpu = hdr.vcpu};
	t->used += hdr.size;
}

struct text_slice text_stack_read(struct tracetext *t)
{
	char *to = t->stack, *end = t->stack + TRACETEXT_STACK_BYTES - 2;
	enum text_line_kind kind;

	while ((kind = tracetext_line(t)) == TEXT_STACK) {
		struct text_slice function = t->line.text;

		if (!t->line.is_call && function.len && function.len < (size_t)(end - to)) {
			to = mempcpy(to, function.at, function.len);
			*to++ = ';';
		}
	}
	t->ahead = kind != TEXT_EMPTY;
	return (struct text_slice){t->stack, (uint32_t)(to - t->stack)};
}
