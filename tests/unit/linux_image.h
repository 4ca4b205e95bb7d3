/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made-up Linux kernel in 4 MiB of RAM: the tables of kallsyms in one of their layouts, the variables and page tables
 * that say where the image is. For tests/unit/test_linux.c and tests/fuzz/fuzz_linux.c.
 */
#ifndef HOSTRACE_TEST_LINUX_IMAGE_H
#define HOSTRACE_TEST_LINUX_IMAGE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/linux/current.h"
#include "vm/linux/dmesg.h"
#include "vm/linux/interrupts.h"
#include "vm/linux/modules.h"
#include "vm/linux/tasks.h"

enum image_layout {
	IMAGE_4_19, /* 8-byte markers and count */
	IMAGE_5_10,
	IMAGE_6_1, /* names of more than 127 tokens */
	IMAGE_6_4,
	IMAGE_6_15, /* unsigned offsets */
	IMAGE_7_0,
	IMAGE_7_0_ODD, /* the same 4 bytes behind, as nothing is aligned to 8 any more */
	IMAGE_LAYOUTS,
};

#ifndef IMAGE_SYMBOLS
#define IMAGE_SYMBOLS 1000
#endif

enum {
	IMAGE_BYTES = 4 << 20,
	IMAGE_RODATA = 2 << 20, /* offset */
	IMAGE_TABLES = IMAGE_RODATA + 0x2000,
	IMAGE_DATA = 1 << 20,
	IMAGE_JIFFIES = IMAGE_DATA + 24,
	IMAGE_PGD = IMAGE_DATA + 0x1000,
	IMAGE_BTF = IMAGE_DATA + 0x8000,
	IMAGE_BTF_BYTES = 0x1000,
	IMAGE_MODULES = IMAGE_DATA + 0x9000, /* head of the list; then a module, its tables */
	IMAGE_TASKS = IMAGE_DATA + 0xa000, /* init_task; then a task and its signal_struct */
	IMAGE_CPUS = IMAGE_DATA + 0xc000,
	IMAGE_IRQS = IMAGE_DATA + 0xd000, /* roots of both trees; table, nodes, descriptors */
	IMAGE_LOG = IMAGE_DATA + 0xb000, /* prb; then the ring, descriptors, infos, texts */
};

#define IMAGE_BASE UINT64_C(0x7f0000000000) /* in the process */
/* With the image at 2 MiB, where RAM is 0, phys_base would be 0. */
#define IMAGE_TEXT (LINUX_IMAGE_MAP + (2 << 20))

static int image_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	if (addr < IMAGE_BASE || addr - IMAGE_BASE > IMAGE_BYTES ||
	    size > IMAGE_BYTES - (addr - IMAGE_BASE))
		return -EFAULT;
	memcpy(buf, (const uint8_t *)m->image + (addr - IMAGE_BASE), size);
	return 0;
}

static uint8_t *image_put(uint8_t *to, uint64_t v, size_t bytes)
{
	memcpy(to, &v, bytes);
	return to + bytes;
}

static uint8_t *image_align(uint8_t *image, uint8_t *p, size_t to)
{
	return image + (((size_t)(p - image) + to - 1) & ~(to - 1));
}

/* Its variables, which come first in the order of addresses after _text. */
static const struct {
	const char *name;
	uint32_t offset;
} image_variables[] = {
	{"_text", 0},
	{"phys_base", IMAGE_DATA},
	{"max_pfn", IMAGE_DATA + 8},
	{"__pgtable_l5_enabled", IMAGE_DATA + 16},
	{"jiffies_64", IMAGE_JIFFIES},
	{"init_top_pgt", IMAGE_PGD},
	{"__start_BTF", IMAGE_BTF},
	{"__stop_BTF", IMAGE_BTF + IMAGE_BTF_BYTES},
	{"modules", IMAGE_MODULES},
	{"init_task", IMAGE_TASKS},
	{"prb", IMAGE_LOG},
	{"nr_cpu_ids", IMAGE_CPUS},
	{"page_offset_base", IMAGE_CPUS + 8},
	{"__per_cpu_offset", IMAGE_CPUS + 16},
	{"x86_cpu_to_apicid", IMAGE_CPUS + 0x100},
	{"current_task", IMAGE_CPUS + 0x108},
	{"sparse_irqs", IMAGE_IRQS},
	{"irq_stat", IMAGE_CPUS + 0x120},
	{"irq_stat_info", IMAGE_IRQS + 0x100},
	{"linux_banner", IMAGE_RODATA + 0x100},
};

