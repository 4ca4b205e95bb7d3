// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an ELF file unpacks to. libdw unpacks whole sections into memory (zlib, zstd: up to 1,000 and more times their
 * size; .gnu_debugdata: xz, up to 7,000 times), and whole files (vmlinux.gz), and asks for no limit. A hostile file of
 * 12 MB took 6 GB and more. So the sizes that sections state are added up before; libelf unpacks no more than that.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "symbols/elf_size.h"

enum {
	TIMES_MAX = 32,		  /* debug information is packed to a third or a fifth */
	ALLOWED = 64 << 20,	  /* in any case */
	DEBUGDATA_MAX = 64 << 10, /* of .gnu_debugdata, which states no size: a guest's ELF file has symbols instead */
	ZDEBUG_HEAD = 12,	  /* "ZLIB" and the size, of .zdebug_* */
};

static uint64_t saturated(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* GNU's older form. */
static uint64_t zdebug_size(Elf_Scn *section)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	const uint8_t *p = data ? data->d_buf : NULL;
	uint64_t size = 0;

	if (!p || data->d_size < ZDEBUG_HEAD || memcmp(p, "ZLIB", 4))
		return 0;
	for (unsigned int i = 4; i < ZDEBUG_HEAD; i++)
		size = size << 8 | p[i];
	return size;
}

static uint64_t section_size(Elf *elf, size_t names, Elf_Scn *section)
{
	GElf_Shdr head;
	GElf_Chdr packed;
	const char *name;

	if (!gelf_getshdr(section, &head))
		return 0;
	name = elf_strptr(elf, names, head.sh_name);
	if (head.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &packed) ? packed.ch_size : 0;
	if (name && !strncmp(name, ".zdebug", strlen(".zdebug")))
		return zdebug_size(section);
	if (name && !strcmp(name, ".gnu_debugdata"))
		return head.sh_size > DEBUGDATA_MAX ? UINT64_MAX : 0;
	return 0;
}

static uint64_t unpacked_size(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	uint64_t all = 0;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section)))
		all = saturated(all, section_size(elf, names, section));
	return all;
}

int elf_size_check(int fd, const char *path)
{
	struct stat st;
	uint64_t size;
	bool is_elf;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	is_elf = elf && elf_kind(elf) == ELF_K_ELF;
	size = is_elf ? unpacked_size(elf) : 0;
	elf_end(elf);
	if (!is_elf)
		return fail(-EINVAL, "%s: not an ELF file", path);
	if (fstat(fd, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (size <= saturated(ALLOWED, (uint64_t)st.st_size * TIMES_MAX))
		return 0;
	return fail(-E2BIG,
		    "%s: its compressed debug information is more than %d times the file; "
		    "use one that is not compressed (eu-elfcompress -t none)",
		    path, TIMES_MAX);
}

int elf_find_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		       const char *file, const char *debuglink, GElf_Word crc, char **ret)
{
	int fd = dwfl_standard_find_debuginfo(mod, userdata, name, base, file, debuglink, crc, ret);

	if (fd < 0 || !elf_size_check(fd, name))
		return fd;
	debug("symbols", "%s", error_text());
	close(fd);
	return -1;
}

int elf_path_check(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? fail(-errno, "%s: %s", path, strerror(errno)) : elf_size_check(fd, path);
}
