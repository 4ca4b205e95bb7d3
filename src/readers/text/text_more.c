// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the texts of events have besides words with values: "set reason=1, ...", "trap, write", "hostclock tsc"; the
 * larger ones are in text_kvm.c.
 */
#include "event/records.h"
#include "readers/text/tracetext.h"

bool text_has(struct text_slice text, const char *word)
{
	return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

bool text_number_find(struct text_slice text, const char *word, bool hex, uint64_t *ret)
{
	size_t len = strlen(word);
	const char *p = memmem(text.at, text.len, word, len), *begin;

	*ret = 0;
	if (!p)
		return false;
	begin = p += len;
	*ret = hex ? text_hex(&p) : text_number(&p);
	return p > begin && text_number_ends(p);
}

static bool starts_with(struct text_slice text, const char *word)
{
	size_t len = strlen(word);

	return text.len >= len && !memcmp(text.at, word, len);
}

/* "icrh:icrl=0x00000001:000000fd" */
static bool icr_parse(struct text_slice text, uint64_t *icrh, uint64_t *icrl)
{
	const char *colon = memmem(text.at, text.len, "icrh:icrl=", 10);

	if (!text_number_find(text, "icrh:icrl=", false, icrh))
		return false;
	colon = memchr(colon + 10, ':', (size_t)(text.at + text.len - colon - 10));
	if (!colon++)
		return false;
	*icrl = text_hex(&colon);
	return true;
}

/*
 * "reason restart (4)", "reason error (14)": the number is -errno, and the reason is not printed. libtraceevent (perf
 * script, trace-cmd) compares errno without its sign, and prints the reason instead, which is stale.
 */
static uint64_t userspace_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_userspace_exit *rec = (void *)record;
	uint64_t number;

	if (!text_number_find(text, "reason restart (", false, &number) &&
	    !text_number_find(text, "reason error (", false, &number))
		return 0;
	rec->error = -(int32_t)number;
	return RECORD_BIT(kvm_userspace_exit, error);
}

/* "vcpu 1: halt_poll_ns 10000 (grow 0)" */
static uint64_t halt_poll_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_halt_poll_ns *rec = (void *)record;
	bool grows = text_has(text, "(grow ");
	uint64_t old_ns;

	if (!grows && !text_has(text, "(shrink "))
		return 0;
	text_number_find(text, grows ? "(grow " : "(shrink ", false, &old_ns);
	rec->old_ns = (uint32_t)old_ns;
	return RECORD_BIT(kvm_halt_poll_ns, old_ns);
}

static uint64_t ipi_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_avic_incomplete_ipi *rec = (void *)record;
	uint64_t icrh, icrl;

	if (!icr_parse(text, &icrh, &icrl))
		return 0;
	rec->icrh = (uint32_t)icrh;
	rec->icrl = (uint32_t)icrl;
	return RECORD_BIT(kvm_avic_incomplete_ipi, icrh) |
	       RECORD_BIT(kvm_avic_incomplete_ipi, icrl);
}

static uint64_t kick_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_avic_kick_vcpu_slowpath *rec = (void *)record;
	uint64_t icrh, icrl;

	if (!icr_parse(text, &icrh, &icrl))
		return 0;
	rec->icrh = (uint32_t)icrh;
	rec->icrl = (uint32_t)icrl;
	return RECORD_BIT(kvm_avic_kick_vcpu_slowpath, icrh) |
	       RECORD_BIT(kvm_avic_kick_vcpu_slowpath, icrl);
}

static uint64_t access_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_avic_unaccelerated_access *rec = (void *)record;
	bool trap = text_has(text, " trap,"), write = text_has(text, " write,");

	if ((!trap && !text_has(text, " fault,")) || (!write && !text_has(text, " read,")))
		return 0;
	rec->ft = trap;
	rec->rw = write;
	return RECORD_BIT(kvm_avic_unaccelerated_access, ft) |
	       RECORD_BIT(kvm_avic_unaccelerated_access, rw);
}

static uint64_t vmenter_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_nested_vmenter *rec = (void *)record;
	bool vmx = text_has(text, " vmcs: ");

	if (text_has(text, " npt: ")) { /* until 6.0 */
		rec->tdp_enabled = text_has(text, " npt: on");
		return RECORD_BIT(kvm_nested_vmenter, tdp_enabled);
	}
	if (!vmx && !text_has(text, " vmcb: "))
		return 0;
	rec->isa = vmx ? 1 : 2;
	rec->tdp_enabled = text_has(text, " nested_ept=y") || text_has(text, " nested_npt=y");
	return RECORD_BIT(kvm_nested_vmenter, isa) | RECORD_BIT(kvm_nested_vmenter, tdp_enabled);
}

