// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Are the offsets of probes/qemu.def those of this very binary? QEMU has small functions that do
 * nothing but read a member of VirtQueue ("movzwl 0x48(%rdi), %eax; ret"): their code contains
 * where it is. A distribution that patched the structure is so found out before a probe reads
 * garbage from the VM's memory.
 */
#include <inttypes.h>

#include "symbols/decoder.h"
#include "collector/plan_internal.h"

/* clang-format off */
#define GROUP(...)
#define PROBE(...)
#define MARK(...)
#define ENTRY(...)
#define ENTRY_BEFORE(...)
#define RETURN(...)
#define END(...)
#define LAYOUT(...)
#define LAYOUT_CHECKED(...)
static const struct seen {
	const char *field, *function;
	size_t at; /* where struct qemu_layout has it */
	unsigned int arg, bytes;
} seen[] = {
#define LAYOUT_SEEN(field, function, arg, bytes) \
	{#field, #function, offsetof(struct qemu_layout, field), arg, bytes},
#include "../../probes/qemu.def"
};
/* clang-format on */

enum { NR_SEEN = sizeof(seen) / sizeof(seen[0]) };

/* False: the code does not show the offset. */
static bool member_read(const struct elf_file *elf, struct helper *decoder, const struct seen *s,
			int64_t *ret)
{
	struct elf_symbol symbol;
	const uint8_t *code;
	size_t len;

	if (!elf_file_symbol(elf, s->function, &symbol))
		return false;
	code = elf_file_bytes(elf, symbol.address, &len);
	return code &&
	       !decoder_member(decoder, code, symbol.size && symbol.size < len ? symbol.size : len,
			       s->arg, s->bytes, ret);
}

bool layout_check(const struct elf_file *elf, struct helper *decoder, struct plan *plan, char *why,
		  size_t size)
{
	unsigned int confirmed = 0;

	for (unsigned int i = 0; i < NR_SEEN; i++) {
		uint32_t wanted = *(const uint32_t *)((const char *)&plan->layout + seen[i].at);
		int64_t found;

		if (!member_read(elf, decoder, &seen[i], &found))
			continue;
		if (found != wanted) {
			snprintf(why, size,
				 "unexpected structure layout: %s is at offset %" PRId64
				 " (found in %s()), not at %u as in QEMU %s",
				 seen[i].field, found, seen[i].function, wanted,
				 *plan->version ? plan->version : "of other versions");
			snprintf(plan->layout_note, sizeof(plan->layout_note),
				 "virtqueues are not read: %.160s", why);
			return false;
		}
		confirmed++;
	}
	snprintf(plan->layout_note, sizeof(plan->layout_note),
		 confirmed ? "offsets of QEMU's structures: %u of %u confirmed by its machine code"
			   : "offsets of QEMU's structures: assumed from its version; no symbols "
			     "to confirm them",
		 confirmed, NR_SEEN);
	return true;
}
