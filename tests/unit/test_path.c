// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts of every request are adjacent and add up to its time, and the stages of all requests to theirs, whatever
 * the events are: of all recordings among the cases and golden files, and of random streams. Run from the top of the
 * source tree. With a path in $RECORDING: of this one only; the live tests do so with what they have recorded.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/path/summary.h"
#include "event/reader.h"
#include "readers/readers.h"

struct seen {
	const char *file;
	uint64_t requests, ios;
	bool stage[PATH_POINTS][PATH_POINTS], role[PATH_ROLES][PATH_RUNS];
};

static void check_request(struct seen *s, const struct path *p, const struct path_request *rq)
{
	struct path_part part[PATH_PARTS_MAX];
	unsigned int nr = path_parts(p, rq, part);
	uint64_t at = path_start_ns(rq);

	assert_true(nr <= PATH_PARTS_MAX);
	for (unsigned int i = 0; i < nr; i++) {
		if (part[i].start_ns != at || part[i].end_ns <= at || part[i].to <= part[i].from)
			fail_msg("%s: part %u of the request popped at %lu begins at %lu, not %lu",
				 s->file, i, rq->at[POINT_POP], part[i].start_ns, at);
		at = part[i].end_ns;
		s->stage[part[i].from][part[i].to] = true;
		s->role[part[i].role][part[i].run] = true;
	}
	assert_int_equal(at, path_end_ns(rq));
	s->ios += rq->nr_ios;
}

static void check_path(struct seen *s, struct path *p)
{
	struct path_summary sum;
	uint64_t time_ns = 0;
	size_t nr;

	assert_int_equal(path_end(p), 0);
	const struct path_request *rq = path_requests(p, &nr);

	for (size_t i = 0; i < nr; i++)
		check_request(s, p, &rq[i]);
	assert_int_equal(path_summary_make(&sum, p, 0), 0);
	assert_int_equal(sum.requests, nr);
	struct path_stage **stage = path_summary_stages(&sum, &nr);

	for (size_t i = 0; i < nr; i++)
		time_ns += (uint64_t)stage[i]->ns.sum;
	assert_int_equal(time_ns, sum.time_ns);
	s->requests += sum.requests;
	free(stage);
	path_summary_free(&sum);
	path_free(p);
}

static int put(void *arg, const struct event *ev)
{
	return path_event(arg, ev);
}

/* Broken and foreign files have no requests. */
static void check_file(struct seen *s, const char *name)
{
	struct path *p = path_new();
	struct reader *r;

	assert_non_null(p);
	s->file = name;
	if (!reader_open(name, NULL, &r)) {
		reader_each(r, put, p);
		reader_close(r);
	}
	check_path(s, p);
}

static void given(void **state)
{
	struct seen s = {0};

	(void)state;
	check_file(&s, getenv("RECORDING"));
	print_message("%lu requests\n", s.requests);
}

static void recordings(void **state)
{
	struct seen s = {0};
	unsigned int with_requests = 0;
	glob_t found;

	(void)state;
	assert_int_equal(glob("tests/cases/*/*", 0, NULL, &found), 0);
	assert_int_equal(glob("tests/golden/*", GLOB_APPEND, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		uint64_t before = s.requests;

		check_file(&s, found.gl_pathv[i]);
		with_requests += s.requests > before;
	}
	globfree(&found);
	print_message("%u recordings with %lu requests\n", with_requests, s.requests);
	assert_true(with_requests >= 20 && s.ios); /* the files are found, and have requests */
}

/* ---- random streams ---- */

enum { RECORD_BYTES = 256, STREAM_EVENTS = 20000, STREAMS = 40, PID = 1, HEADS = 6 };

struct stream {
	uint64_t seed, ns;
	_Alignas(8) uint8_t record[RECORD_BYTES];
};

static uint64_t random_below(struct stream *s, uint64_t limit)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return ((s->seed * 0x2545f4914f6cdd1d) >> 32) % limit; /* xorshift64*: the low bits are weak */
}