/* "intercepts: 00000001 00000002 00000003", the first of which is a word's value. */
static uint64_t intercepts_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_nested_intercepts *rec = (void *)record;
	const char *p = memmem(text.at, text.len, "intercepts: ", 12);

	if (!p)
		return 0;
	p += 12;
	text_hex(&p);
	p += *p == ' ';
	rec->intercept2 = (uint32_t)text_hex(&p);
	p += *p == ' ';
	rec->intercept3 = (uint32_t)text_hex(&p);
	return RECORD_BIT(kvm_nested_intercepts, intercept2) |
	       RECORD_BIT(kvm_nested_intercepts, intercept3);
}

/* ---- fields of 0 or 1, for which there are words ---- */

/* 1: the text has a word of `yes`; 0: it has none of these and one of `no`. "^": it begins so. */
struct said {
	uint64_t bit;
	uint16_t offset, size;
	const char *yes[2], *no[2];
	bool is_added; /* `yes` is a remark on a text that has one of `no`, too */
};

#define OF(event, field)                                                                           \
	RECORD_BIT(event, field), offsetof(struct rec_##event, field),                             \
		sizeof(((struct rec_##event *)0)->field)
#define SAID(...) (const struct said[]){__VA_ARGS__, {0}}

/* clang-format off */
static const struct said *const said[EV_LIMIT] = {
	[EV_kvm_pio] = SAID({OF(kvm_pio, write), {"^pio_write"}, {"^pio_read"}}),
	[EV_kvm_inj_virq] = SAID({OF(kvm_inj_virq, soft), {"Soft/"}, {"IRQ 0x"}}, /* "irq 236" of older kernels */
				 {OF(kvm_inj_virq, reinjected), {"[reinjected]"}, {"Soft/", "IRQ 0x"}, true}),
	/* "pin 4 dst 1 vec 36 (Fixed|physical|level|masked) (coalesced)" */
	[EV_kvm_ioapic_set_irq] = SAID({OF(kvm_ioapic_set_irq, level), {"|level"}, {"cal|"}, true},
				       {OF(kvm_ioapic_set_irq, masked), {"|masked"}, {"cal|"}, true},
				       {OF(kvm_ioapic_set_irq, coalesced), {" (coalesced)"}, {"cal|"}, true}),
	[EV_kvm_vcpu_wakeup] = SAID({OF(kvm_vcpu_wakeup, waited), {"wait time"}, {"poll time"}},
				    {OF(kvm_vcpu_wakeup, valid), {", polling valid"}, {", polling invalid"}}),
	[EV_kvm_apicv_inhibit_changed] = SAID({OF(kvm_apicv_inhibit_changed, set), {"^set ", "^deactivate "},
					       {"^cleared ", "^activate "}}),
	[EV_kvm_pi_irte_update] = SAID({OF(kvm_pi_irte_update, set), {"PI is enabled"}, {"PI is "}}),
	[EV_kvm_hv_hypercall] = SAID({OF(kvm_hv_hypercall, fast), {" fast "}, {" slow "}}),
	[EV_kvm_hv_flush_tlb] = SAID({OF(kvm_hv_flush_tlb, guest_mode), {"(L2)"}, {"mask 0x"}, true}),
	[EV_kvm_hv_flush_tlb_ex] = SAID({OF(kvm_hv_flush_tlb_ex, guest_mode), {"(L2)"}, {"mask 0x"}, true}),
	/* VDSO_CLOCKMODE_NONE, VDSO_CLOCKMODE_TSC */
	[EV_kvm_update_master_clock] = SAID({OF(kvm_update_master_clock, host_clock), {"hostclock tsc"},
					     {"hostclock none"}}),
	[EV_kvm_track_tsc] = SAID({OF(kvm_track_tsc, host_clock), {"hostclock tsc"}, {"hostclock none"}}),
};
/* clang-format on */

static bool has_any(struct text_slice text, const char *const words[2])
{
	for (unsigned int i = 0; i < 2 && words[i]; i++) {
		bool begins = *words[i] == '^';

		if (begins ? starts_with(text, words[i] + 1) : text_has(text, words[i]))
			return true;
	}
	return false;
}

static uint64_t said_parse(const struct said *s, struct text_slice text, uint8_t *record)
{
	uint64_t present = 0;

	for (; s && s->size; s++) {
		uint64_t yes = has_any(text, s->yes);

		if ((!yes || s->is_added) && !has_any(text, s->no))
			continue;
		memcpy(record + s->offset, &yes, s->size);
		present |= s->bit;
	}
	return present;
}

uint64_t text_more(unsigned int id, struct text_slice text, uint8_t *record)
{
	static uint64_t (*const rest_of[EV_LIMIT])(struct text_slice text, uint8_t * record) = {
		[EV_kvm_userspace_exit] = userspace_rest,
		[EV_kvm_halt_poll_ns] = halt_poll_rest,
		[EV_kvm_avic_incomplete_ipi] = ipi_rest,
		[EV_kvm_avic_kick_vcpu_slowpath] = kick_rest,
		[EV_kvm_avic_unaccelerated_access] = access_rest,
		[EV_kvm_nested_vmenter] = vmenter_rest,
		[EV_kvm_nested_intercepts] = intercepts_rest,
	};

	return rest_of[id] ? rest_of[id](text, record) : said_parse(said[id], text, record);
}
