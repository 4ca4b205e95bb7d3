// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ELF core files as a source of a guest's memory (guest_dump.h). Which kind one is, its notes tell: QEMU adds one named
 * "QEMU" for each vCPU, with all registers. Its layout (QEMUCPUState, version 1, x86-64): u32 version, u32 size; u64
 * rax rbx rcx rdx rsi rdi rsp rbp r8..r15 rip rflags; cs ds es fs gs ldt tr gdt idt of 24 bytes each, whose last u64 is
 * the base; u64 cr0..cr4.
 *
 * With "paging" QEMU lists physical memory once for each mapping of it: segments overlap, and the first one is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/read_full.h"
#include "base/saturate.h"
#include "base/user_rights.h"
#include "fetch/guest_dump.h"

enum {
	NOTE_BYTES_MAX = 64 << 20,
	STATE_VERSION = 1,
	STATE_REGISTERS = 8,
	STATE_FS_BASE = 240,
	STATE_CR3 = 392,
	STATE_BYTES = 408,
};

/* ---- reading ---- */

static int segments_read(const struct memory *m, uint64_t address, void *buf, size_t size)
{
	const struct guest_dump *d = m->image;
	uint8_t *to = buf;

	while (size) {
		size_t at =
			array_prefix(d->nr_segments, i,
				     d->segment[i].address + (d->segment[i].size - 1) < address);
		const struct dump_segment *s = &d->segment[at];
		uint64_t within = at < d->nr_segments ? address - s->address : 0;
		size_t part;

		if (at == d->nr_segments || address < s->address)
			return -EFAULT;
		part = s->size - within < size ? (size_t)(s->size - within) : size;
		if (pread_full(m->fd, to, part, s->offset + within) != (ssize_t)part)
			return -EFAULT;
		address += part;
		to += part;
		size -= part;
	}
	return 0;
}

/* ---- segments ---- */

/* With equal addresses, the one that was first in the file. */
ORDER_BY(by_segment, struct dump_segment, address, offset)

/* Cuts what an earlier one has. */
static void overlaps_cut(struct guest_dump *d)
{
	size_t kept = 0;
	uint64_t end = 0; /* of the last one; 0: none, or the end of the address space */

	for (size_t i = 0; i < d->nr_segments; i++) {
		struct dump_segment s = d->segment[i];
		uint64_t cut = kept && s.address < end ? end - s.address : 0;

		if ((kept && !end) || cut >= s.size)
			continue;
		s.address += cut;
		s.offset += cut;
		s.size -= cut;
		end = s.address + s.size;
		d->segment[kept++] = s;
	}
	d->nr_segments = kept;
}

static int segment_add(struct guest_dump *d, const GElf_Phdr *h, bool physical)
{
	struct dump_segment s = {.address = physical ? h->p_paddr : h->p_vaddr,
				 .size = h->p_filesz,
				 .offset = h->p_offset};

	if (h->p_type != PT_LOAD || !s.size || s.address + (s.size - 1) < s.address ||
	    s.offset + s.size < s.offset)
		return 0;
	if (d->nr_segments == DUMP_SEGMENTS_MAX)
		return fail(-E2BIG, "more than %d segments", DUMP_SEGMENTS_MAX);
	return array_add(d->segment, d->nr_segments, s);
}

static int slots_make(struct guest_dump *d)
{
	d->slot = calloc(d->nr_segments + 1, sizeof(*d->slot));
	if (!d->slot)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < d->nr_segments; i++)
		d->slot[i] = (struct guest_slot){d->segment[i].address, d->segment[i].address,
						 d->segment[i].size};
	return 0;
}

/* Mappings that were next to each other are one: the RAM may consist of several. */
static int ranges_make(struct guest_dump *d)
{
	struct memory *m = &d->memory;

	for (size_t i = 0; i < d->nr_segments; i++) {
		const struct dump_segment *s = &d->segment[i];

		if (m->nr && m->range[m->nr - 1].end == s->address) {
			m->range[m->nr - 1].end += s->size;
			continue;
		}
		if (array_room(m->range, m->nr))
			return -ENOMEM;
		m->range[m->nr++] = (struct memory_range){.start = s->address,
							  .end = s->address + s->size,
							  .read = true,
							  .write = true};
	}
	return 0;
}

/* Of a file that is cut: what cannot be read of this part. */
static uint64_t part_cut(const GElf_Phdr *h, uint64_t file_bytes)
{
	uint64_t there = h->p_offset < file_bytes ? file_bytes - h->p_offset : 0;

	return h->p_filesz > there ? h->p_filesz - there : 0;
}

static int cut_find(struct guest_dump *d, Elf *elf)
{
	struct stat st;
	size_t nr = 0;
	GElf_Phdr h;

	if (fstat(d->memory.fd, &st))
		return fail(-errno, "%s", strerror(errno));
	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, &h) &&
		    (h.p_type == PT_LOAD || h.p_type == PT_NOTE))
			d->cut_bytes = add_saturated(d->cut_bytes,
						     part_cut(&h, (uint64_t)st.st_size));
	return 0;
}

