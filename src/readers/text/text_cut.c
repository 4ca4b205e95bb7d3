// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where an event's text was cut: by a mailer, a terminal, the end of a file that is still written. What is missing
 * would be 0 in a record, so paste.c joins such a text with the line below if that completes it, and else drops it.
 *
 * A text is cut if its last word is the name of a field, without a value, or if fields are missing that every kernel
 * prints. Of an event of which only the text is kept nothing is proved, but a mailer breaks lines at one width only.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "event/exit_reason.h"
#include "event/records.h"
#include "readers/text/lines.h"
#include "readers/text/paste.h"
#include "readers/text/text_grammar.h"
#include "readers/text/text_line.h"
#include "readers/text/tracetext.h"

enum { RECORD_BYTES = 512, HEAD_MAX = 256, LINE_MAX_BYTES = 1024, REASON_BYTES = 48 };

/* A line as a record. */
struct half {
	enum text_end ends; /* by the forms of the event */
	struct text_slice name;
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

static bool cut_has(struct text_slice text, const char *what)
{
	return memmem(text.at, text.len, what, strlen(what));
}

/* Values that follow no name of a field. */
static bool value_is_missing(uint16_t id, struct text_slice text, struct text_slice last)
{
	const char *before = last.at - 6;

	if (id == EV_kvm_msr && cut_has(text, "msr_"))
		return !cut_has(text, " = ");
	if (id == EV_kvm_userspace_exit && cut_has(text, "reason KVM_EXIT_"))
		return !cut_has(text, ")");
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

	if (h->ends >= END_OPEN)
		return false;
	if (!h->text.len)
		return false;
	if (h->ends == END_WITHIN || (!h->present && h->vcpu == RECORD_NO_VCPU))
		return true;
	return is_lacking(h->kind, last, h->present) ||
	       (last.len == 2 && !memcmp(last.at, "0x", 2)) ||
	       (h->present & required(id)) != required(id) || value_is_missing(id, h->text, last);
}

static struct half half_make(struct text_slice system, struct text_slice name,
			     struct text_slice text)
{
	struct text_reasons reasons = {.isa = 0};
	const struct text_line l = {.system = system, .name = name, .text = text};
	const char *arch = NULL;
	struct half h = {.kind = text_kind_supported(&l, &arch), .name = name, .text = text,
			 .vcpu = RECORD_NO_VCPU};

