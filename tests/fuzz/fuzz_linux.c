// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The untrusted input of `guest symbols`: the RAM of a guest. It is that of tests/unit/linux_image.h, with changes: the
 * first byte is the layout, then each 6 bytes are a place (4) and what is written there (2).
 */
#include "../unit/linux_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void list_begin(void *arg)
{
	*(unsigned int *)arg = 0;
}

static int list_one(void *arg, uint64_t entry)
{
	(void)entry;
	if (++*(unsigned int *)arg > 100)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *images[IMAGE_LAYOUTS];
	unsigned int layout = size ? data[0] % IMAGE_LAYOUTS : 0, nr = 0;
	struct memory_range range;
	struct linux_guest g;
	uint8_t *image;
	struct linux_list list = {.max = 100, .begin = list_begin, .fn = list_one, .arg = &nr};

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
		     : at % 4 == 2 ? at / 4 % 0x2000 + IMAGE_BTF /* and the module */
				   : at / 4 % 65536 + IMAGE_TABLES;
		memcpy(image + at, data + i + 4, 2);
	}
	g = image_guest(image, &range);
	g.ram.memory = &g.memory;
	if (!linux_guest_find(&g, 0)) {
		list.head = linux_symbol(&g, "_text");
		linux_list_each(&g, &list);
		linux_modules_add(&g);
	}
	kallsyms_deinit(&g.symbols);
	free(image);
	return 0;
}
