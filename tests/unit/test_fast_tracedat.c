// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast path over a trace.dat against its batches: random recordings of two VMs, written by tests/gen/tracedat, and
 * those of the cases. The reports must be identical, or the fast path must have declined.
 */
#include "both_paths.h"

#include <glob.h>
#include <libgen.h>

enum { EVENTS_MAX = 20000, THREADS = 4, CPUS = 3 };

/* What a recording is like. */
struct flavour {
	unsigned int events;
	unsigned int odd;	/* of 1000 events, those in an invalid order */
	unsigned int moves;	/* of 1000 events: the thread goes to another CPU */
	unsigned int others;	/* of 1000 events between an exit and its entry */
	unsigned int lost;	/* of 1000 events: pages before them are flagged as lost */
	unsigned int tie;	/* of 1000 events: at the time of the previous one */
	bool ticks, named, swaps; /* in TSC ticks; option GUEST; a thread runs another vCPU at the end */
	bool left, unplaced;	/* events stayed in the buffer; are missing without a place */
	const char *write;	/* how: options of tracedat */
};

struct event_made {
	uint64_t time;
	unsigned int cpu, thread, what, nr;
};

static struct event_made made[EVENTS_MAX];
static unsigned int nr_made;

static void made_add(const struct flavour *f, uint64_t *time, unsigned int *cpu, unsigned int what,
		     unsigned int thread)
{
	*time += chance(f->tie) ? 0 : 1 + dice(&seed) % (f->tie ? 40 : 3000);
	if (chance(f->moves))
		*cpu = dice(&seed) % CPUS;
	if (nr_made < EVENTS_MAX)
		made[nr_made] = (struct event_made){*time, *cpu, thread, what, nr_made};
	nr_made += nr_made < EVENTS_MAX;
}

/* Each thread's own life: exits, sometimes answered in userspace, and entries; and what is odd. */
static void lives_make(const struct flavour *f)
{
	nr_made = 0;
	for (unsigned int t = 0; t < THREADS; t++) {
		uint64_t time = 1000000 + dice(&seed) % 5000;
		unsigned int cpu = t % CPUS;

		for (unsigned int i = 0; i < f->events / THREADS / 2; i++) {
			made_add(f, &time, &cpu, chance(f->odd) ? dice(&seed) % 7 : 0, t);
			if (chance(f->others)) {
				made_add(f, &time, &cpu, 2 + dice(&seed) % 5, t);
				made_add(f, &time, &cpu, 2, t);
				made_add(f, &time, &cpu, 6, THREADS);
			}
			made_add(f, &time, &cpu, chance(f->odd) ? dice(&seed) % 7 : 1, t);
		}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event_made *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static void head_write(FILE *out, const struct flavour *f)
{
	fprintf(out, "clock %s\npage %u\n", f->ticks ? "x86-tsc" : "mono",
		1u << (9 + dice(&seed) % 4));
	if (f->ticks)
		fprintf(out, "tsc2nsec 1610612736 32 12345\n");
	fprintf(out, "comm 77 fio\n"
		"format kvm kvm_exit u32:exit_reason u64:guest_rip u32:isa u64:info1 u64:info2 "
		"u32:vcpu_id\n"
		"format kvm kvm_entry u32:vcpu_id u64:rip\n"
		"format kvm kvm_userspace_exit u32:reason s32:errno\n"
		"format kvm kvm_pio u32:rw u32:port u32:size u32:count u32:val\n"
		"format kvm kvm_mmio u32:type u32:len u64:gpa u64:val\n"
		"format kvm kvm_halt_poll_ns u8:grow u32:vcpu_id u32:new u32:old\n"
		"format kvm kvm_fpu u32:load\n");
	if (f->named)
		fprintf(out, "guest one 11 0:200 1:201\nguest two 12 0:202 1:203\n");
}

static void event_write(FILE *out, const struct flavour *f, const struct event_made *e, bool late)
{
	unsigned int vcpu = e->thread % 2 ^ (f->swaps && late), r = dice(&seed) % 5;

	fprintf(out, "%ju %u %u ", (uintmax_t)e->time, e->cpu, 200 + e->thread);
	switch (e->what) {
	case 0:
		fprintf(out, "kvm_exit %u %u 1 %u 0 %u\n", r, 4096 * r, r, vcpu);
		break;
	case 1:
		fprintf(out, "kvm_entry %u 0\n", vcpu);
		break;
	case 2:
		fprintf(out, "kvm_userspace_exit %u 0\n", r);
		break;
	case 3:
		fprintf(out, "kvm_pio %u %u %u %u 0\n", r % 2, 1016 + r, 1 << r % 3, 1 + r);
		break;
	case 4:
		fprintf(out, "kvm_mmio %u 4 %u 0\n", r % 3, 0xfee00000 + 16 * r);
		break;
	case 5:
		fprintf(out, "kvm_halt_poll_ns 1 %u %u 0\n", vcpu, 1000 * r);
		break;
	default:
		fprintf(out, "kvm_fpu 1\n");
	}
}

static void script_write(const char *path, const struct flavour *f)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	lives_make(f);
	qsort(made, nr_made, sizeof(*made), by_time);
	head_write(out, f);
	for (unsigned int i = 0; i < nr_made; i++) {
		if (chance(f->lost))
			fprintf(out, "lost %u %u\n", made[i].cpu, dice(&seed) % 4);
		event_write(out, f, &made[i], i > nr_made / 2);
	}
	if (f->left)
		fprintf(out, "stat 0 %u 0 0\n", nr_made + 5);
	if (f->unplaced)
		fprintf(out, "stat 1 0 0 %u\n", nr_made);
	fclose(out);
}

static void recording_make(const char *path, const struct flavour *f)
{
	char script[128], self[512] = {0}, cmd[1024];

	snprintf(script, sizeof(script), "%s/script", scratch);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	script_write(script, f);
	snprintf(cmd, sizeof(cmd), "%s/../gen/tracedat %s %s %s", dirname(self), f->write, script,
		 path);
	assert_int_equal(system(cmd), 0);
}

static void same(const struct flavour *flavours, unsigned int nr, unsigned int least_percent)
{
	unsigned int fast = 0, of = 0;

	for (unsigned int i = 0; i < nr; i++)
		fast += compare_random(in_scratch("trace.dat"), &flavours[i], 1000 * i, 4, &of);
	assert_fast(fast, of, least_percent);
}

static void clean_recordings(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 9000, .others = 4, .write = "-7"},
		{.events = 4000, .others = 100, .odd = 20, .write = "-6"},
		{.events = 5000, .others = 50, .moves = 10, .write = "-7 -z zlib"},
		{.events = 9000, .moves = 30, .odd = 300, .others = 30, .write = "-7 -z zstd"},
		{.events = 4000, .moves = 200, .named = true, .others = 200, .write = "-7"},
		{.events = 4000, .moves = 5, .ticks = true, .others = 20, .write = "-6"},
	};

	(void)state;
	same(flavours, sizeof(flavours) / sizeof(*flavours), 80);
}

