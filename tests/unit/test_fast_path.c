// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast path against the slow path: many random recordings, with everything that makes pairing difficult, through
 * every analyzer and view. The reports must be identical, or the fast path must have declined.
 */
#include "both_paths.h"

#include "tracefile/format.h"
#include "tracefile/out.h"

enum { EVENTS_MAX = 60000, THREADS = 5, CPUS = 3, TYPES = 8 };

static const uint16_t types[TYPES] = {EV_kvm_exit, EV_kvm_entry, EV_kvm_userspace_exit, EV_kvm_run,
				      EV_kvm_pio,  EV_kvm_mmio,	 EV_kvm_vcpu_wakeup,	EV_lost};

/* What a recording is like. */
struct flavour {
	unsigned int events, per_round, per_chunk;
	unsigned int odd;     /* of 1000 events, those in an invalid order */
	unsigned int moves;   /* of 1000 events: the thread goes to another CPU */
	unsigned int tail;    /* of 1000 rounds' events that are younger than the watermark */
	unsigned int others;  /* of 1000 events between an exit and its entry */
	bool lost, late, zstd, ties, renamed, no_exits;
};

struct event_made {
	uint64_t time;
	unsigned int cpu, thread, what;
};

/* ---- a recording ---- */

static struct event_made made[EVENTS_MAX];
static unsigned int nr_made;

static void made_add(const struct flavour *f, uint64_t *time, unsigned int *cpu, unsigned int what,
		     unsigned int thread)
{
	*time += f->ties ? dice(&seed) % 3 : 1 + dice(&seed) % 3000;
	if (chance(f->moves))
		*cpu = dice(&seed) % CPUS;
	if (nr_made < EVENTS_MAX)
		made[nr_made++] = (struct event_made){*time, *cpu, thread, what};
}

/* Each thread's own life: exits, sometimes answered in userspace, and entries; and what is odd. */
static void lives_make(const struct flavour *f)
{
	nr_made = 0;
	for (unsigned int t = 0; t < THREADS; t++) {
		uint64_t time = 1000000 + dice(&seed) % 5000;
		unsigned int cpu = t % CPUS;

		for (unsigned int i = 0; i < f->events / THREADS / 2; i++) {
			if (!f->no_exits)
				made_add(f, &time, &cpu, chance(f->odd) ? dice(&seed) % 7 : 0, t);
			if (chance(f->others)) {
				made_add(f, &time, &cpu, 4 + dice(&seed) % 3, t);
				made_add(f, &time, &cpu, 2, t);
				made_add(f, &time, &cpu, 3, t);
			}
			made_add(f, &time, &cpu, chance(f->odd) ? dice(&seed) % 7 : 1, t);
		}
	}
	for (unsigned int i = 0; f->lost && i < 12; i++)
		made[nr_made++] = (struct event_made){1000000 + dice(&seed) % 3000000,
						      i % CPUS, i % 4 ? 0 : 99, TYPES - 1};
}

static int by_time(const void *a, const void *b)
{
	const struct event_made *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time ? -1 : 1)
				  : (x->thread != y->thread ? (int)x->thread - (int)y->thread : 0);
}

/* Stable, unlike qsort(): equal times of a thread keep their order. */
static void sort_made(struct event_made *e, unsigned int nr)
{
	static struct event_made spare[EVENTS_MAX];
	unsigned int half = nr / 2, a = 0, b = half;

	if (nr < 2)
		return;
	sort_made(e, half);
	sort_made(e + half, nr - half);
	for (unsigned int i = 0; i < nr; i++)
		spare[i] = b == nr || (a < half && by_time(&e[a], &e[b]) <= 0) ? e[a++] : e[b++];
	memcpy(e, spare, nr * sizeof(*e));
}

/* Some records come long after their time. */
static void delay_some(void)
{
	for (unsigned int n = 0; n < 5; n++) {
		unsigned int at = dice(&seed) % (nr_made - 900);
		struct event_made e = made[at];

		memmove(&made[at], &made[at + 1], 899 * sizeof(e));
		made[at + 899] = e;
	}
}

