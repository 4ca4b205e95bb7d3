// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live allocations, as printed by `osv leak show`: memory::tracker has an array of what
 * was allocated while tracking was on (--leak, `osv leak on`), each with the calls that led there,
 * innermost first. Those of one chain of calls are one record.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "fetch/osv_guest.h"

enum { BACKTRACE_MAX = OSV_FRAMES_MAX, ELEMENT_MAX = 4096, ELEMENTS_AT_ONCE = 256 };

struct places {
	uint64_t tracker, enabled;
	uint32_t allocations, size_allocations, size_size, seq, seq_size; /* of the tracker */
	uint32_t birth, size, address, nr_frames, frames, frames_size;	  /* of an element */
	uint64_t element;						  /* its size */
	struct osv_modules_layout modules;
};

struct allocation {
	uint64_t birth, size;
	unsigned int nr_frames;
	uint64_t frame[BACKTRACE_MAX];
};

struct walk {
	struct osv_guest g;
	struct places at;
	struct osv_leaks *ret;
	struct allocation *alive;
	size_t nr;
};

/* The tracker is an option of OSv's build. */
static int tracker_symbol(const struct layout *l, const char *name, uint64_t *ret)
{
	uint64_t cpus;
	int err = layout_symbol(l, name, ret);

	if (err && !layout_symbol(l, "_ZN5sched4cpusE", &cpus))
		err = fail(err, "this OSv was built without the tracker of allocations, which "
				"'guest leaks' reads");
	return err;
}

static int places_find(void *walk)
{
	struct walk *w = walk;
	struct layout *l = w->g.layout;
	struct places *at = &w->at;
	static const char info[] = "memory::alloc_tracker::alloc_info";
	const struct layout_member members[] = {
		{"memory::alloc_tracker", "allocations", &at->allocations, NULL},
		{"memory::alloc_tracker", "size_allocations", &at->size_allocations,
		 &at->size_size},
		{"memory::alloc_tracker", "current_seq", &at->seq, &at->seq_size},
		{info, "seq", &at->birth, NULL},
		{info, "size", &at->size, NULL},
		{info, "addr", &at->address, NULL},
		{info, "nbacktrace", &at->nr_frames, NULL},
		{info, "backtrace", &at->frames, &at->frames_size},
	};
	int err = tracker_symbol(l, "_ZN6memory7trackerE", &at->tracker);

	if (!err)
		err = tracker_symbol(l, "_ZN6memory15tracker_enabledE", &at->enabled);
	if (!err)
		err = layout_members(l, members, sizeof(members) / sizeof(*members));
	if (err)
		return err;
	at->element = layout_size(l, info);
	if (!at->element || at->element > ELEMENT_MAX ||
	    (uint64_t)at->frames + at->frames_size > at->element || at->birth + 4u > at->element ||
	    at->size + 4u > at->element || at->address + 8u > at->element ||
	    at->nr_frames + 4u > at->element)
		return fail(-EBADMSG, "unsupported layout of %s", info);
	osv_modules_find(l, &at->modules);
	return 0;
}

/* ---- reading ---- */

static int alive_add(struct walk *w, const uint8_t *element)
{
	const struct places *at = &w->at;
	uint64_t address, max = at->frames_size / 8;
	struct allocation *a;
	uint32_t birth, size, nr;

	memcpy(&address, element + at->address, 8);
	if (!address) /* a free slot */
		return 0;
	if (array_room(w->alive, w->nr))
		return -ENOMEM;
	memcpy(&birth, element + at->birth, 4);
	memcpy(&size, element + at->size, 4);
	memcpy(&nr, element + at->nr_frames, 4);
	max = max < BACKTRACE_MAX ? max : BACKTRACE_MAX;
	a = &w->alive[w->nr++];
	*a = (struct allocation){
		.birth = birth, .size = size, .nr_frames = nr < max ? nr : (unsigned int)max};
	memcpy(a->frame, element + at->frames, 8ul * a->nr_frames);
	return 0;
}

/* Up to the first one that cannot be read. */
static int elements_read(struct walk *w, uint64_t from, uint64_t nr)
{
	uint8_t *mem = malloc(w->at.element * ELEMENTS_AT_ONCE);
	int err = mem ? 0 : fail(-ENOMEM, "out of memory");
	uint64_t i = 0, most = ELEMENTS_AT_ONCE;

	while (i < nr && !err) {
		uint64_t part = nr - i < most ? nr - i : most;

		err = osv_guest_read(&w->g, from + i * w->at.element, mem, part * w->at.element);
		if (err == -EFAULT && most > 1) { /* once more, one by one */
			most = 1;
			err = 0;
			continue;
		}
		for (uint64_t j = 0; j < part && !err; j++)
			err = alive_add(w, mem + j * w->at.element);
		if (!err)
			i += part;
	}
	free(mem);
	if (err != -EFAULT)
		return err;
	snprintf(w->g.lost.end, sizeof(w->g.lost.end),
		 "the array of allocations breaks off after %" PRIu64 " of %" PRIu64
		 " elements: %s",
		 i, nr, error_text());
	return 0;
}