static int segments_find(struct guest_dump *d, Elf *elf)
{
	bool physical = d->nr_vcpus;
	size_t nr = 0;
	GElf_Phdr h;
	int err = 0;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr && !err; i++)
		if (gelf_getphdr(elf, (int)i, &h))
			err = segment_add(d, &h, physical);
	if (err)
		return err;
	if (!d->nr_segments)
		return fail(-EINVAL, "it holds no memory");
	qsort(d->segment, d->nr_segments, sizeof(*d->segment), by_segment);
	overlaps_cut(d);
	return physical ? slots_make(d) : ranges_make(d);
}

/* ---- registers ---- */

static int vcpu_add(struct guest_dump *d, const uint8_t *state, size_t size)
{
	static const unsigned int of_gdb[] = {0, 1, 2, 3,
					      4, 5, 7, 6}; /* rsp and rbp change places */
	struct dump_vcpu *v;

	if (size < STATE_BYTES || memory_le(state, 4) != STATE_VERSION)
		return fail(-EINVAL, "the registers of its vCPUs are not those of x86-64 CPUs as "
				     "QEMU writes them");
	if (d->nr_vcpus == GDB_VCPUS_MAX)
		return fail(-E2BIG, "more than %d vCPUs", GDB_VCPUS_MAX);
	if (array_room(d->vcpu, d->nr_vcpus))
		return -ENOMEM;
	v = &d->vcpu[d->nr_vcpus++];
	*v = (struct dump_vcpu){.cr3 = memory_le(state + STATE_CR3, 8)};
	v->registers.fs_base = memory_le(state + STATE_FS_BASE, 8);
	for (unsigned int i = 0; i < GDB_REGISTERS; i++)
		v->registers.reg[i < 8 ? of_gdb[i] : i] =
			memory_le(state + STATE_REGISTERS + 8 * i, 8);
	return 0;
}

static int notes_read(struct guest_dump *d, Elf_Data *data)
{
	static const char name[] = "QEMU";
	size_t at = 0, name_at, state_at;
	GElf_Nhdr note;
	int err = 0;

	while (!err && (at = gelf_getnote(data, at, &note, &name_at, &state_at)))
		if (note.n_namesz == sizeof(name) &&
		    !memcmp((const char *)data->d_buf + name_at, name, sizeof(name)))
			err = vcpu_add(d, (const uint8_t *)data->d_buf + state_at, note.n_descsz);
	return err;
}

static int vcpus_find(struct guest_dump *d, Elf *elf)
{
	size_t nr = 0;
	GElf_Phdr h;
	int err = 0;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr && !err; i++) {
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_NOTE ||
		    h.p_filesz > NOTE_BYTES_MAX)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)h.p_offset, h.p_filesz, ELF_T_NHDR);
		if (data && data->d_buf)
			err = notes_read(d, data);
	}
	return err;
}

/* ---- the file ---- */

static int elf_check(Elf *elf, int fd)
{
	static const char kdump[] = "KDUMP   ";
	char head[sizeof(kdump) - 1];
	GElf_Ehdr h;

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &h)) {
		if (h.e_type != ET_CORE || h.e_machine != EM_X86_64)
			return fail(-EINVAL, "not a core dump of an x86-64 guest or process");
		return 0;
	}
	if (pread_full(fd, head, sizeof(head), 0) == sizeof(head) &&
	    !memcmp(head, kdump, sizeof(head)))
		return fail_hint(
			fail(-EINVAL, "kdump's compressed format is not supported"),
			"dump-guest-memory without -z, -l and -s, which writes an ELF file");
	return fail(-EINVAL, "not an ELF core dump");
}

static int dump_read(struct guest_dump *d)
{
	Elf *elf;
	int err;

	elf_version(EV_CURRENT);
	elf = elf_begin(d->memory.fd, ELF_C_READ, NULL);
	err = elf_check(elf, d->memory.fd);
	if (!err)
		err = vcpus_find(d, elf);
	if (!err)
		err = segments_find(d, elf);
	if (!err)
		err = cut_find(d, elf);
	if (elf)
		elf_end(elf);
	return err;
}

int guest_dump_open(const char *path, struct guest_dump *ret)
{
	_cleanup_free_ char *why = NULL;
	int fd = open_as_user(path, O_RDONLY | O_CLOEXEC), err;

	*ret = (struct guest_dump){0};
	if (fd < 0)
		return fail(-errno, "cannot open the dump %s: %s", path, strerror(errno));
	ret->memory = (struct memory){.read = segments_read, .fd = fd, .image = ret};
	err = dump_read(ret);
	if (!err)
		return 0;
	why = strdup(error_text());
	return fail(err, "%s: %s", path, why ? why : "out of memory");
}

void guest_dump_close(struct guest_dump *d)
{
	memory_close(&d->memory);
	free(d->segment);
	free(d->slot);
	free(d->vcpu);
	*d = (struct guest_dump){0};
}