static size_t record_make(const struct flavour *f, const struct event_made *e, uint8_t *out)
{
	uint16_t type = types[e->what];
	uint16_t size = event_type_ours(type)->size;
	struct record_hdr h = {.time = e->time,
			       .pid = 100 + e->thread / 3,
			       .tid = 200 + e->thread,
			       .type = type,
			       .size = size,
			       .cpu = (uint16_t)e->cpu,
			       .vcpu = f->renamed && chance(20) ? 0xffff : (uint16_t)e->thread};

	for (unsigned int i = sizeof(h); i < size; i += 4) {
		uint32_t v = dice(&seed) % 5;

		memcpy(out + i, &v, 4);
	}
	memcpy(out, &h, sizeof(h));
	if (type == EV_lost) {
		struct rec_lost lost = {.hdr = h,
					.count = 1 + dice(&seed) % 9,
					.until =
						dice(&seed) % 2 ? h.time + dice(&seed) % 300000 : 0,
					.lost_event = dice(&seed) % 6};

		memcpy(out, &lost, sizeof(lost));
	}
	return size;
}

struct chunk_made {
	struct chunk_header h;
	struct chunk_count counts[TYPES];
	uint8_t data[RECORDS_RAW_MAX];
	size_t len;
};

static const struct event_type *by_id[1 << 16];

static void chunk_out(struct trace_out *o, struct chunk_made *c, uint64_t watermark)
{
	c->h.watermark_ns = watermark;
	c->h.kind = CHUNK_RECORDS;
	if (c->h.nr_records)
		assert_int_equal(trace_out_chunk(o, &c->h, c->counts, by_id, c->data, c->len), 0);
	c->h = (struct chunk_header){.first_ns = UINT64_MAX};
	c->len = 0;
}

static void chunk_add(const struct flavour *f, struct chunk_made *c, const struct event_made *e)
{
	unsigned int i = 0;

	c->len += record_make(f, e, c->data + c->len);
	while (i < c->h.nr_counts && c->counts[i].type != types[e->what])
		i++;
	if (i == c->h.nr_counts)
		c->counts[c->h.nr_counts++] = (struct chunk_count){types[e->what], 0};
	c->counts[i].count++;
	c->h.nr_records++;
	c->h.types_bloom |= type_bloom_bit(types[e->what]);
	c->h.first_ns = e->time < c->h.first_ns ? e->time : c->h.first_ns;
	c->h.last_ns = e->time > c->h.last_ns ? e->time : c->h.last_ns;
}

/* A round: [from, to) of `made`, CPU by CPU, in chunks; `watermark` goes with the last one. */
static void round_out(const struct flavour *f, struct trace_out *o, struct chunk_made *c,
		      unsigned int from, unsigned int to, uint64_t *watermark, uint64_t next)
{
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		for (unsigned int i = from; i < to; i++) {
			if (made[i].cpu != cpu)
				continue;
			if (c->h.nr_records >= f->per_chunk)
				chunk_out(o, c, *watermark);
			chunk_add(f, c, &made[i]);
		}
	*watermark = next;
	if (chance(700) || c->len > RECORDS_RAW_MAX / 2)
		chunk_out(o, c, *watermark);
}

static void schema_out(struct trace_out *o)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < TYPES; i++) {
		by_id[types[i]] = event_type_ours(types[i]);
		json_array_append_new(list, schema_from_type(by_id[types[i]], types[i]));
	}
	assert_int_equal(trace_out_json(o, CHUNK_SCHEMA, list), 0);
	json_decref(list);
}

static void recording_make(const char *path, const struct flavour *f)
{
	static struct chunk_made c;
	struct trace_header head = {.start_monotonic_ns = 1};
	struct trace_out *o;
	uint64_t watermark = 0;

	lives_make(f);
	sort_made(made, nr_made);
	if (f->late)
		delay_some();
	assert_int_equal(trace_out_create(path, &head, f->zstd, false, &o), 0);
	schema_out(o);
	c.h = (struct chunk_header){.first_ns = UINT64_MAX};
	c.len = 0;
	for (unsigned int at = 0, end; at < nr_made; at = end) {
		unsigned int n = f->per_round / 2 + dice(&seed) % f->per_round, back;

		end = at + n < nr_made ? at + n : nr_made;
		back = (end - at) * f->tail / 1000;
		/* Some of the round's last events are younger than what it promises. */
		uint64_t next = made[end - 1 - (back < end - at ? back : 0)].time;

		round_out(f, o, &c, at, end, &watermark, next > watermark ? next : watermark);
	}
	chunk_out(o, &c, UINT64_MAX);
	assert_int_equal(trace_out_finish(o, false, NULL), 0);
}

