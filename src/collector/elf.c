// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An executable as probes need it: symbols, bytes at an address, and the file offset that the
 * kernel requires for a user probe. Symbols come from .dynsym (what the program exports),
 * .symtab, and the .symtab of the separate debug file under /usr/lib/debug/.build-id where one is
 * installed.
 *
 * The file is another program's: every offset is checked against its size.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "collector/elf.h"
#include "vm/proc.h"

enum {
	USDT_MARKS_MAX = 65536, /* notes of one file that are kept; QEMU 10 has 2,200 */
};

enum {
	SEGMENTS_MAX = 256,
	SYMBOLS_MAX = 1 << 22, /* looked at per table */
};

struct elf_file {
	int fd, debug_fd;
	Elf *elf, *debug;
	const uint8_t *file;
	size_t size;
};

static int elf_begin_at(const char *path, int *ret_fd, Elf **ret)
{
	Elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		close(fd);
		return -EINVAL;
	}
	*ret_fd = fd;
	*ret = elf;
	return 0;
}

/* Where Debian's -dbgsym and Fedora's -debuginfo packages put the symbols that were stripped. */
static void debug_open(struct elf_file *e, const char *path)
{
	char debug_path[256];
	struct vm_exe exe;

	if (vm_exe_read(path, false, &exe) || strlen(exe.build_id) < 4)
		return;
	snprintf(debug_path, sizeof(debug_path), "/usr/lib/debug/.build-id/%.2s/%s.debug",
		 exe.build_id, exe.build_id + 2);
	if (!elf_begin_at(debug_path, &e->debug_fd, &e->debug))
		debug("attach", "symbols of %s from %s", path, debug_path);
}

int elf_file_open(const char *path, struct elf_file **ret)
{
	_cleanup_elf_file_ struct elf_file *e = calloc(1, sizeof(*e));
	GElf_Ehdr eh;
	int err;

	if (!e)
		return fail(-ENOMEM, "out of memory");
	e->fd = e->debug_fd = -1;
	err = elf_begin_at(path, &e->fd, &e->elf);
	if (err == -EINVAL)
		return fail(err, "%s is not an ELF file", path);
	if (err)
		return fail(err, "cannot open %s: %s", path, strerror(-err));
	if (!gelf_getehdr(e->elf, &eh) || eh.e_machine != EM_X86_64)
		return fail(-EINVAL, "%s is not an x86-64 executable", path);
	e->file = (const uint8_t *)elf_rawfile(e->elf, &e->size);
	if (!e->file)
		return fail(-EINVAL, "cannot read %s: %s", path, elf_errmsg(-1));
	debug_open(e, path);
	*ret = take_ptr(e);
	return 0;
}

void elf_file_close(struct elf_file *e)
{
	if (!e)
		return;
	elf_end(e->debug);
	elf_end(e->elf);
	if (e->debug_fd >= 0)
		close(e->debug_fd);
	if (e->fd >= 0)
		close(e->fd);
	free(e);
}

static bool symbol_fits(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_value &&
	       (type == STT_FUNC || type == STT_OBJECT);
}

/* Looks through one table; a name of NULL fits every function. */
static bool table_find(Elf *elf, Elf_Scn *section, const GElf_Shdr *sh, const char *name,
		       struct elf_symbol *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym sym;

	for (int i = 0; data && i < SYMBOLS_MAX && gelf_getsym(data, i, &sym); i++) {
		const char *s;

		if (!symbol_fits(&sym))
			continue;
		if (!name)
			return GELF_ST_TYPE(sym.st_info) == STT_FUNC;
		s = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!s || strcmp(s, name))
			continue;
		*ret = (struct elf_symbol){sym.st_value, sym.st_size};
		return true;
	}
	return false;
}

static bool tables_find(Elf *elf, unsigned int type, const char *name, struct elf_symbol *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr sh;

	while (elf && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &sh) && sh.sh_type == type &&
		    table_find(elf, section, &sh, name, ret))
			return true;
	return false;
}

