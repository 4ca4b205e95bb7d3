// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Linux guest whose RAM was made to cost: few bytes that refer to each other so that following all of them takes
 * hours, or gigabytes. What is read is counted, as time would depend on the machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h" /* before cmocka, which makes fail() a macro */
#include "commands/guest_linux.h"
#include "linux_image.h"

#include <cmocka.h>

enum {
	FREE = 0x10000, /* offsets of RAM that linux_image.h does not use */
	FREE_HIGH = IMAGE_CODE + 0x10000,
	STRUCT_BYTES = 256,
};

static uint64_t nr_reads, bytes_read; /* of the process's memory */

static int counted_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	nr_reads++;
	bytes_read += size;
	return image_read(m, addr, buf, size);
}

static int find(const uint8_t *image, struct linux_guest *g)
{
	static struct memory_range range;

	nr_reads = bytes_read = 0;
	*g = image_guest(image, &range);
	g->memory.read = counted_read;
	g->ram.memory = &g->memory;
	return linux_guest_find(g, 0);
}

static void open_guest(const uint8_t *image, struct linux_guest *g, struct btf_types *t)
{
	assert_int_equal(0, find(image, g));
	assert_int_equal(0, linux_types_read(g, t));
	nr_reads = 0;
}

static void close_guest(struct linux_guest *g, struct btf_types *t)
{
	btf_types_deinit(t);
	kallsyms_deinit(&g->symbols);
}

/* A list of nr entries, `step` bytes apart from `first` on; head and first are offsets. */
static void list_fill(uint8_t *image, uint32_t head, uint32_t first, uint32_t step, uint32_t nr)
{
	uint32_t last = head;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = first + i * step;

		image_put(image + last, IMAGE_TEXT + at, 8);
		image_put(image + at + 8, IMAGE_TEXT + last, 8);
		last = at;
	}
	image_put(image + last, IMAGE_TEXT + head, 8);
	image_put(image + head + 8, IMAGE_TEXT + last, 8);
}

/* 7,000 processes with the same 7,000 threads, none of which has a number: 49 million threads, none of which counts. */
static void threads_of_each_process(void **state)
{
	enum { NR = 7000, TASK = 0x80, SIGNAL = FREE_HIGH, THREADS = SIGNAL + 16 };
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_task *task = NULL;
	struct linux_guest g;
	struct btf_types t;
	size_t nr = 0;

	(void)state;
	list_fill(image, IMAGE_TASKS + 24, FREE + 24, TASK, NR);
	list_fill(image, SIGNAL, THREADS, 16, NR);
	for (uint32_t i = 0; i < NR; i++)
		image_put(image + FREE + i * TASK + 40, IMAGE_TEXT + SIGNAL, 8);
	open_guest(image, &g, &t);
	assert_int_equal(-E2BIG, linux_tasks_read(&g, &t, &task, &nr));
	assert_non_null(strstr(error_text(), "damaged, or made to cost time"));
	assert_in_range(nr_reads, 1, 8 * (uint64_t)LINUX_READS_ALONE);
	free(task);
	close_guest(&g, &t);
}

/* The same with numbers, 600 times 600: each is a row once. */
static void threads_are_listed_once(void **state)
{
	enum { NR = 600, TASK = 0x80, SIGNAL = FREE_HIGH };
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_task *task = NULL;
	struct linux_guest g;
	struct btf_types t;
	size_t nr = 0;

	(void)state;
	list_fill(image, IMAGE_TASKS + 24, FREE + 24, TASK, NR);
	list_fill(image, SIGNAL, FREE + 48, TASK, NR);
	for (uint32_t i = 0; i < NR; i++) {
		image_put(image + FREE + i * TASK, i + 1, 4);
		image_put(image + FREE + i * TASK + 4, i + 1, 4);
		image_put(image + FREE + i * TASK + 40, IMAGE_TEXT + SIGNAL, 8);
	}
	open_guest(image, &g, &t);
	assert_int_equal(0, linux_tasks_read(&g, &t, &task, &nr));
	assert_int_equal(NR, nr);
	assert_int_equal(NR * (NR - 1), g.torn);
	free(task);
	close_guest(&g, &t);
}