static void same(const struct flavour *flavours, unsigned int nr, unsigned int least_percent)
{
	unsigned int fast = 0, of = 0;

	for (unsigned int i = 0; i < nr; i++)
		fast += compare_random(in_scratch("r.hrt"), &flavours[i], 1000 * i, 3, &of);
	assert_fast(fast, of, least_percent);
}

static void clean_recordings(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 24000, .per_round = 1500, .per_chunk = 2000, .others = 4},
		{.events = 4000, .per_round = 700, .per_chunk = 90, .others = 100},
		{.events = 5000, .per_round = 300, .per_chunk = 150, .tail = 60, .others = 50},
		{.events = 4000, .per_round = 300, .per_chunk = 400, .tail = 100, .moves = 30,
		 .others = 10},
		{.events = 4000, .per_round = 900, .per_chunk = 100, .tail = 300, .moves = 100,
		 .odd = 30, .others = 200},
		{.events = 4000, .per_round = 500, .per_chunk = 300, .odd = 300, .zstd = true,
		 .others = 30},
	};

	(void)state;
	same(flavours, sizeof(flavours) / sizeof(*flavours), 90);
}

/* Begins and ends that nearly always alternate; not all analyzers find their events here. */
static void plain_cycles(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 4000, .per_round = 300, .per_chunk = 60, .odd = 5, .tail = 50},
		{.events = 9000, .per_round = 900, .per_chunk = 300, .odd = 2, .moves = 2},
		{.events = 4000, .per_round = 300, .per_chunk = 60, .odd = 40, .zstd = true},
	};

	(void)state;
	same(flavours, sizeof(flavours) / sizeof(*flavours), 70);
}

/* What is open when events are lost is unknown, whichever segment it is in. */
static void lossy_recordings(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 5000, .per_round = 300, .per_chunk = 100, .lost = true, .others = 30},
		{.events = 5000, .per_round = 300, .per_chunk = 100, .lost = true, .moves = 20,
		 .odd = 30, .others = 30, .tail = 40},
	};

	(void)state;
	same(flavours, sizeof(flavours) / sizeof(*flavours), 80);
}

/* Here the fast path may decline, but must not be wrong. */
static void troubled_recordings(void **state)
{
	static const struct flavour flavours[] = {
		{.events = 3000, .per_round = 500, .per_chunk = 300, .late = true, .tail = 50},
		{.events = 4000, .per_round = 500, .per_chunk = 300, .ties = true, .moves = 50,
		 .odd = 50},
		{.events = 4000, .per_round = 500, .per_chunk = 300, .ties = true, .renamed = true,
		 .moves = 50},
		{.events = 4000, .per_round = 400, .per_chunk = 200, .renamed = true, .tail = 40},
		{.events = 4000, .per_round = 400, .per_chunk = 200, .no_exits = true,
		 .others = 900},
	};

	(void)state;
	same(flavours, sizeof(flavours) / sizeof(*flavours), 20);
}

/* A byte changed anywhere, and a file cut anywhere. */
static void damaged_recordings(void **state)
{
	static const struct flavour f = {
		.events = 3000, .per_round = 400, .per_chunk = 150, .others = 60, .moves = 20};
	const char *whole = in_scratch("whole.hrt"), *path = in_scratch("r.hrt");
	struct pairing_options opt = {.jobs = 2, .segment_bytes = 20000};
	unsigned int fast = 0, of = 0;

	(void)state;
	seed = 7;
	recording_make(whole, &f);
	struct bytes b = file_read(whole);

	for (unsigned int i = 0; i < 9; i++) {
		size_t at = 2000 + dice(&seed) % (b.len - 2000);
		uint8_t was = b.data[at];

		b.data[at] ^= (uint8_t)(1 + dice(&seed) % 255);
		file_write(path, b.data, i % 3 ? b.len : at);
		b.data[at] = was;
		fast += compare(path, &opt, &of);
	}
	free(b.data);
	print_message("%u of %u on the fast path\n", fast, of);
	assert_true(fast > 0 && fast < of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_recordings),
		cmocka_unit_test(plain_cycles),
		cmocka_unit_test(lossy_recordings),
		cmocka_unit_test(troubled_recordings),
		cmocka_unit_test(damaged_recordings),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
