// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a viewer requires of -f perfetto, checked by a reader of the wire format that shares no code with the writer:
 * every field lies within its message, tracks and names are defined before they are used, on each track begin and end
 * alternate and time never decreases, and every arrow has at least two ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/timeline/timeline.h"
#include "output/report.h"

/* ---- the reader ---- */

struct wire {
	const uint8_t *at, *end;
	uint32_t field, type;
	uint64_t number;    /* varint and fixed64 */
	const uint8_t *data; /* bytes */
	size_t len;
};

static uint64_t varint(struct wire *w)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		assert_true(w->at < w->end);
		v |= (uint64_t)(*w->at & 0x7f) << shift;
		if (!(*w->at++ & 0x80))
			return v;
	}
	fail_msg("a varint does not end");
	return 0;
}

static bool wire_next(struct wire *w)
{
	uint64_t tag;

	if (w->at == w->end)
		return false;
	tag = varint(w);
	w->field = (uint32_t)(tag >> 3);
	w->type = tag & 7;
	assert_true(w->field > 0);
	if (w->type == 0) {
		w->number = varint(w);
	} else if (w->type == 1) {
		assert_true(w->end - w->at >= 8);
		memcpy(&w->number, w->at, 8);
		w->at += 8;
	} else {
		assert_int_equal(w->type, 2);
		w->len = varint(w);
		assert_true(w->len <= (size_t)(w->end - w->at));
		w->data = w->at;
		w->at += w->len;
	}
	return true;
}

static struct wire wire_of(const uint8_t *data, size_t len)
{
	return (struct wire){.at = data, .end = data + len};
}

/* A field that must be there; `skip` of the same number before it. */
static bool field_find(const uint8_t *data, size_t len, uint32_t field, struct wire *ret)
{
	*ret = wire_of(data, len);
	while (wire_next(ret))
		if (ret->field == field)
			return true;
	return false;
}

/* ---- what was found ---- */

enum { UUIDS = 64, FLOWS = 64, NAMES = 64 };

static struct {
	uint64_t uuid, last_ns;
	bool open, counter;
	unsigned int begins, counts;
	uint64_t value;
	char name[64];
} tracks[UUIDS];
static struct {
	uint64_t id;
	unsigned int ends;
	bool over; /* the last end was seen */
} flows[FLOWS];
static char names[NAMES][64];
static unsigned int nr_tracks, nr_flows, nr_packets, nr_processes;

static unsigned int track_index(uint64_t uuid)
{
	for (unsigned int i = 0; i < nr_tracks; i++)
		if (tracks[i].uuid == uuid)
			return i;
	fail_msg("a track is used that was not described");
	return 0;
}

static void flow_count(uint64_t id, bool last)
{
	unsigned int i;

	for (i = 0; i < nr_flows && flows[i].id != id; i++)
		;
	assert_true(i < FLOWS);
	nr_flows += i == nr_flows;
	flows[i].id = id;
	flows[i].ends++;
	flows[i].over |= last;
}

static void descriptor_take(const uint8_t *data, size_t len)
{
	struct wire w, part;

	assert_true(nr_tracks < UUIDS);
	assert_true(field_find(data, len, 1, &w));
	memset(&tracks[nr_tracks], 0, sizeof(tracks[0]));
	tracks[nr_tracks].uuid = w.number;
	assert_true(field_find(data, len, 2, &w));
	snprintf(tracks[nr_tracks].name, 64, "%.*s", (int)w.len, (const char *)w.data);
	if (field_find(data, len, 3, &w)) { /* a process has a pid and a name */
		nr_processes++;
		assert_true(field_find(w.data, w.len, 1, &part) && part.number > 0);
		assert_true(field_find(w.data, w.len, 6, &part));
	} else if (field_find(data, len, 4, &w)) {
		assert_true(field_find(w.data, w.len, 2, &part));
	} else {
		tracks[nr_tracks].counter = field_find(data, len, 8, &w);
		assert_true(field_find(data, len, 5, &w)); /* a parent that is known */
		track_index(w.number);
	}
	nr_tracks++;
}

