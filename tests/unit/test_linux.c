// SPDX-License-Identifier: GPL-2.0-or-later
/* Linux kernels in guest RAM: every layout of kallsyms, and RAM that is hostile (linux_image.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h" /* before cmocka, which makes fail() a macro */
#include "linux_image.h"

#include <cmocka.h>

static int find(const uint8_t *image, struct linux_guest *g)
{
	static struct memory_range range;

	*g = image_guest(image, &range);
	g->ram.memory = &g->memory;
	return linux_guest_find(g, 0);
}

static uint64_t image_address(enum image_layout layout, unsigned int i)
{
	char name[256];
	uint32_t offset = image_symbol(layout, i, name, sizeof(name));

	return i || layout >= IMAGE_6_15 ? IMAGE_TEXT + offset : 0;
}

/* All names and addresses of each layout. */
static void layouts(void **state)
{
	(void)state;
	for (enum image_layout l = 0; l < IMAGE_LAYOUTS; l++) {
		_cleanup_free_ uint8_t *image = image_make(l);
		struct linux_guest g;

		assert_int_equal(0, find(image, &g));
		assert_int_equal(IMAGE_SYMBOLS, g.symbols.nr);
		assert_int_equal(LINUX_BY_RODATA, g.way);
		assert_string_equal("Linux version 0.0.0-image", g.banner);
		for (unsigned int i = 0; i < IMAGE_SYMBOLS; i++) {
			const struct kallsym *s = &g.symbols.symbol[i];
			char name[256];

			image_symbol(l, i, name, sizeof(name));
			assert_int_equal(name[0], s->type);
			assert_string_equal(name + 1, kallsym_name(&g.symbols, s));
			assert_int_equal(image_address(l, i), s->address);
		}
		kallsyms_deinit(&g.symbols);
	}
}

/* Without the beginning of .rodata: by vmcoreinfo, then by a scan. */
static void ways(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_4);
	uint64_t text = IMAGE_TEXT;
	struct linux_guest g;

	(void)state;
	memset(image + IMAGE_RODATA, 0, 64);
	assert_int_equal(0, find(image, &g));
	assert_int_equal(LINUX_BY_SCAN, g.way);
	kallsyms_deinit(&g.symbols);

	sprintf((char *)image + 0x3000,
		"OSRELEASE=0\nNUMBER(phys_base)=%lld\nSYMBOL(_stext)=%llx\n",
		-(long long)(text - LINUX_IMAGE_MAP), (unsigned long long)text);
	assert_int_equal(0, find(image, &g));
	assert_int_equal(LINUX_BY_VMCOREINFO, g.way);
	kallsyms_deinit(&g.symbols);
}

/* RAM whose slots leave a hole below 1 MiB, as while the firmware runs: offsets in RAM are not addresses. */
static void hole(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_1);
	static struct memory_range range;
	struct linux_guest g = image_guest(image, &range);
	struct guest_slot slot[] = {
		{0, IMAGE_BASE, 0xc0000},
		{IMAGE_DATA, IMAGE_BASE + IMAGE_DATA, IMAGE_BYTES - IMAGE_DATA},
	};

	(void)state;
	g.ram.memory = &g.memory;
	g.slot = slot;
	g.nr_slots = sizeof(slot) / sizeof(*slot);
	assert_int_equal(0, linux_guest_find(&g, 0));
	assert_string_equal("Linux version 0.0.0-image", g.banner);
	kallsyms_deinit(&g.symbols);
}

static void assert_rejected(const uint8_t *image, const char *message)
{
	struct linux_guest g;

	assert_int_equal(-ENOENT, find(image, &g));
	assert_non_null(strstr(error_text(), message));
	kallsyms_deinit(&g.symbols);
}

/* A copy of a kernel that is not where it says, page tables that say otherwise, no kernel. */
static void rejected(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_5_10), *none = calloc(1, IMAGE_BYTES);

	(void)state;
	image[IMAGE_DATA + 3] ^= 1; /* phys_base */
	assert_rejected(image, "lists no variables");
	image[IMAGE_DATA + 3] ^= 1;
	image[IMAGE_PGD + 511 * 8] ^= 1; /* not present */
	assert_rejected(image, "lists no variables");
	image[IMAGE_PGD + 511 * 8] ^= 1;
	assert_rejected(none, "no Linux kernel with symbols");
}

