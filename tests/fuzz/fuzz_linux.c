// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The untrusted input of `guest symbols`: the RAM of a guest. It is that of tests/unit/linux_image.h, with changes: the
 * first byte is the layout, then each 6 bytes are a place (4) and what is written there (2).
 */
#define IMAGE_SMALL
#define IMAGE_SYMBOLS 264 /* two blocks of kallsyms */
#include "../unit/linux_image.h"
#include "walk.h"

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

static void tasks_walk(struct linux_guest *g, const struct btf_types *types)
{
	struct linux_task *task = NULL;
	struct linux_log log = {0};
	size_t nr = 0;

	linux_tasks_read(g, types, &task, &nr);
	linux_log_read(g, types, &log);
	linux_modules_symbols(g, types);
	stacks_walk(g, types, task, nr);
	free(task);
	linux_log_deinit(&log);
}

static void devices_walk(struct linux_guest *g, const struct btf_types *types)
{
	struct linux_module *module = NULL;
	struct linux_current current = {0};
	struct linux_interrupts interrupts = {0};
	struct linux_virtqueue *queue = NULL;
	struct linux_timekeeper timekeeper;
	struct linux_pvclock pv;
	struct linux_clock clock;
	size_t nr_modules = 0, nr_queues = 0;

	linux_modules_read(g, types, &module, &nr_modules);
	linux_current_find(g, types, &current);
	linux_interrupts_read(g, types, &interrupts);
	if (!linux_timekeeper_find(g, types, &timekeeper) &&
	    !linux_clock_read(&timekeeper, &clock) && !linux_pvclock_read(g, &pv))
		linux_clock_real(&clock, pv.system_time);
	linux_virtqueues_read(g, types, &queue, &nr_queues);
	free(module);
	free(queue);
	linux_current_deinit(&current);
	linux_interrupts_deinit(&interrupts);
}

/* Of an input, one of both. */
static void lists_walk(struct linux_guest *g, const uint8_t *data, size_t size)
{
	struct btf_types types;

	if (!linux_types_read(g, &types)) {
		if (walk_part(data, size, 0, 2))
			devices_walk(g, &types);
		if (walk_part(data, size, 1, 2))
			tasks_walk(g, &types);
	}
	btf_types_deinit(&types);
}

enum { CHANGE_BYTES = 6 };

/* Where the i-th change is: anywhere, in the types and what they describe, or in the symbols. */
static uint32_t place_of(const uint8_t *change)
{
	uint32_t at;

	memcpy(&at, change, 4);
	return at % 4 == 3   ? at / 4 % (IMAGE_BYTES - 2)
	       : at % 4 == 2 ? at / 4 % 0x10000 + IMAGE_CLOCK
			     : at / 4 % 32768 + IMAGE_TABLES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *images[IMAGE_LAYOUTS], *changed[IMAGE_LAYOUTS];
	unsigned int layout = size ? data[0] % IMAGE_LAYOUTS : 0;
	struct memory_range range;
	struct linux_guest g;
	uint64_t *list = NULL;
	size_t nr;

	if (!images[layout]) {
		images[layout] = image_make(layout);
		changed[layout] = image_make(layout);
	}
	for (size_t i = 1; i + CHANGE_BYTES <= size; i += CHANGE_BYTES)
		memcpy(changed[layout] + place_of(data + i), data + i + 4, 2);
	g = image_guest(changed[layout], &range);
	g.ram.memory = &g.memory;
	if (!linux_guest_find(&g, 0)) {
		linux_list_read(&g, linux_symbol(&g, "modules"), 100, &list, &nr);
		if (nr > 100)
			abort();
		free(list);
		lists_walk(&g, data, size);
	}
	kallsyms_deinit(&g.symbols);
	for (size_t i = 1; i + CHANGE_BYTES <= size; i += CHANGE_BYTES)
		memcpy(changed[layout] + place_of(data + i), images[layout] + place_of(data + i),
		       2);
	return 0;
}
