// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Most texts are words and values in turn, "rip 0xfff0 info1 0x2f00001" or "guest_rip=0xfff0 info1=0x2f00001", so each
 * event has a table of words. What is printed in another way is parsed by the event's own function.
 */

#include "event/exit_reason.h"
#include "event/records.h"
#include "readers/text/tracetext.h"

/*
 * The events of KVM and the scheduler that are ours (bpf/events.def), from the text that the kernel (print fmt of their
 * format file), trace-cmd's plugins and trace-cmd report -R ("name=value") print. Kernels differ: fields come and go,
 * and the vCPU is missing from some; a record's type lacks the fields that the text lacks.
 */

enum { KEYS_MAX = 16 };

enum form {
	NUMBER,	 /* 0x1f or 31 */
	HEX,	 /* 1f, also without 0x */
	VCPU,	 /* the vCPU of the thread */
	REASON,	 /* a hardware exit's, by name or number */
	USER_REASON, /* KVM_EXIT_*, by name or number */
	TWO,	 /* "info 0 0": two numbers, HEX */
	SKIP,
};

struct key {
	const char *word;
	enum form form;
	uint16_t offset, size;
	uint8_t index; /* of the field, as in RECORD_BIT() */
};

struct text_kind {
	const char *system, *name;
	uint16_t id;
	bool own_vcpu; /* every kernel's text has it, or should: the thread runs it */
	struct key key[KEYS_MAX];
	/* Parses what the table cannot, after it; NULL: nothing. Returns which fields the text has, RECORD_BIT(). */
	uint64_t (*rest)(struct text_slice text, uint8_t *record);
};

static uint64_t number_after(struct text_slice text, const char *word, bool hex)
{
	size_t len = strlen(word);
	const char *p = memmem(text.at, text.len, word, len);

	if (!p)
		return 0;
	p += len;
	return hex ? text_hex(&p) : text_number(&p);
}

static bool has_word(struct text_slice text, const char *word)
{
	return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

/* "pio_write at 0x70 size 1 count 1 val 0x8f" */
static uint64_t pio_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_pio *rec = (void *)record;

	if (text.len < 9 || memcmp(text.at, "pio_", 4))
		return 0;
	rec->write = !memcmp(text.at, "pio_write", 9);
	return RECORD_BIT(kvm_pio, write);
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

	if (text.len < 10 || memcmp(text.at, "msr_", 4))
		return 0;
	rec->write = text.at[4] == 'w';
	rec->msr = (uint32_t)number_after(text, rec->write ? "msr_write " : "msr_read ", true);
	rec->val = number_after(text, " = ", false);
	rec->fault = has_word(text, "(#GP)");
	return UINT64_MAX;
}

/* "reason restart (4)", "reason error (14)": the number is -errno */
static uint64_t userspace_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_userspace_exit *rec = (void *)record;

	if (has_word(text, "reason restart (") || has_word(text, "reason error (")) {
		rec->error = -(int32_t)number_after(text, "(", false);
		rec->reason = 0;
	}
	return has_word(text, "reason ") ? UINT64_MAX : 0;
}

/* arm64's: "TRAP: HSR_EC: 0x0024 (DABT_LOW), PC: 0xffff800010083cb8"; "ret=2 esr_ec=36 vcpu_pc=..." of trace-cmd -R */
static uint64_t exit_rest(struct text_slice text, uint8_t *record)
{
	static const char *const types[] = {"IRQ:", "SERROR:", "TRAP:", "IL:"};
	enum { NR = sizeof(types) / sizeof(types[0]) };
	struct rec_kvm_exit *rec = (void *)record;
	bool raw = has_word(text, "esr_ec=");
	uint32_t ret = raw ? (uint32_t)number_after(text, "ret=", false) : 0;

	if (!raw && !has_word(text, "R_EC: 0x")) /* HSR_EC; ESR_EC */
		return 0;
	while (!raw && ret < NR && strncmp(text.at, types[ret], strlen(types[ret])))
		ret++;
	rec->isa = EXIT_ISA_ARM64;
	rec->reason = exit_reason_arm64(
		ret, raw ? (uint32_t)number_after(text, "esr_ec=", false)
			 : (uint32_t)number_after(text, "R_EC: 0x", true));
	return RECORD_BIT(kvm_exit, isa) | RECORD_BIT(kvm_exit, reason);
}

