// SPDX-License-Identifier: GPL-2.0-or-later
/* Malicious files: CRCs and lengths are right, the content is not. None may crash the reader. */

#include "base/json_text.h"
#include "tracefile/out.h"
#include "tracefile_util.h"

static struct trace_out *out_open(const char *path)
{
	struct trace_header h = {0};
	struct trace_out *o;

	assert_int_equal(trace_out_create(path, &h, false, false, &o), 0);
	return o;
}

static int read_schema(const char *schema)
{
	const char *path = in_scratch("schema.hrt");
	struct trace_out *o = out_open(path);
	json_t *json = json_loads(schema, JSON_ALLOW_NUL, NULL);
	struct seen s;

	assert_non_null(json);
	assert_int_equal(trace_out_json(o, CHUNK_SCHEMA, json), 0);
	json_decref(json);
	assert_int_equal(trace_out_finish(o, false, NULL), 0);
	return trace_read(path, &s);
}

#define F(kind, offset, size)                                                                      \
	"{\"name\":\"f\",\"kind\":\"" kind "\",\"offset\":" offset ",\"size\":" size "}"
#define T(name, size, fields)                                                                      \
	"[{\"id\":300,\"name\":\"" name "\",\"size\":" size ",\"fields\":[" fields "]}]"

static void bad_schemas_are_rejected(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[1]",
		"[{}]",
		"[{\"id\":300,\"name\":\"x\",\"size\":32}]",
		"[{\"name\":\"x\",\"size\":32,\"fields\":[]}]",
		"[{\"id\":70000,\"name\":\"x\",\"size\":32,\"fields\":[]}]",
		"[{\"id\":-1,\"name\":\"x\",\"size\":32,\"fields\":[]}]",
		"[{\"id\":300,\"name\":\"a\\u0000b\",\"size\":32,\"fields\":[]}]",
		T("", "32", ""),
		T("with space", "32", ""),
		T("esc\\u001b[2J", "32", ""),
		T("c1\\u009b", "32", ""),
		T("x", "8", ""),
		T("x", "65535", ""),
		T("x", "-32", ""),
		T("x", "32", F("uint", "24", "3")),
		T("x", "32", F("uint", "30", "4")),
		T("x", "32", F("uint", "0", "4")),
		T("x", "32", F("uint", "65535", "8")),
		T("x", "32", F("uint", "24", "\"4\"")),
		T("x", "32", F("blob", "24", "4")),
		T("x", "32", F("dyntext", "24", "8")),
		T("x", "32", "7"),
		("[{\"id\":300,\"name\":\"x\",\"size\":32,\"fields\":[]},"
		 "{\"id\":300,\"name\":\"y\",\"size\":32,\"fields\":[]}]"),
	};

	(void)state;
	assert_int_equal(read_schema(T("x", "32", F("uint", "24", "4"))), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(read_schema(bad[i]) < 0);
		assert_non_null(strstr(error_text(), "schema.hrt: offset 64: "));
	}
}

static void too_many_fields(void **state)
{
	char text[16384] = "[{\"id\":300,\"name\":\"x\",\"size\":32,\"fields\":[";

	(void)state;
	for (unsigned int i = 0; i <= EVENT_FIELDS_MAX; i++)
		sprintf(text + strlen(text), "%s%s", i ? "," : "", F("uint", "24", "4"));
	strcat(text, "]}]");
	assert_true(read_schema(text) < 0);
}

/* Writes a file with one records chunk of these bytes and returns what was read from it. */
static struct seen read_records(const void *data, size_t len, uint64_t first_ns, uint64_t last_ns)
{
	const char *path = in_scratch("records.hrt");
	struct trace_out *o = out_open(path);
	json_t *schema = json_loads(
		"[{\"id\":5,\"name\":\"kvm_pio\",\"size\":40,\"fields\":[{\"name\":\"port\","
		"\"kind\":\"uint\",\"offset\":24,\"size\":4}]}]",
		0, NULL);
	struct chunk_count count = {5, 1};
	struct chunk_header h = {.kind = CHUNK_RECORDS,
				 .nr_counts = 1,
				 .nr_records = 1,
				 .first_ns = first_ns,
				 .last_ns = last_ns,
				 .types_bloom = UINT64_MAX};
	struct seen s;

	assert_int_equal(trace_out_json(o, CHUNK_SCHEMA, schema), 0);
	json_decref(schema);
	assert_int_equal(trace_out_chunk(o, &h, &count, NULL, data, len), 0);
	assert_int_equal(trace_out_finish(o, false, NULL), 0);
	assert_int_equal(trace_read(path, &s), 0);
	return s;
}