static void lossy_recordings(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 5000, .lost = 3, .others = 30, .write = "-7"},
		{.events = 5000, .lost = 20, .moves = 10, .odd = 20, .write = "-6"},
		{.events = 5000, .lost = 3, .moves = 5, .left = true, .write = "-7 -z zstd"},
		{.events = 5000, .lost = 3, .ticks = true, .left = true, .write = "-7 -z zlib"},
	};

	(void)state;
	same(flavours, sizeof(flavours) / sizeof(*flavours), 60);
}

/* Here the fast path may decline, but must not be wrong. */
static void troubled_recordings(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 4000, .tie = 300, .odd = 20, .others = 10, .write = "-7"},
		{.events = 4000, .tie = 300, .moves = 50, .lost = 10, .write = "-7"},
		{.events = 4000, .tie = 50, .lost = 20, .left = true, .write = "-6"},
		{.events = 4000, .swaps = true, .others = 20, .write = "-7"},
		{.events = 4000, .unplaced = true, .moves = 50, .odd = 20, .write = "-7"},
		{.events = 4000, .unplaced = true, .lost = 2, .left = true, .others = 30,
		 .moves = 5, .write = "-6"},
	};

	(void)state;
	same(flavours, sizeof(flavours) / sizeof(*flavours), 5);
}

/* A byte changed anywhere, and a file cut anywhere. */
static void damaged_recordings(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 3000, .others = 60, .moves = 20, .write = "-7 -z zstd"},
		{.events = 3000, .others = 60, .moves = 20, .write = "-6"},
	};
	const char *whole = in_scratch("whole.dat"), *path = in_scratch("trace.dat");
	struct pairing_options opt = {.jobs = 2, .segment_bytes = 20000};
	unsigned int fast = 0, of = 0;

	(void)state;
	for (unsigned int k = 0; k < 2; k++) {
		seed = 7;
		recording_make(whole, &flavours[k]);
		struct bytes b = file_read(whole);

		for (unsigned int i = 0; i < 12; i++) {
			size_t at = b.len / 4 + dice(&seed) % (b.len - b.len / 4);
			uint8_t was = b.data[at];
			struct reader *r;

			b.data[at] ^= (uint8_t)(1 + dice(&seed) % 255);
			file_write(path, b.data, i % 3 ? b.len : at);
			b.data[at] = was;
			if (reader_open(path, NULL, &r))
				continue;
			reader_close(r);
			fast += compare(path, &opt, &of);
		}
		free(b.data);
	}
	print_message("%u of %u on the fast path\n", fast, of);
	assert_true(fast > 0 && fast < of);
}

static void recordings_of_cases(void **state)
{
	struct pairing_options opt = {.jobs = 2, .segment_bytes = 50000};
	unsigned int fast = 0, of = 0;
	glob_t found;

	(void)state;
	seed = 1;
	assert_int_equal(glob("tests/cases/*/*.dat", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		fast += compare(found.gl_pathv[i], &opt, &of);
	globfree(&found);
	print_message("%u of %u on the fast path\n", fast, of);
	assert_true(fast > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_recordings),   cmocka_unit_test(lossy_recordings),
		cmocka_unit_test(troubled_recordings), cmocka_unit_test(damaged_recordings),
		cmocka_unit_test(recordings_of_cases),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