/* "IRQ 0x8 [reinjected]", "Soft/INTn 0x80", "irq 236" of older kernels */
static uint64_t virq_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_inj_virq *rec = (void *)record;
	bool soft = has_word(text, "Soft/");

	if (!soft && !has_word(text, "IRQ 0x"))
		return 0;
	rec->soft = soft;
	rec->reinjected = has_word(text, "[reinjected]");
	return RECORD_BIT(kvm_inj_virq, soft) | RECORD_BIT(kvm_inj_virq, reinjected);
}

/* "dst 1 vec 36 (Fixed|physical|edge|rh)": the fields of the MSI (Intel SDM volume 3, 11.11), put together again. */
static uint64_t msi_rest(struct text_slice text, uint8_t *record)
{
	static const char *const modes[] = {"Fixed", "LowPrio", "SMI", "Res3",
					    "NMI",   "INIT",	"SIPI", "ExtINT"};
	struct rec_kvm_msi_set_irq *rec = (void *)record;
	const char *mode = memchr(text.at, '(', text.len);
	uint64_t dst = number_after(text, "dst ", true);

	if (!mode || memcmp(text.at, "dst ", 4))
		return 0;
	rec->address = 0xfee00000 | (dst & 0xff) << 12 | (dst & 0xffffff00) << 32 |
		       (uint64_t)has_word(text, "|logical|") << 2 |
		       (uint64_t)has_word(text, "|rh)") << 3;
	rec->data = number_after(text, " vec ", false) |
		    (uint64_t)(has_word(text, "|level)") || has_word(text, "|level|")) << 15;
	for (uint64_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strncmp(mode + 1, modes[i], strlen(modes[i])))
			rec->data |= i << 8;
	return UINT64_MAX;
}

/* "vcpu 1: halt_poll_ns 10000 (grow 0)" */
static uint64_t halt_poll_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_halt_poll_ns *rec = (void *)record;
	const char *paren = memchr(text.at, '(', text.len);

	if (!paren)
		return 0;
	rec->old_ns = (uint32_t)number_after(text, paren[1] == 'g' ? "(grow " : "(shrink ", false);
	return RECORD_BIT(kvm_halt_poll_ns, old_ns);
}

/* "wait time 230426621 ns, polling valid", "poll time 1200 ns" */
static uint64_t wakeup_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_vcpu_wakeup *rec = (void *)record;
	bool waited = has_word(text, "wait time"), polls = has_word(text, ", polling ");

	rec->waited |= waited;
	rec->valid |= has_word(text, "polling valid");
	return (waited || has_word(text, "poll time") ? RECORD_BIT(kvm_vcpu_wakeup, waited) : 0) |
	       (polls ? RECORD_BIT(kvm_vcpu_wakeup, valid) : 0);
}

/* "f0000:ec2f:0f 20 c1 (real) failed"; raw: "rip=ec2f csbase=f0000 len=3 insn=ARRAY[0f, 20, c1, ...] ... failed=0" */
static uint64_t insn_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_emulate_insn *rec = (void *)record;
	const char *p = text.at, *array = memmem(text.at, text.len, "ARRAY[", 6);
	uint8_t bytes[16] = {0}, nr = 0;

	if (array) {
		p = array + 6;
	} else {
		text_hex(&p);
		if (*p++ != ':')
			return 0;
		rec->rip = text_hex(&p);
		rec->failed = has_word(text, " failed");
		p += *p == ':';
	}
	while (nr < (array && rec->len < 15 ? rec->len : 15)) {
		const char *begin;

		p += strspn(p, array ? ", " : " ");
		begin = p;
		bytes[nr] = (uint8_t)text_hex(&p);
		if (p != begin + 2)
			break;
		nr++;
	}
	rec->len = array ? rec->len : nr;
	memcpy(&rec->insn0, bytes, 8);
	memcpy(&rec->insn1, bytes + 8, 7);
	return array ? RECORD_BIT(kvm_emulate_insn, insn0) | RECORD_BIT(kvm_emulate_insn, insn1)
		     : UINT64_MAX;
}

