// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the texts of events have besides words with values: "set reason=1, ...", "trap, write", "hostclock tsc"; the
 * larger ones are in text_kvm.c.
 */
#include "event/records.h"
#include "readers/text/tracetext.h"

static bool more_has(struct text_slice text, const char *word)
{
	return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

static bool starts_with(struct text_slice text, const char *word)
{
	size_t len = strlen(word);

	return text.len >= len && !memcmp(text.at, word, len);
}

/* The hexadecimal number after the word, or after the one that follows it; false: there is none. */
static bool hex_after(struct text_slice text, const char *word, uint32_t *ret)
{
	const char *p = memmem(text.at, text.len, word, strlen(word)), *begin;

	if (!p)
		return false;
	p += strlen(word);
	p += p[0] == '0' && (p[1] | 0x20) == 'x' ? 2 : 0;
	begin = p;
	*ret = (uint32_t)text_hex(&p);
	return p > begin && text_number_ends(p);
}

/* "icrh:icrl=0x00000001:000000fd" */
static bool icr_parse(struct text_slice text, uint32_t *icrh, uint32_t *icrl)
{
	const char *colon = memmem(text.at, text.len, "icrh:icrl=", 10);

	if (!hex_after(text, "icrh:icrl=", icrh))
		return false;
	colon = memchr(colon + 10, ':', (size_t)(text.at + text.len - colon - 10));
	if (!colon++)
		return false;
	*icrl = (uint32_t)text_hex(&colon);
	return true;
}

static uint64_t number_after(struct text_slice text, const char *word)
{
	const char *p = memmem(text.at, text.len, word, strlen(word));

	if (!p)
		return 0;
	p += strlen(word);
	return text_number(&p);
}

/*
 * "reason KVM_EXIT_IO (2)", "reason restart (4)", "reason error (14)": the number is -errno of the last two, whose
 * reason is not printed.
 */
static uint64_t userspace_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_userspace_exit *rec = (void *)record;
	bool failed = more_has(text, "reason restart (") || more_has(text, "reason error (");

	if (!failed && !more_has(text, "reason "))
		return 0;
	rec->error = failed ? -(int32_t)number_after(text, "(") : 0;
	return RECORD_BIT(kvm_userspace_exit, error);
}

/* "vcpu 1: halt_poll_ns 10000 (grow 0)" */
static uint64_t halt_poll_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_halt_poll_ns *rec = (void *)record;
	const char *word = more_has(text, "(grow ")	? "(grow "
			   : more_has(text, "(shrink ") ? "(shrink "
							: NULL;

	if (!word)
		return 0;
	rec->old_ns = (uint32_t)number_after(text, word);
	return RECORD_BIT(kvm_halt_poll_ns, old_ns);
}

/* "wait time 230426621 ns, polling valid", "poll time 1200 ns" */
static uint64_t wakeup_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_vcpu_wakeup *rec = (void *)record;
	bool waited = more_has(text, "wait time"),
	     polls = more_has(text, ", polling valid") || more_has(text, ", polling invalid");

	rec->waited |= waited;
	rec->valid |= more_has(text, "polling valid");
	return (waited || more_has(text, "poll time") ? RECORD_BIT(kvm_vcpu_wakeup, waited) : 0) |
	       (polls ? RECORD_BIT(kvm_vcpu_wakeup, valid) : 0);
}

static uint64_t inhibit_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_apicv_inhibit_changed *rec = (void *)record;
	bool set = starts_with(text, "set ") || starts_with(text, "deactivate ");

	if (!set && !starts_with(text, "cleared ") && !starts_with(text, "activate "))
		return 0;
	rec->set = set;
	return RECORD_BIT(kvm_apicv_inhibit_changed, set);
}

static uint64_t ipi_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_avic_incomplete_ipi *rec = (void *)record;
	uint32_t icrh, icrl;

	if (!icr_parse(text, &icrh, &icrl))
		return 0;
	rec->icrh = icrh;
	rec->icrl = icrl;
	return RECORD_BIT(kvm_avic_incomplete_ipi, icrh) |
	       RECORD_BIT(kvm_avic_incomplete_ipi, icrl);
}

static uint64_t kick_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_avic_kick_vcpu_slowpath *rec = (void *)record;
	uint32_t icrh, icrl;

	if (!icr_parse(text, &icrh, &icrl))
		return 0;
	rec->icrh = icrh;
	rec->icrl = icrl;
	return RECORD_BIT(kvm_avic_kick_vcpu_slowpath, icrh) |
	       RECORD_BIT(kvm_avic_kick_vcpu_slowpath, icrl);
}

