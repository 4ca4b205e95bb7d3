// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing and reading: order, time windows, types, metadata, the flight recorder, and file handling. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "readers/readers.h"
#include "tracefile_util.h"

enum { CPUS = 3 };

/* Rounds of CPUS runs each, one CPU after the other, times interleaved: what a collector does. */
static void write_rounds(const char *path, struct trace_writer_options opt, unsigned int rounds,
			 unsigned int per_cpu)
{
	struct trace_writer *w = writer_open(path, opt);
	json_t *end = json_pack("{s:s, s:i}", "end", "duration", "rounds", rounds);
	uint64_t t = 1000;

	for (unsigned int r = 0; r < rounds; r++, t += CPUS * per_cpu) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			for (unsigned int i = 0; i < per_cpu; i++)
				assert_int_equal(pio_write(w, t + i * CPUS + cpu, cpu), 0);
		/* The last events of a round may still be missing: its watermark is older. */
		assert_int_equal(trace_writer_round(w, t + CPUS * per_cpu / 2), 0);
	}
	assert_true(trace_writer_bytes(w) > 0);
	assert_int_equal(trace_writer_close(w, end), 0);
	json_decref(end);
}

static void check_rounds(const char *path, unsigned int nr)
{
	struct seen s;

	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, nr);
	assert_int_equal(s.info.nr_events, nr);
	assert_int_equal(s.backwards, 0);
	assert_int_equal(s.wrong, 0);
	assert_int_equal(s.first, 1000);
	assert_int_equal(s.last, 1000 + nr - 1);
	assert_int_equal(s.info.start_ns, s.first);
	assert_int_equal(s.info.end_ns, s.last);
	assert_int_equal(s.info.late, 0);
	assert_int_equal(s.nr_caveats, 0);
}

static void sorted_over_cpus_and_rounds(void **state)
{
	const char *raw = in_scratch("raw.hrt"), *packed = in_scratch("packed.hrt");
	struct stat a, b;

	(void)state;
	write_rounds(raw, (struct trace_writer_options){0}, 40, 1000);
	write_rounds(packed, (struct trace_writer_options){.zstd = true}, 40, 1000);
	check_rounds(raw, 40 * CPUS * 1000);
	check_rounds(packed, 40 * CPUS * 1000);
	assert_int_equal(stat(raw, &a), 0);
	assert_int_equal(stat(packed, &b), 0);
	assert_true(b.st_size < a.st_size / 2);
	assert_int_equal(a.st_mode & 07777, 0600);
}

static void empty_trace(void **state)
{
	const char *path = in_scratch("empty.hrt");
	struct seen s;

	(void)state;
	assert_int_equal(
		trace_writer_close(writer_open(path, (struct trace_writer_options){0}), NULL), 0);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 0);
	assert_int_equal(s.nr_caveats, 0);
}

static void metadata_are_merged(void **state)
{
	const char *path = in_scratch("meta.hrt");
	struct reader *r;

	(void)state;
	write_rounds(path, (struct trace_writer_options){0}, 7, 3);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "host")), "test");
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "end")), "duration");
	assert_int_equal(json_integer_value(json_object_get(r->info.meta, "rounds")), 7);
	assert_true(json_integer_value(json_object_get(r->info.meta, "start_realtime_ns")) >
		    1600000000000000000);
	assert_string_equal(r->info.kind, "hrt");
	reader_close(r);
}

/* Together larger than a chunk may be. */
static void large_metadata_are_split(void **state)
{
	const char *path = in_scratch("large.hrt");
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});
	char *text = calloc(1, (10 << 20) + 1);
	struct reader *r;

	(void)state;
	memset(text, 'x', 10 << 20);
	json_t *meta = json_pack("{s:s,s:s}", "a", text, "code_maps", text);

	assert_int_equal(pio_write(w, 1, 0), 0);
	assert_int_equal(trace_writer_close(w, meta), 0);
	json_decref(meta);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "a")), text);
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "code_maps")), text);
	reader_close(r);
	free(text);
}

static bool wants_exit(const char *name, void *arg)
{
	++*(unsigned int *)arg;
	return !strcmp(name, "kvm_exit");
}