/* What is printed ends with a whole row, and short rows follow long ones. */
static void printed_rows_are_limited(void **state)
{
	enum { LONG_BYTES = 1000, SHORT_BYTES = 8, LEFT = 5 * (LONG_BYTES + SHORT_BYTES) };
	_cleanup_free_ char *text = NULL;
	struct linux_list l = {.action = "ps", .bytes = GUEST_LINUX_BYTES_MAX - LEFT};
	size_t size = 0;

	(void)state;
	l.file = open_memstream(&text, &size);
	assert_int_equal(0, linux_rows_begin(&l));
	for (int i = 0; i < 10; i++) {
		fprintf(l.out, "%*d\n", (i % 2 ? SHORT_BYTES : LONG_BYTES) - 1, i);
		assert_int_equal(0, linux_row_end(&l, NULL));
	}
	fputc('x', l.out);
	assert_int_equal(-E2BIG, linux_row_end(&l, NULL));
	assert_non_null(strstr(error_text(), "the rest was not printed"));
	linux_rows_end(&l, NULL);
	fclose(l.file);
	assert_int_equal(LEFT, size);
	assert_string_equal("\n      9\n", text + size - SHORT_BYTES - 1);
}

/* With -f json it is still JSON, and its head has the error. */
static void printed_json_is_limited(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct linux_list l = {.action = "ps",
			       .json = true,
			       .bytes = GUEST_LINUX_BYTES_MAX - 2 * sizeof(",\n{\"a\":0}")};
	size_t size = 0;

	(void)state;
	l.file = open_memstream(&text, &size);
	assert_int_equal(0, linux_rows_begin(&l));
	assert_int_equal(0, linux_row_end(&l, json_pack("{s:i}", "a", 1)));
	assert_int_equal(0, linux_row_end(&l, json_pack("{s:i}", "a", 2)));
	assert_int_equal(-E2BIG, linux_row_end(&l, json_pack("{s:i}", "a", 3)));
	linux_rows_end(&l, json_pack("{s:s}", "caveats", error_text()));
	fclose(l.file);
	assert_string_equal("{\"rows\":[\n{\"a\":1},\n{\"a\":2}\n],\"caveats\":\"the list takes "
			    "more than 256 MiB: the "
			    "guest's structures are damaged, or made to cost memory; the rest was "
			    "not printed\"}\n",
			    text);
}

/* The linker's symbols are the guest's own words, too: a stack that does not fit into ours. */
static void stack_of_any_size(void **state)
{
	static const char from[] = "__start_init_stack", to[] = "__end_init_stack";
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_unwinder *u = NULL;
	struct linux_stack s;
	struct linux_guest g;
	struct btf_types t;

	(void)state;
	open_guest(image, &g, &t);
	assert_int_equal(0, kallsyms_add(&g.symbols, IMAGE_TEXT, 'D', from, strlen(from), NULL));
	assert_int_equal(
		0, kallsyms_add(&g.symbols, IMAGE_TEXT + IMAGE_BYTES, 'D', to, strlen(to), NULL));
	assert_int_equal(0, linux_unwinder_open(&g, &t, &u));
	bytes_read = 0;
	linux_stack_read(u, IMAGE_TEXT + IMAGE_TASKS + 0x100, &s);
	assert_in_range(bytes_read, 1, LINUX_STACK_BYTES_MAX);
	assert_in_range(s.nr, 1, 4);
	linux_unwinder_close(u);
	close_guest(&g, &t);
}

/* Eleven nodes, each with the next one in its 64 slots: 2^66 ways. */
static void interrupts_by_64_ways(void **state)
{
	enum { NODE = 0x400, LEVELS = 11, SHIFT = 6 };
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_4);
	struct linux_interrupts interrupts = {0};
	struct linux_guest g;
	struct btf_types t;

	(void)state;
	for (uint32_t i = 0; i < LEVELS; i++) {
		uint8_t *node = image + FREE + i * NODE;

		node[0] = (uint8_t)(SHIFT * (LEVELS - 1 - i));
		for (uint32_t slot = 0; slot < 1 << SHIFT; slot++)
			image_put(node + 8 + 8 * slot, IMAGE_TEXT + FREE + (i + 1) * NODE + 2, 8);
	}
	image_put(image + IMAGE_IRQS, IMAGE_TEXT + FREE + 2, 8);
	open_guest(image, &g, &t);
	assert_int_equal(-E2BIG, linux_interrupts_read(&g, &t, &interrupts));
	assert_non_null(strstr(error_text(), "more than 65536 nodes"));
	assert_in_range(nr_reads, 1, 8 * (uint64_t)LINUX_IRQ_NODES_MAX);
	linux_interrupts_deinit(&interrupts);
	close_guest(&g, &t);
}

