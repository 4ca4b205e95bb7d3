// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mem:WHERE, a guest's ring read out of the running VM's memory. WHERE is
 *
 *   0x12345000                       a physical address
 *   0xffffffff81234000,qmp=SOCKET    a virtual one, through the page tables that QEMU's monitor names
 *   0xc0123000,cr3=0x1000,paging=pae ... that are given (paging: 32, pae, 4, 5; default 4)
 *   NAME,elf=FILE[,...]              a symbol's address, physical unless the tables are named
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include "base/error.h"
#include "base/units.h"
#include "base/user_rights.h"
#include "fetch/source_internal.h"
#include "readers/ring/ring_image.h"
#include "vm/guest_ram.h"
#include "vm/proc.h"
#include "vm/qmp.h"
#include "vm/vm.h"

struct guest_memory {
	char *words; /* arg, cut at its commas */
	const char *where, *qmp, *elf;
	uint64_t address, ram_bytes, start; /* proc_start() of the process */
	struct guest_space space;
	bool paged; /* cr3 or qmp was given */
	struct memory process;
	struct guest_ram ram;
	uint64_t *page; /* address in the process of each page of the ring */
	uint64_t nr_pages;
	const char *name;
};

/* ---- what is requested ---- */

static int paging_parse(const char *text, enum guest_paging *ret)
{
	static const char *const names[] = {"none", "32", "pae", "4", "5"};

	for (int i = 0; i < 5; i++)
		if (!strcmp(text, names[i])) {
			*ret = (enum guest_paging)i;
			return 0;
		}
	return fail(-EINVAL, "invalid paging=%s (expected 32, pae, 4 or 5)", text);
}

static int word_take(struct guest_memory *m, const char *word)
{
	if (!strncmp(word, "qmp=", 4)) {
		m->qmp = word + 4;
		m->paged = true;
		return 0;
	}
	if (!strncmp(word, "cr3=", 4)) {
		m->paged = true;
		m->space.paging = m->space.paging ? m->space.paging : GUEST_PAGING_4;
		return parse_u64(word + 4, &m->space.cr3);
	}
	if (!strncmp(word, "paging=", 7))
		return paging_parse(word + 7, &m->space.paging);
	if (!strncmp(word, "elf=", 4)) {
		m->elf = word + 4;
		return 0;
	}
	return fail(
		-EINVAL,
		"mem: unknown option '%s' (expected qmp=SOCKET, cr3=N, paging=KIND or elf=FILE)",
		word);
}

static bool table_find(Elf_Scn *scn, Elf *elf, const char *name, uint64_t *ret)
{
	GElf_Shdr head;
	Elf_Data *data = elf_getdata(scn, NULL);

	if (!gelf_getshdr(scn, &head) || head.sh_type != SHT_SYMTAB || !data || !head.sh_entsize)
		return false;
	for (uint64_t i = 0; i < head.sh_size / head.sh_entsize; i++) {
		GElf_Sym sym;
		const char *is;

		if (!gelf_getsym(data, (int)i, &sym))
			return false;
		is = elf_strptr(elf, head.sh_link, sym.st_name);
		if (is && !strcmp(is, name)) {
			*ret = sym.st_value;
			return true;
		}
	}
	return false;
}

static int symbol_find(const char *file, const char *name, uint64_t *ret)
{
	_cleanup_close_ int fd = open_as_user(file, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	bool found = false;
	Elf *elf;

	if (fd < 0)
		return fail(-errno, "%s: %s", file, strerror(errno));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && !found && (scn = elf_nextscn(elf, scn)))
		found = table_find(scn, elf, name, ret);
	elf_end(elf);
	return found ? 0 : fail(-ENOENT, "%s has no symbol '%s'", file, name);
}

static uint64_t ram_bytes_of(pid_t pid)
{
	uint64_t bytes = 0;
	struct vm vm;

	if (vm_by_pid(pid, &vm))
		return 0;
	bytes = vm.memory_bytes;
	vm_free(&vm);
	return bytes;
}

static int mem_prepare(struct guest_source *s)
{
	struct guest_memory *m = s->memory = calloc(1, sizeof(*m));
	char *save = NULL, *word;
	int err = 0;

	if (m)
		*m = (struct guest_memory){
			.words = strdup(s->arg), .name = s->text, .start = proc_start(s->pid)};
	if (!m || !m->words)
		return fail(-ENOMEM, "out of memory");
	m->where = strtok_r(m->words, ",", &save);
	while (!err && (word = strtok_r(NULL, ",", &save)))
		err = word_take(m, word);
	if (err)
		return err;
	if (!m->where)
		return fail(-EINVAL, "mem: missing address");
	if (m->elf)
		return symbol_find(m->elf, m->where, &m->address);
	return parse_u64(m->where, &m->address)
		       ? fail(-EINVAL, "mem: invalid address '%s'; a symbol name needs elf=FILE",
			      m->where)
		       : 0;
}