/* Some have other names in older kernels. */
static const char *image_variable(enum image_layout layout, unsigned int i)
{
	const char *name = image_variables[i].name;

	if (layout < IMAGE_6_15 && !strcmp(name, "sparse_irqs"))
		return "irq_desc_tree";
	return layout < IMAGE_7_0 && !strcmp(name, "irq_stat_info") ? "unknown" : name;
}

/* Name and offset from _text of symbol i. Symbol 0 is a per-CPU variable: absolute before 6.15. */
static uint32_t image_symbol(enum image_layout layout, unsigned int i, char *ret, size_t size)
{
	unsigned int nr = sizeof(image_variables) / sizeof(*image_variables);

	if (!i) {
		snprintf(ret, size, "Apercpu_first");
		return 0;
	}
	if (i <= nr) {
		snprintf(ret, size, "D%s", image_variable(layout, i - 1));
		return image_variables[i - 1].offset;
	}
	if (i == nr + 1 && layout >= IMAGE_6_1)
		snprintf(ret, size, "t%0200d", 7);
	else
		snprintf(ret, size, "tfunction_%u", i);
	return IMAGE_RODATA + 0x1000 + i;
}

static uint8_t *image_offsets(uint8_t *image, uint8_t *p, enum image_layout layout)
{
	uint8_t *table = p;
	char name[256];

	for (unsigned int i = 0; i < IMAGE_SYMBOLS; i++) {
		uint64_t offset = image_symbol(layout, i, name, sizeof(name));

		if (layout >= IMAGE_7_0)
			offset -= (uint64_t)(table - image) + 4ull * i;
		else if (layout != IMAGE_6_15)
			offset = i ? ~offset : 0; /* below 0: relative_base - 1 - offset */
		p = image_put(p, offset, 4);
	}
	if (layout >= IMAGE_7_0)
		return p;
	return image_put(image_align(image, p, 8), IMAGE_TEXT, 8);
}

/* A byte is a token of its own, except that '!' stands for "fun" and bytes that are not printable for "zz". */
static uint8_t *image_names(uint8_t *image, uint8_t *p, enum image_layout layout, uint32_t *marker)
{
	uint8_t *names = p;
	char name[256];

	(void)image;
	for (unsigned int i = 0; i < IMAGE_SYMBOLS; i++) {
		size_t len;
		char *fun;

		image_symbol(layout, i, name, sizeof(name));
		fun = strstr(name, "fun");
		if (fun) {
			*fun = '!';
			memmove(fun + 1, fun + 3, strlen(fun + 3) + 1);
		}
		len = strlen(name);
		if (i % 256 == 0)
			marker[i / 256] = (uint32_t)(p - names);
		if (len > 127) {
			*p++ = (uint8_t)(0x80 | (len & 0x7f));
			*p++ = (uint8_t)(len >> 7);
		} else {
			*p++ = (uint8_t)len;
		}
		memcpy(p, name, len);
		p += len;
	}
	return p;
}

static uint8_t *image_tokens(uint8_t *image, uint8_t *p, size_t align)
{
	uint16_t index[256];
	uint8_t *table = p;

	for (int c = 0; c < 256; c++) {
		index[c] = (uint16_t)(p - table);
		if (c == '!')
			p += sprintf((char *)p, "fun") + 1;
		else if (c > ' ' && c < 127)
			p += sprintf((char *)p, "%c", c) + 1;
		else
			p += sprintf((char *)p, "zz") + 1;
	}
	p = image_align(image, p, align);
	memcpy(p, index, sizeof(index));
	return p + sizeof(index);
}

