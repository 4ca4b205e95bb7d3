// SPDX-License-Identifier: GPL-2.0-or-later
/* The text format: what is optional, what is rejected (and where), and that a round trip loses nothing. */
#include "readers/readers.h"
#include "tracefile_util.h"

#define HEAD "# hostrace text 1\n"

static int read_text(const char *text, struct seen *s)
{
	const char *path = in_scratch("t.txt");

	file_write(path, text, strlen(text));
	return trace_read(path, s);
}

static void short_lines_are_enough(void **state)
{
	struct seen s;

	(void)state;
	assert_int_equal(read_text(HEAD "\n# a comment\n  \t\n1 kvm_entry\n\t1.5\tkvm_run\r\n", &s),
			 0);
	assert_int_equal(s.events, 2);
	assert_int_equal(s.first, 1000000000);
	assert_int_equal(s.last, 1500000000);
	assert_int_equal(s.info.start_ns, s.first);
	assert_int_equal(s.info.end_ns, s.last);
	assert_string_equal(s.info.kind, "text");
	assert_int_equal(read_text(HEAD, &s), 0);
	assert_int_equal(s.events, 0);
	assert_int_equal(read_text(HEAD "1 kvm_run", &s), 0); /* no newline at the end */
	assert_int_equal(s.events, 1);
	assert_int_equal(read_text(HEAD "0.0 lost count=3 until=5\n1 kvm_run", &s), 0);
	assert_int_equal(s.info.lost, 3); /* at time 0, too */
}

static struct event one_event(const char *line, struct reader **r)
{
	static struct batch b;
	const char *path = in_scratch("one.txt");
	char text[1024];

	snprintf(text, sizeof(text), HEAD "%s\n", line);
	file_write(path, text, strlen(text));
	assert_int_equal(reader_open(path, NULL, r), 0);
	assert_int_equal(reader_next(*r, &b), 1);
	assert_int_equal(b.nr, 1);
	return b.ev[0];
}

static void keys_and_fields(void **state)
{
	struct reader *r;
	struct event ev = one_event(
		"1.000000001 kvm_pio val=0x41 cpu=3 write=1 vcpu=2 pid=10 tid=11 port=0x3f8", &r);

	(void)state;
	assert_int_equal(ev.time_ns, 1000000001);
	assert_ptr_equal(ev.type, event_type_ours(EV_kvm_pio));
	assert_int_equal(ev.size, sizeof(struct rec_kvm_pio));
	assert_int_equal(ev.cpu, 3);
	assert_int_equal(ev.vcpu, 2);
	assert_int_equal(ev.pid, 10);
	assert_int_equal(ev.tid, 11);
	assert_int_equal(event_u64(&ev, event_field(ev.type, "port")), 0x3f8);
	assert_int_equal(event_u64(&ev, event_field(ev.type, "val")), 0x41);
	assert_int_equal(event_u64(&ev, event_field(ev.type, "write")), 1);
	assert_int_equal(event_u64(&ev, event_field(ev.type, "size")), 0);
	reader_close(r);
	ev = one_event("1 kvm_run", &r);
	assert_int_equal(ev.vcpu, RECORD_NO_VCPU);
	reader_close(r);
}

static void text_fields(void **state)
{
	struct reader *r;
	struct event ev = one_event("1 thread comm=\"a\\\"b\\\\c\\x1b d=e\"", &r);
	char text[32];

	(void)state;
	assert_string_equal(event_text(&ev, &ev.type->fields[0], text, sizeof(text)),
			    "a\"b\\c\x1b d=e");
	reader_close(r);
	ev = one_event("1 thread comm=word", &r);
	assert_string_equal(event_text(&ev, &ev.type->fields[0], text, sizeof(text)), "word");
	reader_close(r);
}

static void signed_and_wide_numbers(void **state)
{
	struct reader *r;
	struct event ev = one_event(
		"1 kvm_write_tsc_offset old=-9223372036854775808 new=9223372036854775807", &r);

	(void)state;
	assert_true((int64_t)event_u64(&ev, event_field(ev.type, "old")) == INT64_MIN);
	assert_true((int64_t)event_u64(&ev, event_field(ev.type, "new")) == INT64_MAX);
	reader_close(r);
	ev = one_event("1 kvm_exit rip=0xffffffffffffffff", &r);
	assert_true(event_u64(&ev, event_field(ev.type, "rip")) == UINT64_MAX);
	reader_close(r);
}

