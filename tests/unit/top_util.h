/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of `hostrace top` share: a VM whose counters they set, without a kernel and a
 * terminal. */
#ifndef TOP_UTIL_H
#define TOP_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "views/top/frame.h"

#include <cmocka.h>

enum { CELLS = 12, VCPUS = 2, S = 1000000000, PID = 4711, HLT = 12, IO = 30 };

/* What the kernel has counted of a VM with two vCPUs. */
struct vm_memory {
	struct {
		struct stat_vcpu v;
		struct stat_cell cell[CELLS];
	} vcpu[VCPUS];
};

struct fixture {
	struct top_model model;
	struct top_view view;
	struct top_frame frame;
	struct vm_memory *memory;
	const char *name;
	uint64_t now_ns;
};

static const char *reason_name(uint32_t reason)
{
	return reason == HLT ? "HLT" : reason == IO ? "IO" : NULL;
}

static const struct stat_vcpu *vcpu_at(void *arg, unsigned int index)
{
	return &((struct vm_memory *)arg)->vcpu[index].v;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->memory = calloc(1, sizeof(*f->memory));
	f->name = "web1";
	f->now_ns = 100ull * S;
	assert_int_equal(top_model_open(&f->model, reason_name, true), 0);
	f->model.has_causes = f->model.times_ports = true;
	top_view_init(&f->view);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	top_model_close(&f->model);
	top_view_close(&f->view);
	top_frame_free(&f->frame);
	free(f->memory);
	free(f);
	return 0;
}

/* As bpf/stat.bpf.c does; below 256 ns a bucket has one value. */
static void exits(struct fixture *f, unsigned int vcpu, uint32_t reason, uint64_t count,
		  uint64_t ns)
{
	struct stat_vcpu *v = &f->memory->vcpu[vcpu].v;
	struct stat_cell *c = f->memory->vcpu[vcpu].cell;
	unsigned int i = 0;

	while (i < v->nr_cells && c[i].reason != reason)
		i++;
	if (i == v->nr_cells) {
		v->nr_cells++;
		c[i].reason = reason;
		c[i].min_ns = UINT64_MAX;
	}
	c[i].count += count;
	c[i].total_ns += count * ns;
	c[i].cause_ns[STAT_IN_KERNEL] += count * ns;
	c[i].min_ns = ns < c[i].min_ns ? ns : c[i].min_ns;
	c[i].max_ns = ns > c[i].max_ns ? ns : c[i].max_ns;
	assert_true(ns < 2 * STAT_SUB);
	c[i].bucket[ns] += count;
}

static void read_vm(struct fixture *f, int pid)
{
	const struct top_vm_reading vm = {.pid = pid,
					  .name = f->name,
					  .since_ns = 100ull * S,
					  .nr_vcpus = VCPUS,
					  .nr_cells = CELLS,
					  .vcpu = vcpu_at,
					  .arg = f->memory};

	assert_int_equal(top_model_vm(&f->model, &vm), 0);
}

/* After so many ns. */
static void interval(struct fixture *f, uint64_t ns)
{
	f->now_ns += ns;
	f->model.since_start = f->view.since_start;
	top_model_begin(&f->model, f->now_ns);
	read_vm(f, PID);
	top_model_end(&f->model);
	assert_int_equal(top_view_update(&f->view, &f->model), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