static int tracker_read(void *walk)
{
	struct walk *w = walk;
	struct osv_leaks *ret = w->ret;
	uint64_t from, nr = 0, tracker = w->at.tracker;
	uint8_t enabled;
	int err = osv_guest_u64(&w->g, tracker + w->at.allocations, &from);

	if (!err)
		err = osv_guest_read(&w->g, tracker + w->at.size_allocations, &nr,
				     w->at.size_size < 8 ? w->at.size_size : 8);
	if (!err)
		err = osv_guest_read(&w->g, tracker + w->at.seq, &ret->seq,
				     w->at.seq_size < 8 ? w->at.seq_size : 8);
	if (!err)
		err = osv_guest_read(&w->g, w->at.enabled, &enabled, 1);
	if (err)
		return err;
	ret->enabled = enabled;
	if (nr > OSV_ALLOCATIONS_MAX)
		return fail(-EBADMSG,
			    "the guest reports %llu allocations; at most %d are supported",
			    (unsigned long long)nr, OSV_ALLOCATIONS_MAX);
	err = osv_modules_read(&w->g, &w->at.modules, &ret->modules);
	return err ? err : elements_read(w, from, nr);
}

/* ---- one record for each chain of calls ---- */

/* By the addresses from the outermost frame on, as OSv's own command sorts. */
static int chains_compare(const uint64_t *x, unsigned int nr_x, const uint64_t *y,
			  unsigned int nr_y)
{
	while (nr_x && nr_y)
		if (x[--nr_x] != y[--nr_y])
			return x[nr_x] < y[nr_y] ? -1 : 1;
	return nr_x ? 1 : -(nr_y > 0);
}

static int by_chain(const void *a, const void *b)
{
	const struct allocation *x = a, *y = b;

	return chains_compare(x->frame, x->nr_frames, y->frame, y->nr_frames);
}

static int by_bytes(const void *a, const void *b)
{
	const struct osv_leak *x = a, *y = b;

	return order_u64(y->bytes, x->bytes)
		       ?: chains_compare(x->frame, x->nr_frames, y->frame, y->nr_frames);
}

static void leak_add(struct osv_leak *l, const struct allocation *a)
{
	if (!l->count) {
		l->size_min = a->size;
		l->birth_min = a->birth;
		l->nr_frames = a->nr_frames;
		memcpy(l->frame, a->frame, sizeof(l->frame));
	}
	l->count++;
	l->bytes += a->size;
	l->birth_sum += a->birth;
	l->size_min = a->size < l->size_min ? a->size : l->size_min;
	l->size_max = a->size > l->size_max ? a->size : l->size_max;
	l->birth_min = a->birth < l->birth_min ? a->birth : l->birth_min;
	l->birth_max = a->birth > l->birth_max ? a->birth : l->birth_max;
}

static int chains_merge(struct walk *w, struct osv_leaks *ret)
{
	ret->leak = calloc(w->nr + 1, sizeof(*ret->leak));
	if (!ret->leak)
		return fail(-ENOMEM, "out of memory");
	if (w->nr)
		qsort(w->alive, w->nr, sizeof(*w->alive), by_chain);
	for (size_t i = 0; i < w->nr; i++) {
		if (i && by_chain(&w->alive[i - 1], &w->alive[i]))
			ret->nr++;
		leak_add(&ret->leak[ret->nr], &w->alive[i]);
	}
	ret->nr += w->nr > 0;
	ret->allocations = w->nr;
	qsort(ret->leak, ret->nr, sizeof(*ret->leak), by_bytes);
	return 0;
}

int osv_leaks(const struct osv_guest_options *opt, struct osv_leaks *ret,
	      struct osv_pause *ret_pause)
{
	struct walk w = {.ret = ret};
	int err;

	*ret = (struct osv_leaks){0};
	err = osv_guest_visit(opt, &w.g, places_find, tracker_read, &w, ret_pause);
	osv_guest_close(&w.g);
	if (!err && chains_merge(&w, ret))
		err = osv_pause_fail(ret_pause, -ENOMEM);
	free(w.alive);
	return err;
}

int osv_leaks_switch(const struct osv_guest_options *opt, bool on, struct osv_pause *ret_pause)
{
	struct osv_guest g;
	uint8_t value = on;
	uint64_t address;
	int err = osv_guest_open(opt, &g);

	if (!err && opt->vm.pid)
		err = fail(-EOPNOTSUPP, "cannot write to the memory of a running guest; use its "
					"gdb stub (--remote)");
	if (!err && opt->dump)
		err = fail(-EOPNOTSUPP, "cannot write to a dump");
	if (!err)
		err = tracker_symbol(g.layout, "_ZN6memory15tracker_enabledE", &address);
	if (!err)
		err = osv_guest_stop(opt, &g);
	if (!err)
		err = gdb_write(g.gdb, address, &value, 1);
	err = osv_guest_resume(opt, &g, err, ret_pause);
	osv_guest_close(&g);
	return err;
}