bool elf_file_symbol(const struct elf_file *e, const char *name, struct elf_symbol *ret)
{
	return tables_find(e->elf, SHT_DYNSYM, name, ret) ||
	       tables_find(e->elf, SHT_SYMTAB, name, ret) ||
	       tables_find(e->debug, SHT_SYMTAB, name, ret);
}

bool elf_file_has_symbols(const struct elf_file *e)
{
	struct elf_symbol main_function;

	return elf_file_symbol(e, "main", &main_function) ||
	       tables_find(e->elf, SHT_SYMTAB, NULL, NULL) ||
	       tables_find(e->debug, SHT_SYMTAB, NULL, NULL);
}

/* The segment that contains the address: its offset in the file, and the bytes from the address to its end. */
static bool segment_find(const struct elf_file *e, uint64_t address, uint64_t *ret_offset,
			 uint64_t *ret_len)
{
	size_t nr = 0;
	GElf_Phdr ph;

	elf_getphdrnum(e->elf, &nr);
	for (size_t i = 0; i < nr && i < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(e->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    address < ph.p_vaddr || address - ph.p_vaddr >= ph.p_filesz)
			continue;
		if (ph.p_offset > e->size || ph.p_filesz > e->size - ph.p_offset)
			return false;
		*ret_offset = ph.p_offset + (address - ph.p_vaddr);
		*ret_len = ph.p_filesz - (address - ph.p_vaddr);
		return true;
	}
	return false;
}

bool elf_file_offset(const struct elf_file *e, uint64_t address, uint64_t *ret)
{
	uint64_t len;

	return segment_find(e, address, ret, &len);
}

const uint8_t *elf_file_bytes(const struct elf_file *e, uint64_t address, size_t *ret_len)
{
	uint64_t offset, len;

	if (!segment_find(e, address, &offset, &len))
		return NULL;
	*ret_len = len;
	return e->file + offset;
}

bool elf_file_writable(const struct elf_file *e, uint64_t address)
{
	size_t nr = 0;
	GElf_Phdr ph;

	elf_getphdrnum(e->elf, &nr);
	for (size_t i = 0; i < nr && i < SEGMENTS_MAX; i++)
		if (gelf_getphdr(e->elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    ph.p_flags & PF_W && address >= ph.p_vaddr &&
		    address - ph.p_vaddr < ph.p_memsz)
			return true;
	return false;
}

uint64_t elf_file_entry(const struct elf_file *e)
{
	GElf_Ehdr eh;

	return gelf_getehdr(e->elf, &eh) ? eh.e_entry : 0;
}

const uint8_t *elf_file_section(const struct elf_file *e, const char *name, size_t *ret_len,
				uint64_t *ret_address)
{
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(e->elf, &names))
		return NULL;
	while ((section = elf_nextscn(e->elf, section))) {
		const char *s =
			gelf_getshdr(section, &sh) ? elf_strptr(e->elf, names, sh.sh_name) : NULL;

		if (!s || strcmp(s, name))
			continue;
		if (sh.sh_type != SHT_NOBITS &&
		    (sh.sh_offset > e->size || sh.sh_size > e->size - sh.sh_offset))
			return NULL;
		*ret_len = sh.sh_type == SHT_NOBITS ? 0 : sh.sh_size;
		*ret_address = sh.sh_addr;
		return sh.sh_type == SHT_NOBITS ? e->file : e->file + sh.sh_offset;
	}
	return NULL;
}

/*
 * USDT probes ("static probes"): a program built with <sys/sdt.h> has a nop at each mark, and for
 * each nop a note with its name and the locations of its arguments. QEMU's are made by
 * --enable-trace-backends=dtrace. The format of the notes is SystemTap's:
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
 */

enum { NT_STAPSDT = 3 };