static void name_take(const uint8_t *data, size_t len)
{
	struct wire w, iid, text;

	assert_true(field_find(data, len, 2, &w));
	assert_true(field_find(w.data, w.len, 1, &iid));
	assert_true(field_find(w.data, w.len, 2, &text));
	assert_true(iid.number > 0 && iid.number < NAMES);
	snprintf(names[iid.number], 64, "%.*s", (int)text.len, (const char *)text.data);
}

static void event_take(const uint8_t *data, size_t len, uint64_t ns)
{
	struct wire w, type;
	unsigned int t;

	assert_true(field_find(data, len, 9, &type));
	assert_true(field_find(data, len, 11, &w));
	t = track_index(w.number);
	assert_int_equal(tracks[t].counter, type.number == 4);
	assert_true(ns >= tracks[t].last_ns || type.number == 3); /* kicks are drawn late */
	if (type.number != 3)
		tracks[t].last_ns = ns;
	if (type.number == 4) {
		assert_true(field_find(data, len, 30, &w));
		tracks[t].value = w.number;
		tracks[t].counts++;
		return;
	}
	if (type.number == 2) {
		assert_true(tracks[t].open);
		tracks[t].open = false;
		return;
	}
	assert_false(tracks[t].open);
	tracks[t].open = type.number == 1;
	tracks[t].begins++;
	assert_true(field_find(data, len, 10, &w));
	assert_true(w.number < NAMES && *names[w.number]);
	w = wire_of(data, len);
	while (wire_next(&w))
		if (w.field == 47 || w.field == 48) {
			assert_int_equal(w.type, 1);
			flow_count(w.number, w.field == 48);
		}
}

static void trace_walk(const uint8_t *data, size_t len)
{
	struct wire trace = wire_of(data, len), w;

	nr_tracks = nr_flows = nr_packets = nr_processes = 0;
	memset(names, 0, sizeof(names));
	memset(flows, 0, sizeof(flows));
	while (wire_next(&trace)) {
		const uint8_t *packet = trace.data;
		size_t size = trace.len;

		assert_int_equal(trace.field, 1);
		assert_int_equal(trace.type, 2);
		assert_true(size < 4096);
		assert_true(field_find(packet, size, 10, &w)); /* a sequence */
		if (!nr_packets++) {
			assert_true(field_find(packet, size, 6, &w));
			assert_true(field_find(packet, size, 59, &w));
			assert_true(field_find(packet, size, 13, &w) && w.number == 1);
		}
		if (field_find(packet, size, 60, &w))
			descriptor_take(w.data, w.len);
		if (field_find(packet, size, 12, &w))
			name_take(w.data, w.len);
		if (field_find(packet, size, 11, &w)) {
			struct wire time;

			assert_true(field_find(packet, size, 8, &time));
			event_take(w.data, w.len, time.number);
		}
	}
}

/* ---- drawings ---- */

static char *out_text;
static size_t out_len;

static struct timeline *drawing(const char *format, struct report *r, struct output *out)
{
	static struct reader reader = {.info.file = "x"};
	struct timeline *t = NULL;

	*out = (struct output){.file = open_memstream(&out_text, &out_len), .format = format};
	*r = (struct report){.reader = &reader, .out = out};
	assert_int_equal(timeline_open(format_find(format)->timeline, r, NULL, 1000, &t), 0);
	return t;
}