static void counts_and_hints_skip_chunks(void **state)
{
	const char *path = in_scratch("hint.hrt");
	static uint64_t counts[EVENT_TYPES_MAX];
	unsigned int asked = 0;
	struct read_hint none = {.until_ns = UINT64_MAX, .wants = wants_exit, .arg = &asked};
	struct read_hint window = {.since_ns = 100000, .until_ns = 100100};
	struct reader *r;
	struct seen s;

	(void)state;
	write_rounds(path, (struct trace_writer_options){0}, 100, 1000);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_int_equal(r->ops->counts(r, counts), 0);
	assert_int_equal(counts[event_type_ours(EV_kvm_pio)->index], 300000);
	reader_close(r);
	assert_int_equal(trace_read_hint(path, &none, &s), 0);
	assert_int_equal(s.events, 0);
	assert_int_equal(asked, 1); /* once per type, not per event */
	assert_int_equal(trace_read_hint(path, &window, &s), 0);
	assert_true(s.first <= 100000 && s.last >= 100099);
	assert_true(s.events < 60000);		 /* whole chunks, but not all */
	assert_int_equal(s.info.start_ns, 1000); /* of the trace, not of the window */
}

/* Names before the time window are needed, too; calibration pairs only within it. */
static void names_come_from_before_the_window(void **state)
{
	const char *path = in_scratch("names.hrt");
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});
	struct rec_thread name = {
		.hdr = {.time = 5, .tid = 20, .type = EV_thread, .size = sizeof(name)},
		.comm = "CPU 0/KVM"};
	struct read_hint window = {.since_ns = 200000, .until_ns = 200100};
	struct seen s;

	(void)state;
	assert_int_equal(trace_writer_record(w, &name.hdr), 0);
	for (uint64_t t = 1000; t < 300000; t++) {
		assert_int_equal(pio_write(w, t, 0), 0);
		if (t % 1000 == 0)
			assert_int_equal(trace_writer_round(w, t), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
	assert_int_equal(trace_read_hint(path, &window, &s), 0);
	assert_int_equal(s.by_type[EV_thread], 1);
	assert_true(s.by_type[EV_kvm_pio] >= 100 && s.by_type[EV_kvm_pio] < 60000);
}

static void losses_are_counted(void **state)
{
	const char *path = in_scratch("lost.hrt");
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});
	struct rec_lost lost = {.hdr = {.time = 5, .type = EV_lost, .size = sizeof(lost)},
				.count = 41};
	struct seen s;

	(void)state;
	assert_int_equal(trace_writer_record(w, &lost.hdr), 0);
	lost.hdr.time = 9;
	lost.count = 1;
	assert_int_equal(trace_writer_record(w, &lost.hdr), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.info.lost, 42);
}

/* A record older than a previous watermark: returned, and counted as late. */
static void late_records_are_counted(void **state)
{
	const char *path = in_scratch("late.hrt");
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});
	struct seen s;

	(void)state;
	for (uint64_t t = 1; t <= 10000; t++)
		assert_int_equal(pio_write(w, t, 0), 0);
	assert_int_equal(trace_writer_round(w, 10001), 0); /* large enough to be written */
	assert_int_equal(pio_write(w, 17, 1), 0);
	assert_int_equal(pio_write(w, 20000, 1), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 10002);
	assert_int_equal(s.info.late, 1);
	assert_int_equal(s.nr_caveats, 1);
	assert_non_null(strstr(s.caveat, "1 events arrived too late"));
}

/* Without watermarks the reader buffers up to its limit, then continues: here 48 MiB with a limit of 32. */
static void memory_is_bounded(void **state)
{
	const char *path = in_scratch("bounded.hrt");
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});
	unsigned int nr = (48 << 20) / sizeof(struct rec_kvm_pio) & ~1u;
	struct rusage before, after;
	struct seen s;

	(void)state;
	for (uint64_t t = 0; t < nr; t += 2) { /* pairs in the wrong order, none late */
		assert_int_equal(pio_write(w, 1001 + t, 0), 0);
		assert_int_equal(pio_write(w, 1000 + t, 1), 0);
	}
	assert_int_equal(pio_write(w, 1000, 0), 0); /* this one is late */
	assert_int_equal(trace_writer_close(w, NULL), 0);
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(trace_read(path, &s), 0);
	getrusage(RUSAGE_SELF, &after);
	assert_int_equal(s.events, nr + 1);
	assert_int_equal(s.info.late, 1);
	assert_int_equal(s.backwards, 1);
#ifndef __SANITIZE_ADDRESS__
	assert_true(after.ru_maxrss - before.ru_maxrss < 160 << 10); /* KiB */
#endif
}

/* ---- unknown types ---- */