static uint64_t access_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_avic_unaccelerated_access *rec = (void *)record;
	bool trap = more_has(text, " trap,"), write = more_has(text, " write,");

	if ((!trap && !more_has(text, " fault,")) || (!write && !more_has(text, " read,")))
		return 0;
	rec->ft = trap;
	rec->rw = write;
	return RECORD_BIT(kvm_avic_unaccelerated_access, ft) |
	       RECORD_BIT(kvm_avic_unaccelerated_access, rw);
}

static uint64_t irte_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_pi_irte_update *rec = (void *)record;

	if (!more_has(text, "PI is "))
		return 0;
	rec->set = more_has(text, "PI is enabled");
	return RECORD_BIT(kvm_pi_irte_update, set);
}

static uint64_t hypercall_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_hv_hypercall *rec = (void *)record;
	bool fast = more_has(text, " fast ");

	if (!fast && !more_has(text, " slow "))
		return 0;
	rec->fast = fast;
	return RECORD_BIT(kvm_hv_hypercall, fast);
}

static uint64_t flush_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_hv_flush_tlb *rec = (void *)record;

	if (more_has(text, "="))
		return 0;
	rec->guest_mode = more_has(text, "(L2)");
	return RECORD_BIT(kvm_hv_flush_tlb, guest_mode);
}

static uint64_t flush_ex_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_hv_flush_tlb_ex *rec = (void *)record;

	if (more_has(text, "="))
		return 0;
	rec->guest_mode = more_has(text, "(L2)");
	return RECORD_BIT(kvm_hv_flush_tlb_ex, guest_mode);
}

/* VDSO_CLOCKMODE_NONE, VDSO_CLOCKMODE_TSC */
static bool clock_parse(struct text_slice text, uint32_t *ret)
{
	*ret = more_has(text, "hostclock tsc");
	return *ret || more_has(text, "hostclock none");
}

static uint64_t master_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_update_master_clock *rec = (void *)record;
	uint32_t clock;

	if (!clock_parse(text, &clock))
		return 0;
	rec->host_clock = clock;
	return RECORD_BIT(kvm_update_master_clock, host_clock);
}

static uint64_t track_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_track_tsc *rec = (void *)record;
	uint32_t clock;

	if (!clock_parse(text, &clock))
		return 0;
	rec->host_clock = clock;
	return RECORD_BIT(kvm_track_tsc, host_clock);
}

static uint64_t vmenter_rest(struct text_slice text, uint8_t *record)
{
	struct rec_kvm_nested_vmenter *rec = (void *)record;
	bool vmx = more_has(text, " vmcs: ");

	if (more_has(text, " npt: ")) { /* until 6.0 */
		rec->tdp_enabled = more_has(text, " npt: on");
		return RECORD_BIT(kvm_nested_vmenter, tdp_enabled);
	}
	if (!vmx && !more_has(text, " vmcb: "))
		return 0;
	rec->isa = vmx ? 1 : 2;
	rec->tdp_enabled = more_has(text, " nested_ept=y") || more_has(text, " nested_npt=y");
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

uint64_t text_more(unsigned int id, struct text_slice text, uint8_t *record)
{
	static uint64_t (*const rest_of[EV_LIMIT])(struct text_slice text, uint8_t * record) = {
		[EV_kvm_userspace_exit] = userspace_rest,
		[EV_kvm_halt_poll_ns] = halt_poll_rest,
		[EV_kvm_vcpu_wakeup] = wakeup_rest,
		[EV_kvm_apicv_inhibit_changed] = inhibit_rest,
		[EV_kvm_avic_incomplete_ipi] = ipi_rest,
		[EV_kvm_avic_kick_vcpu_slowpath] = kick_rest,
		[EV_kvm_avic_unaccelerated_access] = access_rest,
		[EV_kvm_pi_irte_update] = irte_rest,
		[EV_kvm_hv_hypercall] = hypercall_rest,
		[EV_kvm_hv_flush_tlb] = flush_rest,
		[EV_kvm_hv_flush_tlb_ex] = flush_ex_rest,
		[EV_kvm_update_master_clock] = master_rest,
		[EV_kvm_track_tsc] = track_rest,
		[EV_kvm_nested_vmenter] = vmenter_rest,
		[EV_kvm_nested_intercepts] = intercepts_rest,
	};

	return rest_of[id] ? rest_of[id](text, record) : 0;
}