static void test_perfetto(void **state)
{
	struct timeline_run a = {0}, b = {0}, kick = {0};
	struct output out;
	struct report r;
	struct timeline *t = drawing("perfetto", &r, &out);
	uint32_t host = timeline_group(t, 77, false, "host"), guest;
	uint64_t flow = timeline_flow(t);

	(void)state;
	a.track = timeline_track(t, host, TRACK_VCPU, 0, 0, "vCPU 0");
	kick.track = timeline_track(t, host, TRACK_QUEUE, 0, 0, "q");
	run_begin(t, &a, 1000, SLICE_GUEST, "guest");
	run_begin(t, &a, 2000, SLICE_KERNEL, "HLT");
	run_begin(t, &a, 2000, SLICE_GUEST, "guest"); /* the exit took no time */
	run_begin(t, &kick, 1500, SLICE_INSTANT, "kick");
	run_flow(&kick, flow);
	guest = timeline_group(t, 0, true, "guest");
	b.track = timeline_track(t, guest, TRACK_BLOCK, 0, 0, "block");
	run_begin(t, &b, 1600, SLICE_REQUEST, "%s", "a name\x1b[31m with an escape in it and more"
						     " than fits into sixty-four bytes");
	run_flow(&b, flow);
	run_end(t, &b, 1700);
	run_end(t, &kick, 1500);
	run_end(t, &a, 3000);
	assert_int_equal(timeline_track(t, guest, TRACK_THREAD, 5, 5, "thread"), 3);
	assert_int_equal(timeline_close(t), 0);
	fclose(out.file);
	trace_walk((const uint8_t *)out_text, out_len);
	assert_int_equal(nr_processes, 2);
	assert_int_equal(nr_tracks, 5); /* the thread has no slice */
	assert_int_equal(nr_flows, 1);
	assert_int_equal(flows[0].ends, 2);
	for (unsigned int i = 0; i < nr_tracks; i++)
		assert_false(tracks[i].open);
	assert_string_equal(tracks[1].name, "vCPU 0");
	assert_int_equal(tracks[1].begins, 3);
	assert_null(memmem(out_text, out_len, "\x1b[31m", 5));
	free(out_text);
}

/* Of two arrows at one point, the first continues and the second ends. */
static void test_arrows(void **state)
{
	struct timeline_run a = {0};
	struct output out;
	struct report r;
	struct timeline *t = drawing("perfetto", &r, &out);
	struct timeline_slice s = {.kind = SLICE_INSTANT, .start_ns = 1500, .end_ns = 1500,
				   .name = "interrupt", .flow = (uint64_t[]){1, 2}, .nr_flows = 2,
				   .flows_end = 1 << 1};

	(void)state;
	a.track = timeline_track(t, timeline_group(t, 1, false, "host"), TRACK_VCPU, 0, 0, "v");
	s.track = a.track;
	run_begin(t, &a, 1000, SLICE_REQUEST, "two");
	run_flow(&a, 1);
	run_flow(&a, 2);
	run_end(t, &a, 1400);
	timeline_slice(t, &s);
	assert_int_equal(timeline_close(t), 0);
	fclose(out.file);
	trace_walk((const uint8_t *)out_text, out_len);
	assert_int_equal(nr_flows, 2);
	assert_int_equal(flows[0].id, 1);
	assert_int_equal(flows[0].ends + flows[1].ends, 4);
	assert_false(flows[0].over);
	assert_true(flows[1].over);
	free(out_text);
}

/* Before the window a counter only sets the value that the window begins with. */
static void test_counter(void **state)
{
	struct output out;
	struct report r;
	struct timeline *t = drawing("perfetto", &r, &out);
	uint32_t depth = timeline_counter(t, timeline_group(t, 1, false, "host"), TRACK_QUEUE, 0,
					  "disk q0 in flight");

	(void)state;
	timeline_window(t, 2000, 5000);
	timeline_count(t, depth, 1000, 1);
	timeline_count(t, depth, 1500, 2);
	timeline_count(t, depth, 3000, 3);
	timeline_count(t, depth, 4000, 2);
	timeline_count(t, depth, 6000, 9);
	assert_int_equal(timeline_close(t), 0);
	fclose(out.file);
	trace_walk((const uint8_t *)out_text, out_len);
	assert_int_equal(nr_tracks, 2);
	assert_string_equal(tracks[1].name, "disk q0 in flight");
	assert_int_equal(tracks[1].counts, 3);
	assert_int_equal(tracks[1].value, 2);
	assert_int_equal(tracks[1].last_ns, 4000);
	free(out_text);
}