static void write_foreign(const char *path)
{
	struct field f[] = {{"fd", "dec", "a number", FIELD_SINT, 24, 4},
			    {"path", "text", "", FIELD_DYNTEXT, 28, 4}};
	struct event_type t = {
		.name = "osv:vfs_open", .doc = "opened", .fields = f, .nr_fields = 2, .size = 32};
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});
	uint8_t data[40] __attribute__((aligned(8))) = {0};
	struct record_hdr h = {.time = 77, .size = sizeof(data), .vcpu = RECORD_NO_VCPU};
	const struct event_type *type;
	uint16_t again;

	assert_int_equal(event_type_register(&t, &type), 0);
	assert_int_equal(trace_writer_type(w, type, &h.type), 0);
	assert_int_equal(trace_writer_type(w, type, &again), 0);
	assert_int_equal(h.type, again);
	assert_true(h.type >= 256);
	memcpy(data, &h, sizeof(h));
	memcpy(data + 24, &(int32_t){-5}, 4);
	memcpy(data + 28, &(uint32_t){32 | 5 << 16}, 4);
	memcpy(data + 32, "/tmp", 5);
	assert_int_equal(trace_writer_record(w, (struct record_hdr *)data), 0);
	assert_int_equal(trace_writer_type(w, event_type_ours(EV_kvm_pio), &again), 0);
	assert_int_equal(again, EV_kvm_pio);
	assert_int_equal(trace_writer_close(w, NULL), 0);
}

static void foreign_types_explain_themselves(void **state)
{
	const char *path = in_scratch("foreign.hrt");
	static struct batch b;
	struct reader *r;
	char text[16];

	(void)state;
	write_foreign(path);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_int_equal(reader_next(r, &b), 1);
	assert_int_equal(b.nr, 1);
	assert_string_equal(b.ev[0].type->name, "osv:vfs_open");
	assert_string_equal(b.ev[0].type->doc, "opened");
	assert_int_equal((int64_t)event_u64(&b.ev[0], event_field(b.ev[0].type, "fd")), -5);
	assert_string_equal(
		event_text(&b.ev[0], event_field(b.ev[0].type, "path"), text, sizeof(text)),
		"/tmp");
	assert_int_equal(b.ev[0].vcpu, RECORD_NO_VCPU);
	reader_close(r);
}