static void field_set(struct stream *s, const struct event_type *t, const char *name,
		      uint64_t value)
{
	const struct field *f = event_field(t, name);

	if (f)
		memcpy(s->record + f->offset, &value, f->size);
}

/* Threads 1 and 2 are vCPUs, 3 and 4 QEMU's, 5 and 6 workers. */
static void event_make(struct stream *s, struct event *ev)
{
	static const unsigned int ids[] = {
		EV_sched_switch,   EV_sched_switch,    EV_sched_switch,	     EV_sched_woken,
		EV_sched_woken,	   EV_sched_wakeup,    EV_kvm_exit,	     EV_kvm_entry,
		EV_virtqueue_pop,  EV_virtqueue_pop,   EV_virtqueue_fill,    EV_virtqueue_fill,
		EV_virtqueue_fill, EV_virtio_notify,   EV_kvm_msi_set_irq,   EV_kvm_inj_virq,
		EV_host_io,	   EV_blk_request,     EV_virtio_queue_notify, EV_kvm_set_irq,
		EV_net_packet,	   EV_net_send,
	};
	unsigned int id = ids[random_below(s, sizeof(ids) / sizeof(ids[0]))];
	bool in_vcpu = id == EV_kvm_exit || id == EV_kvm_entry || id == EV_kvm_inj_virq;
	bool in_scheduler = id == EV_sched_switch || id == EV_sched_woken;
	uint32_t tid = 1 + (uint32_t)random_below(s, in_vcpu ? 2 : in_scheduler ? 6 : 3);

	if (random_below(s, 3000) == 0)
		id = random_below(s, 2) ? EV_lost : EV_gap;
	if (!in_vcpu && !in_scheduler)
		tid += 2;
	memset(s->record, 0, RECORD_BYTES);
	s->ns += random_below(s, 1000);
	*ev = (struct event){.type = event_type_ours(id), .data = s->record, .pid = PID, .tid = tid,
			     .vcpu = in_vcpu ? (uint16_t)(tid - 1) : RECORD_NO_VCPU,
			     .cpu = (uint16_t)random_below(s, 4)};
	/* Not quite in order, and now and then not at all. */
	ev->time_ns = s->ns - random_below(s, random_below(s, 50) ? 30 : 50000);
	ev->size = ev->type->size;
	field_set(s, ev->type, random_below(s, 2) ? "prev_tid" : "next_tid", tid);
	field_set(s, ev->type, "prev_state", random_below(s, 3));
	field_set(s, ev->type, "waker_tid", 1 + random_below(s, 6));
	field_set(s, ev->type, "wake_tid", 1 + random_below(s, 6));
	field_set(s, ev->type, "vdev", 0x500);
	field_set(s, ev->type, "vq", 0x700);
	field_set(s, ev->type, "queue", random_below(s, 3) == 0);
	field_set(s, ev->type, "head", random_below(s, HEADS));
	field_set(s, ev->type, "sector", random_below(s, 4) * 8);
	field_set(s, ev->type, "offset", random_below(s, 4) * 4096);
	field_set(s, ev->type, "inode", random_below(s, 2));
	field_set(s, ev->type, "bytes", 4096);
	field_set(s, ev->type, "level", 1);
	field_set(s, ev->type, "address", 0xfee00000 | random_below(s, 2) << 12);
	field_set(s, ev->type, "data", 49);
	field_set(s, ev->type, "vector", 49);
	field_set(s, ev->type, "total_ns", random_below(s, 4000));
	field_set(s, ev->type, "device_ns", random_below(s, 6000));
	field_set(s, ev->type, "until", s->ns + random_below(s, 5000));
}