/* What begins then and there has its arrows, all of them and no other's. */
static void test_links(void **state)
{
	struct timeline_link *list = calloc(6, sizeof(*list));
	struct timeline_run a = {0};
	struct output out;
	struct report r;
	struct timeline *t = drawing("json", &r, &out);

	(void)state;
	assert_non_null(list);
	list[0] = (struct timeline_link){.ns = 50, .number = 0, .flow = 1, .kind = LINK_POP};
	list[1] = (struct timeline_link){.ns = 50, .number = 0, .flow = 2, .kind = LINK_EXIT};
	list[2] = (struct timeline_link){.ns = 40, .number = 0, .flow = 3, .kind = LINK_EXIT};
	list[3] = (struct timeline_link){.ns = 50, .number = 0, .flow = 4, .kind = LINK_EXIT};
	list[4] = (struct timeline_link){.ns = 50, .number = 1, .flow = 5, .kind = LINK_EXIT};
	/* another VM, at the same time */
	list[5] = (struct timeline_link){
		.ns = 50, .number = 0, .flow = 6, .kind = LINK_EXIT, .pid = 20};
	timeline_links_set(t, list, 6);
	assert_int_equal(timeline_flow(t), 7);
	run_begin(t, &a, 50, SLICE_KERNEL, "exit");
	run_links(t, &a, LINK_EXIT, 0, 0);
	assert_int_equal(a.nr_flows, 2);
	assert_int_equal(a.flow[0] + a.flow[1], 6);
	run_links(t, &a, LINK_EXIT, 0, 2);
	assert_int_equal(a.nr_flows, 2);
	assert_int_equal(timeline_link_find(t, LINK_POP, 0, 50, 0)->flow, 1);
	assert_int_equal(timeline_link_find(t, LINK_EXIT, 20, 50, 0)->flow, 6);
	assert_null(timeline_link_find(t, LINK_ISSUE, 0, 50, 0));
	timeline_cancel(t);
	fclose(out.file);
	free(out_text);
}

/* More names than are numbered: they are written out then, and nothing is lost. */
static void test_many_names(void **state)
{
	struct timeline_run a = {0};
	struct output out;
	struct report r;
	struct timeline *t = drawing("perfetto", &r, &out);
	unsigned int found = 0;
	struct wire trace, w;

	(void)state;
	a.track = timeline_track(t, timeline_group(t, 1, false, "host"), TRACK_VCPU, 0, 0, "v");
	for (unsigned int i = 0; i < 6000; i++)
		run_begin(t, &a, 1000 + i, SLICE_GUEST, "name %u", i);
	run_end(t, &a, 9000);
	assert_int_equal(timeline_close(t), 0);
	fclose(out.file);
	trace = wire_of((const uint8_t *)out_text, out_len);
	while (wire_next(&trace))
		if (field_find(trace.data, trace.len, 11, &w)) {
			struct wire part;
			bool named = field_find(w.data, w.len, 10, &part) ||
				     field_find(w.data, w.len, 23, &part);

			found += named;
		}
	assert_int_equal(found, 6000);
	free(out_text);
}

/* The picture is well-formed whatever names there are, and small. */
static void test_svg(void **state)
{
	struct timeline_run a = {0};
	struct output out;
	struct report r;
	struct timeline *t = drawing("svg", &r, &out);

	(void)state;
	a.track = timeline_track(t, timeline_group(t, 1, false, "<host> & \"co\""), TRACK_VCPU, 0,
				 0, "</svg>");
	for (unsigned int i = 0; i < 100000; i++)
		run_begin(t, &a, 1000 + 10 * i, i % 2 ? SLICE_GUEST : SLICE_KERNEL, "<b>&");
	run_end(t, &a, 1001000);
	assert_int_equal(timeline_close(t), 0);
	fclose(out.file);
	assert_true(out_len < 1 << 20);
	assert_null(strstr(out_text, "<b>"));
	assert_ptr_equal(strstr(out_text, "</svg>") + 7, out_text + out_len);
	free(out_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perfetto),
		cmocka_unit_test(test_arrows),
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_svg),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
