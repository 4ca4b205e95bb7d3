/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the guest's ring share: a clock that can be interrupted, a ring in memory and its image. */
#ifndef RING_UTIL_H
#define RING_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A write reads the clock in its middle: tests interrupt it there. */
static uint64_t test_clock(void);
#define RING_CLOCK test_clock
#include "guestside/ring/ring.h"
#include "readers/ring/ring_image.h"

static uint64_t now;
static void (*interrupt)(void);

static uint64_t test_clock(void)
{
	void (*fn)(void) = interrupt;

	if (fn) {
		interrupt = NULL;
		fn();
	}
	return __atomic_add_fetch(&now, 1, __ATOMIC_RELAXED);
}

static struct ring ring;
static struct ring_image img;

static void ring_make(unsigned int cpus, unsigned int slots, enum ring_mode mode)
{
	size_t bytes = ring_bytes(cpus, slots, 8);
	void *mem = NULL;

	assert_int_not_equal(bytes, 0);
	assert_int_equal(posix_memalign(&mem, RING_ALIGN, bytes), 0);
	assert_int_equal(ring_init(&ring, mem, bytes, cpus, 8, mode, "test"), 0);
	assert_int_equal(ring_image_open(mem, bytes, "ring", &img), 0);
	assert_int_equal(img.slots, slots);
}

static int ring_unmake(void **state)
{
	(void)state;
	free(ring.header);
	ring.header = NULL;
	interrupt = NULL;
	return 0;
}

#endif
