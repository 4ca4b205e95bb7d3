// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where an event's text was cut: by a mailer, a terminal, the end of a file that is still written. What is missing
 * would be 0 in a record, so paste.c joins such a text with the line below if that completes it, and else drops it.
 *
 * A text is cut if its last word is the name of a field, without a value, or if fields are missing that every kernel
 * prints. Of an event of which only the text is kept nothing is proved, but a mailer breaks lines at one width only.
 */
#include <stdio.h>
#include <string.h>

#include "event/records.h"
#include "readers/text/lines.h"
#include "readers/text/paste.h"
#include "readers/text/text_line.h"
#include "readers/text/tracetext.h"

enum { RECORD_BYTES = 512, HEAD_MAX = 256 };

/* A line as a record. */
struct half {
	const struct kernel_event *kind; /* NULL: not ours */
	struct text_slice text;
	uint64_t present;
	uint64_t record[RECORD_BYTES / 8];
	uint16_t vcpu;
};

/* The last word of a text. */
static struct text_slice last_word(struct text_slice text)
{
	const char *end = text.at + text.len, *p = end;

	while (p > text.at && p[-1] != ' ')
		p--;
	return (struct text_slice){p, (uint32_t)(end - p)};
}

/* The fields that every kernel prints, RECORD_BIT(). */
static uint64_t required(uint16_t id)
{
	switch (id) {
	case EV_kvm_exit:
		return RECORD_BIT(kvm_exit, reason);
	case EV_kvm_pio:
		return RECORD_BIT(kvm_pio, port) | RECORD_BIT(kvm_pio, size) |
		       RECORD_BIT(kvm_pio, count);
	case EV_kvm_mmio:
		return RECORD_BIT(kvm_mmio, size) | RECORD_BIT(kvm_mmio, gpa) |
		       RECORD_BIT(kvm_mmio, val);
	case EV_kvm_page_fault:
		return RECORD_BIT(kvm_page_fault, addr) | RECORD_BIT(kvm_page_fault, error);
	case EV_kvm_inj_virq:
		return RECORD_BIT(kvm_inj_virq, vector);
	case EV_sched_switch:
		return RECORD_BIT(sched_switch, prev_tid) | RECORD_BIT(sched_switch, next_tid) |
		       RECORD_BIT(sched_switch, prev_state);
	case EV_sched_wakeup:
		return RECORD_BIT(sched_wakeup, wake_tid);
	default:
		return 0;
	}
}

static bool has(struct text_slice text, const char *what)
{
	return memmem(text.at, text.len, what, strlen(what));
}

/* Values that follow no name of a field. */
static bool value_is_missing(uint16_t id, struct text_slice text, struct text_slice last)
{
	const char *before = last.at - 6;

	if (id == EV_kvm_msr && has(text, "msr_"))
		return !has(text, " = ");
	if (id == EV_kvm_userspace_exit && has(text, "reason KVM_EXIT_"))
		return !has(text, ")");
	return id == EV_kvm_exit && before >= text.at && !memcmp(before, " info ", 6);
}

/* Is the word the name of a field that the text should have, and has not? */
static bool is_lacking(const struct kernel_event *kind, struct text_slice word, uint64_t present)
{
	for (unsigned int i = 0; i < KERNEL_FIELDS_MAX && kind->field[i].theirs; i++) {
		const struct kernel_field *f = &kind->field[i];

		if (strlen(f->theirs) == word.len && !memcmp(f->theirs, word.at, word.len))
			return !f->size || !(present >> f->index & 1);
	}
	return false;
}

static bool half_is_cut(const struct half *h)
{
	struct text_slice last = last_word(h->text);
	uint16_t id = h->kind->id;

	if (!h->present && h->vcpu == RECORD_NO_VCPU)
		return true;
	return is_lacking(h->kind, last, h->present) ||
	       (last.len == 2 && !memcmp(last.at, "0x", 2)) ||
	       (h->present & required(id)) != required(id) || value_is_missing(id, h->text, last);
}