static const char *text_take(struct buffer *b)
{
	const uint8_t *end = memchr(b->pos, 0, buffer_left(b));
	const char *text = (const char *)b->pos;

	if (!end) {
		b->cut = true;
		return NULL;
	}
	b->pos = end + 1;
	return text;
}

/* The note was written before linking was complete: it moves with .stapsdt.base (prelink). */
static bool mark_take(const uint8_t *desc, size_t len, uint64_t base_now, struct usdt_mark *ret)
{
	struct buffer b = buffer_of(desc, len, "", 0);
	uint64_t pc = buffer_u64(&b), base = buffer_u64(&b), semaphore = buffer_u64(&b);
	uint64_t moved = base_now ? base_now - base : 0;

	ret->provider = text_take(&b);
	ret->name = ret->provider ? text_take(&b) : NULL;
	ret->args = ret->name ? text_take(&b) : NULL;
	ret->address = pc + moved;
	ret->semaphore = semaphore ? semaphore + moved : 0;
	return ret->args && !b.cut;
}

static int mark_add(struct usdt_marks *marks, const struct usdt_mark *mark)
{
	if (marks->nr == USDT_MARKS_MAX) {
		marks->broken++;
		return 0;
	}
	return array_add(marks->mark, marks->nr, *mark);
}

static int notes_read(const uint8_t *notes, size_t len, uint64_t base_now, struct usdt_marks *ret)
{
	struct buffer b = buffer_of(notes, len, "", 0);
	int err = 0;

	while (buffer_left(&b) >= 12 && !err) {
		uint32_t name_len = buffer_u32(&b), desc_len = buffer_u32(&b),
			 type = buffer_u32(&b);
		const uint8_t *name = buffer_bytes(&b, ((size_t)name_len + 3) & ~(size_t)3);
		const uint8_t *desc = buffer_bytes(&b, ((size_t)desc_len + 3) & ~(size_t)3);
		struct usdt_mark mark;

		if (!name || !desc) {
			ret->broken++;
			break;
		}
		if (type != NT_STAPSDT || name_len != sizeof("stapsdt") ||
		    memcmp(name, "stapsdt", name_len))
			continue;
		if (mark_take(desc, desc_len, base_now, &mark))
			err = mark_add(ret, &mark);
		else
			ret->broken++;
	}
	return err;
}

int usdt_read(const struct elf_file *e, struct usdt_marks *ret)
{
	uint64_t address, base = 0;
	size_t len, base_len;
	const uint8_t *notes = elf_file_section(e, ".note.stapsdt", &len, &address);
	int err;

	*ret = (struct usdt_marks){0};
	if (!notes)
		return 0;
	elf_file_section(e, ".stapsdt.base", &base_len, &base);
	err = notes_read(notes, len, base, ret);
	if (err)
		usdt_free(ret);
	return err;
}

void usdt_free(struct usdt_marks *marks)
{
	free(marks->mark);
	*marks = (struct usdt_marks){0};
}

/* After "SIZE@": %reg, $number, number(%reg), (%reg) */
static bool operand_readable(const char *p, const char *end)
{
	const char *paren = memchr(p, '(', (size_t)(end - p));

	if (p == end)
		return false;
	if (*p == '%' || *p == '$')
		return !paren;
	if (!paren || end[-1] != ')' || memchr(p, ',', (size_t)(end - p)) || paren[1] != '%')
		return false;
	for (; p < paren; p++)
		if (!isdigit((unsigned char)*p) && *p != '-' && *p != '+')
			return false;
	return strncmp(paren, "(%rip", 5) != 0;
}

bool usdt_args_readable(const char *args, unsigned int nr)
{
	unsigned int seen = 0;

	while (seen < nr) {
		size_t len;
		const char *at;

		args += strspn(args, " ");
		len = strcspn(args, " ");
		at = memchr(args, '@', len);
		if (!len || !at || !operand_readable(at + 1, args + len))
			return false;
		args += len;
		seen++;
	}
	return true;
}