static void bad_records_are_counted(void **state)
{
	struct rec_kvm_pio good = {.hdr = {.time = 7, .type = 5, .size = 40}, .port = 7},
			   two[2] = {good, good};
	struct seen s;

	(void)state;
	s = read_records(two, sizeof(two), 7, 7);
	assert_int_equal(s.events, 2);
	assert_int_equal(s.nr_caveats, 0);
	for (unsigned int i = 0; i < 8; i++) {
		two[0] = good;
		switch (i) {
		case 0:
			two[0].hdr.size = 0;
			break;
		case 1:
			two[0].hdr.size = 16;
			break;
		case 2:
			two[0].hdr.size = 41;
			break;
		case 3:
			two[0].hdr.size = 65528;
			break;
		case 4:
			two[0].hdr.size = 24;
			break; /* whole, but too short for its type */
		case 5:
			two[0].hdr.type = 6;
			break; /* not declared */
		case 6:
			two[0].hdr.time = 8;
			break; /* outside of its chunk */
		case 7:
			two[0].hdr.time = 6;
			break;
		}
		s = read_records(two, sizeof(two), 7, 7);
		assert_int_equal(s.events, i < 5 ? 0 : 1);
		assert_int_equal(s.nr_caveats, 1);
		assert_non_null(strstr(s.caveat, "match no declared event type"));
	}
	s = read_records(two, 10, 7, 7);
	assert_int_equal(s.events, 0);
	assert_int_equal(s.nr_caveats, 1);
}

/* Lengths that pass the file's end, or its limits, with a header that is sound otherwise. */
static void bad_lengths(void **state)
{
	const char *path = in_scratch("lengths.hrt");
	static const struct chunk_header bad[] = {
		{.kind = 3, .stored = 1 << 20, .raw = 1 << 20},
		{.kind = 3, .stored = UINT32_MAX, .raw = UINT32_MAX},
		{.kind = 3, .stored = 8, .raw = UINT32_MAX},
		{.kind = 3, .stored = 100, .raw = 50},
		{.kind = 3, .encoding = 1, .stored = 100, .raw = 2 << 20},
		{.kind = 2, .encoding = 1, .stored = 100, .raw = 17 << 20},
		{.kind = 3, .nr_counts = 65535},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t file[64 + 64 + 128] = {0};
		struct trace_header h = {0};
		struct seen s;

		trace_header_encode(&h, file);
		chunk_header_encode(&bad[i], file + 64);
		file_write(path, file, sizeof(file));
		assert_int_equal(trace_read(path, &s), 0);
		assert_int_equal(s.events, 0);
		assert_int_equal(s.nr_caveats, 1);
		assert_non_null(strstr(s.caveat, "192 bytes after offset 64 were not usable"));
	}
}

/* Text form with `chunks` lines of metadata, each under its own key: an array of `nr` empty arrays. */
static int read_arrays(unsigned int chunks, size_t nr, struct seen *ret)
{
	const char *path = in_scratch("arrays.txt");
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "# hostrace text 1\n");
	for (unsigned int i = 0; i < chunks; i++) {
		fprintf(f, "# meta {\"key%u\":[", i);
		for (size_t k = 0; k < nr; k++)
			fputs(k ? ",[]" : "[]", f);
		fprintf(f, "]}\n");
	}
	assert_int_equal(fclose(f), 0);
	return trace_read(path, ret);
}

/* Two bytes of metadata become 130 of memory. */
static void metadata_are_bounded(void **state)
{
	struct seen s;

	(void)state;
	assert_int_equal(read_arrays(1, JSON_LOADED_MAX / 128, &s), 0);
	assert_int_equal(s.nr_caveats, 1);
	assert_int_equal(read_arrays(3, META_BYTES_MAX / 128 / 3 - 15000, &s), 0);
	assert_int_equal(s.nr_caveats, 0);
	assert_int_equal(read_arrays(6, META_BYTES_MAX / 128 / 3, &s), 0);
	assert_int_equal(s.nr_caveats, 1);
	assert_non_null(strstr(s.caveat, "metadata beyond 16 MiB of memory is ignored"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_schemas_are_rejected),
		cmocka_unit_test(too_many_fields),
		cmocka_unit_test(bad_records_are_counted),
		cmocka_unit_test(bad_lengths),
		cmocka_unit_test(metadata_are_bounded),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