static void undeclared_and_short_records_are_refused(void **state)
{
	struct trace_writer *w =
		writer_open(in_scratch("refused.hrt"), (struct trace_writer_options){0});
	struct rec_kvm_pio rec = {.hdr = {.type = 999, .size = sizeof(rec)}};

	(void)state;
	assert_int_equal(trace_writer_record(w, &rec.hdr), -EINVAL);
	rec.hdr.type = EV_kvm_pio;
	rec.hdr.size = sizeof(struct record_hdr);
	assert_int_equal(trace_writer_record(w, &rec.hdr), -EINVAL);
	rec.hdr.size = sizeof(rec);
	assert_int_equal(trace_writer_record(w, &rec.hdr), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
}

/* ---- the file's manners ---- */

static int try_open(const char *path)
{
	json_t *meta = json_object();
	struct trace_writer *w;
	int err = trace_writer_open(path, &(struct trace_writer_options){0}, meta, &w);

	json_decref(meta);
	return err ? err : trace_writer_close(w, NULL);
}

static void only_traces_are_replaced(void **state)
{
	const char *trace = in_scratch("a.hrt"), *other = in_scratch("letter.txt"),
		   *link = in_scratch("link.hrt");
	struct bytes b;

	(void)state;
	assert_int_equal(try_open(trace), 0);
	assert_int_equal(try_open(trace), 0);
	file_write(other, "Dear Sir", 8);
	assert_int_equal(try_open(other), -EEXIST);
	b = file_read(other);
	assert_memory_equal(b.data, "Dear Sir", 8);
	free(b.data);
	assert_int_equal(symlink(trace, link), 0);
	assert_int_equal(try_open(link), -ELOOP);
	assert_non_null(strstr(error_text(), "symbolic link"));
	assert_int_equal(try_open(scratch), -EEXIST);
	assert_int_equal(try_open("/dev/null"), -EEXIST);
	assert_int_equal(try_open("/nonexistent/x.hrt"), -ENOENT);
	file_write(other, "", 0);
	assert_int_equal(try_open(other), 0);
}

/* RLIMIT_FSIZE simulates a full disk. Returns the number of records that were passed on. */
static uint64_t fill(const char *path, struct trace_writer_options opt, rlim_t limit)
{
	struct trace_writer *w = writer_open(path, opt);
	struct rlimit old, small;
	uint64_t t = 1000, more;
	int err = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = limit;
	setrlimit(RLIMIT_FSIZE, &small);
	while (!err && t < 1000000) {
		assert_int_equal(pio_write(w, t++, 0), 0);
		if (t % 100 == 0)
			err = trace_writer_round(w, t);
	}
	for (more = 0; more < 17; more++)
		assert_int_equal(pio_write(w, t++, 0), 0);
	assert_int_equal(opt.max_bytes ? 0 : -EFBIG, err);
	assert_int_equal(trace_writer_end(w), -EFBIG);
	assert_non_null(strstr(error_text(), path));
	assert_int_equal(trace_writer_close(w, NULL), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	return t - 1000;
}

/* Its end has space in reserve: what could not be written is counted, and the index is there. */
static void full_disk_counts_what_is_missing(void **state)
{
	const char *path = in_scratch("full.hrt");
	uint64_t written = fill(path, (struct trace_writer_options){0}, 1000000);
	struct stat st;
	struct seen s;

	(void)state;
	assert_int_equal(trace_read(path, &s), 0);
	assert_true(s.events > 15000);
	assert_int_equal(s.backwards + s.wrong, 0);
	assert_int_equal(s.nr_caveats, 0);
	assert_int_equal(s.info.lost, written - (s.events - 1)); /* one is the report of the loss */
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 700000 && st.st_size < 1000000);
	assert_true(st.st_blocks * 512 < st.st_size + (128 << 10)); /* the reserve was given back */
}

static void small_limits_leave_a_file(void **state)
{
	const rlim_t limits[] = {32 << 10, 64 << 10, 100 << 10};
	const char *path = in_scratch("small.hrt");
	struct seen s;

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		uint64_t written = fill(path, (struct trace_writer_options){0}, limits[i]);

		assert_int_equal(trace_read(path, &s), 0);
		assert_true(s.events > 500);
		assert_int_equal(s.info.lost, written - (s.events - 1));
		assert_int_equal(unlink(path), 0);
	}
}

/* A flight recorder writes at the end; it had counted no record before. */
static void full_disk_of_a_flight_recorder(void **state)
{
	const char *path = in_scratch("flight.hrt");
	struct seen s;

	(void)state;
	struct trace_written written = {0};
	const struct trace_writer_options opt = {.max_bytes = 64 << 20, .written = &written};
	uint64_t all = fill(path, opt, 1000000);

	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.backwards + s.wrong + s.nr_caveats, 0);
	assert_true(s.events > 15000 && s.info.lost > 1000);
	assert_int_equal(written.missing, s.info.lost); /* what the summary says */
	assert_int_equal(written.count[EV_kvm_pio], s.events - 1);
	assert_int_equal(written.count[EV_kvm_pio] + written.missing, all);
}

/* The clock of the program under test, while it has seconds: the machine may give it no CPU for so long. */
static struct timespec stopped;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!stopped.tv_sec)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = stopped;
	return 0;
}

/* A second after it was recorded an event is on disk: SIGKILL costs no more. */
static void killed_recorder(void **state)
{
	const char *path = in_scratch("killed.hrt");
	struct seen s;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		stopped.tv_sec = 1000;
		struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});

		pio_write(w, 1000, 0);
		trace_writer_round(w, 1001);
		stopped.tv_sec += 1;
		pio_write(w, 1001, 0);
		trace_writer_round(w, 1002);
		pio_write(w, 1002, 0); /* less than a second old: lost */
		trace_writer_round(w, 1003);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 2);
	assert_int_equal(s.nr_caveats, 1);
	assert_non_null(strstr(s.caveat, "truncated"));
}

/* ---- the flight recorder ---- */

static void name_write(struct trace_writer *w, uint64_t time, uint32_t tid, const char *comm)
{
	struct rec_thread rec = {.hdr = {.time = time,
					 .pid = 10,
					 .tid = tid,
					 .type = EV_thread,
					 .size = sizeof(rec),
					 .vcpu = RECORD_NO_VCPU}};

	snprintf(rec.comm, sizeof(rec.comm), "%s", comm);
	assert_int_equal(trace_writer_record(w, &rec.hdr), 0);
}