	h.ends = arch ? END_UNKNOWN : text_end_of(name, text_plugin_skip(text));
	if (h.kind)
		h.present = text_kind_fill(h.kind, &reasons, text, (uint8_t *)h.record, &h.vcpu);
	return h;
}

/* A text that may go on: the fields of which that cannot change, RECORD_BIT(). *vcpu is forgotten if it can. */
uint64_t text_certain(const struct kernel_event *kind, const struct text_reasons *known,
		      struct text_slice text, uint64_t present, const uint8_t *record,
		      uint16_t *vcpu)
{
	static const char *const more[] = {"1",	       "a",	 " [reinjected]", " (coalesced)",
					   " (#GP)", " failed", " FAIL",	  " (L2)"};
	const struct event_type *type = event_type_ours(kind->id);
	char line[LINE_MAX_BYTES + 16 + TEXT_LINE_SLACK];

	for (size_t i = 0; i < sizeof(more) / sizeof(*more) && text.len < LINE_MAX_BYTES; i++) {
		struct text_reasons reasons = *known;
		uint64_t other[RECORD_BYTES / 8] = {0};
		uint16_t other_vcpu;
		int len = snprintf(line, sizeof(line) - TEXT_LINE_SLACK, "%.*s%s\n", (int)text.len,
				   text.at, more[i]);
		struct text_slice longer = {line, (uint32_t)len - 1};

		memset(line + len, 0, TEXT_LINE_SLACK);
		present &= text_kind_fill(kind, &reasons, longer, (uint8_t *)other, &other_vcpu);
		for (unsigned int f = 0; f < type->nr_fields && f < 64; f++)
			if (memcmp(record + type->fields[f].offset,
				   (uint8_t *)other + type->fields[f].offset, type->fields[f].size))
				present &= ~(UINT64_C(1) << f);
		*vcpu = *vcpu == other_vcpu ? *vcpu : RECORD_NO_VCPU;
	}
	return present;
}

struct text_slice text_sure(struct text_slice text, bool open)
{
	if (!open)
		return text;
	while (text.len && text.at[text.len - 1] == ' ')
		text.len--;
	text.len -= last_word(text).len;
	while (text.len && text.at[text.len - 1] == ' ')
		text.len--;
	return text;
}

bool text_is_cut(const struct text_line *l)
{
	struct half h = half_make(l->system, l->name, l->text);

	return h.kind ? half_is_cut(&h) || h.ends == END_HALF
		      : h.ends == END_HALF || h.ends == END_WITHIN;
}

bool text_is_open(const struct text_line *l)
{
	enum text_end ends = text_end_of(l->name, text_plugin_skip(l->text));

	return ends == END_OPEN || ends == END_UNKNOWN;
}

/* False: it is no event. */
static bool half_parse(struct half *h, const char *s, const char *end)
{
	struct text_line l = {.layout = TEXT_FTRACE};

	if (text_line_parse(&l, s, end) != TEXT_EVENT)
		return false;
	*h = half_make(l.system, l.name, l.text);
	return true;
}

/* Would the line be an event with this after it? */
static bool is_event_with(const char *s, const char *end, const char *more)
{
	struct text_line l = {.layout = TEXT_FTRACE};
	char line[HEAD_MAX + 24 + TEXT_LINE_SLACK] = "";
	size_t len = (size_t)(end - s);

	if (len > HEAD_MAX)
		return false;
	memcpy(line, s, len);
	snprintf(line + len, 24, "%s\n", more);
	return text_line_parse(&l, line, line + len + strlen(more)) == TEXT_EVENT && !l.timeless &&
	       (*more == ':' || !text_is_digit(more[1]) || (l.have_cpu && l.tid));
}

static enum paste_class trace_classify(const char *s, const char *end)
{
	struct text_line l = {.layout = TEXT_FTRACE};

