// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the kernel is. Each way yields ranges of RAM; the token table of kallsyms is looked for in them (tokens.h), and
 * everything else follows from its place. A kernel counts as found if its variable phys_base, which says by how much
 * the image was moved in physical memory, says that it is where it was found: copies that the decompressor or kexec
 * left, and the kernels of nested guests, do not fit.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "event/event.h"
#include "vm/linux/guest.h"

#define MIB(n)	  ((uint64_t)(n) << 20)
#define ALIGN_2M  MIB(2)
#define TABLE_ADDRESS UINT64_C(0x000ffffffffff000)

enum {
	IMAGE_MAX = 128 << 20, /* from _text to the end of .rodata */
	RODATA_MAX = 32 << 20,
	PTES = 512,
	TABLES_MAX = 256, /* that are tried */
	VMCOREINFOS_MAX = 32, /* pages of it that are followed */
};

/* linux_proc_banner, at the beginning of .rodata: init/version.c is linked first. */
static const char proc_banner[] = "%s version %s (";
static const char vmcoreinfo_head[] = "OSRELEASE=";

struct search {
	struct linux_guest *g;
	struct kallsyms_tokens tokens;
	bool tables; /* symbol tables were found, but the image did not fit */
	unsigned int nr_tables, nr_vmcoreinfos; /* tried */
};

/* ---- the image of tables that were found ---- */

static int image_u64(struct linux_guest *g, const char *name, size_t bytes, uint64_t *ret)
{
	uint64_t offset, address = linux_symbol(g, name);

	*ret = 0;
	if (!address || !guest_ram_offset(&g->ram.at, address - g->delta, &offset))
		return -ENOENT;
	return linux_ram_read(&g->ram, offset, ret, bytes);
}

/* The page tables that have all of the kernel, and no process. They must map the image where it is. */
static bool space_find(struct linux_guest *g)
{
	uint64_t pgd = linux_symbol(g, "init_top_pgt"), levels, at, left;

	pgd = pgd ? pgd : linux_symbol(g, "swapper_pg_dir");
	if (!pgd || !guest_ram_offset(&g->ram.at, g->text - g->delta, &at))
		return false;
	image_u64(g, "__pgtable_l5_enabled", 4, &levels);
	g->space = (struct guest_space){.paging = levels & 1 ? GUEST_PAGING_5 : GUEST_PAGING_4,
					.cr3 = pgd - g->delta};
	return guest_address(&g->memory, &g->ram.at, &g->space, g->text) ==
	       guest_ram_at(&g->ram.at, at, &left);
}

/*
 * Is the image there, its address being `text`? Memory that is 0 fits one place too, so the page tables have to agree.
 */
static bool image_fits(struct linux_guest *g, uint64_t text_offset, uint64_t text,
		       uint64_t phys_base_offset)
{
	uint64_t value, physical = guest_ram_physical(&g->ram.at, text_offset);

	if (linux_ram_read(&g->ram, phys_base_offset, &value, sizeof(value)) ||
	    value != physical - (text - LINUX_IMAGE_MAP))
		return false;
	g->text = text;
	g->delta = text - physical;
	return space_find(g);
}

/* Offsets in RAM are known: the address is what phys_base makes it. */
static bool image_self_relative(struct linux_guest *g, uint64_t text, uint64_t phys_base)
{
	uint64_t value, address;

	if (linux_ram_read(&g->ram, phys_base, &value, sizeof(value)))
		return false;
	address = guest_ram_physical(&g->ram.at, text) - value + LINUX_IMAGE_MAP;
	if (address < LINUX_IMAGE_MAP || address % ALIGN_2M)
		return false;
	kallsyms_move(&g->symbols, address - text);
	if (image_fits(g, text, address, phys_base))
		return true;
	kallsyms_move(&g->symbols, text - address);
	return false;
}

/* Addresses are known: the image begins at a multiple of 2 MiB below the tables. */
static bool image_at_2m(struct linux_guest *g, uint64_t text, uint64_t phys_base)
{
	uint64_t top = guest_ram_physical(&g->ram.at, g->symbols.table) & ~(ALIGN_2M - 1);
	uint64_t low = top > IMAGE_MAX ? top - IMAGE_MAX : 0, offset, base;

	for (uint64_t at = top; at >= low && at <= top; at -= ALIGN_2M)
		if (guest_ram_offset(&g->ram.at, at, &offset) &&
		    guest_ram_offset(&g->ram.at, at + (phys_base - text), &base) &&
		    image_fits(g, offset, text, base))
			return true;
	return false;
}

static bool image_find(struct linux_guest *g)
{
	static const uint64_t splits[] = {0xc0000000, 0xe0000000, 0x80000000, 0xb0000000};
	const struct kallsym *text = kallsyms_find(&g->symbols, "_text");
	const struct kallsym *base = kallsyms_find(&g->symbols, "phys_base");
	bool found = false;

	if (!text || !base)
		return false;
	for (size_t i = 0; i < sizeof(splits) / sizeof(*splits) && !found; i++) {
		if (i && g->ram.at.nr_slots)
			break; /* it is known where RAM is */
		g->ram.at.low = splits[i];
		found = g->symbols.layout == KALLSYMS_SELF_RELATIVE
				? image_self_relative(g, text->address, base->address)
				: image_at_2m(g, text->address, base->address);
	}
	return found;
}