/* Offsets of members by the BTF; a struct that has itself as a member without a name. */
static void types(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_4);
	struct btf_types t;
	struct linux_guest g;

	(void)state;
	assert_int_equal(0, find(image, &g));
	assert_int_equal(0, linux_types_read(&g, &t));
	assert_int_equal(80, btf_offset(&t, "module", "kallsyms"));
	assert_int_equal(-ENOENT, btf_offset(&t, "module", "kall"));
	assert_int_equal(-ENOENT, btf_offset(&t, "mod", "list"));
	assert_int_equal(256, btf_size(&t, "mod_kallsyms"));
	btf_types_deinit(&t);
	for (unsigned int i = 0; i < 3; i++) { /* the members of module: no name, type 1 */
		image_put(image + IMAGE_BTF + 24 + 12 + i * 12, 0, 4);
		image_put(image + IMAGE_BTF + 24 + 12 + i * 12 + 4, 1, 4);
	}
	assert_int_equal(0, linux_types_read(&g, &t));
	assert_int_equal(-ENOENT, btf_offset(&t, "module", "list"));
	btf_types_deinit(&t);
	image[IMAGE_BTF + 12]++; /* type_len */
	assert_int_equal(-EBADMSG, linux_types_read(&g, &t));
	btf_types_deinit(&t);
	kallsyms_deinit(&g.symbols);
}

/* A module's symbols; a module that claims too many is left out and counted. */
static void modules(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_7_0);
	struct linux_guest g;
	const struct kallsym *s;

	(void)state;
	assert_int_equal(0, find(image, &g));
	assert_int_equal(0, linux_modules_add(&g));
	assert_int_equal(IMAGE_SYMBOLS + 2, g.symbols.nr);
	s = kallsyms_find(&g.symbols, "second\t[made_up]");
	assert_non_null(s);
	assert_int_equal('d', s->type); /* not exported */
	assert_int_equal(0xffffffffc0002000, s->address);
	image_put(image + IMAGE_MODULES + 0x208, MODULE_SYMBOLS_MAX + 1, 4);
	assert_int_equal(0, linux_modules_add(&g));
	assert_int_equal(IMAGE_SYMBOLS + 2, g.symbols.nr);
	assert_int_equal(1, g.torn);
	image_put(image + IMAGE_MODULES, IMAGE_TEXT, 8); /* the list leads elsewhere */
	assert_int_equal(-EAGAIN, linux_modules_add(&g));
	kallsyms_deinit(&g.symbols);
}

static void tasks(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_1);
	struct linux_task *task = NULL;
	struct btf_types t;
	struct linux_guest g;
	size_t nr = 0;

	(void)state;
	assert_int_equal(0, find(image, &g));
	assert_int_equal(0, linux_types_read(&g, &t));
	assert_int_equal(0, linux_tasks_read(&g, &t, &task, &nr));
	assert_int_equal(1, nr);
	assert_int_equal(77, task->tid);
	assert_int_equal(76, task->pid);
	assert_int_equal(0, task->ppid);
	assert_string_equal("made-up", task->comm);
	assert_int_equal('S', task->state);
	assert_int_equal(3, task->cpu);
	assert_false(task->kernel);
	free(task);
	image_put(image + IMAGE_TASKS + 0x200, 7, 8); /* the list of threads leads elsewhere */
	task = NULL;
	assert_int_equal(0, linux_tasks_read(&g, &t, &task, &nr));
	assert_int_equal(1, nr);
	assert_int_equal(LINUX_RETRIES - 1, g.torn);
	free(task);
	btf_types_deinit(&t);
	kallsyms_deinit(&g.symbols);
}

static void stack_read(struct linux_unwinder *u, struct linux_stack *ret,
		       enum linux_stack_state state, unsigned int nr)
{
	linux_stack_read(u, IMAGE_TEXT + IMAGE_TASKS + 0x100, ret);
	assert_string_equal(linux_stack_state_name(state), linux_stack_state_name(ret->state));
	assert_int_equal(nr, ret->nr);
}

