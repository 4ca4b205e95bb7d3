// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The untrusted input of `guest symbols`: the RAM of a guest. It is that of tests/unit/linux_image.h, with changes: the
 * first byte is the layout, then each 6 bytes are a place (4) and what is written there (2).
 */
#include "../unit/linux_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stacks_walk(struct linux_guest *g, const struct btf_types *types,
			const struct linux_task *task, size_t nr)
{
	struct linux_unwinder *u = NULL;
	struct linux_stack stack;
	char text[64];

	if (!linux_unwinder_open(g, types, &u))
		for (size_t i = 0; i < nr; i++) {
			linux_stack_read(u, task[i].address, &stack);
			for (unsigned int n = 0; n < stack.nr; n++)
				linux_frame_print(u, stack.frame[n], text, sizeof(text));
		}
	linux_unwinder_close(u);
}

static void lists_walk(struct linux_guest *g)
{
	struct linux_task *task = NULL;
	struct linux_module *module = NULL;
	struct linux_log log = {0};
	struct linux_current current = {0};
	struct linux_interrupts interrupts = {0};
	struct linux_virtqueue *queue = NULL;
	struct btf_types types;
	size_t nr = 0, nr_modules = 0, nr_queues = 0;

	if (!linux_types_read(g, &types)) {
		linux_tasks_read(g, &types, &task, &nr);
		linux_modules_read(g, &types, &module, &nr_modules);
		linux_log_read(g, &types, &log);
		linux_current_find(g, &types, &current);
		linux_interrupts_read(g, &types, &interrupts);
		linux_virtqueues_read(g, &types, &queue, &nr_queues);
		linux_modules_symbols(g, &types);
		stacks_walk(g, &types, task, nr);
	}
	btf_types_deinit(&types);
	free(task);
	free(module);
	free(queue);
	linux_log_deinit(&log);
	linux_current_deinit(&current);
	linux_interrupts_deinit(&interrupts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *images[IMAGE_LAYOUTS];
	unsigned int layout = size ? data[0] % IMAGE_LAYOUTS : 0;
	struct memory_range range;
	struct linux_guest g;
	uint8_t *image;
	uint64_t *list = NULL;
	size_t nr;

	if (!images[layout])
		images[layout] = image_make(layout);
	image = malloc(IMAGE_BYTES);
	if (!image)
		abort();
	memcpy(image, images[layout], IMAGE_BYTES);
	for (size_t i = 1; i + 6 <= size; i += 6) {
		uint32_t at;

		memcpy(&at, data + i, 4);
		at = at % 4 == 3   ? at / 4 % (IMAGE_BYTES - 2)
		     : at % 4 == 2 ? at / 4 % 0xb000 + IMAGE_BTF /* and what it describes */
				   : at / 4 % 65536 + IMAGE_TABLES;
		memcpy(image + at, data + i + 4, 2);
	}
	g = image_guest(image, &range);
	g.ram.memory = &g.memory;
	if (!linux_guest_find(&g, 0)) {
		linux_list_read(&g, linux_symbol(&g, "modules"), 100, &list, &nr);
		if (nr > 100)
			abort();
		free(list);
		lists_walk(&g);
	}
	kallsyms_deinit(&g.symbols);
	free(image);
	return 0;
}