static void image_tables(uint8_t *image, enum image_layout layout)
{
	size_t word = layout == IMAGE_4_19 ? 8 : 4, align = layout >= IMAGE_7_0 ? 4 : 8;
	uint32_t marker[IMAGE_SYMBOLS / 256 + 1];
	uint8_t *p = image + IMAGE_TABLES + (layout == IMAGE_7_0_ODD ? 4 : 0);

	if (layout < IMAGE_6_4)
		p = image_offsets(image, p, layout);
	p = image_put(p, IMAGE_SYMBOLS, word);
	p = image_align(image, p, align);
	p = image_names(image, p, layout, marker);
	p = image_align(image, p, align);
	for (unsigned int i = 0; i < sizeof(marker) / sizeof(*marker); i++)
		p = image_put(p, marker[i], word);
	p = image_align(image, p, align);
	if (layout == IMAGE_6_1)
		p += 3 * IMAGE_SYMBOLS; /* seqs_of_names */
	p = image_tokens(image, image_align(image, p, align), align);
	if (layout >= IMAGE_6_4)
		image_offsets(image, image_align(image, p, align), layout);
}

/* 2 MiB pages at IMAGE_TEXT; the tables are at physical addresses, which are offsets here. */
static void image_paging(uint8_t *image)
{
	uint64_t pud = IMAGE_PGD + 0x1000, pmd = pud + 0x1000, index = IMAGE_TEXT >> 21 & 511;

	image_put(image + IMAGE_PGD + 511 * 8, pud | 1, 8);
	image_put(image + pud + 510 * 8, pmd | 1, 8);
	for (uint64_t i = 0; i < IMAGE_BYTES >> 21; i++)
		image_put(image + pmd + (index + i) * 8, i << 21 | 0x81, 8);
}

struct image_btf {
	uint8_t *type, *string, *strings;
};

static uint32_t image_string(struct image_btf *b, const char *text)
{
	uint32_t at = (uint32_t)(b->string - b->strings);

	b->string += sprintf((char *)b->string, "%s", text) + 1;
	return at;
}

struct image_member {
	const char *name;
	unsigned int offset, type;
};

/* Members end with one without a name. All structs have 256 bytes. */
static void image_struct(struct image_btf *b, const char *name, const struct image_member *member)
{
	uint32_t nr = 0;

	while (member[nr].name)
		nr++;
	b->type = image_put(b->type, image_string(b, name), 4);
	b->type = image_put(b->type, 4u << 24 | nr, 4); /* BTF_KIND_STRUCT */
	b->type = image_put(b->type, 256, 4);
	for (uint32_t i = 0; i < nr; i++) {
		b->type = image_put(b->type, image_string(b, member[i].name), 4);
		b->type = image_put(b->type, member[i].type, 4);
		b->type = image_put(b->type, member[i].offset * 8, 4);
	}
}