/* Where RAM is split at the PCI hole follows from the last page that the kernel knows. */
static void split_find(struct linux_guest *g)
{
	uint64_t pages, above;

	if (g->ram.at.nr_slots || image_u64(g, "max_pfn", sizeof(pages), &pages) ||
	    pages > UINT64_MAX / GUEST_PAGE)
		return;
	above = pages * GUEST_PAGE - (UINT64_C(1) << 32);
	if (pages * GUEST_PAGE > UINT64_C(1) << 32 && above < g->ram.at.size &&
	    g->ram.at.size - above < UINT64_C(1) << 32 &&
	    g->ram.at.size - above > guest_ram_physical(&g->ram.at, g->symbols.table))
		g->ram.at.low = g->ram.at.size - above;
}

static int table_try(struct search *s)
{
	struct linux_guest *g = s->g;
	uint64_t banner;
	int err;

	if (g->ram.until_ns && monotonic_ns() > g->ram.until_ns)
		return -ETIMEDOUT;
	if (s->nr_tables++ == TABLES_MAX)
		return fail(-E2BIG,
			    "the memory of process %d has more than %d symbol tables, none of "
			    "which fits: it is made to cost time",
			    (int)g->pid, TABLES_MAX);
	kallsyms_deinit(&g->symbols);
	err = kallsyms_read(&g->ram, &s->tokens, &g->symbols);
	if (err)
		return err == -EBADMSG ? 0 : err;
	s->tables = true;
	if (!image_find(g))
		return 0;
	split_find(g);
	g->nr_core = g->symbols.nr;
	banner = linux_symbol(g, "linux_banner");
	if (!banner || linux_read_text(g, banner, g->banner, sizeof(g->banner)))
		g->banner[0] = '\0';
	g->banner[strcspn(g->banner, "\n")] = '\0';
	text_sanitize(g->banner);
	return 1;
}

/* ---- the ways ---- */

static int piece_search(void *arg, uint64_t offset, const uint8_t *data, size_t size)
{
	struct search *s = arg;
	size_t pos = 0;
	int ret = 0;

	while (!ret && kallsyms_tokens_next(&s->g->ram, offset, data, size, &pos, &s->tokens))
		ret = table_try(s);
	return ret;
}

static int range_search(struct search *s, uint64_t from, uint64_t size)
{
	const struct linux_ram *r = &s->g->ram;

	if (from >= r->at.size)
		return 0;
	size = r->at.size - from < size ? r->at.size - from : size;
	return linux_ram_walk(r, from, from + size, piece_search, s);
}

/* The image's large pages, or tables of small ones, as the page tables of the first vCPU have them. */
static int cr3_search(struct search *s)
{
	struct linux_guest *g = s->g;
	struct guest_space space = {.paging = g->paging, .cr3 = g->cr3};
	int ret = 0;

	if (!g->cr3 || (g->paging != GUEST_PAGING_4 && g->paging != GUEST_PAGING_5))
		return 0;
	for (uint64_t i = 0; i < PTES && !ret; i++) {
		uint64_t at = guest_address(&g->memory, &g->ram.at, &space,
					    LINUX_IMAGE_MAP + i * ALIGN_2M);
		uint64_t offset;

		if (at && guest_ram_of_process(&g->ram.at, at, &offset))
			ret = range_search(s, offset, ALIGN_2M);
	}
	return ret;
}

/* Offset of the next physical address that is a multiple of 2 MiB. */
static uint64_t next_2m(const struct guest_ram *ram, uint64_t offset)
{
	uint64_t left, step = ALIGN_2M - guest_ram_physical(ram, offset) % ALIGN_2M;

	guest_ram_at(ram, offset, &left);
	return offset + (step < left ? step : left);
}

static int rodata_search(struct search *s)
{
	const struct linux_ram *r = &s->g->ram;
	uint8_t page[GUEST_PAGE];
	int ret = 0;

	for (uint64_t at = 0; at + GUEST_PAGE <= r->at.size && !ret; at = next_2m(&r->at, at))
		if (linux_ram_present(r, at) && !linux_ram_read(r, at, page, sizeof(page)) &&
		    memmem(page, sizeof(page), proc_banner, strlen(proc_banner)))
			ret = range_search(s, at, RODATA_MAX);
	return ret;
}

/* "NAME=" at the beginning of a line; false: there is none. */
static bool line_number(const char *text, const char *name, int base, uint64_t *ret)
{
	for (const char *at = text; (at = strstr(at, name)); at++)
		if ((at == text || at[-1] == '\n') && at[strlen(name)] == '=') {
			*ret = strtoull(at + strlen(name) + 1, NULL, base);
			return true;
		}
	return false;
}