/* ---- the ring in it ---- */

static int ring_read(void *arg, uint64_t offset, void *to, size_t len)
{
	struct guest_memory *m = arg;
	uint8_t *at = to;

	while (len) {
		uint64_t n = GUEST_PAGE - offset % GUEST_PAGE;
		uint64_t page = offset / GUEST_PAGE;
		int err;

		n = n < len ? n : len;
		if (page >= m->nr_pages)
			return fail(-EFAULT, "%s: read beyond the end of the ring", m->name);
		err = memory_read(&m->process, m->page[page] + offset % GUEST_PAGE, at, n);
		if (err)
			return fail(err, "%s: cannot read guest memory: %s",
				    m->name, strerror(-err));
		at += n;
		offset += n;
		len -= n;
	}
	return 0;
}

/* Is there a ring at the address, with the RAM there? Its size then. */
static bool ring_is_there(const struct guest_memory *m, const struct guest_ram *ram,
			  uint64_t *ret_bytes)
{
	uint64_t at = guest_address(&m->process, ram, &m->space, m->address);
	struct ring_header h;

	if (!at || memory_read(&m->process, at, &h, sizeof(h)) || h.magic[0] != RING_MAGIC0 ||
	    h.magic[1] != RING_MAGIC1)
		return false;
	*ret_bytes = h.bytes;
	return true;
}

static int pages_find(struct guest_memory *m, uint64_t bytes)
{
	if (bytes > RING_FOLLOW_BYTES_MAX)
		return fail(-EFBIG, "%s: the ring's header claims an excessive size", m->name);
	free(m->page);
	m->nr_pages = (bytes + GUEST_PAGE - 1) / GUEST_PAGE;
	m->page = calloc(m->nr_pages + 1, sizeof(*m->page));
	if (!m->page)
		return fail(-ENOMEM, "out of memory");
	for (uint64_t i = 0; i < m->nr_pages; i++) {
		m->page[i] = guest_address(&m->process, &m->ram, &m->space,
					   m->address + i * GUEST_PAGE);
		if (!m->page[i])
			return fail(-EFAULT, "%s: page %llu of the ring is not mapped in the guest",
				    m->name, (unsigned long long)i);
	}
	return 0;
}

/* A process that has not become the VM yet has another memory then: opened again at each look. */
static int mem_find(struct guest_source *s)
{
	struct guest_ram tries[GUEST_RAM_TRIES];
	struct guest_memory *m = s->memory;
	uint64_t bytes = 0;
	int nr, err;

	if (m->address % RING_ALIGN)
		return fail(-EINVAL, "%s: the ring's address must be a multiple of %d", m->name,
			    RING_ALIGN);
	memory_close(&m->process);
	err = memory_open(s->pid, m->start, &m->process);
	if (!err && m->qmp) {
		uint64_t begun = user_rights_begin();

		err = qmp_space(m->qmp, 0, &m->space);
		user_rights_end(begun);
	}
	if (err)
		return err;
	nr = guest_ram_tries(&m->process, ram_bytes_of(s->pid), tries, GUEST_RAM_TRIES);
	for (int i = 0; i < nr; i++)
		if (ring_is_there(m, &tries[i], &bytes)) {
			m->ram = tries[i];
			err = pages_find(m, bytes);
			return err ? err
				   : ring_follow_new(ring_read, NULL, m, m->name, &s->ring);
		}
	return nr < 0 ? nr
		      : fail(-EAGAIN, "%s: no guest ring at that address%s", m->name,
			     m->paged ? ""
				      : " (taken as physical; a virtual address needs qmp=SOCKET "
					"or cr3=N)");
}

static int mem_take(struct guest_source *s)
{
	return ring_follow_look(s->ring, false);
}

static void mem_ask_end(struct guest_source *s)
{
	s->frames.ended = true;
}

static void mem_close(struct guest_source *s)
{
	struct guest_memory *m = s->memory;

	if (!m)
		return;
	memory_close(&m->process);
	free(m->page);
	free(m->words);
	free(m);
}

const struct source_ops source_mem = {
	.name = "mem",
	.prepare = mem_prepare,
	.find = mem_find,
	.take = mem_take,
	.ask_end = mem_ask_end,
	.finish = source_ring_finish,
	.close = mem_close,
};