/* Types in the first half, strings in the second. */
static void image_btf(uint8_t *image)
{
	static const struct {
		const char *name;
		struct image_member member[12];
	} types[] = {
		{"module", {{"list", 8, 0}, {"name", 24, 0}, {"kallsyms", 80, 0}}},
		{"mod_kallsyms",
		 {{"symtab", 0, 0}, {"num_symtab", 8, 0}, {"strtab", 16, 0}, {"typetab", 24, 0}}},
		{"task_struct",
		 {{"pid", 0, 0},
		  {"tgid", 4, 0},
		  {"comm", 8, 0},
		  {"tasks", 24, 0},
		  {"signal", 40, 0},
		  {"thread_node", 48, 0},
		  {"real_parent", 64, 0},
		  {"__state", 72, 0},
		  {"exit_state", 76, 0},
		  {"mm", 80, 0},
		  {"cpu", 88, 0}}},
		{"signal_struct", {{"thread_head", 0, 0}}},
		{"prb_desc_ring",
		 {{"count_bits", 0, 0},
		  {"descs", 8, 0},
		  {"infos", 16, 0},
		  {"head_id", 24, 0},
		  {"tail_id", 32, 0}}},
		{"prb_data_ring", {{"size_bits", 0, 0}, {"data", 8, 0}}},
		{"printk_ringbuffer", {{"desc_ring", 0, 5}, {"text_data_ring", 64, 6}}},
		{"prb_data_blk_lpos", {{"begin", 0, 0}, {"next", 8, 0}}},
		{"prb_desc", {{"state_var", 0, 0}, {"text_blk_lpos", 8, 8}}},
		{"printk_info",
		 {{"ts_nsec", 8, 0}, {"text_len", 16, 0}, {"facility", 18, 0}, {"level", 19, 0}}},
		{"irq_data", {{"irq", 0, 0}, {"hwirq", 8, 0}, {"chip", 16, 0}, {"domain", 24, 0}}},
		{"irq_desc",
		 {{"irq_data", 0, 11},
		  {"kstat_irqs", 40, 0},
		  {"action", 48, 0},
		  {"status_use_accessors", 56, 0},
		  {"name", 64, 0}}},
		{"irq_chip", {{"name", 0, 0}}},
		{"irqaction", {{"next", 0, 0}, {"name", 8, 0}}},
		{"xarray", {{"xa_head", 0, 0}}},
		{"xa_node", {{"shift", 0, 0}, {"slots", 8, 0}}},
		{"maple_tree", {{"ma_root", 8, 0}}},
		{"maple_range_64", {{"pivot", 8, 0}, {"slot", 128, 0}}},
		{"maple_arange_64", {{"pivot", 8, 0}, {"slot", 80, 0}}},
		{"irq_stat_info", {{"skip_vector", 0, 0}, {"symbol", 8, 0}, {"text", 16, 0}}},
		/* of the typedef irq_cpustat_t */
		{"", {{"__nmi_count", 0, 0}, {"apic_timer_irqs", 4, 0}, {"counts", 0, 0}}},
	};
	uint8_t *head = image + IMAGE_BTF, *half = head + IMAGE_BTF_BYTES / 2;
	struct image_btf b = {.type = head + 24, .string = half + 1, .strings = half};
	size_t nr = sizeof(types) / sizeof(*types);

	for (size_t i = 0; i < nr; i++)
		image_struct(&b, types[i].name, types[i].member);
	b.type = image_put(b.type, image_string(&b, "unsigned short"), 4);
	b.type = image_put(b.type, 1u << 24, 4); /* BTF_KIND_INT */
	b.type = image_put(image_put(b.type, 2, 4), 16, 4);
	b.type = image_put(b.type, image_string(&b, "x86_cpu_to_apicid"), 4);
	b.type = image_put(b.type, 14u << 24, 4); /* BTF_KIND_VAR */
	b.type = image_put(image_put(b.type, nr + 1, 4), 1, 4);
	b.type = image_put(b.type, image_string(&b, "irq_cpustat_t"), 4);
	b.type = image_put(b.type, 8u << 24, 4); /* BTF_KIND_TYPEDEF */
	b.type = image_put(b.type, nr, 4);
	b.type = image_put(b.type, image_string(&b, "irq_stat_counts"), 4);
	b.type = image_put(b.type, 6u << 24 | 1, 4); /* BTF_KIND_ENUM */
	b.type = image_put(b.type, 4, 4);
	b.type = image_put(image_put(b.type, image_string(&b, "IRQ_COUNT_MAX"), 4), 2, 4);
	head = image_put(head, 0x0001eb9f, 4);
	head = image_put(head, 24, 4);
	head = image_put(head, 0, 4);
	head = image_put(head, (uint64_t)(b.type - (image + IMAGE_BTF + 24)), 4);
	head = image_put(head, IMAGE_BTF_BYTES / 2 - 24, 4);
	image_put(head, IMAGE_BTF_BYTES / 2, 4);
}