/* What goes wrong with the stack, and with the tables. */
static void stack_hostile(uint8_t *image, struct linux_unwinder *u)
{
	uint8_t *task = image + IMAGE_TASKS + 0x100, *stack = image + IMAGE_STACK;
	uint8_t *orc = image + IMAGE_ORC;
	struct linux_stack s;

	image_put(task + 112, 1, 4);
	stack_read(u, &s, LINUX_STACK_RUNNING, 0);
	image_put(task + 112, 0, 4);
	image_put(task + 104, IMAGE_TEXT + IMAGE_STACK + (16 << 10) - 8, 8);
	stack_read(u, &s, LINUX_STACK_INCOMPLETE, 0);
	image_put(task + 104, IMAGE_TEXT + IMAGE_STACK + 0x1000, 8);
	image_put(stack + 0x1208, 0x400000, 8); /* no kernel code */
	stack_read(u, &s, LINUX_STACK_INCOMPLETE, 2);
	image_put(orc + 0x100 + 6 + 5, ORC_UNDEFINED, 1);
	stack_read(u, &s, LINUX_STACK_INCOMPLETE, 2);
	image_put(orc + 0x100 + 6 + 5, ORC_REGS_PARTIAL, 1); /* ip, cs: of a user's program */
	image_put(stack + 0x1210 + 8, 0x33, 8);
	stack_read(u, &s, LINUX_STACK_COMPLETE, 2);
	image_put(orc + 0x100, 0, 2); /* the same stack pointer again */
	stack_read(u, &s, LINUX_STACK_INCOMPLETE, 1);
	image_put(task + 96, 8, 8);
	stack_read(u, &s, LINUX_STACK_NONE, 0);
}

static void stacks(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_unwinder *u = NULL;
	char text[128], text_end[128];
	struct linux_stack s;
	struct btf_types t;
	struct linux_guest g;

	(void)state;
	assert_int_equal(0, find(image, &g));
	assert_int_equal(0, linux_types_read(&g, &t));
	assert_int_equal(0, linux_modules_symbols(&g, &t));
	assert_int_equal(0, linux_unwinder_open(&g, &t, &u));
	stack_read(u, &s, LINUX_STACK_COMPLETE, 4);
	assert_int_equal(IMAGE_TEXT + IMAGE_CODE + 5, s.frame[0]);
	assert_int_equal(IMAGE_TEXT + IMAGE_CODE + 0x105, s.frame[1]);
	assert_string_equal("first+0x5 [made_up]",
			    linux_frame_print(u, s.frame[2], text, sizeof(text)));
	snprintf(text_end, sizeof(text_end), "function_%d+0x%x", IMAGE_SYMBOLS - 1,
		 IMAGE_CODE + 0x205 - (IMAGE_FUNCTIONS + IMAGE_SYMBOLS - 1));
	assert_string_equal(text_end, linux_frame_print(u, s.frame[3], text, sizeof(text)));
	stack_hostile(image, u);
	linux_unwinder_close(u);
	btf_types_deinit(&t);
	kallsyms_deinit(&g.symbols);
}

static int queues_read(struct linux_guest *g, const struct btf_types *t,
		       struct linux_virtqueue **ret, size_t *nr)
{
	free(*ret);
	*ret = NULL;
	*nr = 0;
	g->torn = 0;
	return linux_virtqueues_read(g, t, ret, nr);
}