/* 1,024 records whose blocks overlap: 64 MiB of text in a ring of 128 KiB. */
static void log_texts_overlap(void **state)
{
	enum { BITS = 10, SIZE_BITS = 17, INFOS = FREE + (STRUCT_BYTES << BITS) };
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	uint8_t *ring = image + IMAGE_LOG + 0x10, *data = image + FREE_HIGH;
	struct linux_log log;
	struct linux_guest g;
	struct btf_types t;

	(void)state;
	image_put(ring, BITS, 4);
	image_put(image_put(ring + 8, IMAGE_TEXT + FREE, 8), IMAGE_TEXT + INFOS, 8);
	image_put(image_put(ring + 24, (1 << BITS) - 1, 8), 0, 8);
	image_put(ring + 64, SIZE_BITS, 4);
	image_put(ring + 72, IMAGE_TEXT + FREE_HIGH, 8);
	for (uint64_t i = 0; i < 1 << BITS; i++) {
		uint8_t *desc = image + FREE + i * STRUCT_BYTES;

		image_put(desc, UINT64_C(2) << 62 | i, 8);
		image_put(image_put(desc + 8, 8 * i, 8), 8 * i + 8 + UINT16_MAX, 8);
		image_put(image + INFOS + i * STRUCT_BYTES + 16, UINT16_MAX, 2);
		image_put(data + 8 * i, i, 8);
	}
	open_guest(image, &g, &t);
	assert_int_equal(0, linux_log_read(&g, &t, &log));
	assert_in_range(log.nr, 1, 3);
	assert_in_range(log.text_bytes, 1, (1 << SIZE_BITS) + 3);
	assert_int_equal((1 << BITS) - log.nr, g.torn);
	linux_log_deinit(&log);
	close_guest(&g, &t);
}

/* 2^20 descriptors of 256 bytes, all of them in one page of RAM. */
static void log_tables_large(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_log log;
	struct linux_guest g;
	struct btf_types t;

	(void)state;
	image_put(image + IMAGE_LOG + 0x10, LINUX_LOG_RECORDS_BITS, 4);
	open_guest(image, &g, &t);
	assert_int_equal(-EFAULT, linux_log_read(&g, &t, &log));
	assert_non_null(strstr(error_text(), "larger than"));
	linux_log_deinit(&log);
	close_guest(&g, &t);
}

/* The types that image_types lacks. */
static void export_types(uint8_t bytes[0x1000], struct btf_types *t)
{
	struct image_btf b = {bytes + 24, bytes + 0x801, bytes + 0x800, 0};
	uint8_t *copy = malloc(0x1000);

	assert_non_null(copy);
	image_struct(&b, "module",
		     (const struct image_member[]){{"list", 8, 0},
						   {"name", 24, 0},
						   {"kallsyms", 80, 0},
						   {"syms", 88, 0},
						   {"num_syms", 96, 0},
						   {0}});
	image_struct(&b, "mod_kallsyms",
		     (const struct image_member[]){
			     {"symtab", 0, 0}, {"num_symtab", 8, 0}, {"strtab", 16, 0}, {0}});
	image_struct(
		&b, "kernel_symbol",
		(const struct image_member[]){{"value_offset", 0, 0}, {"name_offset", 4, 0}, {0}});
	image_btf_head(bytes, b.type, 0x1000);
	memcpy(copy, bytes, 0x1000);
	assert_int_equal(0, btf_types_parse(copy, 0x1000, t));
}

/* 20,000 symbols and 2,000 exports at one address: 40 million names to compare. */
static void exports_at_one_address(void **state)
{
	enum { SYMBOLS = 20000, EXPORTS = 2000, VALUE = 0x5000, SYM = 24 };
	_cleanup_free_ uint8_t *image = image_make(IMAGE_7_0);
	uint8_t bytes[0x1000] = {0}, *module = image + IMAGE_MODULES + 0x100;
	const uint32_t exports = FREE, symbols = FREE_HIGH;
	struct linux_guest g;
	struct btf_types t;

	(void)state;
	image_put(image_put(module + 88, IMAGE_TEXT + exports, 8), EXPORTS, 4);
	image_put(image + IMAGE_MODULES + 0x200, IMAGE_TEXT + symbols, 8);
	image_put(image + IMAGE_MODULES + 0x208, SYMBOLS, 4);
	for (uint32_t i = 0; i < EXPORTS; i++) { /* offsets from their own places */
		uint32_t at = exports + i * STRUCT_BYTES;

		image_put(image + at, (uint64_t)((int64_t)VALUE - (int64_t)at), 4);
		image_put(image + at + 4, 0, 4);
	}
	for (uint32_t i = 0; i < SYMBOLS; i++) {
		image_put(image + symbols + i * SYM, 1, 4);
		image_put(image + symbols + i * SYM + 8, IMAGE_TEXT + VALUE, 8);
	}
	assert_int_equal(0, find(image, &g));
	export_types(bytes, &t);
	nr_reads = 0;
	assert_int_equal(0, linux_modules_symbols(&g, &t));
	assert_int_equal(IMAGE_SYMBOLS + SYMBOLS, g.symbols.nr);
	assert_in_range(nr_reads, 1, 20 * SYMBOLS);
	close_guest(&g, &t);
}

