// SPDX-License-Identifier: GPL-2.0-or-later
/* /sys/kernel/notes has the kernel's ELF notes: three words each, then name and data, padded to 4 bytes. */
#include "symbols/running_kernel.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

void build_id_print(const uint8_t *id, size_t len, char text[BUILD_ID_TEXT])
{
	text[0] = '\0';
	for (size_t i = 0; i < len && 2 * i + 3 <= BUILD_ID_TEXT; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

void running_kernel_id(char text[BUILD_ID_TEXT])
{
	uint8_t notes[4096];
	_cleanup_fclose_ FILE *f = fopen("/sys/kernel/notes", "re");
	size_t len = f ? fread(notes, 1, sizeof(notes), f) : 0;
	Elf64_Nhdr note;

	text[0] = '\0';
	for (size_t at = 0; at + sizeof(note) <= len;) {
		size_t name, desc;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = name + ((note.n_namesz + 3ul) & ~3ul);
		at = desc + ((note.n_descsz + 3ul) & ~3ul);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && at <= len &&
		    !memcmp(notes + name, "GNU", 4)) {
			build_id_print(notes + desc, note.n_descsz, text);
			return;
		}
	}
}

size_t running_kernel_code(int kcore, uint64_t address, uint8_t *ret, size_t size)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;

	if (!kcore || pread(kcore, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != EM_X86_64)
		return 0;
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		uint64_t at;
		ssize_t n;

		if (pread(kcore, &segment, sizeof(segment),
			  (off_t)(head.e_phoff + i * sizeof(segment))) != sizeof(segment))
			return 0;
		at = address - segment.p_vaddr;
		if (segment.p_type != PT_LOAD || at >= segment.p_memsz)
			continue;
		size = size < segment.p_memsz - at ? size : segment.p_memsz - at;
		n = pread(kcore, ret, size, (off_t)(segment.p_offset + at));
		return n > 0 ? (size_t)n : 0;
	}
	return 0;
}