static void lines_are_sorted(void **state)
{
	struct seen s;

	(void)state;
	assert_int_equal(read_text(HEAD "3 kvm_run\n1 kvm_run\n2 kvm_run\n1.5 lost count=5\n", &s),
			 0);
	assert_int_equal(s.events, 4);
	assert_int_equal(s.backwards, 0);
	assert_int_equal(s.info.lost, 5);
	assert_int_equal(s.info.late, 0);
}

/* Each with the line that the message must name. */
static void mistakes_are_named(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"1 kvm_exits\n", "t.txt:2: unknown event 'kvm_exits'"},
		{"1 kvm_run\n\n1 kvm_pio prt=1\n", "t.txt:4: kvm_pio has no field 'prt'"},
		{"1 kvm_pio port=x\n", "t.txt:2: port=x: invalid or out-of-range number"},
		{"1 kvm_pio port=\n", "t.txt:2: port=: invalid or out-of-range number"},
		{"1 kvm_pio size=256\n", "t.txt:2: size=256: invalid or out-of-range number"},
		{"1 kvm_pio size=-1\n", "t.txt:2: size=-1: invalid or out-of-range number"},
		{"1 kvm_pio port=1x\n", "t.txt:2: port=1x"},
		{"1 kvm_pio port=0x100000000\n", "t.txt:2: port=0x100000000"},
		{"1 kvm_set_irq level=2147483648\n", "t.txt:2: level=2147483648"},
		{"1 kvm_write_tsc_offset old=-9223372036854775809\n", "t.txt:2: old="},
		{"1 kvm_pio vcpu=65536\n", "t.txt:2: vcpu=65536"},
		{"1 kvm_pio port\n", "t.txt:2: expected field=value, not 'port'"},
		{"1 kvm_pio =1\n", "t.txt:2: kvm_pio has no field ''"},
		{"x kvm_pio\n", "t.txt:2: invalid timestamp 'x'"},
		{"-1 kvm_pio\n", "t.txt:2: invalid timestamp '-1'"},
		{"1.0000000001 kvm_pio\n", "t.txt:2: invalid timestamp '1.0000000001'"},
		{"18446744074 kvm_pio\n", "t.txt:2: invalid timestamp '18446744074'"},
		{"1\n", "t.txt:2: no event after the timestamp"},
		{"1 thread comm=\"open\n", "t.txt:2: comm: missing closing quote"},
		{"1 thread comm=\"\\q\"\n",
		 "t.txt:2: comm: missing closing quote or invalid escape sequence"},
		{"1 thread comm=12345678901234567\n", "t.txt:2: comm is longer than 16 bytes"},
		{"# type {\n", "t.txt:2: type: not a JSON object"},
		{"# type {\"name\":\"x\",\"size\":3,\"fields\":[]}\n",
		 "t.txt:2: event x: invalid record size 3"},
		{"# meta 7\n", "t.txt:2: meta: not a JSON object"},
		{"1 \x1b[31m\n", "t.txt:2: unknown event '?[31m'"},
	};
	struct seen s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text), HEAD "%s", bad[i].text);
		assert_int_equal(read_text(text, &s), -EINVAL);
		if (!strstr(error_text(), bad[i].message))
			print_error("wanted '%s', got '%s'\n", bad[i].message, error_text());
		assert_non_null(strstr(error_text(), bad[i].message));
	}
	assert_int_equal(read_text("# hostrace text 2\n", &s), -EINVAL);
	assert_non_null(strstr(error_text(), "version 1"));
	file_write(in_scratch("t.txt"), HEAD "1 kvm\0run\n", strlen(HEAD) + 10);
	assert_int_equal(trace_read(in_scratch("t.txt"), &s), -EINVAL);
}