static void assert_queues(const struct linux_virtqueue *q)
{
	assert_string_equal("virtio7", q[0].device);
	assert_string_equal("virtio_made", q[0].driver);
	assert_string_equal("req", q[0].name);
	assert_int_equal(4, q[0].size);
	assert_int_equal(2, q[0].free);
	assert_int_equal(10, q[0].avail_idx);
	assert_int_equal(8, q[0].seen_idx);
	assert_int_equal(1, q[0].added);
	assert_int_equal(10, q[0].ring_avail_idx);
	assert_int_equal(9, q[0].ring_used_idx);
	assert_int_equal(VIRTQ_AT, q[0].kicks.mode);
	assert_int_equal(10, q[0].kicks.at);
	assert_int_equal(8, q[0].interrupts.at);
	assert_int_equal(IMAGE_BASE + IMAGE_VIRTIO + 0x800, q[0].ring);
	assert_false(q[0].packed || q[0].broken || q[0].moving);
	assert_int_equal(1, q[1].index);
	assert_int_equal(8, q[1].size);
	assert_int_equal(7, q[1].free);
	assert_int_equal(4, q[1].avail_idx);
	assert_int_equal(3, q[1].seen_idx);
	assert_int_equal(VIRTQ_OFF, q[1].interrupts.mode);
	assert_int_equal(5, q[1].kicks.at);
	assert_true(q[1].packed && q[1].broken && q[1].rings);
}

/* Two queues by the types of a module; sizes that cannot be, rings elsewhere, a loop, types that are damaged. */
static void virtqueues(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_4);
	uint8_t *p = image + IMAGE_VIRTIO;
	struct linux_virtqueue *q = NULL;
	struct linux_guest g;
	struct btf_types t;
	size_t nr = 0;

	(void)state;
	assert_int_equal(0, find(image, &g));
	assert_int_equal(0, linux_types_read(&g, &t));
	assert_int_equal(0, queues_read(&g, &t, &q, &nr));
	assert_int_equal(2, nr);
	assert_queues(q);
	image_put(p + 0x540, VIRTQ_SIZE_MAX + 1, 4);
	assert_int_equal(0, queues_read(&g, &t, &q, &nr));
	assert_int_equal(1, nr);
	assert_int_equal(1, g.torn);
	image_put(p + 0x450, 0, 8);
	assert_int_equal(0, queues_read(&g, &t, &q, &nr));
	assert_false(q[0].rings);
	image_put(p + 0x500, IMAGE_TEXT + IMAGE_VIRTIO + 0x400, 8);
	assert_int_equal(-EAGAIN, queues_read(&g, &t, &q, &nr));
	image_put(p + 0x788, 40, 4);
	assert_int_equal(-EBADMSG, queues_read(&g, &t, &q, &nr));
	image_put(p + 0x758, 'x', 1);
	assert_int_equal(-ENOENT, queues_read(&g, &t, &q, &nr));
	assert_non_null(strstr(error_text(), "no BTF of the module virtio_ring"));
	image_put(p + 0x680, 'x', 1);
	image_put(p + 0x758, 'v', 1);
	image_put(p + 0x788, IMAGE_MODULE_BTF_BYTES, 4);
	assert_int_equal(-ENOENT, queues_read(&g, &t, &q, &nr));
	assert_non_null(strstr(error_text(), "no virtio bus"));
	free(q);
	btf_types_deinit(&t);
	kallsyms_deinit(&g.symbols);
}

/* The slots of two CPUs; more CPUs than there can be; types and variables that are missing. */
static void current_tasks(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_current c;
	struct btf_types t;
	struct linux_guest g;

	(void)state;
	assert_int_equal(0, find(image, &g));
	assert_int_equal(0, linux_types_read(&g, &t));
	assert_int_equal(2, btf_variable_size(&t, "x86_cpu_to_apicid"));
	assert_int_equal(-ENOENT, btf_variable_size(&t, "x86_cpu"));
	assert_int_equal(0, linux_current_find(&g, &t, &c));
	assert_int_equal(2, c.nr);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(2 * i, c.cpu[i].cpu);
		assert_int_equal(3 * (i + 1), c.cpu[i].apic_id);
		assert_int_equal(IMAGE_BASE + IMAGE_CPUS + 0x308 + 0x200 * i, c.cpu[i].slot);
	}
	assert_int_equal(0xffff888000000000, c.direct);
	assert_int_equal(0, c.tid_at);
	assert_int_equal(8, c.comm_at);
	assert_int_equal(88, c.cpu_at);
	linux_current_deinit(&c);
	image_put(image + IMAGE_CPUS, UINT32_MAX, 4);
	assert_int_equal(0, linux_current_find(&g, &t, &c));
	assert_in_range(c.nr, 2, LINUX_CPUS_MAX);
	linux_current_deinit(&c);
	image_put(image + IMAGE_CPUS + 0x308, 0, 8);
	image_put(image + IMAGE_CPUS + 0x508, 0, 8);
	image_put(image + IMAGE_CPUS, 3, 4);
	assert_int_equal(-ENOENT, linux_current_find(&g, &t, &c));
	linux_current_deinit(&c);
	btf_types_deinit(&t);
	kallsyms_deinit(&g.symbols);
}