	switch (text_line_parse(&l, s, end)) {
	case TEXT_EVENT:
		return l.timeless ? PASTE_TIMELESS : PASTE_EVENT;
	case TEXT_UNKNOWN:
		if (*text_skip_quote(s) == '#')
			return text_is_exception(text_skip_quote(s)) ? PASTE_UNKNOWN : PASTE_OTHER;
		return is_event_with(s, end, ": x") || is_event_with(s, end, "_: x") ||
				       is_event_with(s, end, " x: x") ||
				       is_event_with(s, end, " 1.000000: x: x")
			       ? PASTE_HEAD
			       : PASTE_UNKNOWN;
	default:
		return PASTE_OTHER;
	}
}

/* "FAILE" of "FAILED_VMENTRY". */
static bool is_half_failed(const char *word)
{
	static const char failed[] = "FAILED_VMENTRY";
	size_t len = strcspn(word, " \n");

	return len && len < sizeof(failed) - 1 && !memcmp(word, failed, len);
}

/* "reason EXTERNAL_INTERRUP T rip ..." fits a form, too, as a reason may have two words. */
static bool has_odd_reason(const struct half *h)
{
	static const char mark[] = "reason ";
	const char *s = memmem(h->text.at, h->text.len, mark, sizeof(mark) - 1),
		   *end = h->text.at + h->text.len;
	char reason[REASON_BYTES];
	size_t len;

	if (!s || !h->kind ||
	    (h->kind->id != EV_kvm_exit && h->kind->id != EV_kvm_nested_vmexit))
		return false;
	s = text_skip_blanks(s + sizeof(mark) - 1);
	len = strcspn(s, " \n");
	if (s + len >= end)
		return false;
	if (is_half_failed(s + len + 1))
		return true;
	len += !memcmp(s + len, " excp", 5) ? 5 : 0;
	snprintf(reason, sizeof(reason), "%.*s", (int)len, s);
	return isalpha((unsigned char)*s) && !exit_reason_known(reason);
}

/* By the forms of the event, if it has any. */
static enum paste_join forms_join(const struct half *a, const struct half *b)
{
	if (a->ends == END_WHOLE || b->ends == END_UNKNOWN)
		return JOIN_NONE;
	if (has_odd_reason(b))
		return JOIN_GUESS;
	return b->ends >= END_OPEN ? JOIN_WHOLE : JOIN_HALF;
}

/* Of an event of ours whose text is in no form that is known. */
static bool fields_join(const struct half *a, const struct half *b, const char *more, bool wide)
{
	if (half_is_cut(a) || b->present & ~a->present ||
	    (a->vcpu == RECORD_NO_VCPU && b->vcpu != RECORD_NO_VCPU))
		return true;
	if (memcmp(a->record, b->record, sizeof(a->record))) /* "[reinjected]", "(#GP)", bytes */
		return *more == '[' || *more == '(' || a->kind->id == EV_kvm_emulate_insn;
	return wide && strcspn(more, "_0123456789") < strcspn(more, " \n");
}

static enum paste_join trace_joins(const char *half, const char *half_end, const char *joined,
				   const char *end, bool wide)
{
	struct half a, b;
	const char *more = joined + (half_end - half);

	if (!half_parse(&a, half, half_end) || !half_parse(&b, joined, end))
		return JOIN_NONE;
	if (*more == ' ' && half_end[-1] == '=' && half_end[-2] != ' ')
		return JOIN_GUESS; /* "next_comm=" and "kworker/1:1H" */
	if (a.text.len && a.ends != END_UNKNOWN)
		return forms_join(&a, &b);
	if (b.ends != END_UNKNOWN)
		return b.ends >= END_OPEN ? JOIN_WHOLE : JOIN_HALF;
	if (!a.kind)
		return wide || !a.text.len ? JOIN_GUESS : JOIN_NONE;
	return fields_join(&a, &b, more + strspn(more, " "), wide) ? JOIN_GUESS : JOIN_NONE;
}

/* Of a record whose line may go on: are the fields that it needs certain? */
static bool needed_are_certain(const struct half *h)
{
	static const struct text_reasons none;
	uint64_t needed = required(h->kind->id);
	uint16_t vcpu = h->vcpu;

	if (h->kind->id == EV_kvm_emulate_insn)
		return false; /* another byte changes two fields and the length */
	return (text_certain(h->kind, &none, h->text, h->present, (const uint8_t *)h->record,
			     &vcpu) &
		needed) == needed;
}

static enum paste_end trace_ends(const char *s, const char *end, bool open, uint64_t *key)
{
	struct half h;

	if (!half_parse(&h, s, end) || h.ends == END_WHOLE)
		return PASTE_WHOLE;
	*key = hash_bytes(h.name.at, h.text.len ? h.name.len : 0) ^ h.present << 1 ^ (h.vcpu == RECORD_NO_VCPU);
	if (!h.kind)
		return h.ends == END_OPEN || h.ends == END_UNKNOWN ? PASTE_OPEN
		       : open					   ? PASTE_CUT
								   : PASTE_HALF;
	if (!h.text.len && !open)
		return PASTE_BARE;
	if (open && !needed_are_certain(&h))
		return PASTE_CUT;
	if (half_is_cut(&h) && !(open && required(h.kind->id)))
		return PASTE_CUT;
	if (h.ends == END_HALF || h.ends == END_WITHIN)
		return !open || required(h.kind->id) ? PASTE_HALF : PASTE_CUT;
	return PASTE_OPEN;
}

/* A guest's records are texts. */
static enum paste_join guest_joins(const char *half, const char *half_end, const char *joined,
				   const char *end, bool wide)
{
	struct text_line l = {.layout = TEXT_FTRACE};

	(void)joined;
	(void)end;
	return text_line_parse(&l, half, half_end) == TEXT_EVENT && (wide || !l.text.len)
		       ? JOIN_GUESS
		       : JOIN_NONE;
}

static bool guest_continues(const char *s, const char *end)
{
	(void)s;
	(void)end;
	return true;
}

const struct paste_grammar text_paste_guest_grammar = {
	.classify = trace_classify,
	.joins = guest_joins,
	.split = text_split,
	.continues = guest_continues,
};

const struct paste_grammar text_paste_grammar = {
	.classify = trace_classify,
	.joins = trace_joins,
	.ends = trace_ends,
	.split = text_split,
	.has_edges = true,
	.head_end = text_head_end,
};