/* The field has the name of a key that every record has; and a type may be declared again. */
static void declared_types(void **state)
{
	static struct batch b;
	struct reader *r;
	const char *path = in_scratch("decl.txt"),
		   *text = HEAD "# meta {\"host\":\"h\"}\n"
				"# type "
				"{\"name\":\"x\",\"size\":32,\"fields\":[{\"name\":\"cpu\","
				"\"kind\":\"uint\",\"offset\":24,\"size\":4}]}\n"
				"1 x cpu=70000 .cpu=7\n"
				"# type "
				"{\"name\":\"x\",\"size\":32,\"fields\":[{\"name\":\"y\",\"kind\":"
				"\"dyntext\",\"offset\":24,\"size\":4}]}\n"
				"2 x y=\"some longer text\" cpu=8\n";
	char out[32];

	(void)state;
	file_write(path, text, strlen(text));
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "host")), "h");
	assert_int_equal(reader_next(r, &b), 1);
	assert_int_equal(b.nr, 2);
	assert_int_equal(event_u64(&b.ev[0], event_field(b.ev[0].type, "cpu")), 70000);
	assert_int_equal(b.ev[0].cpu, 7);
	assert_int_equal(b.ev[1].cpu, 8);
	assert_string_equal(event_text(&b.ev[1], event_field(b.ev[1].type, "y"), out, sizeof(out)),
			    "some longer text");
	assert_int_equal(b.ev[1].size % 8, 0);
	reader_close(r);
}

/* ---- round trip ---- */

/* A record of each of our types, every byte of every field random, text included. */
static void write_all_types(const char *path, uint32_t seed)
{
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});

	for (unsigned int n = 0; n < 20 * EV_LIMIT; n++) {
		const struct event_type *t = event_type_ours(n % EV_LIMIT);
		uint8_t data[2048] __attribute__((aligned(8))) = {0};
		struct record_hdr h = {.time = 1000 + n,
				       .pid = dice(&seed),
				       .tid = dice(&seed),
				       .cpu = (uint16_t)dice(&seed),
				       .vcpu = (uint16_t)(dice(&seed) | 1 << 15)};

		if (!t)
			continue;
		assert_true(t->size <= sizeof(data));
		h.type = t->id;
		h.size = t->size;
		memcpy(data, &h, sizeof(h));
		for (unsigned int i = 0; i < t->nr_fields; i++) {
			const struct field *f = &t->fields[i];
			unsigned int len =
				f->kind == FIELD_TEXT ? dice(&seed) % (f->size + 1u) : f->size;

			for (unsigned int k = 0; k < len; k++)
				data[f->offset + k] =
					(uint8_t)(f->kind == FIELD_TEXT ? 1 + dice(&seed) % 255
									: dice(&seed));
		}
		if (t->id == EV_kvm_userspace_exit) /* the text of one that failed has no reason */
			data[offsetof(struct rec_kvm_userspace_exit, error) + 3] &= 0x7f;
		assert_int_equal(trace_writer_record(w, (struct record_hdr *)data), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
}

static struct reader *open_both(const char *path, const char *twin, struct reader **other)
{
	struct reader *r;

	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_int_equal(reader_open(twin, NULL, other), 0);
	return r;
}

static void write_twin(const char *path, const char *twin)
{
	static struct batch b;
	FILE *f = fopen(twin, "w");
	struct reader *r;

	assert_non_null(f);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	textfile_head(&r->info, f);
	while (reader_next(r, &b) > 0)
		for (unsigned int i = 0; i < b.nr; i++) {
			textfile_print(&b.ev[i], f);
			fputc('\n', f);
		}
	reader_close(r);
	fclose(f);
}

static void round_trip_is_exact(void **state)
{
	const char *path = in_scratch("all.hrt"), *twin = in_scratch("all.txt");
	static struct batch a, b;
	struct reader *r, *t;
	unsigned int nr = 0;

	(void)state;
	write_all_types(path, 7);
	write_twin(path, twin);
	r = open_both(path, twin, &t);
	assert_true(json_equal(r->info.meta, t->info.meta));
	assert_int_equal(r->info.start_ns, t->info.start_ns);
	assert_int_equal(r->info.end_ns, t->info.end_ns);
	while (reader_next(r, &a) > 0) {
		assert_int_equal(reader_next(t, &b), 1);
		assert_int_equal(a.nr, b.nr);
		for (unsigned int i = 0; i < a.nr; i++, nr++) {
			assert_ptr_equal(a.ev[i].type, b.ev[i].type);
			assert_int_equal(a.ev[i].size, b.ev[i].size);
			assert_memory_equal(a.ev[i].data, b.ev[i].data, a.ev[i].size);
		}
	}
	assert_int_equal(reader_next(t, &b), 0);
	assert_true(nr > 600);
	reader_close(r);
	reader_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_lines_are_enough),
		cmocka_unit_test(keys_and_fields),
		cmocka_unit_test(text_fields),
		cmocka_unit_test(signed_and_wide_numbers),
		cmocka_unit_test(lines_are_sorted),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(declared_types),
		cmocka_unit_test(round_trip_is_exact),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
