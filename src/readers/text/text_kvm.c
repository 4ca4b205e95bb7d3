// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Most texts are words and values in turn, "rip 0xfff0 info1 0x2f00001" or "guest_rip=0xfff0 info1=0x2f00001", so each
 * event has words in readers/ftrace/kernel_events.def. What is printed in another way is parsed by the event's own
 * function.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/kvm.h>

#include "event/exit_reason.h"
#include "event/records.h"
#include "readers/text/lines.h"
#include "readers/text/tracetext.h"

enum { TEXT_SQUEEZED_MAX = 1024 }; /* no text of an event of ours is as long */

static uint64_t number_after(struct text_slice text, const char *word, bool hex)
{
	uint64_t value;

	text_number_find(text, word, hex, &value);
	return value;
}

/* "mmio write len 4 gpa 0xfee000b0 val 0x0", "mmio unsatisfied-read ..." */
static uint64_t mmio_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_mmio *rec = (void *)record;

	if (text.len <= 10 || memcmp(text.at, "mmio ", 5))
		return 0;
	rec->type = text.at[5] == 'w' ? 2 : text.at[5] == 'r';
	return RECORD_BIT(kvm_mmio, type);
}

/* "msr_write 4b564d01 = 0xe8c21 (#GP)" */
static uint64_t msr_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_msr *rec = (void *)record;
	uint64_t msr, present = UINT64_MAX;

	if (text.len < 10 || memcmp(text.at, "msr_", 4))
		return 0;
	rec->write = text.at[4] == 'w';
	if (!text_number_find(text, rec->write ? "msr_write " : "msr_read ", true, &msr))
		present &= ~RECORD_BIT(kvm_msr, msr);
	rec->msr = (uint32_t)msr;
	if (!text_number_find(text, " = ", false, &rec->val))
		present &= ~RECORD_BIT(kvm_msr, val);
	rec->fault = text_has(text, "(#GP)");
	return present;
}

/* "TRAP:", "0x7:" of a code without a name: `ret` of an arm64 exit. False: another word, which is the reason. */
static bool arm64_code_parse(struct text_slice text, uint32_t *ret)
{
	static const char *const types[] = {"IRQ:", "SERROR:", "TRAP:", "IL:"};
	enum { NR = sizeof(types) / sizeof(types[0]) };
	const char *p = text.at;

	*ret = 0;
	if (text_is_digit(*p)) {
		*ret = (uint32_t)text_number(&p);
		return *p == ':';
	}
	while (*ret < NR && strncmp(p, types[*ret], strlen(types[*ret])) != 0)
		++*ret;
	return *ret < NR;
}

/* arm64's: "TRAP: HSR_EC: 0x0024 (DABT_LOW), PC: 0xffff800010083cb8"; "ret=2 esr_ec=36 vcpu_pc=..." of trace-cmd -R */
static uint64_t exit_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_exit *rec = (void *)record;
	bool raw = text_has(text, "esr_ec=");
	uint32_t ret = raw ? (uint32_t)number_after(text, "ret=", false) : 0, ec;

	if (!raw && !text_has(text, "R_EC: 0x")) /* HSR_EC; ESR_EC */
		return 0;
	ec = (uint32_t)(raw ? number_after(text, "esr_ec=", false)
			    : number_after(text, "R_EC: 0x", true));
	rec->isa = EXIT_ISA_ARM64;
	if (raw || arm64_code_parse(text, &ret))
		rec->reason = exit_reason_arm64(ret, ec);
	else
		exit_reason_arm64_named(text.at, strcspn(text.at, ": \n"), &rec->isa,
					&rec->reason);
	return RECORD_BIT(kvm_exit, isa) | RECORD_BIT(kvm_exit, reason);
}

/* "vcpu 0, rip 0xfff0[immediate exit]": texts without these words are of kernels before 6.9, too. */
static uint64_t entry_rest(struct text_slice text, uint8_t *record)
{
	const uint32_t yes = 1;

	if (!text_has(text, "[immediate exit]"))
		return text_has(text, "intr_info 0x") ? EXTRA_BIT(kvm_entry, immediate_exit) : 0;
	memcpy(record + EXTRA_OFFSET(kvm_entry, immediate_exit), &yes, sizeof(yes));
	return EXTRA_BIT(kvm_entry, immediate_exit);
}

