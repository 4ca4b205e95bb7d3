// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vm/kvm_memory.h"

enum place { PLACE_READABLE, PLACE_SECRET, PLACE_DEVICE, PLACE_UNMAPPED, NR_PLACES };

struct survey {
	uint64_t bytes[NR_PLACES], total;
};

static enum place place_of(const struct memory_range *r)
{
	return r->secret ? PLACE_SECRET : r->device ? PLACE_DEVICE : PLACE_READABLE;
}

static void slot_survey(const struct guest_slot *slot, const struct memory *m, struct survey *s)
{
	uint64_t mapped = 0, end = slot->process + slot->size;

	s->total += slot->size;
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct memory_range *r = &m->range[i];
		uint64_t from = r->start > slot->process ? r->start : slot->process;
		uint64_t to = r->end < end ? r->end : end;

		if (from >= to)
			continue;
		s->bytes[place_of(r)] += to - from;
		mapped += to - from;
	}
	s->bytes[PLACE_UNMAPPED] += slot->size > mapped ? slot->size - mapped : 0;
}

static size_t bytes_print(uint64_t bytes, char *buf, size_t size)
{
	int len = bytes >= 1 << 20 ? snprintf(buf, size, "%.1f MiB", (double)bytes / (1 << 20))
				   : snprintf(buf, size, "%" PRIu64 " KiB", bytes >> 10);

	return len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1;
}

static void places_print(const struct survey *s, char *buf, size_t size)
{
	static const char *const reasons[] = {
		[PLACE_SECRET] = "are in memfd_secret, which only the VMM can read",
		[PLACE_DEVICE] = "are a passed-through device's",
		[PLACE_UNMAPPED] = "are not mapped in the VMM",
	};
	size_t len = 0;

	for (int p = PLACE_SECRET; p < NR_PLACES; p++) {
		if (!s->bytes[p] || len + 1 >= size)
			continue;
		len += (size_t)snprintf(buf + len, size - len, "; ");
		len += len < size ? bytes_print(s->bytes[p], buf + len, size - len) : 0;
		len += len < size ? (size_t)snprintf(buf + len, size - len, " %s", reasons[p]) : 0;
	}
}

bool kvm_memory_describe(const struct kvm_vm *vm, const struct memory *m, char *buf, size_t size)
{
	const char *encryption = kvm_encryption(vm);
	struct survey s = {0};
	size_t len;

	if (encryption) {
		snprintf(buf, size, "encrypted (%s): the host cannot read it", encryption);
		return false;
	}
	if (!(vm->state & KVM_STATE_SLOTS)) {
		snprintf(buf, size, "KVM's memory slots are unknown: Linux before 5.17");
		return true;
	}
	if (vm->private_memory) {
		snprintf(buf, size,
			 "in a guest_memfd, which the VMM need not map: the host reads only what "
			 "the guest shares");
		return false;
	}
	for (size_t i = 0; m && i < vm->nr_slots; i++)
		slot_survey(&vm->slot[i], m, &s);
	len = bytes_print(kvm_memory_bytes(vm), buf, size);
	len += (size_t)snprintf(buf + len, size - len, " in %zu slot%s%s", vm->nr_slots,
				vm->nr_slots == 1 ? "" : "s",
				vm->state & KVM_STATE_CUT ? " and more" : "");
	if (m && len < size)
		places_print(&s, buf + len, size - len);
	return !m || s.bytes[PLACE_READABLE] > 0;
}