/* A text, an empty one; a block that another record has overwritten; counts that are too large. */
static void kernel_log(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_log log;
	struct btf_types t;
	struct linux_guest g;

	(void)state;
	assert_int_equal(0, find(image, &g));
	assert_int_equal(0, linux_types_read(&g, &t));
	assert_int_equal(0, linux_log_read(&g, &t, &log));
	assert_int_equal(2, log.nr);
	assert_string_equal("made up", log.text + log.record[0].text);
	assert_int_equal(1000002000, log.record[0].time_ns);
	assert_int_equal(6, log.record[0].level);
	assert_string_equal("", log.text + log.record[1].text);
	linux_log_deinit(&log);
	image[IMAGE_LOG + 0x510] = 2; /* the id in the block */
	assert_int_equal(0, linux_log_read(&g, &t, &log));
	assert_int_equal(1, log.nr);
	assert_int_equal(1, g.torn);
	linux_log_deinit(&log);
	image[IMAGE_LOG + 0x28] = 2; /* head */
	assert_int_equal(-EFAULT, linux_log_read(&g, &t, &log));
	linux_log_deinit(&log);
	image[IMAGE_LOG + 0x10] = LINUX_LOG_RECORDS_BITS + 1;
	assert_int_equal(-EFAULT, linux_log_read(&g, &t, &log));
	linux_log_deinit(&log);
	btf_types_deinit(&t);
	kallsyms_deinit(&g.symbols);
}

static void interrupts_find(const uint8_t *image, struct linux_guest *g, struct linux_interrupts *i)
{
	struct btf_types t;

	assert_int_equal(0, find(image, g));
	assert_int_equal(0, linux_types_read(g, &t));
	assert_int_equal(0, linux_interrupts_read(g, &t, i));
	btf_types_deinit(&t);
	kallsyms_deinit(&g->symbols);
}

/* By a radix tree, by a maple tree; the architecture's by the BTF, by the kernel's own table. */
static void interrupts(void **state)
{
	(void)state;
	for (enum image_layout l = 0; l < IMAGE_LAYOUTS; l++) {
		_cleanup_free_ uint8_t *image = image_make(l);
		bool table = l >= IMAGE_7_0;
		struct linux_interrupts i;
		struct linux_guest g;

		interrupts_find(image, &g, &i);
		assert_int_equal(0, g.torn);
		assert_int_equal(2, i.cpus.nr);
		assert_int_equal(2, i.cpus.cpu[1]);
		assert_int_equal(4, i.nr);
		assert_string_equal("5", i.row[0].label);
		assert_string_equal("chip", i.row[0].chip);
		assert_string_equal("edge", i.row[0].flow);
		assert_string_equal("", i.row[0].actions);
		assert_true(i.row[0].has_hwirq);
		assert_int_equal(77, i.row[0].hwirq);
		assert_int_equal(10, i.count[i.row[0].count]);
		assert_int_equal(20, i.count[i.row[0].count + 1]);
		assert_int_equal(24, i.row[1].irq);
		assert_string_equal("None", i.row[1].chip);
		assert_string_equal("first, second", i.row[1].actions);
		assert_int_equal(0, i.count[i.row[1].count + 1]);
		assert_string_equal(table ? "ONE" : "NMI", i.row[2].label);
		assert_string_equal(table ? "counted" : "Non-maskable interrupts", i.row[2].text);
		assert_int_equal(2, i.count[i.row[2].count + 1]);
		assert_string_equal(table ? "TWO" : "LOC", i.row[3].label);
		assert_int_equal(100, i.count[i.row[3].count]);
		linux_interrupts_deinit(&i);
	}
}