/* Bytes as "0f 20 c1", or in an array "0f, 20, c1]": at most 15 and `most`. Their number. */
static uint8_t bytes_parse(const char *p, const char *separators, unsigned int most, uint8_t *bytes)
{
	uint8_t nr = 0;

	while (nr < most && nr < 15) {
		const char *begin = p + strspn(p, separators);
		uint64_t byte;

		p = begin;
		byte = text_hex(&p);
		if (p != begin + 2 || !strchr(", ]\n", *p)) /* trace-cmd's plugin: "FAIL" */
			break;
		bytes[nr++] = (uint8_t)byte;
	}
	return nr;
}

/*
 * "f0000:ec2f:0f 20 c1 (real) failed"; trace-cmd's plugin: "0:ec2f: 0f 20 c1 FAIL", or disassembled
 * if it was built so; raw: "rip=ec2f csbase=f0000 len=3 insn=ARRAY[0f, 20, c1, ...] ... failed=0"
 */
static uint64_t insn_rest(struct text_slice text, uint8_t *record)
{
	const uint64_t insn =
		RECORD_BIT(kvm_emulate_insn, insn0) | RECORD_BIT(kvm_emulate_insn, insn1);
	struct rec_kvm_emulate_insn *rec = (void *)record;
	const char *p = text.at, *array = memmem(text.at, text.len, "ARRAY[", 6);
	uint8_t bytes[16] = {0};

	if (array) {
		bytes_parse(array + 6, ", ", rec->len, bytes);
	} else {
		text_hex(&p);
		if (*p++ != ':')
			return 0;
		rec->rip = text_hex(&p);
		rec->failed = text_has(text, " failed") || text_has(text, " FAIL");
		rec->len = bytes_parse(p + (*p == ':'), " ", sizeof(bytes), bytes);
	}
	memcpy(&rec->insn0, bytes, 8);
	memcpy(&rec->insn1, bytes + 8, 7);
	if (array)
		return insn;
	return RECORD_BIT(kvm_emulate_insn, rip) | RECORD_BIT(kvm_emulate_insn, failed) |
	       (rec->len ? insn | RECORD_BIT(kvm_emulate_insn, len) : 0);
}

/* KVM's names of delivery modes (kvm_deliver_mode) at p; false: none of them. */
static bool mode_parse(const char *p, uint32_t *ret)
{
	static const char *const modes[] = {"Fixed", "LowPrio", "SMI",	"Res3",
					    "NMI",   "INIT",	"SIPI", "ExtINT"};

	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strncmp(p, modes[i], strlen(modes[i]))) {
			*ret = i;
			return true;
		}
	return false;
}

/* "apicid 1 vec 64 (Fixed|edge)" */
static uint64_t accept_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_apic_accept_irq *rec = (void *)record;
	const char *paren = memchr(text.at, '(', text.len);
	bool level = text_has(text, "|level)");

	if (!paren || (!level && !text_has(text, "|edge)")))
		return 0;
	rec->level = level;
	return RECORD_BIT(kvm_apic_accept_irq, level) |
	       (mode_parse(paren + 1, &rec->mode) ? RECORD_BIT(kvm_apic_accept_irq, mode) : 0);
}

/*
 * "dst 1 vec 36 (Fixed|physical|edge|rh)": the fields of the MSI (Intel SDM volume 3, 11.11), put
 * together again. dst is hexadecimal and vec decimal; until 4.7 it is the other way round, which
 * only a letter in vec shows.
 */
static uint64_t msi_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_msi_set_irq *rec = (void *)record;
	const char *paren = memchr(text.at, '(', text.len),
		   *vec = memmem(text.at, text.len, " vec ", 5);
	uint64_t dst = number_after(text, "dst ", true);
	uint32_t mode = 0;

	if (!paren || !vec || memcmp(text.at, "dst ", 4))
		return 0;
	rec->data = number_after(text, " vec ", false);
	if (strcspn(vec + 5, "abcdef") < strcspn(vec + 5, " \n")) {
		dst = number_after(text, "dst ", false);
		rec->data = number_after(text, " vec ", true);
	}
	mode_parse(paren + 1, &mode);
	rec->address = 0xfee00000 | (dst & 0xff) << 12 | (dst & 0xffffff00) << 32 |
		       (uint64_t)text_has(text, "|logical|") << 2 |
		       (uint64_t)text_has(text, "|rh)") << 3;
	rec->data |= (uint64_t)(text_has(text, "|level)") || text_has(text, "|level|")) << 15 |
		     mode << 8;
	return RECORD_BIT(kvm_msi_set_irq, address) | RECORD_BIT(kvm_msi_set_irq, data);
}

/*
 * What words and values do not say: parsed after them. Returns which fields the text has,
 * RECORD_BIT().
 */