/* Structs in each other, each of which begins at the largest offset: their sum is no int. */
static void offsets_add_up(void **state)
{
	enum { DEPTH = 6 };
	uint8_t bytes[0x1000] = {0}, *copy = malloc(sizeof(bytes));
	struct image_btf b = {bytes + 24, bytes + 0x801, bytes + 0x800, 0};
	struct btf_types t;

	(void)state;
	assert_non_null(copy);
	for (unsigned int i = 0; i < DEPTH; i++) {
		const char *name = i + 1 < DEPTH ? "m" : "last";

		image_struct(&b, i ? "other" : "outer",
			     (const struct image_member[]){{name, UINT32_MAX / 8, i + 2}, {0}});
	}
	image_btf_head(bytes, b.type, sizeof(bytes));
	memcpy(copy, bytes, sizeof(bytes));
	assert_int_equal(0, btf_types_parse(copy, sizeof(bytes), &t));
	assert_int_equal(UINT32_MAX / 8, btf_offset(&t, "outer", "m"));
	assert_int_equal(-ENOENT, btf_offset(&t, "outer", "m.m.m.m.m.last"));
	btf_types_deinit(&t);
}

/* Each page says that the kernel is here, and each leads to a search of the whole RAM. */
static void vmcoreinfo_pages(void **state)
{
	_cleanup_free_ uint8_t *image = calloc(1, IMAGE_BYTES);
	struct linux_guest g;

	(void)state;
	for (uint32_t at = 0; at < IMAGE_BYTES; at += GUEST_PAGE)
		sprintf((char *)image + at,
			"OSRELEASE=0\nNUMBER(phys_base)=0\nSYMBOL(_stext)=%llx\n",
			(unsigned long long)LINUX_IMAGE_MAP);
	assert_int_equal(-ENOENT, find(image, &g));
	assert_in_range(bytes_read, 1, UINT64_C(150) * IMAGE_BYTES);
	kallsyms_deinit(&g.symbols);
}

/* The kernel's token table again and again, without the tables before it. */
static void token_tables(void **state)
{
	enum { TABLE_BYTES = 4096 };
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_4);
	_cleanup_free_ uint8_t *many = calloc(1, IMAGE_BYTES);
	static const char digits[20] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
	struct linux_guest g;
	uint8_t *hit;

	(void)state;
	hit = memmem(image, IMAGE_BYTES, digits, sizeof(digits));
	assert_non_null(hit);
	hit -= (hit - image) % 8 + 1024;
	for (uint32_t at = TABLE_BYTES; at + TABLE_BYTES <= IMAGE_BYTES; at += TABLE_BYTES)
		memcpy(many + at, hit, TABLE_BYTES);
	assert_int_equal(-E2BIG, find(many, &g));
	assert_non_null(strstr(error_text(), "symbol tables"));
	assert_in_range(bytes_read, 1, UINT64_C(300) * IMAGE_BYTES);
	kallsyms_deinit(&g.symbols);
}

/* Its memory is that of no other system, and what was read of it may be a part only. */
static void vm_ended(void **state)
{
	pid_t pid = fork();
	struct linux_guest g = {.pid = pid, .ram.pagemap = -1};

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(linux_guest_check(&g, -EPERM), -EPERM); /* it could not be opened */
	assert_int_equal(memory_open(pid, 0, &g.memory), 0);
	assert_int_equal(linux_guest_check(&g, 0), 0);
	assert_int_equal(linux_guest_check(&g, -ENOENT), -ENOENT);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(linux_guest_check(&g, -ENOENT), -ESRCH);
	assert_non_null(strstr(error_text(), "ended while its memory was read"));
	assert_int_equal(linux_guest_check(&g, 0), -ESRCH);
	linux_guest_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_each_process),
		cmocka_unit_test(threads_are_listed_once),
		cmocka_unit_test(printed_rows_are_limited),
		cmocka_unit_test(printed_json_is_limited),
		cmocka_unit_test(stack_of_any_size),
		cmocka_unit_test(interrupts_by_64_ways),
		cmocka_unit_test(log_texts_overlap),
		cmocka_unit_test(log_tables_large),
		cmocka_unit_test(exports_at_one_address),
		cmocka_unit_test(offsets_add_up),
		cmocka_unit_test(vmcoreinfo_pages),
		cmocka_unit_test(token_tables),
		cmocka_unit_test(vm_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
