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

#include "vm/linux/guest.h"
#include "vm/linux/lists.h"
#include "vm/linux/modules.h"

enum image_layout {
	IMAGE_4_19, /* 8-byte markers and count */
	IMAGE_5_10,
	IMAGE_6_1, /* names of more than 127 tokens */
	IMAGE_6_4,
	IMAGE_6_15, /* unsigned offsets */
	IMAGE_7_0,
	IMAGE_7_0_ODD, /* the same 4 bytes further on, as nothing is aligned to 8 any more */
	IMAGE_LAYOUTS,
};

#ifndef IMAGE_SYMBOLS
#define IMAGE_SYMBOLS 1000
#endif

enum {
#ifdef IMAGE_SMALL /* for a fuzzer, which searches it at each run: less would not be taken for RAM */
	IMAGE_BYTES = 1 << 20,
	IMAGE_RODATA = 0,
	IMAGE_DATA = 128 << 10,
	IMAGE_FUNCTIONS = IMAGE_DATA + 0x18000,
#else
	IMAGE_BYTES = 4 << 20,
	IMAGE_RODATA = 2 << 20, /* offset */
	IMAGE_DATA = 1 << 20,
	IMAGE_FUNCTIONS = IMAGE_RODATA + 0x1000,
#endif
	IMAGE_TABLES = IMAGE_RODATA + 0x2000,
	IMAGE_JIFFIES = IMAGE_DATA + 24,
	IMAGE_PGD = IMAGE_DATA + 0x1000,
	IMAGE_CLOCK = IMAGE_DATA + 0x8000, /* tk_core; then the clock source, kvm-clock's page */
	IMAGE_BTF = IMAGE_DATA + 0x16000,
	IMAGE_BTF_BYTES = 0x2000,
	IMAGE_MODULES = IMAGE_DATA + 0x9000, /* head of the list; then a module, its tables */
	IMAGE_TASKS = IMAGE_DATA + 0xa000, /* init_task; then a task and its signal_struct */
	IMAGE_CPUS = IMAGE_DATA + 0xc000,
	IMAGE_IRQS = IMAGE_DATA + 0xd000, /* roots of both trees; table, nodes, descriptors */
	IMAGE_VIRTIO = IMAGE_DATA + 0xe000, /* bus_kset, btf_modules; what they lead to; the module's BTF */
	IMAGE_MODULE_BTF = IMAGE_VIRTIO + 0x1000,
	IMAGE_MODULE_BTF_BYTES = 0x400,
	IMAGE_ORC = IMAGE_DATA + 0x10000, /* tables of the kernel, then of the module */
	IMAGE_STACK = IMAGE_DATA + 0x14000,
	IMAGE_CODE = IMAGE_RODATA + 0x100000,
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
	{"tk_core", IMAGE_CLOCK},
	{"hv_clock_boot", IMAGE_CLOCK + 0x200},
	{"nr_cpu_ids", IMAGE_CPUS},
	{"page_offset_base", IMAGE_CPUS + 8},
	{"__per_cpu_offset", IMAGE_CPUS + 16},
	{"x86_cpu_to_apicid", IMAGE_CPUS + 0x100},
	{"current_task", IMAGE_CPUS + 0x108},
	{"sparse_irqs", IMAGE_IRQS},
	{"irq_stat", IMAGE_CPUS + 0x120},
	{"irq_stat_info", IMAGE_IRQS + 0x100},
	{"bus_kset", IMAGE_VIRTIO},
	{"btf_modules", IMAGE_VIRTIO + 0x10},
	{"__start_orc_unwind_ip", IMAGE_ORC},
	{"__stop_orc_unwind_ip", IMAGE_ORC + 3 * 4},
	{"__start_orc_unwind", IMAGE_ORC + 0x100},
	{"linux_banner", IMAGE_RODATA + 0x100},
};

