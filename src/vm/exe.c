// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts from an ELF file. QEMU's version is found by the text that `qemu --version` prints, which
 * is one constant because its version is concatenated by the compiler; QEMU itself is
 * never run.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "vm/exe.h"

enum {
	SEGMENTS_MAX = 256,
	BUILD_ID_MAX = 32, /* bytes; GNU ld writes 20 */
	/* Any user may run a program of this name: it must not keep root's `ps` busy. */
	NOTES_BYTES_MAX = 64 << 10,
	SEARCH_BYTES_MAX = 64 << 20, /* for the version, over all segments; QEMU 10 has 20 MiB */
};

static const char version_text[] = "QEMU emulator version ";

/* ELF notes: three words, then name and data, each padded to 4 bytes (System V gABI, chapter 5). */
static void build_id_take(const uint8_t *data, size_t len, struct vm_exe *ret)
{
	struct buffer b = buffer_of(data, len, "", 0);

	while (buffer_left(&b) >= 12) {
		uint32_t name_len = buffer_u32(&b), data_len = buffer_u32(&b),
			 type = buffer_u32(&b);
		const uint8_t *name = buffer_bytes(&b, ((size_t)name_len + 3) & ~(size_t)3);
		const uint8_t *id = buffer_bytes(&b, ((size_t)data_len + 3) & ~(size_t)3);

		if (!name || !id)
			return;
		if (type != NT_GNU_BUILD_ID || name_len != 4 || memcmp(name, "GNU", 4) ||
		    data_len > BUILD_ID_MAX)
			continue;
		for (uint32_t i = 0; i < data_len; i++)
			snprintf(ret->build_id + 2 * i, 3, "%02x", id[i]);
		return;
	}
}

static void version_take(const uint8_t *data, size_t len, struct vm_exe *ret)
{
	const uint8_t *hit = memmem(data, len, version_text, sizeof(version_text) - 1);
	size_t n = 0;

	if (!hit)
		return;
	hit += sizeof(version_text) - 1;
	while (hit + n < data + len && n < sizeof(ret->version) - 1 &&
	       ((hit[n] >= '0' && hit[n] <= '9') || hit[n] == '.'))
		n++;
	memcpy(ret->version, hit, n);
	ret->version[n] = '\0';
}

static size_t spend(size_t *budget, size_t wanted)
{
	size_t n = wanted < *budget ? wanted : *budget;

	*budget -= n;
	return n;
}

static void segments_read(Elf *elf, const uint8_t *file, size_t size, size_t search,
			  struct vm_exe *ret)
{
	size_t nr = 0, notes = NOTES_BYTES_MAX;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr && i < SEGMENTS_MAX; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_offset > size ||
		    ph.p_filesz > size - ph.p_offset)
			continue;
		if (ph.p_type == PT_NOTE && !*ret->build_id)
			build_id_take(file + ph.p_offset, spend(&notes, ph.p_filesz), ret);
		if (ph.p_type == PT_LOAD && !(ph.p_flags & PF_W) && !*ret->version)
			version_take(file + ph.p_offset, spend(&search, ph.p_filesz), ret);
	}
}

static void elf_cleanup(Elf **elf)
{
	elf_end(*elf);
}

int vm_exe_read(const char *path, bool version, struct vm_exe *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_cleanup) Elf *elf = NULL;
	size_t size = 0;
	char *file;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0)
		return fail(-errno, "cannot open %s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return fail(-EINVAL, "%s is not an ELF file", path);
	file = elf_rawfile(elf, &size);
	if (file)
		segments_read(elf, (const uint8_t *)file, size, version ? SEARCH_BYTES_MAX : 0,
			      ret);
	return 0;
}