static uint64_t (*const rest_of[EV_LIMIT])(struct text_slice text, uint8_t *record) = {
	[EV_kvm_exit] = exit_rest,
	[EV_kvm_entry] = entry_rest,
	[EV_kvm_mmio] = mmio_rest,
	[EV_kvm_msr] = msr_rest,
	[EV_kvm_msi_set_irq] = msi_rest,
	[EV_kvm_apic_accept_irq] = accept_rest,
	[EV_kvm_emulate_insn] = insn_rest,
	[EV_sched_switch] = text_sched_switch,
	[EV_sched_wakeup] = text_sched_wakeup,
};

const struct kernel_event *text_kind_of(struct text_slice system, struct text_slice name)
{
	return kernel_event_find(system.at, system.len, name.at, name.len);
}

const struct event_type *text_kind_type(const struct kernel_event *kind, uint64_t present)
{
	return event_type_with(kind->id, present);
}

/* ---- exit reasons ---- */

/* How long the name at p is: SVM's exceptions have two words ("PF excp"), trace-cmd's "UNKNOWN (12)" as well. */
static size_t reason_len(const char *p)
{
	size_t len = 0;

	while (p[len] != ' ' && p[len] != '\n' && p[len] != '|')
		len++;
	if (p[len] == ' ' && !memcmp(p + len + 1, "excp", 4))
		len += 5;
	return len;
}

static void reason_find(struct text_reasons *reasons, struct text_reason *slot, const char *p,
			size_t len)
{
	const char *number = p, *begin;

	if (len == 7 && !memcmp(p, "UNKNOWN", 7))
		number = p + 7 + strspn(p + 7, " (");
	begin = number;
	slot->isa = 0;
	slot->reason = (uint32_t)text_number(&number);
	if (exit_reason_parse(p, len, &slot->isa, &slot->reason)) {
		reasons->isa = slot->isa;
	} else if (number == begin || !text_number_ends(number)) {
		slot->isa = EXIT_ISA_NAMED;
		slot->reason = exit_reason_named(p, len);
	}
}

/*
 * "EPT_VIOLATION|FAILED_VMENTRY", from 5.10 on "EPT_VIOLATION FAILED_VMENTRY": the upper half of a
 * VMX reason (VMX_EXIT_REASON_FLAGS); unknown flags are a number.
 */
static uint32_t flags_parse(const char **p)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} flag[] = {{"FAILED_VMENTRY", 1u << 31},
		    {"SGX_ENCLAVE_MODE", 1u << 27},
		    {"BUS_LOCK_DETECTED", 1u << 26}};
	uint32_t flags = 0;

	for (;;) {
		const char *word = *p + 1;
		size_t len = strcspn(word, " |\n"), i = 0;

		if (**p == '|' && *word == '0')
			flags |= (uint32_t)text_number(&(const char *){word});
		while (i < sizeof(flag) / sizeof(flag[0]) &&
		       (strlen(flag[i].name) != len || memcmp(word, flag[i].name, len)))
			i++;
		if (i < sizeof(flag) / sizeof(flag[0]))
			flags |= flag[i].bit;
		else if (**p != '|')
			return flags;
		*p = word + len;
	}
}

/* Events with a hardware reason have its ISA right after it. */
struct reason_isa {
	uint32_t reason, isa;
};