/* Some have other names in older kernels. */
static const char *image_variable(enum image_layout layout, unsigned int i)
{
	const char *name = image_variables[i].name;

	if (layout >= IMAGE_7_0 && !strcmp(name, "tk_core"))
		return "timekeeper_data";
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
	return IMAGE_FUNCTIONS + i;
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
	for (uint64_t i = 0; i << 21 < IMAGE_BYTES; i++)
		image_put(image + pmd + (index + i) * 8, i << 21 | 0x81, 8);
}

#include "linux_image_btf.h"

static void image_list(uint8_t *image, uint32_t head, uint32_t entry)
{
	uint64_t to_head = IMAGE_TEXT + head, to_entry = IMAGE_TEXT + entry;

	image_put(image_put(image + head, to_entry, 8), to_entry, 8);
	image_put(image_put(image + entry, to_head, 8), to_head, 8);
}

/*
 * The bus with one device, virtio7: queue "req" has a split ring of 4, of which one request is at the device and one
 * was not collected; queue "ctl" has a packed one and is broken.
 */
static void image_virtio(uint8_t *image)
{
	uint64_t base = IMAGE_TEXT + IMAGE_VIRTIO;
	uint8_t *p = image + IMAGE_VIRTIO;

	image_put(p, base + 0x40, 8);
	image_list(image, IMAGE_VIRTIO + 0x40, IMAGE_VIRTIO + 0x118);
	image_put(p + 0x110, base + 0x680, 8);
	image_list(image, IMAGE_VIRTIO + 0x188, IMAGE_VIRTIO + 0x228);
	image_put(p + 0x240, base + 0x310, 8);
	image_put(p + 0x310, base + 0x690, 8);
	image_put(p + 0x330, base + 0x3a0, 8);
	image_put(p + 0x3a0, base + 0x6a0, 8);
	strcpy((char *)p + 0x680, "virtio");
	strcpy((char *)p + 0x690, "virtio7");
	strcpy((char *)p + 0x6a0, "virtio_made");
	strcpy((char *)p + 0x6b0, "req");
	strcpy((char *)p + 0x6c0, "ctl");
	/* vqs: req, ctl */
	image_put(image_put(p + 0x380, base + 0x400, 8), base + 0x500, 8);
	image_put(image_put(p + 0x400, base + 0x500, 8), base + 0x380, 8);
	image_put(image_put(p + 0x500, base + 0x380, 8), base + 0x400, 8);
	image_put(image_put(image_put(p + 0x410, base + 0x6b0, 8), 0, 4), 2, 4);
	image_put(image_put(image_put(p + 0x510, base + 0x6c0, 8), 1, 4), 7, 4);
	/* event indices; used up to 9, of which the driver has seen 8; offered up to 10 */
	image_put(p + 0x42a, 1, 1);
	image_put(image_put(p + 0x42c, 1, 4), 8, 2);
	image_put(image_put(p + 0x440, 4, 8), base + 0x800, 8);
	image_put(image_put(image_put(p + 0x450, base + 0x600, 8), base + 0x620, 8), 10, 2);
	image_put(image_put(p + 0x600, 0, 2), 10, 2);
	image_put(p + 0x60c, 8, 2);
	image_put(image_put(p + 0x620, 0, 2), 9, 2);
	image_put(p + 0x644, 10, 2);
	/* packed, broken */
	image_put(image_put(p + 0x528, 1, 1), 1, 1);
	image_put(p + 0x530, 0x8003, 2);
	image_put(image_put(p + 0x540, 8, 8), base + 0x900, 8);
	image_put(image_put(image_put(p + 0x550, base + 0x660, 8), base + 0x668, 8), 4, 2);
	image_put(image_put(p + 0x660, 0, 2), 1, 2);
	image_put(image_put(p + 0x668, 5, 2), 2, 2);
	/* struct btf_module, the module's name, struct btf */
	image_list(image, IMAGE_VIRTIO + 0x10, IMAGE_VIRTIO + 0x700);
	image_put(image_put(p + 0x710, base + 0x740, 8), base + 0x780, 8);
	strcpy((char *)p + 0x758, "virtio_ring");
	image_put(image_put(p + 0x780, base + 0x1000, 8), IMAGE_MODULE_BTF_BYTES, 4);
	image_module_btf(image);
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

/* 5 s and 700 ns of CLOCK_REALTIME after 1000 cycles of half a ns, in ticks of 4000 of them. */
static void image_clock(uint8_t *image)
{
	uint64_t clock = IMAGE_TEXT + IMAGE_CLOCK;
	uint8_t *p = image + IMAGE_CLOCK + 8;

	image_put(p - 8, 4, 4);
	p = image_put(image_put(image_put(p, clock + 0x100, 8), UINT64_MAX, 8), 1000, 8);
	image_put(image_put(image_put(p, 8, 4), 4, 4), 700 << 4, 8);
	image_put(image_put(image + IMAGE_CLOCK + 8 + 48, 5, 8), 4000, 8);
	image_put(image + IMAGE_CLOCK + 0x100, clock + 0x180, 8);
	strcpy((char *)image + IMAGE_CLOCK + 0x180, "made-up");
	p = image_put(image + IMAGE_CLOCK + 0x200, 2, 8);
	image_put(image_put(image_put(image_put(p, 100, 8), 200, 8), 1u << 31, 4), 1, 1);
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

/* The i-th entry of the table at `table`, which begins with its addresses and has the entries 0x100 bytes later. */
static void image_orc_entry(uint8_t *image, uint32_t table, uint32_t i, uint64_t code,
			    int sp_offset, int bp_offset, unsigned int regs, unsigned int type)
{
	uint8_t *p = image + table;

	image_put(p + 4 * (size_t)i, code - (IMAGE_TEXT + table + 4 * i), 4);
	p = image_put(p + 0x100 + 6 * (size_t)i, (uint64_t)sp_offset, 2);
	image_put(image_put(image_put(p, (uint64_t)bp_offset, 2), regs, 1), type, 1);
}

/*
 * The task sleeps in code that finds its caller by the stack pointer, whose caller does by the frame pointer, whose
 * caller is the module's, whose caller is the end.
 */
static void image_stack(uint8_t *image)
{
	const uint64_t stack = IMAGE_TEXT + IMAGE_STACK, code = IMAGE_TEXT + IMAGE_CODE;
	const uint64_t module = 0xffffffffc0001000;
	uint8_t *task = image + IMAGE_TASKS + 0x100, *p = image + IMAGE_STACK;

	image_put(image_put(task + 96, stack, 8), stack + 0x1000, 8);
	image_put(image_put(p + 0x1000, stack + 0x1200, 8), code + 5, 8);
	image_put(p + 0x1108, code + 0x105, 8); /* after the 256 bytes of inactive_task_frame */
	image_put(image_put(image_put(p + 0x1200, 0, 8), module + 5, 8), code + 0x205, 8);
	image_orc_entry(image, IMAGE_ORC, 0, code, 16, 0, ORC_SP, ORC_CALL);
	image_orc_entry(image, IMAGE_ORC, 1, code + 0x100, 16, -16, ORC_BP | ORC_PREV_SP << 4,
			ORC_CALL);
	image_orc_entry(image, IMAGE_ORC, 2, code + 0x200, 0, 0, 0, ORC_END);
	image_orc_entry(image, IMAGE_ORC + 0x200, 0, module, 8, 0, ORC_SP, ORC_CALL);
	p = image_put(image + IMAGE_MODULES + 0x180, 1, 8);
	image_put(image_put(p, IMAGE_TEXT + IMAGE_ORC + 0x200, 8), IMAGE_TEXT + IMAGE_ORC + 0x300,
		  8);
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
	image_clock(image);
	image_cpus(image);
	image_irqs(image);
	image_virtio(image);
	image_stack(image);
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
