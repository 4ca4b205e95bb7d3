// SPDX-License-Identifier: GPL-2.0-or-later
/* The clock of a Linux guest, in RAM that is made up or hostile (linux_image.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "linux_image.h"

#include <cmocka.h>

static void clock_find(const uint8_t *image, struct linux_guest *g, struct linux_timekeeper *t)
{
	static struct memory_range range;
	struct btf_types types;

	*g = image_guest(image, &range);
	g->ram.memory = &g->memory;
	assert_int_equal(0, linux_guest_find(g, 0));
	assert_int_equal(0, linux_types_read(g, &types));
	assert_int_equal(0, linux_timekeeper_find(g, &types, t));
	btf_types_deinit(&types);
}

/* By either name of the variable. Cycles before the update are those of another CPU. */
static void timekeeper(void **state)
{
	(void)state;
	for (enum image_layout l = 0; l < IMAGE_LAYOUTS; l++) {
		_cleanup_free_ uint8_t *image = image_make(l);
		struct linux_timekeeper t;
		struct linux_pvclock pv;
		struct linux_clock c;
		struct linux_guest g;

		clock_find(image, &g, &t);
		assert_int_equal(0, linux_clock_read(&t, &c));
		assert_string_equal("made-up", c.source);
		assert_int_equal(5000000700, c.real_ns);
		assert_int_equal(2000, c.tick_ns);
		assert_int_equal(4, c.seq);
		assert_int_equal(5000000700 + 500, linux_clock_real(&c, 2000));
		assert_int_equal(5000000700, linux_clock_real(&c, 999));
		c = (struct linux_clock){.mask = UINT64_MAX, .mult = 8};
		assert_int_equal(UINT64_MAX, linux_clock_real(&c, 1ull << 62));
		assert_int_equal(0, linux_pvclock_read(&g, &pv));
		assert_int_equal(200, pv.system_time);
		assert_int_equal(1, pv.shift);
		kallsyms_deinit(&g.symbols);
	}
}

/* An update that never ends, a shift beyond 64 bits, a clock source that is nowhere. */
static void timekeeper_hostile(void **state)
{
	_cleanup_free_ uint8_t *image = image_make(IMAGE_6_15);
	struct linux_timekeeper t;
	struct linux_pvclock pv;
	struct linux_clock c;
	struct linux_guest g;

	(void)state;
	clock_find(image, &g, &t);
	image[IMAGE_CLOCK]++;
	assert_int_equal(-EFAULT, linux_clock_read(&t, &c));
	assert_int_equal(LINUX_RETRIES - 1, g.torn);
	image[IMAGE_CLOCK]++;
	image[IMAGE_CLOCK + 8 + 28] = 64;
	assert_int_equal(-EFAULT, linux_clock_read(&t, &c));
	image[IMAGE_CLOCK + 8 + 28] = 4;
	assert_int_equal(0, linux_clock_read(&t, &c));
	memset(image + IMAGE_CLOCK + 8, 0, 8);
	assert_int_equal(-EFAULT, linux_clock_read(&t, &c));
	image[IMAGE_CLOCK + 0x200]++;
	assert_int_equal(-ENOENT, linux_pvclock_read(&g, &pv));
	kallsyms_deinit(&g.symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timekeeper),
		cmocka_unit_test(timekeeper_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