/* Kernels since 6.0 say where the token table is (5fd8fea935a1), older ones only where the code is. */
static int vmcoreinfo_page(struct search *s, const char *text)
{
	uint64_t phys_base, address, offset, size = ALIGN_2M;

	if (!line_number(text, "NUMBER(phys_base)", 10, &phys_base) ||
	    s->nr_vmcoreinfos == VMCOREINFOS_MAX)
		return 0;
	s->nr_vmcoreinfos++;
	if (!line_number(text, "SYMBOL(kallsyms_token_table)", 16, &address)) {
		if (!line_number(text, "SYMBOL(_stext)", 16, &address))
			return 0;
		size = IMAGE_MAX;
	}
	address += phys_base - LINUX_IMAGE_MAP;
	return guest_ram_offset(&s->g->ram.at, address, &offset) ? range_search(s, offset, size)
								 : 0;
}

static int vmcoreinfo_piece(void *arg, uint64_t offset, const uint8_t *data, size_t size)
{
	struct search *s = arg;
	char text[GUEST_PAGE + 1];
	int ret = 0;

	(void)offset;
	for (size_t at = 0; size - at >= GUEST_PAGE && !ret; at += GUEST_PAGE) {
		if (memcmp(data + at, vmcoreinfo_head, strlen(vmcoreinfo_head)) != 0)
			continue;
		memcpy(text, data + at, GUEST_PAGE);
		text[GUEST_PAGE] = '\0';
		ret = vmcoreinfo_page(s, text);
	}
	return ret;
}

static int vmcoreinfo_search(struct search *s)
{
	return linux_ram_walk(&s->g->ram, 0, s->g->ram.at.size, vmcoreinfo_piece, s);
}

static int scan_search(struct search *s)
{
	return range_search(s, 0, s->g->ram.at.size);
}

static const struct way {
	const char *name;
	int (*search)(struct search *s);
} ways[] = {
	[LINUX_BY_CR3] = {"the image that CR3 maps", cr3_search},
	[LINUX_BY_RODATA] = {"the beginning of .rodata", rodata_search},
	[LINUX_BY_VMCOREINFO] = {"vmcoreinfo", vmcoreinfo_search},
	[LINUX_BY_SCAN] = {"scanning all RAM", scan_search},
};

const char *linux_way_name(enum linux_way way)
{
	return ways[way].name;
}

static int not_found(const struct search *s, bool ram)
{
	const struct linux_guest *g = s->g;

	if (*g->unreadable)
		return fail(-ENOENT, "the guest's memory in process %d: %s", (int)g->pid,
			    g->unreadable);
	if (!ram)
		return fail(-ENOENT,
			    "process %d maps no RAM of the guest (%" PRIu64
			    " MiB) that can be read",
			    (int)g->pid, g->ram_bytes >> 20);
	if (s->tables)
		return fail(-ENOENT,
			    "the kernel in the memory of process %d lists no variables "
			    "(CONFIG_KALLSYMS_ALL), or was moved by kexec",
			    (int)g->pid);
	return fail(-ENOENT,
		    "no Linux kernel with symbols in the memory of process %d: another system, a "
		    "kernel without CONFIG_KALLSYMS, or one that still boots",
		    (int)g->pid);
}

/* One way after the other through every mapping that may be the RAM. */
static int ways_try(struct search *s, const struct guest_ram *tries, int nr)
{
	struct linux_guest *g = s->g;
	int ret = 0;

	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways) && !ret; w++)
		for (int i = 0; i < nr && !ret; i++) {
			bool again = i && tries[i].base == tries[i - 1].base;

			if (again && w != LINUX_BY_CR3 && w != LINUX_BY_VMCOREINFO)
				continue; /* only split elsewhere */
			g->ram.at = tries[i];
			g->page_at = 0;
			g->way = (enum linux_way)w;
			ret = ways[w].search(s);
		}
	return ret;
}

int linux_guest_find(struct linux_guest *g, uint64_t until_ns)
{
	_cleanup_free_ struct search *s = calloc(1, sizeof(*s));
	struct guest_ram tries[GUEST_RAM_TRIES];
	int nr, ret;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->g = g;
	if (g->nr_slots) {
		tries[0] = guest_ram_of_slots(g->slot, g->nr_slots);
		nr = 1;
	} else {
		nr = guest_ram_tries(&g->memory, g->ram_bytes, tries, GUEST_RAM_TRIES);
	}
	if (nr < 0)
		return nr;
	g->ram.until_ns = until_ns;
	linux_reads_begin(g);
	ret = ways_try(s, tries, nr);
	g->ram.until_ns = 0;
	if (ret == -ETIMEDOUT)
		return fail(ret, "no Linux kernel was found in the memory of process %d in time",
			    (int)g->pid);
	return ret > 0 ? 0 : ret < 0 ? ret : not_found(s, nr > 0);
}