static struct half half_make(const struct kernel_event *kind, struct text_slice text)
{
	struct text_reasons reasons = {.isa = 0};
	struct half h = {.kind = kind, .text = text, .vcpu = RECORD_NO_VCPU};

	if (kind)
		h.present = text_kind_fill(kind, &reasons, text, (uint8_t *)h.record, &h.vcpu);
	return h;
}

bool text_is_cut(const struct kernel_event *kind, struct text_slice text)
{
	struct half h = half_make(kind, text);

	return half_is_cut(&h);
}

/* False: it is no event. */
static bool half_parse(struct half *h, const char *s, const char *end)
{
	struct text_line l = {.layout = TEXT_FTRACE};

	if (text_line_parse(&l, s, end) != TEXT_EVENT)
		return false;
	*h = half_make(text_kind_of(l.system, l.name), l.text);
	return true;
}

/* Would the line be an event with this after it? */
static bool is_event_with(const char *s, const char *end, const char *more)
{
	struct text_line l = {.layout = TEXT_FTRACE};
	char line[HEAD_MAX + 8 + TEXT_LINE_SLACK] = "";
	size_t len = (size_t)(end - s);

	if (len > HEAD_MAX)
		return false;
	memcpy(line, s, len);
	snprintf(line + len, 8, "%s\n", more);
	return text_line_parse(&l, line, line + len + strlen(more)) == TEXT_EVENT && !l.timeless;
}

static enum paste_class trace_classify(const char *s, const char *end)
{
	struct text_line l = {.layout = TEXT_FTRACE};

	switch (text_line_parse(&l, s, end)) {
	case TEXT_EVENT:
		return l.timeless ? PASTE_TIMELESS : PASTE_EVENT;
	case TEXT_UNKNOWN:
		return is_event_with(s, end, ": x") || is_event_with(s, end, " x: x") ? PASTE_HEAD
										    : PASTE_UNKNOWN;
	default:
		return PASTE_OTHER;
	}
}

static bool trace_joins(const char *half, const char *half_end, const char *joined,
			const char *end, bool wide)
{
	struct half a, b;
	size_t at = (size_t)(half_end - half) + 1;

	if (!half_parse(&a, half, half_end) || !half_parse(&b, joined, end))
		return false;
	if (!a.kind)
		return wide || !a.text.len;
	if (half_is_cut(&a) || b.present & ~a.present ||
	    (a.vcpu == RECORD_NO_VCPU && b.vcpu != RECORD_NO_VCPU))
		return true;
	if (memcmp(a.record, b.record, sizeof(a.record))) /* "[reinjected]", "(#GP)", bytes */
		return joined[at] == '[' || joined[at] == '(' ||
		       a.kind->id == EV_kvm_emulate_insn;
	return wide && strcspn(joined + at, "_0123456789") < strcspn(joined + at, " \n");
}

static bool trace_is_cut(const char *s, const char *end)
{
	struct half h;

	return half_parse(&h, s, end) && h.kind && half_is_cut(&h);
}

static unsigned int trace_fields(const char *s, const char *end)
{
	struct half h;

	return half_parse(&h, s, end) && h.kind ? (unsigned int)__builtin_popcountll(h.present) +
							  (h.vcpu != RECORD_NO_VCPU)
						: 0;
}

/* A guest's records are texts. */
static bool guest_joins(const char *half, const char *half_end, const char *joined,
			const char *end, bool wide)
{
	struct text_line l = {.layout = TEXT_FTRACE};

	(void)joined;
	(void)end;
	return text_line_parse(&l, half, half_end) == TEXT_EVENT && (wide || !l.text.len);
}

const struct paste_grammar text_paste_guest_grammar = {
	.classify = trace_classify,
	.joins = guest_joins,
};

const struct paste_grammar text_paste_grammar = {
	.classify = trace_classify,
	.joins = trace_joins,
	.is_cut = trace_is_cut,
	.fields = trace_fields,
};