/* Actions in a circle, a hidden interrupt, trees that lead to themselves or elsewhere. */
static void interrupts_hostile(void **state)
{
	uint64_t base = IMAGE_TEXT + IMAGE_IRQS;
	struct linux_interrupts i;
	struct linux_guest g;

	(void)state;
	for (enum image_layout l = IMAGE_6_4; l <= IMAGE_6_15; l++) {
		_cleanup_free_ uint8_t *image = image_make(l);
		uint8_t *irqs = image + IMAGE_IRQS;

		image_put(irqs + 0xf50, base + 0xf40, 8);
		image_put(irqs + 0xd38, 1 << 20, 4);
		interrupts_find(image, &g, &i);
		assert_int_equal(3, i.nr);
		assert_int_equal(24, i.row[0].irq);
		assert_in_range(strlen(i.row[0].actions), 100, sizeof(i.row[0].actions) - 1);
		linux_interrupts_deinit(&i);

		/* the first node has itself in another slot; its second one is nowhere */
		image_put(irqs + 0x410, base + 0x400 + 2, 8);
		image_put(irqs + 0x700 + 80, base + 0x700 + (3 << 3), 8);
		interrupts_find(image, &g, &i);
		assert_in_range(g.torn, 1, LINUX_IRQ_NODES_MAX);
		linux_interrupts_deinit(&i);

		image_put(irqs + 0xe00, 23, 4); /* not its number */
		image_put(image_put(irqs, 0, 8), base + 0x900 + (1 << 3) + 2, 8);
		interrupts_find(image, &g, &i);
		assert_int_equal(l == IMAGE_6_15, g.torn);
		assert_int_equal(2, i.nr);
		linux_interrupts_deinit(&i);
	}
}

static uint8_t *link_at(uint8_t *image, unsigned int i)
{
	return image + IMAGE_DATA + 0x100 + (size_t)i * 16;
}

static uint64_t link_address(unsigned int i)
{
	return IMAGE_TEXT + IMAGE_DATA + 0x100 + (uint64_t)i * 16;
}

/* A list of nr entries and its head. */
static void list_make(uint8_t *image, unsigned int nr)
{
	for (unsigned int i = 0; i <= nr; i++) {
		image_put(link_at(image, i), link_address(i == nr ? 0 : i + 1), 8);
		image_put(link_at(image, i) + 8, link_address(i ? i - 1 : nr), 8);
	}
}

/* Lists: one that ends, too many entries, a loop without the head, a pointer out of RAM. */
static void lists(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_4);
	uint64_t *list, head = link_address(0);
	struct linux_guest g;
	size_t nr = 0;

	(void)state;
	assert_int_equal(0, find(image, &g));
	list_make(image, 10);
	assert_int_equal(0, linux_list_read(&g, head, 10, &list, &nr));
	assert_int_equal(10, nr);
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(link_address(i + 1), list[i]);
	free(list);
	assert_int_equal(0, g.torn);
	assert_int_equal(-EAGAIN, linux_list_read(&g, head, 9, &list, &nr));
	free(list);
	image_put(link_at(image, 7), link_address(3), 8); /* next: back to the third */
	assert_int_equal(-EAGAIN, linux_list_read(&g, head, 10, &list, &nr));
	assert_int_equal(7, nr);
	assert_int_equal(2 * (LINUX_RETRIES - 1), g.torn);
	free(list);
	image_put(link_at(image, 7), IMAGE_TEXT + (64 << 20), 8);
	assert_int_equal(-EAGAIN, linux_list_read(&g, head, 10, &list, &nr));
	free(list);
	kallsyms_deinit(&g.symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts),
		cmocka_unit_test(ways),
		cmocka_unit_test(hole),
		cmocka_unit_test(rejected),
		cmocka_unit_test(types),
		cmocka_unit_test(modules),
		cmocka_unit_test(tasks),
		cmocka_unit_test(stacks),
		cmocka_unit_test(virtqueues),
		cmocka_unit_test(current_tasks),
		cmocka_unit_test(kernel_log),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(interrupts_hostile),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