/* One task, 77 of process 76, which sleeps on CPU 3. */
static void image_task(uint8_t *image)
{
	uint64_t init = IMAGE_TEXT + IMAGE_TASKS, task = init + 0x100, signal = init + 0x200;
	uint8_t *p = image + IMAGE_TASKS;

	image_put(image_put(p + 24, task + 24, 8), task + 24, 8);
	p = image_put(image_put(p + 0x100, 77, 4), 76, 4);
	strcpy((char *)p, "made-up");
	p = image + IMAGE_TASKS + 0x100;
	image_put(image_put(p + 24, init + 24, 8), init + 24, 8);
	image_put(p + 40, signal, 8);
	image_put(image_put(p + 48, signal, 8), signal, 8);
	image_put(p + 64, init, 8);
	image_put(p + 72, 1, 4);
	image_put(p + 80, 1, 8);
	image_put(p + 88, 3, 4);
	image_put(image_put(image + IMAGE_TASKS + 0x200, task + 48, 8), task + 48, 8);
}

/* Three CPUs, of which the second was never started; the per-CPU areas are 0x200 bytes apart. */
static void image_cpus(uint8_t *image)
{
	uint8_t *p = image + IMAGE_CPUS;

	image_put(p, 3, 4);
	p = image_put(p + 8, UINT64_C(0xffff888000000000), 8);
	image_put(image_put(image_put(p, 0x200, 8), IMAGE_TEXT, 8), 0x400, 8);
	for (unsigned int i = 1; i < 3; i++) {
		uint8_t *area = image + IMAGE_CPUS + 0x200 * (size_t)i;

		image_put(area + 0x100, 3 * i, 2);
		image_put(area + 0x108, IMAGE_TEXT + IMAGE_TASKS, 8);
	}
}

/* In both trees: 5, which came on both CPUs, and 24, which has two actions. What is counted of the architecture. */
static void image_irqs(uint8_t *image)
{
	uint64_t base = IMAGE_TEXT + IMAGE_IRQS, counts = IMAGE_TEXT + IMAGE_CPUS + 0x110;
	uint8_t *p = image + IMAGE_IRQS;

	image_put(image_put(p, base + 0x400 + 2, 8), base + 0x700 + (3 << 3) + 2, 8);
	/* struct irq_stat_info */
	image_put(image_put(p + 0x108, base + 0x300, 8), base + 0x310, 8);
	image_put(image_put(p + 0x200, UINT32_MAX, 8), base + 0x308, 8);
	strcpy((char *)p + 0x300, "ONE");
	strcpy((char *)p + 0x308, "TWO");
	strcpy((char *)p + 0x310, "  counted\n");
	/* struct xa_node */
	image_put(p + 0x400, 6, 1);
	image_put(p + 0x408, base + 0xa00 + 2, 8);
	image_put(p + 0xa08 + 5 * 8, base + 0xd00, 8);
	image_put(p + 0xa08 + 24 * 8, base + 0xe00, 8);
	/* struct maple_arange_64, then two maple_range_64 */
	image_put(p + 0x708, 15, 8);
	image_put(image_put(p + 0x700 + 80, base + 0x800 + (1 << 3), 8), base + 0x900 + (1 << 3),
		  8);
	image_put(image_put(image_put(p + 0x808, 4, 8), 5, 8), 15, 8);
	image_put(p + 0x800 + 128 + 8, base + 0xd00, 8);
	image_put(image_put(p + 0x908, 23, 8), 24, 8);
	image_put(p + 0x900 + 128 + 8, base + 0xe00, 8);
	/* struct irq_desc */
	image_put(image_put(image_put(p + 0xd00, 5, 8), 77, 8), base + 0xf00, 8);
	image_put(p + 0xd18, 1, 8);
	image_put(p + 0xd28, counts, 8);
	image_put(p + 0xd40, base + 0xf20, 8);
	image_put(p + 0xe00, 24, 8);
	image_put(p + 0xe30, base + 0xf40, 8);
	/* struct irq_chip, names, struct irqaction */
	image_put(p + 0xf00, base + 0xf10, 8);
	strcpy((char *)p + 0xf10, "chip");
	strcpy((char *)p + 0xf20, "edge");
	image_put(image_put(p + 0xf40, base + 0xf50, 8), base + 0xf60, 8);
	image_put(p + 0xf58, base + 0xf68, 8);
	strcpy((char *)p + 0xf60, "first");
	strcpy((char *)p + 0xf68, "second");
	/* per CPU: of interrupt 5, of the architecture */
	for (unsigned int i = 1; i < 3; i++) {
		uint8_t *area = image + IMAGE_CPUS + 0x200 * (size_t)i;

		image_put(area + 0x110, 10 * i, 4);
		image_put(image_put(area + 0x120, i, 4), 100 * i, 4);
	}
}