/* Its device is a network device. */
static void net_make(struct stream *s, struct event *ev)
{
	static const char kind[] = "virtio-net";
	const struct event_type *t = event_type_ours(EV_virtio_kind);

	memset(s->record, 0, RECORD_BYTES);
	*ev = (struct event){.type = t, .data = s->record, .pid = PID, .tid = 3,
			     .vcpu = RECORD_NO_VCPU, .time_ns = s->ns, .size = t->size};
	field_set(s, t, "vdev", 0x500);
	memcpy(s->record + event_field(t, "kind")->offset, kind, sizeof(kind));
}

/* Of a disk or of a network device. */
static const enum path_point stages[][2] = {
	{POINT_HANDLER, POINT_POP},	{POINT_ARRIVE, POINT_RECEIVE}, {POINT_RECEIVE, POINT_POP},
	{POINT_POP, POINT_SEND},	{POINT_SEND, POINT_PUSH},      {POINT_POP, POINT_SUBMIT},
	{POINT_SUBMIT, POINT_DISPATCH}, {POINT_DISPATCH, POINT_DONE},  {POINT_DONE, POINT_PUSH},
	{POINT_PUSH, POINT_NOTIFY},	{POINT_NOTIFY, POINT_RAISE},   {POINT_RAISE, POINT_INJECT},
};

static void random_streams(void **state)
{
	struct seen seen = {.file = "random"};

	(void)state;
	for (uint64_t i = 1; i <= STREAMS; i++) {
		struct stream s = {.seed = i * 0x9e3779b97f4a7c15, .ns = 100000};
		struct path *p = path_new();
		struct event ev;

		assert_non_null(p);
		if (i & 1) {
			net_make(&s, &ev);
			assert_int_equal(path_event(p, &ev), 0);
		}
		for (unsigned int k = 0; k < STREAM_EVENTS; k++) {
			event_make(&s, &ev);
			assert_int_equal(path_event(p, &ev), 0);
		}
		check_path(&seen, p);
	}
	assert_true(seen.requests > 10000 && seen.ios > 100);
	for (unsigned int i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		if (!seen.stage[stages[i][0]][stages[i][1]])
			fail_msg("no stage %s-%s", path_points[stages[i][0]].name,
				 path_points[stages[i][1]].name);
	for (unsigned int run = PATH_RUNNING; run < PATH_RUNS; run++)
		assert_true(seen.role[PATH_IO_THREAD][run] && seen.role[PATH_VCPU][run]);
}

/* A request with more changes of its thread than parts: what is too much is not divided. */
static void too_many_parts(void **state)
{
	struct seen seen = {.file = "too many"};
	struct stream s = {.seed = 1, .ns = 1000};
	struct path *p = path_new();
	struct event ev = {.pid = PID, .tid = 3, .vcpu = RECORD_NO_VCPU, .data = s.record};

	(void)state;
	assert_non_null(p);
	for (unsigned int i = 0; i < 2000; i++) {
		unsigned int id = i == 1      ? EV_virtqueue_pop
				  : i == 1999 ? EV_virtqueue_fill
					      : EV_sched_switch;

		memset(s.record, 0, RECORD_BYTES);
		ev.type = event_type_ours(id);
		ev.size = ev.type->size;
		ev.time_ns = s.ns += 10;
		field_set(&s, ev.type, i & 1 ? "prev_tid" : "next_tid", 3);
		field_set(&s, ev.type, "prev_state", 1);
		field_set(&s, ev.type, "vq", 7);
		assert_int_equal(path_event(p, &ev), 0);
	}
	check_path(&seen, p);
	assert_int_equal(seen.requests, 1);
	assert_true(seen.role[PATH_IO_THREAD][PATH_RUN_UNKNOWN]);
}

int main(void)
{
	const struct CMUnitTest one[] = {cmocka_unit_test(given)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(too_many_parts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return getenv("RECORDING") ? cmocka_run_group_tests(one, NULL, NULL)
				   : cmocka_run_group_tests(tests, NULL, NULL);
}