/* clang-format off */
#define AT(event, field) offsetof(struct rec_##event, field), sizeof(((struct rec_##event *)0)->field), \
			 offsetof(struct index_##event, field)

static const struct text_kind kinds[] = {
	{"kvm", "kvm_exit", EV_kvm_exit, true, {
		{"vcpu", VCPU, 0, 0, 0}, {"reason", REASON, AT(kvm_exit, reason)}, {"rip", NUMBER, AT(kvm_exit, rip)},
		{"info1", NUMBER, AT(kvm_exit, info1)}, {"info2", NUMBER, AT(kvm_exit, info2)},
		{"exit_reason", REASON, AT(kvm_exit, reason)}, {"guest_rip", NUMBER, AT(kvm_exit, rip)},
		{"isa", NUMBER, AT(kvm_exit, isa)}, {"info", TWO, AT(kvm_exit, info1)}, {"vcpu_id", VCPU, 0, 0, 0},
		{"PC", NUMBER, AT(kvm_exit, rip)}, {"vcpu_pc", NUMBER, AT(kvm_exit, rip)},
	}, exit_rest},
	{"kvm", "kvm_entry", EV_kvm_entry, true, {
		{"vcpu", VCPU, 0, 0, 0}, {"rip", NUMBER, AT(kvm_entry, rip)}, {"vcpu_id", VCPU, 0, 0, 0},
		{"PC", NUMBER, AT(kvm_entry, rip)}, {"vcpu_pc", NUMBER, AT(kvm_entry, rip)},
	}, NULL},
	{"kvm", "kvm_nested_vmexit", EV_kvm_nested_vmexit, true, {
		{"vcpu", VCPU, 0, 0, 0}, {"reason", REASON, AT(kvm_nested_vmexit, reason)},
		{"rip", NUMBER, AT(kvm_nested_vmexit, rip)}, {"exit_reason", REASON, AT(kvm_nested_vmexit, reason)},
		{"exit_code", REASON, AT(kvm_nested_vmexit, reason)}, {"guest_rip", NUMBER, AT(kvm_nested_vmexit, rip)},
		{"rip>guest_rip", NUMBER, AT(kvm_nested_vmexit, rip)}, /* trace-cmd's plugin: <CANT FIND FIELD rip> */
		{"isa", NUMBER, AT(kvm_nested_vmexit, isa)}, {"vcpu_id", VCPU, 0, 0, 0},
	}, NULL},
	{"kvm", "kvm_nested_vmexit_inject", EV_kvm_nested_vmexit_inject, false, {
		{"reason", REASON, AT(kvm_nested_vmexit_inject, reason)},
		{"ext_inf1", NUMBER, AT(kvm_nested_vmexit_inject, info1)},
		{"ext_inf2", NUMBER, AT(kvm_nested_vmexit_inject, info2)},
		{"ext_int", NUMBER, AT(kvm_nested_vmexit_inject, int_info)},
		{"ext_int_err", NUMBER, AT(kvm_nested_vmexit_inject, int_error)},
		{"info1", HEX, AT(kvm_nested_vmexit_inject, info1)}, {"info2", HEX, AT(kvm_nested_vmexit_inject, info2)},
		{"int_info", HEX, AT(kvm_nested_vmexit_inject, int_info)},
		{"int_info_err", HEX, AT(kvm_nested_vmexit_inject, int_error)},
		{"exit_code", REASON, AT(kvm_nested_vmexit_inject, reason)}, {"isa", NUMBER, AT(kvm_nested_vmexit_inject, isa)},
		{"exit_info1", NUMBER, AT(kvm_nested_vmexit_inject, info1)},
		{"exit_info2", NUMBER, AT(kvm_nested_vmexit_inject, info2)},
		{"exit_int_info", NUMBER, AT(kvm_nested_vmexit_inject, int_info)},
		{"exit_int_info_err", NUMBER, AT(kvm_nested_vmexit_inject, int_error)},
	}, NULL},
	{"kvm", "kvm_userspace_exit", EV_kvm_userspace_exit, false, {
		{"reason", USER_REASON, 0, 0, 0}, {"errno", NUMBER, AT(kvm_userspace_exit, error)},
	}, userspace_rest},
	{"kvm", "kvm_pio", EV_kvm_pio, false, {
		{"at", NUMBER, AT(kvm_pio, port)}, {"size", NUMBER, AT(kvm_pio, size)},
		{"count", NUMBER, AT(kvm_pio, count)}, {"val", NUMBER, AT(kvm_pio, val)},
		{"rw", NUMBER, AT(kvm_pio, write)}, {"port", NUMBER, AT(kvm_pio, port)},
	}, pio_rest},
	{"kvm", "kvm_mmio", EV_kvm_mmio, false, {
		{"len", NUMBER, AT(kvm_mmio, size)}, {"gpa", NUMBER, AT(kvm_mmio, gpa)},
		{"val", NUMBER, AT(kvm_mmio, val)}, {"type", NUMBER, AT(kvm_mmio, type)},
	}, mmio_rest},
	{"kvm", "kvm_msr", EV_kvm_msr, false, {
		{"write", NUMBER, AT(kvm_msr, write)}, {"ecx", HEX, AT(kvm_msr, msr)},
		{"data", NUMBER, AT(kvm_msr, val)}, {"exception", NUMBER, AT(kvm_msr, fault)},
	}, msr_rest},
	{"kvm", "kvm_hypercall", EV_kvm_hypercall, false, {
		{"nr", NUMBER, AT(kvm_hypercall, nr)}, {"a0", NUMBER, AT(kvm_hypercall, a0)},
		{"a1", NUMBER, AT(kvm_hypercall, a1)},
	}, NULL},
	{"kvm", "kvm_inj_virq", EV_kvm_inj_virq, false, {
		{"IRQ", NUMBER, AT(kvm_inj_virq, vector)}, {"irq", NUMBER, AT(kvm_inj_virq, vector)},
		{"Soft/INTn", NUMBER, AT(kvm_inj_virq, vector)}, {"vector", NUMBER, AT(kvm_inj_virq, vector)},
		{"soft", NUMBER, AT(kvm_inj_virq, soft)}, {"reinjected", NUMBER, AT(kvm_inj_virq, reinjected)},
	}, virq_rest},
	{"kvm", "kvm_set_irq", EV_kvm_set_irq, false, {
		{"gsi", NUMBER, AT(kvm_set_irq, gsi)}, {"level", NUMBER, AT(kvm_set_irq, level)},
		{"source", NUMBER, AT(kvm_set_irq, source)}, {"irq_source_id", NUMBER, AT(kvm_set_irq, source)},
	}, NULL},
	{"kvm", "kvm_msi_set_irq", EV_kvm_msi_set_irq, false, {
		{"address", NUMBER, AT(kvm_msi_set_irq, address)}, {"data", NUMBER, AT(kvm_msi_set_irq, data)},
	}, msi_rest},
	{"kvm", "kvm_halt_poll_ns", EV_kvm_halt_poll_ns, true, {
		{"vcpu", VCPU, 0, 0, 0}, {"halt_poll_ns", NUMBER, AT(kvm_halt_poll_ns, new_ns)},
		{"vcpu_id", VCPU, 0, 0, 0}, {"new", NUMBER, AT(kvm_halt_poll_ns, new_ns)},
		{"old", NUMBER, AT(kvm_halt_poll_ns, old_ns)},
	}, halt_poll_rest},
	{"kvm", "kvm_vcpu_wakeup", EV_kvm_vcpu_wakeup, false, {
		{"time", NUMBER, AT(kvm_vcpu_wakeup, ns)}, {"ns", NUMBER, AT(kvm_vcpu_wakeup, ns)},
		{"waited", NUMBER, AT(kvm_vcpu_wakeup, waited)}, {"valid", NUMBER, AT(kvm_vcpu_wakeup, valid)},
	}, wakeup_rest},
	{"kvm", "kvm_page_fault", EV_kvm_page_fault, true, {
		{"vcpu", VCPU, 0, 0, 0}, {"rip", NUMBER, AT(kvm_page_fault, rip)},
		{"address", HEX, AT(kvm_page_fault, addr)}, {"error_code", HEX, AT(kvm_page_fault, error)},
		{"vcpu_id", VCPU, 0, 0, 0}, {"guest_rip", NUMBER, AT(kvm_page_fault, rip)},
		{"fault_address", HEX, AT(kvm_page_fault, addr)},
	}, NULL},
	{"kvm", "kvm_emulate_insn", EV_kvm_emulate_insn, false, {
		{"rip", HEX, AT(kvm_emulate_insn, rip)}, {"len", NUMBER, AT(kvm_emulate_insn, len)},
		{"failed", NUMBER, AT(kvm_emulate_insn, failed)},
	}, insn_rest},
	{"kvm", "kvm_write_tsc_offset", EV_kvm_write_tsc_offset, false, {
		{"vcpu", NUMBER, AT(kvm_write_tsc_offset, target)}, {"prev", NUMBER, AT(kvm_write_tsc_offset, old)},
		{"next", NUMBER, AT(kvm_write_tsc_offset, new)}, {"vcpu_id", NUMBER, AT(kvm_write_tsc_offset, target)},
		{"previous_tsc_offset", NUMBER, AT(kvm_write_tsc_offset, old)},
		{"next_tsc_offset", NUMBER, AT(kvm_write_tsc_offset, new)},
	}, NULL},
	{"kvm", "kvm_pvclock_update", EV_kvm_pvclock_update, false, {
		{"vcpu_id", NUMBER, AT(kvm_pvclock_update, target)}, {"version", NUMBER, AT(kvm_pvclock_update, version)},
		{"tsc_timestamp", NUMBER, AT(kvm_pvclock_update, tsc_timestamp)},
		{"system_time", NUMBER, AT(kvm_pvclock_update, system_time)},
		{"tsc_to_system_mul", NUMBER, AT(kvm_pvclock_update, mul)},
		{"tsc_shift", NUMBER, AT(kvm_pvclock_update, shift)}, {"flags", NUMBER, AT(kvm_pvclock_update, flags)},
	}, NULL},
	{"sched", "sched_switch", EV_sched_switch, false, {}, text_sched_switch},
	{"sched", "sched_wakeup", EV_sched_wakeup, false, {}, text_sched_wakeup},
};
/* clang-format on */

static bool slice_is(struct text_slice s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

const struct text_kind *text_kind_of(struct text_slice system, struct text_slice name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (slice_is(name, kinds[i].name) &&
		    (!system.len || slice_is(system, kinds[i].system)))
			return &kinds[i];
	return NULL;
}

const struct event_type *text_kind_type(const struct text_kind *kind, uint64_t present)
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
	const char *number = p;

	if (len == 7 && !memcmp(p, "UNKNOWN", 7))
		number = p + 7 + strspn(p + 7, " (");
	slot->isa = 0;
	slot->reason = (uint32_t)text_number(&number);
	if (number == p)
		slot->reason = UINT32_MAX;
	if (exit_reason_parse(p, len, &slot->isa, &slot->reason))
		reasons->isa = slot->isa;
}

/* "EPT_VIOLATION|FAILED_VMENTRY": the upper half of a VMX reason. */
static uint32_t flags_parse(const char **p)
{
	uint32_t flags = 0;

	while (**p == '|') {
		const char *word = ++*p;

		if (*word == '0')
			flags |= (uint32_t)text_number(p);
		else if (!strncmp(word, "FAILED_VMENTRY", 14))
			flags |= 1u << 31;
		while (**p != ' ' && **p != '\n' && **p != '|')
			++*p;
	}
	return flags;
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

static const char *reason_parse(struct text_reasons *reasons, const char *p,
				struct reason_isa *rec)
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

/* "KVM_EXIT_IO (2)" or "2": the number is the reason unless -errno was printed, see userspace_rest(). */
static const char *user_reason_parse(const char *p, struct rec_kvm_userspace_exit *rec)
{
	if (!text_is_digit(*p)) {
		p += strcspn(p, "(\n");
		p += *p == '(';
	}
	rec->reason = (uint32_t)text_number(&p);
	return p;
}

/* ---- words and values ---- */

static void value_put(uint8_t *record, const struct key *key, uint64_t value)
{
	if (key->size == 8)
		memcpy(record + key->offset, &value, 8);
	else if (key->size == 4)
		memcpy(record + key->offset, &value, 4);
	else
		memcpy(record + key->offset, &value, key->size);
}

/* The end of the key's word at p; NULL: another word is there. */
static const char *key_end(const struct key *key, const char *p)
{
	const char *word = key->word;

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
static const struct key *key_find(const struct text_kind *kind, unsigned int *at, const char **p)
{
	for (unsigned int i = *at, nr = 0; nr < KEYS_MAX; nr++, i++) {
		const char *end;

		if (i == KEYS_MAX || !kind->key[i].word)
			i = 0;
		end = key_end(&kind->key[i], *p);
		if (end) {
			*at = i + 1;
			*p = text_skip_blanks(end + 1);
			return &kind->key[i];
		}
	}
	return NULL;
}

static const char *value_parse(const struct key *key, struct text_reasons *reasons, const char *p,
			       uint8_t *record, uint16_t *vcpu)
{
	uint64_t value;

	switch (key->form) {
	case NUMBER:
		value_put(record, key, text_number(&p));
		return p;
	case HEX:
	case TWO:
		p += p[0] == '0' && p[1] == 'x' ? 2 : 0;
		value_put(record, key, text_hex(&p));
		if (key->form == TWO && *p == ' ') {
			p++;
			value = text_hex(&p);
			memcpy(record + key->offset + key->size, &value, sizeof(value));
		}
		return p;
	case VCPU:
		value = text_number(&p);
		*vcpu = value < RECORD_NO_VCPU ? (uint16_t)value : RECORD_NO_VCPU;
		return p;
	case REASON:
		return reason_parse(reasons, p, (void *)(record + key->offset));
	case USER_REASON:
		return user_reason_parse(p, (void *)record);
	case SKIP:
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

/* Which fields the key's value fills. */
static uint64_t fields_of(const struct key *key, const uint8_t *record)
{
	uint64_t own = key->size ? UINT64_C(1) << key->index : 0;
	const struct reason_isa *reason = (const void *)(record + key->offset);

	if (key->form == USER_REASON)
		return RECORD_BIT(kvm_userspace_exit, reason);
	if (key->form == REASON) /* the ISA, if a reason was known by name */
		return own | (reason->isa ? own << 1 : 0);
	return key->form == TWO ? own | own << 1 : own;
}

uint64_t text_kind_fill(const struct text_kind *kind, struct text_reasons *reasons,
			struct text_slice text, uint8_t *record, uint16_t *ret_vcpu)
{
	const char *p = text.at, *end = p + text.len;
	uint64_t present = 0;
	unsigned int at = 0;

	*ret_vcpu = RECORD_NO_VCPU;
	while (p < end && kind->key[0].word) {
		const struct key *key = key_find(kind, &at, &p);

		if (!key) {
			p = word_skip(p);
			continue;
		}
		p = word_skip(value_parse(key, reasons, p, record, ret_vcpu));
		present |= fields_of(key, record);
		if (kind->id == EV_kvm_exit && at == 5 && *ret_vcpu != RECORD_NO_VCPU)
			break; /* what follows info2 is not ours */
	}
	return present | (kind->rest ? kind->rest(text, record) : 0);
}

bool text_kind_own_vcpu(const struct text_kind *kind, struct text_slice text, uint16_t *ret)
{
	const char *p = text.at, *end = p + text.len;

	*ret = RECORD_NO_VCPU;
	if (kind->id != EV_kvm_entry && kind->id != EV_kvm_exit)
		return false;
	for (; p < end; p = word_skip(p)) {
		bool raw = !memcmp(p, "vcpu_id=", 8);
		uint64_t vcpu;

		if (!raw && memcmp(p, "vcpu ", 5))
			continue;
		p += raw ? 8 : 5;
		vcpu = text_number(&p);
		*ret = vcpu < RECORD_NO_VCPU ? (uint16_t)vcpu : RECORD_NO_VCPU;
		break;
	}
	return true;
}
