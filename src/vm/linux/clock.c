// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's timekeeper: CLOCK_REALTIME at its last update, and how the cycles of the clock source since then become ns.
 * Until 6.16 it is in the variable tk_core, behind a sequence count; from 6.17 on in the first element of
 * timekeeper_data. An update advances it by whole ticks, so that the guest's time is up to a tick later than it says.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "event/event.h"
#include "vm/linux/lists.h"

enum { SEQ_BYTES_MAX = 256, SHIFT_MAX = 64 };

/* Where the timekeeper begins behind the sequence count, whose size depends on the kernel's configuration. */
static int behind_seq(const struct btf_types *types)
{
	int at = btf_offset(types, "tk_data", "timekeeper");
	int bytes;

	if (at >= 0)
		return at;
	bytes = btf_size(types, "seqcount_raw_spinlock_t");
	if (bytes < 0)
		bytes = btf_size(types, "seqcount_t");
	return bytes > 0 && bytes <= SEQ_BYTES_MAX ? (bytes + 7) & ~7 : -ENOENT;
}

static bool layout_fits(const struct linux_timekeeper *t)
{
	const int words[] = {t->clock, t->mask, t->cycles, t->fraction, t->seconds, t->interval};

	if (t->bytes < 0 || t->bytes > LINUX_TIMEKEEPER_MAX || t->name < 0 || t->mult < 0 ||
	    t->shift < 0 || t->mult > t->bytes - 4 || t->shift > t->bytes - 4)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i] < 0 || words[i] > t->bytes - 8)
			return false;
	return true;
}

int linux_timekeeper_find(struct linux_guest *g, const struct btf_types *types,
			  struct linux_timekeeper *ret)
{
	static const char tk[] = "timekeeper";
	int behind = behind_seq(types);

	*ret = (struct linux_timekeeper){
		.g = g,
		.seq = linux_symbol(g, "timekeeper_data"),
		.bytes = btf_size(types, tk),
		.clock = btf_offset(types, tk, "tkr_mono.clock"),
		.mask = btf_offset(types, tk, "tkr_mono.mask"),
		.cycles = btf_offset(types, tk, "tkr_mono.cycle_last"),
		.mult = btf_offset(types, tk, "tkr_mono.mult"),
		.shift = btf_offset(types, tk, "tkr_mono.shift"),
		.fraction = btf_offset(types, tk, "tkr_mono.xtime_nsec"),
		.seconds = btf_offset(types, tk, "xtime_sec"),
		.interval = btf_offset(types, tk, "cycle_interval"),
		.name = btf_offset(types, "clocksource", "name"),
	};
	if (!ret->seq)
		ret->seq = linux_symbol(g, "tk_core");
	if (!ret->seq)
		return fail(-ENOENT, "the guest's kernel lists no variable tk_core or "
				     "timekeeper_data: it has CONFIG_KALLSYMS_ALL off, or is older "
				     "than 3.17");
	if (behind < 0 || !layout_fits(ret))
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct timekeeper");
	ret->at = ret->seq + (uint64_t)behind;
	return 0;
}

static int unreadable(void)
{
	return fail(-EFAULT, "the guest's timekeeper cannot be read");
}

int linux_clock_seq(const struct linux_timekeeper *t, uint32_t *ret)
{
	return linux_read_u32(t->g, t->seq, ret) ? unreadable() : 0;
}

static uint64_t word(const uint8_t *tk, int at)
{
	uint64_t value;

	memcpy(&value, tk + at, sizeof(value));
	return value;
}

static uint32_t half(const uint8_t *tk, int at)
{
	uint32_t value;

	memcpy(&value, tk + at, sizeof(value));
	return value;
}

/* a * b >> shift, or UINT64_MAX if that is more than 64 bits. */
static uint64_t scaled(uint64_t a, uint64_t b, uint64_t add, uint32_t shift)
{
	unsigned __int128 value = ((unsigned __int128)a * b + add) >> shift;

	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static void clock_decode(const struct linux_timekeeper *t, const uint8_t *tk,
			 struct linux_clock *ret)
{
	*ret = (struct linux_clock){
		.fraction = word(tk, t->fraction),
		.cycles = word(tk, t->cycles),
		.mask = word(tk, t->mask),
		.mult = half(tk, t->mult),
		.shift = half(tk, t->shift),
	};
	if (ret->shift >= SHIFT_MAX)
		return;
	ret->real_ns = word(tk, t->seconds) * 1000000000 + (ret->fraction >> ret->shift);
	ret->fraction &= (UINT64_C(1) << ret->shift) - 1;
	ret->tick_ns = scaled(word(tk, t->interval), ret->mult, 0, ret->shift);
}

/* The name of the clock source of this copy. */
static int source_read(const struct linux_timekeeper *t, const uint8_t *tk, struct linux_clock *c)
{
	uint64_t name;

	if (linux_read_u64(t->g, word(tk, t->clock) + (uint64_t)t->name, &name) ||
	    linux_read_text(t->g, name, c->source, sizeof(c->source)))
		return -EFAULT;
	text_sanitize(c->source);
	return 0;
}

int linux_clock_read(const struct linux_timekeeper *t, struct linux_clock *ret)
{
	uint8_t tk[LINUX_TIMEKEEPER_MAX];
	uint32_t before, after;

	for (int i = 0; i < LINUX_RETRIES; i++) {
		t->g->torn += i > 0;
		if (linux_clock_seq(t, &before) || linux_read(t->g, t->at, tk, (size_t)t->bytes) ||
		    linux_clock_seq(t, &after))
			return unreadable();
		if (before != after || before % 2)
			continue;
		clock_decode(t, tk, ret);
		ret->seq = before;
		if (ret->shift >= SHIFT_MAX || source_read(t, tk, ret))
			return fail(-EFAULT, "the guest's timekeeper is inconsistent");
		return 0;
	}
	return fail(-EFAULT, "the guest's timekeeper changed whenever it was read");
}

uint64_t linux_clock_real(const struct linux_clock *c, uint64_t cycles)
{
	uint64_t since = (cycles - c->cycles) & c->mask;

	if (since > c->mask >>
	    1) /* another CPU's was read a little earlier (clocksource_delta()) */
		since = 0;
	return c->real_ns + scaled(since, c->mult, c->fraction, c->shift);
}

int linux_pvclock_read(struct linux_guest *g, struct linux_pvclock *ret)
{
	uint64_t at = linux_symbol(g, "hv_clock_boot"); /* vCPU 0's is the first */
	uint32_t version;

	for (int i = 0; at && i < LINUX_RETRIES; i++)
		if (!linux_read(g, at, ret, sizeof(*ret)) && !linux_read_u32(g, at, &version) &&
		    version == ret->version && version % 2 == 0 && version)
			return 0;
	return -ENOENT;
}