/* Two records: one whose text begins where the ring does, one without a text. */
static void image_log(uint8_t *image)
{
	uint64_t ring = IMAGE_TEXT + IMAGE_LOG + 0x10;
	uint8_t *p = image + IMAGE_LOG;

	image_put(p, ring, 8);
	image_put(p + 0x10, 1, 4);
	image_put(p + 0x18, ring + 0x100, 8);
	image_put(p + 0x20, ring + 0x300, 8);
	image_put(p + 0x28, 1, 8);
	image_put(p + 0x50, 6, 4);
	image_put(p + 0x58, ring + 0x500, 8);
	image_put(p + 0x110, 1ull << 62, 8);
	image_put(p + 0x110 + 16, 24, 8);
	image_put(image_put(image_put(p + 0x210, 2ull << 62 | 1, 8), 1, 8), 1, 8);
	image_put(p + 0x310 + 8, 1000002000, 8);
	image_put(p + 0x310 + 16, 7, 2);
	image_put(p + 0x310 + 19, 6 << 5, 1);
	strcpy((char *)p + 0x510 + 8, "made up, and more");
}

/* One module, "made_up", with two symbols and one without a name. */
static void image_module(uint8_t *image)
{
	uint64_t head = IMAGE_TEXT + IMAGE_MODULES, module = head + 0x100, tables = head + 0x200;
	uint8_t *p = image + IMAGE_MODULES;

	image_put(image_put(p, module + 8, 8), module + 8, 8);
	image_put(image_put(p + 0x108, head, 8), head, 8);
	strcpy((char *)p + 0x118, "made_up");
	image_put(p + 0x150, tables, 8);
	image_put(p + 0x200, tables + 0x100, 8);
	image_put(p + 0x208, 3, 4);
	image_put(p + 0x210, tables + 0x200, 8);
	image_put(p + 0x218, tables + 0x300, 8);
	image_put(p + 0x300 + 24, 1, 4);
	image_put(p + 0x300 + 24 + 8, 0xffffffffc0001000, 8);
	image_put(p + 0x300 + 48, 7, 4);
	image_put(p + 0x300 + 48 + 8, 0xffffffffc0002000, 8);
	memcpy(p + 0x400, "\0first\0second", 14);
	memcpy(p + 0x500, "?tD", 3);
}

/* IMAGE_BYTES bytes, to be freed. */
static uint8_t *image_make(enum image_layout layout)
{
	uint8_t *image = calloc(1, IMAGE_BYTES);

	if (!image)
		abort();
	strcpy((char *)image + IMAGE_RODATA, "%s version %s (made up) %s\n");
	strcpy((char *)image + IMAGE_RODATA + 0x100, "Linux version 0.0.0-image\n");
	image_put(image + IMAGE_DATA, 0 - (IMAGE_TEXT - LINUX_IMAGE_MAP), 8);
	image_put(image + IMAGE_DATA + 8, IMAGE_BYTES / GUEST_PAGE, 8);
	image_paging(image);
	image_btf(image);
	image_module(image);
	image_task(image);
	image_log(image);
	image_cpus(image);
	image_irqs(image);
	image_tables(image, layout);
	return image;
}

/* A guest with this RAM; not for linux_guest_close(), but for kallsyms_deinit() of its symbols. */
static struct linux_guest image_guest(const uint8_t *image, struct memory_range *range)
{
	*range = (struct memory_range){.start = IMAGE_BASE,
				       .end = IMAGE_BASE + IMAGE_BYTES,
				       .read = true,
				       .write = true};
	return (struct linux_guest){
		.pid = 1,
		.ram_bytes = IMAGE_BYTES,
		.memory = {.read = image_read, .image = image, .range = range, .nr = 1},
		.ram = {.pagemap = -1},
	};
}

#endif