static void check_ring(const char *path, uint64_t newest)
{
	static struct batch b;
	struct reader *r;
	struct seen s;
	char text[16];

	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.last, newest);
	assert_int_equal(s.by_type[EV_thread], 2); /* the newest name of each thread */
	assert_int_equal(s.by_type[EV_clock_pair], 1);
	assert_int_equal(s.by_type[EV_kvm_pio], s.last - s.info.start_ns + 1);
	assert_true(s.by_type[EV_kvm_pio] * sizeof(struct rec_kvm_pio) >= 100000);
	assert_true(s.by_type[EV_kvm_pio] * sizeof(struct rec_kvm_pio) < 120000);
	assert_int_equal(s.backwards + s.wrong, 0);
	assert_int_equal(s.nr_caveats, 0);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_int_equal(reader_next(r, &b), 1);
	assert_int_equal(b.ev[0].type->id, EV_thread);
	assert_string_equal(event_text(&b.ev[0], &b.ev[0].type->fields[0], text, sizeof(text)),
			    "new");
	reader_close(r);
}

static void ring_keeps_the_newest_and_the_names(void **state)
{
	const char *path = in_scratch("ring.hrt"), *dump = in_scratch("dump.hrt"),
		   *part = in_scratch("part.hrt");
	struct trace_writer *w =
		writer_open(path, (struct trace_writer_options){.max_bytes = 100000});
	struct rec_clock_pair pair = {
		.hdr = {.time = 4, .type = EV_clock_pair, .size = sizeof(pair)}};

	(void)state;
	name_write(w, 1, 20, "old");
	name_write(w, 2, 20, "new");
	name_write(w, 3, 21, "other");
	assert_int_equal(trace_writer_record(w, &pair.hdr), 0);
	for (uint64_t t = 1000; t < 50000; t++) {
		pair.hdr.time = t;
		if (t == 45000) /* one in the part that is kept at the first dump */
			assert_int_equal(trace_writer_record(w, &pair.hdr), 0);
		assert_int_equal(pio_write(w, t, 0), 0);
		if (t % 50 == 0)
			assert_int_equal(trace_writer_round(w, t), 0);
		if (t == 46000)
			assert_int_equal(trace_writer_dump(w, dump, 0, NULL), 0);
		if (t == 46000)
			assert_int_equal(trace_writer_dump(w, part, 45500, NULL), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
	check_ring(dump, 46000);

	/* Only whole chunks are left out; the names are there. */
	struct seen s;

	assert_int_equal(trace_read(part, &s), 0);
	assert_int_equal(s.info.start_ns, 45000); /* the newest clock pair from before */
	assert_int_equal(s.by_type[EV_clock_pair], 1);
	assert_in_range(s.last - s.by_type[EV_kvm_pio], 45300, 45500);
	assert_int_equal(s.last, 46000);
	assert_int_equal(s.by_type[EV_thread], 2);

	/* At the end the pair has left the ring: it comes from the table, at its own time. */
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.first, 45000);
	assert_int_equal(s.by_type[EV_clock_pair], 1);
	assert_int_equal(s.by_type[EV_thread], 2);
	assert_int_equal(s.last, 49999);
}

static void only_a_ring_can_be_dumped(void **state)
{
	struct trace_writer *w =
		writer_open(in_scratch("noring.hrt"), (struct trace_writer_options){0});

	(void)state;
	assert_int_equal(trace_writer_dump(w, in_scratch("x.hrt"), 0, NULL), -EINVAL);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	assert_int_equal(trace_writer_close(NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorted_over_cpus_and_rounds),
		cmocka_unit_test(empty_trace),
		cmocka_unit_test(metadata_are_merged),
		cmocka_unit_test(large_metadata_are_split),
		cmocka_unit_test(counts_and_hints_skip_chunks),
		cmocka_unit_test(names_come_from_before_the_window),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(late_records_are_counted),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(foreign_types_explain_themselves),
		cmocka_unit_test(undeclared_and_short_records_are_refused),
		cmocka_unit_test(only_traces_are_replaced),
		cmocka_unit_test(full_disk_counts_what_is_missing),
		cmocka_unit_test(small_limits_leave_a_file),
		cmocka_unit_test(full_disk_of_a_flight_recorder),
		cmocka_unit_test(killed_recorder),
		cmocka_unit_test(ring_keeps_the_newest_and_the_names),
		cmocka_unit_test(only_a_ring_can_be_dumped),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