#define ISA_FOLLOWS(event)                                                                         \
	_Static_assert(offsetof(struct rec_##event, isa) ==                                        \
			       offsetof(struct rec_##event, reason) + 4,                           \
		       #event)
ISA_FOLLOWS(kvm_exit);
ISA_FOLLOWS(kvm_nested_vmexit);
ISA_FOLLOWS(kvm_nested_vmexit_inject);

static const char *reason_parse(struct text_reasons *reasons, const char *p, struct reason_isa *rec)
{
	size_t len = reason_len(p);
	struct text_reason other, *slot;
	char name[TEXT_REASON_MAX] = {0};
	bool fits = len && len < sizeof(name) && !text_is_digit(*p) && memcmp(p, "UNKNOWN", 7);

	memcpy(name, p, fits ? len : 0);
	slot = fits ? &reasons->slot[hash_bytes(name, len) % TEXT_REASONS] : &other;
	if (!fits || memcmp(slot->name, name, sizeof(name))) {
		reason_find(reasons, slot, p, len);
		memcpy(slot->name, name, sizeof(name));
	}
	p += len;
	rec->isa = rec->isa ? rec->isa : slot->isa ? slot->isa : reasons->isa;
	rec->reason = slot->reason | flags_parse(&p);
	return p;
}

/* "KVM_EXIT_IO (2)" or "2". The number of "restart (4)" and "error (14)" is another one:
 * userspace_rest(). libtraceevent (perf script, trace-cmd) prints a reason there, too: the one that KVM_RUN began with,
 * or KVM_EXIT_INTR, which no KVM_RUN returns without -EINTR. */
static const char *user_reason_parse(const char *p, struct rec_kvm_userspace_exit *rec,
				     uint64_t *present)
{
	const char *number = p;

	if (!text_is_digit(*p)) {
		number += strcspn(p, "(\n");
		number += *number == '(';
	}
	if (!text_is_digit(*number) || !memcmp(p, "restart", 7) || !memcmp(p, "error", 5))
		return number;
	rec->reason = (uint32_t)text_number(&number);
	if (rec->reason == KVM_EXIT_INTR) {
		rec->error = -EINTR;
		*present |= RECORD_BIT(kvm_userspace_exit, error);
	} else if (rec->reason != KVM_EXIT_UNKNOWN) {
		*present |= RECORD_BIT(kvm_userspace_exit, reason);
	}
	return number;
}

/* ---- words and values ---- */

static void value_put(uint8_t *record, const struct kernel_field *key, uint64_t value)
{
	if (key->convert)
		value = key->convert(value);
	if (key->size == 8)
		memcpy(record + key->offset, &value, 8);
	else if (key->size == 4)
		memcpy(record + key->offset, &value, 4);
	else
		memcpy(record + key->offset, &value, key->size);
}

/* The end of the key's word at p; NULL: another word is there. */
static const char *key_end(const struct kernel_field *key, const char *p)
{
	const char *word = key->theirs;

	while (*word && *word == *p) {
		word++;
		p++;
	}
	return !*word && (*p == ' ' || *p == '=' || *p == ':') ? p : NULL;
}

/*
 * The key at *p, which is set to its value; keys come in the table's order mostly, so the search begins after the last
 * one found.
 */
static const struct kernel_field *key_find(const struct kernel_event *kind, unsigned int *at,
					   const char **p)
{
	for (unsigned int i = *at, nr = 0; nr < KERNEL_FIELDS_MAX; nr++, i++) {
		const char *end;

		if (i == KERNEL_FIELDS_MAX || !kind->field[i].theirs)
			i = 0;
		end = key_end(&kind->field[i], *p);
		if (end) {
			*at = i + 1;
			*p = text_skip_blanks(end + 1);
			if (**p == '=') /* "gva = 0x1000" */
				*p = text_skip_blanks(*p + 1);
			return &kind->field[i];
		}
	}
	return NULL;
}

/* The number at p, and into the fields that are packed in it. */
static const char *number_parse(const struct kernel_field *key, const char *p, uint8_t *record,
				uint64_t *present)
{
	/* tracefs, options/fields: "exception=(0)" */
	const char *begin = p += *p == '(' && text_is_digit(p[1]);
	uint64_t value = text_number(&p);

	if (p == begin || !text_number_ends(p))
		return p;
	value_put(record, key, value);
	*present |= UINT64_C(1) << key->index;
	for (const char *name = key->theirs; key->convert && (++key)->theirs == name;) {
		value_put(record, key, value);
		*present |= UINT64_C(1) << key->index;
	}
	return p;
}

enum { HEX_DIGITS_MAX = 16 };

static const char *hex_parse(const struct kernel_field *key, const char *p, uint8_t *record,
			     uint64_t *present)
{
	const char *begin = p += p[0] == '0' && (p[1] | 0x20) == 'x' ? 2 : 0;
	uint64_t value = text_hex(&p);

	if (p == begin || !text_number_ends(p))
		return p;
	if (p - begin > HEX_DIGITS_MAX) { /* trace-cmd report -R without a print format: decimal */
		p = begin;
		value = text_decimal(&p);
	}
	value_put(record, key, value);
	*present |= UINT64_C(1) << key->index;
	if (key->form == FORM_TWO && *p == ' ') {
		begin = ++p;
		value = text_hex(&p);
		if (p == begin || !text_number_ends(p))
			return p;
		memcpy(record + key->offset + key->size, &value, sizeof(value));
		*present |= UINT64_C(2) << key->index;
	}
	return p;
}

static const char *vcpu_parse(const char *p, uint16_t *vcpu)
{
	const char *begin = p;
	uint64_t value = text_number(&p);
	bool valid = p > begin && text_number_ends(p) && value < RECORD_NO_VCPU;

	*vcpu = valid ? (uint16_t)value : RECORD_NO_VCPU;
	return p;
}

/* Parses the value at p; *present gets the fields that it fills, RECORD_BIT(). */
static const char *value_parse(const struct kernel_field *key, struct text_reasons *reasons,
			       const char *p, uint8_t *record, uint16_t *vcpu, uint64_t *present)
{
	struct reason_isa *reason = (void *)(record + key->offset);

	switch (key->form) {
	case FORM_NUMBER:
		return number_parse(key, p, record, present);
	case FORM_HEX:
	case FORM_TWO:
		return hex_parse(key, p, record, present);
	case FORM_VCPU:
		return vcpu_parse(p, vcpu);
	case FORM_REASON: /* the ISA, if a reason was known by name */
		if (!reason_len(p))
			return p;
		p = reason_parse(reasons, p, reason);
		*present |= (reason->isa ? UINT64_C(3) : UINT64_C(1)) << key->index;
		return p;
	case FORM_USER_REASON:
		return user_reason_parse(p, (void *)record, present);
	case FORM_NONE:
		break;
	}
	return p;
}

static const char *word_skip(const char *p)
{
	while (*p != ' ' && *p != '\n')
		p++;
	return text_skip_blanks(p);
}

/*
 * trace-cmd's plugins print what they find, "<CANT FIND FIELD rip>" at the first field that is missing, and after it
 * the event by its print format, but for "<CANT FIND FIELD success> CPU:001" of sched_wakeup.
 */
struct text_slice text_plugin_skip(struct text_slice text)
{
	const char *gives_up = memmem(text.at, text.len, "CANT FIND FIELD ", 16);
	const char *end = text.at + text.len,
		   *from = gives_up ? memchr(gives_up, '>', (size_t)(end - gives_up)) : NULL;

	if (!from || from + 1 == end || from[1] == ' ')
		return text; /* it went on without the field */
	return (struct text_slice){from + 1, (uint32_t)(end - from - 1)};
}

/* A text in columns (column -t), or one that a program filled up: its words with one blank between them. */
static struct text_slice blanks_squeeze(struct text_slice text, char *to, size_t size)
{
	char *begin = to;

	if (text.len + TEXT_LINE_SLACK > size || !memmem(text.at, text.len, "  ", 2))
		return text;
	for (uint32_t i = 0; i < text.len; i++)
		if (text.at[i] != ' ' || to == begin || to[-1] != ' ')
			*to++ = text.at[i];
	memset(to, 0, TEXT_LINE_SLACK);
	*to = '\n';
	return (struct text_slice){begin, (uint32_t)(to - begin)};
}

uint64_t text_kind_fill(const struct kernel_event *kind, struct text_reasons *reasons,
			struct text_slice all, uint8_t *record, uint16_t *ret_vcpu)
{
	char squeezed[TEXT_SQUEEZED_MAX];
	bool has_names = kind->id == EV_sched_switch || kind->id == EV_sched_wakeup;
	struct text_slice text = text_plugin_skip(all);

	if (!has_names) /* a task's name may have blanks */
		text = blanks_squeeze(text, squeezed, sizeof(squeezed));
	const char *p = text.at, *end = p + text.len;
	uint64_t present = 0;
	unsigned int at = 0;

	*ret_vcpu = RECORD_NO_VCPU;
	while (p < end && kind->field[0].form != FORM_NONE) {
		const struct kernel_field *key = key_find(kind, &at, &p);

		if (!key) {
			p = word_skip(p);
			continue;
		}
		p = value_parse(key, reasons, p, record, ret_vcpu, &present);
		if (!islower((unsigned char)*p)) /* trace-cmd's plugin: "rip fff0reason HLT" */
			p = word_skip(p);
	}
	present |= rest_of[kind->id] ? rest_of[kind->id](text, record)
				     : text_more(kind->id, text, record);
	return kernel_fields_said(kind->id, record, present);
}

bool text_kind_own_vcpu(const struct kernel_event *kind, struct text_slice text, uint16_t *ret)
{
	const char *p = text.at, *end = p + text.len;

	*ret = RECORD_NO_VCPU;
	if (!kind->own_vcpu)
		return false;
	for (; p < end; p = word_skip(p)) {
		bool raw = !memcmp(p, "vcpu_id=", 8);

		if (!raw && memcmp(p, "vcpu ", 5))
			continue;
		p += raw ? 8 : 5;
		vcpu_parse(p, ret);
		return true;
	}
	return kind->id == EV_kvm_entry || kind->id == EV_kvm_exit;
}
