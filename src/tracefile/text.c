// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text form is for people and tests: everything except time and event name may be omitted, and errors are
 * reported with file and line. Lines become records like those of a .hrt file, so that both use the same sorting.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/units.h"
#include "event/pending.h"
#include "event/records.h"
#include "tracefile/format.h"
#include "tracefile/tracefile.h"

#define FORMAT_LINE "# hostrace text "

enum {
	LINE_MAX_BYTES = 16 << 20, /* longest line, as the metadata's chunk in a .hrt file */
};

struct textfile {
	struct reader reader;
	FILE *file;
	char *line;
	size_t line_size;
	uint64_t line_nr;
	const struct event_type **types; /* NR_TYPE_IDS, by id; ours have their own */
	uint16_t id_of[EVENT_TYPES_MAX]; /* by index; 0: the file has not declared it */
	unsigned int next_id;
	struct hash_table names; /* of struct declared */
	struct pending pending;
	bool end;
	uint64_t unplaced; /* of the metadata, counted as lost */
	uint8_t record[EVENT_RECORD_MAX + 8]; /* being built */
	size_t record_len;
	uint64_t present; /* fields that the line has */
	struct event_shapes shapes[EV_LIMIT]; /* of ours: shape_set() */
};

static bool textfile_probe(const uint8_t *head, size_t len)
{
	return len >= strlen(FORMAT_LINE) && !memcmp(head, FORMAT_LINE, strlen(FORMAT_LINE));
}

static void textfile_close(struct reader *r)
{
	struct textfile *t = (struct textfile *)r;

	pending_deinit(&t->pending);
	trace_info_deinit(&r->info);
	if (t->file)
		fclose(t->file);
	free(t->line);
	free(t->types);
	hash_deinit(&t->names);
	free(t);
}

DEFINE_CLEANUP(textfile, struct reader *, textfile_close);

static int line_fail(const struct textfile *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int line_fail(const struct textfile *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_sanitize(text);
	return fail(-EINVAL, "%s:%" PRIu64 ": %s", t->reader.info.file, t->line_nr, text);
}

static int line_reserve(struct textfile *t, size_t len)
{
	size_t size = t->line_size ? 2 * t->line_size : 4096;
	char *line;

	if (len <= t->line_size)
		return 0;
	line = size <= LINE_MAX_BYTES ? realloc(t->line, size) : NULL;
	if (!line)
		return line_fail(t, "line too long");
	t->line = line;
	t->line_size = size;
	return 0;
}

/* The next line without its newline: 1; 0 at the end. */
static int line_read(struct textfile *t)
{
	size_t len = 0;
	int c;

	t->line_nr++;
	if (line_reserve(t, 1))
		return -EINVAL;
	while ((c = getc_unlocked(t->file)) != EOF && c != '\n') {
		if (!c)
			return line_fail(t, "the line contains a NUL byte");
		if (line_reserve(t, len + 2))
			return -EINVAL;
		t->line[len++] = (char)c;
	}
	if (c == EOF && !len)
		return ferror(t->file) ? line_fail(t, "read error") : 0;
	t->line[len] = 0;
	progress_read(len + 1);
	return 1;
}

/* ---- declarations ---- */

/* Fields that a line may lack, but whose 0 would be an assertion: a preempted thread, an exit for an exception. */
static uint64_t asserted(unsigned int id)
{
	return id == EV_sched_switch	      ? RECORD_BIT(sched_switch, prev_state)
	       : id == EV_kvm_exit	      ? RECORD_BIT(kvm_exit, reason)
	       : id == EV_kvm_userspace_exit ? RECORD_BIT(kvm_userspace_exit, reason)
					      : 0;
}

bool textfile_implies(const struct event_type *type)
{
	uint64_t whole = type->id ? event_type_ours(type->id)->present : 0;

	return whole && !(whole & ~type->present & ~asserted(type->id)) &&
	       event_type_with(type->id, type->present) == type;
}

/* The newest of a name. */
struct declared {
	const char *name; /* the type's */
	uint16_t id;
};

/* The id of a type: its own if it is ours, else one for what the file declares or its lines lack; 0: too many. */
static uint16_t type_id(struct textfile *t, const struct event_type *type)
{
	if (type->id && event_type_ours(type->id) == type)
		return (uint16_t)type->id;
	if (t->id_of[type->index] || t->next_id == NR_TYPE_IDS)
		return t->id_of[type->index];
	t->types[t->next_id] = type;
	t->id_of[type->index] = (uint16_t)t->next_id;
	return (uint16_t)t->next_id++;
}

static int declare_type(struct textfile *t, const json_t *json)
{
	const struct event_type *type;
	struct declared *d;
	char where[512];
	uint16_t id;
	int err;

	snprintf(where, sizeof(where), "%s:%" PRIu64, t->reader.info.file, t->line_nr);
	err = schema_to_type(json, where, &type, &id);
	if (err)
		return err;
	id = type_id(t, type);
	if (!id)
		return line_fail(t, "too many event types");
	d = hash_add_text(&t->names, type->name, NULL);
	if (!d)
		return fail(-ENOMEM, "out of memory");
	d->id = id;
	return 0;
}

static int json_fail(const struct textfile *t, const char *what, const char *why)
{
	return line_fail(t, "%s: not a JSON object%s%s", what, *why ? ": " : "", why);
}

static int declare_types(struct textfile *t, const char *text)
{
	json_error_t why = {0};
	json_t *json = json_text_load(text, strlen(text), 0, &why);
	int err = json_is_object(json) ? declare_type(t, json) : json_fail(t, "type", why.text);

	json_decref(json);
	return err;
}

static int meta_take(struct textfile *t, char *text)
{
	json_error_t why = {0};

	if (!trace_info_load(&t->reader.info, text, strlen(text), &why))
		return json_fail(t, "meta", why.text);
	meta_losses_read(&t->reader.info, &t->unplaced);
	trace_info_unit_notes(&t->reader.info);
	return 0;
}

static int take_comment(struct textfile *t, char *line)
{
	if (!strncmp(line, "# type ", 7))
		return declare_types(t, line + 7);
	if (!strncmp(line, "# meta ", 7))
		return meta_take(t, line + 7);
	return 0;
}

/* ---- one event ---- */

static char *skip_space(char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r')
		p++;
	return p;
}

/* Terminates the word at p (in place) and returns the text after it. */
static char *cut_word(char *p)
{
	p += strcspn(p, " \t\r");
	if (*p)
		*p++ = 0;
	return p;
}

/* The newest declaration of the name, else ours. */
static uint16_t find_type(const struct textfile *t, const char *name)
{
	const struct declared *d = hash_find_text(&t->names, name);
	const struct event_type *type;

	if (d)
		return d->id;
	type = event_type_named(name);
	return type && type->id && event_type_ours(type->id) == type ? type->id : 0;
}

/*
 * Does the number fit into `size` bytes? Then *ret is its low bytes. The one signed byte there is, tsc_shift, has its
 * unsigned value in older texts.
 */
static bool parse_number(const char *s, size_t size, bool is_signed, uint64_t *ret)
{
	bool minus = *s == '-';
	unsigned int bits = 8 * (unsigned int)size;
	bool halves = is_signed && (minus || size > 1);
	uint64_t most = halves	     ? (1ull << (bits - 1)) - !minus
			: bits == 64 ? UINT64_MAX
				     : (1ull << bits) - 1;
	char *end;

	s += minus;
	errno = 0;
	*ret = strtoull(s, &end, 0);
	if (!isdigit((unsigned char)*s) || *end || errno || *ret > most || (minus && !is_signed))
		return false;
	if (minus)
		*ret = -*ret;
	return true;
}

/*
 * Removes the quotes and escapes, in place: *p is after the opening quote, and afterwards after the closing one.
 * Returns the text, NULL if it has no end or a bad escape.
 */
static char *unquote(char **p)
{
	char *from = *p, *to = *p, *start = *p;

	for (; *from && *from != '"'; from++) {
		if (*from != '\\') {
			*to++ = *from;
		} else if (from[1] == '"' || from[1] == '\\') {
			*to++ = *++from;
		} else if (from[1] == 'x' && hex_digit(from[2]) >= 0 && hex_digit(from[3]) >= 0) {
			*to++ = (char)(hex_digit(from[2]) << 4 | hex_digit(from[3]));
			from += 3;
		} else {
			return NULL;
		}
	}
	if (!*from)
		return NULL;
	*to = 0;
	*p = from + 1;
	return start;
}

static int set_text(struct textfile *t, const struct field *f, const char *text)
{
	size_t len = strlen(text), at = t->record_len;

	if (f->kind == FIELD_TEXT) {
		if (len > f->size)
			return line_fail(t, "%s is longer than %u bytes", f->name, f->size);
		memset(t->record + f->offset, 0, f->size);
		memcpy(t->record + f->offset, text, len);
		return 0;
	}
	if (at + len + 1 > EVENT_RECORD_MAX)
		return line_fail(t, "%s makes the record longer than %d bytes", f->name,
				 EVENT_RECORD_MAX);
	uint32_t loc = (uint32_t)at | (uint32_t)(len + 1) << 16;

	memcpy(t->record + f->offset, &loc, 4);
	memcpy(t->record + at, text, len + 1);
	t->record_len += len + 1;
	return 0;
}

/* The name of a type; of ours also its number. */
static bool parse_type(const struct textfile *t, const char *s, uint64_t *ret)
{
	uint16_t id;

	if (parse_number(s, sizeof(uint32_t), false, ret)) {
		*ret = *ret < RECORD_DECLARED_FIRST ? *ret : EVENT_UNDECLARED;
		return true;
	}
	id = find_type(t, s);
	if (id)
		*ret = t->types[id] ? event_type_number(t->types[id]) : id;
	return id;
}

static int set_field(struct textfile *t, const struct event_type *type, const char *key,
		     const char *value)
{
	const struct field *f = event_field(type, key);
	uint64_t v;

	if (!f)
		return line_fail(t, "%s has no field '%.64s'", type->name, key);
	if (f->kind == FIELD_TEXT || f->kind == FIELD_DYNTEXT) {
		t->present |= f - type->fields < 64 ? 1ull << (f - type->fields) : 0;
		return set_text(t, f, value);
	}
	if (f->kind == FIELD_UINT && f->size >= sizeof(uint32_t) && !strcmp(f->fmt, "event")
		    ? !parse_type(t, value, &v)
		    : !parse_number(value, f->size, f->kind == FIELD_SINT, &v))
		return line_fail(t, "%s=%.64s: invalid or out-of-range number", key, value);
	memcpy(t->record + f->offset, &v, f->size);
	t->present |= f - type->fields < 64 ? 1ull << (f - type->fields) : 0;
	return 0;
}

static const struct {
	const char *name;
	uint8_t offset, size;
} header_keys[] = {
	{"pid", offsetof(struct record_hdr, pid), 4},
	{"tid", offsetof(struct record_hdr, tid), 4},
	{"cpu", offsetof(struct record_hdr, cpu), 2},
	{"vcpu", offsetof(struct record_hdr, vcpu), 2},
};

static int set_key(struct textfile *t, const struct event_type *type, const char *key,
		   const char *value)
{
	bool dotted = *key == '.';
	uint64_t v;

	for (size_t i = 0; i < sizeof(header_keys) / sizeof(header_keys[0]); i++) {
		if (strcmp(key + dotted, header_keys[i].name) ||
		    (!dotted && event_field(type, key)))
			continue;
		if (!parse_number(value, header_keys[i].size, false, &v))
			return line_fail(t, "%s=%.64s: invalid or out-of-range number", key,
					 value);
		memcpy(t->record + header_keys[i].offset, &v, header_keys[i].size);
		return 0;
	}
	return set_field(t, type, key, value);
}

static int take_pairs(struct textfile *t, const struct event_type *type, char *p)
{
	for (p = skip_space(p); *p; p = skip_space(p)) {
		char *key = p, *value = p + strcspn(p, "= \t\r");
		int err;

		if (*value != '=')
			return line_fail(t, "expected field=value, not '%.64s'", key);
		*value++ = 0;
		p = value;
		if (*value == '"') {
			p++;
			value = unquote(&p);
			if (!value)
				return line_fail(
					t, "%s: missing closing quote or invalid escape sequence",
					key);
		} else {
			p = cut_word(value);
		}
		err = set_key(t, type, key, value);
		if (err)
			return err;
	}
	return 0;
}

static int keep_record(struct textfile *t, struct record_hdr *h)
{
	uint8_t *to;

	while (t->record_len % 8)
		t->record[t->record_len++] = 0;
	if (t->record_len > EVENT_RECORD_MAX)
		return line_fail(t, "the record is longer than %d bytes", EVENT_RECORD_MAX);
	memcpy(t->record + offsetof(struct record_hdr, size), &(uint16_t){(uint16_t)t->record_len},
	       2);
	if (pending_reserve(&t->pending, 1))
		return -ENOMEM;
	to = pending_memory(&t->pending, t->record_len);
	if (!to)
		return line_fail(t, "out of memory");
	memcpy(to, t->record, t->record_len);
	pending_add(&t->pending, h->time, to, t->record_len);
	return 0;
}

/* A record that lacks a field whose 0 would be an assertion is of a type without it, and with all others. */
static void shape_set(struct textfile *t, const struct event_type *type, uint16_t id)
{
	uint64_t lacks = asserted(id) & ~t->present;
	const struct event_type *shape =
		lacks ? event_shape_type(&t->shapes[id], type, type->present & ~lacks) : type;
	uint16_t shape_id = shape == type ? 0 : type_id(t, shape);

	if (shape_id)
		memcpy(t->record + offsetof(struct record_hdr, type), &shape_id, sizeof(shape_id));
}

static int take_event(struct textfile *t, char *line)
{
	char *name = skip_space(cut_word(line)), *pairs = cut_word(name);
	struct record_hdr h = {.cpu = RECORD_CPU_UNKNOWN, .vcpu = RECORD_NO_VCPU};
	const struct event_type *type;
	int err;

	if (!parse_seconds(line, &h.time))
		return line_fail(
			t, "invalid timestamp '%.64s' (expected seconds with up to nine decimals)",
			line);
	h.type = find_type(t, name);
	if (!h.type)
		return line_fail(t,
				 *name ? "unknown event '%.64s'" : "no event after the timestamp%s",
				 name);
	type = t->types[h.type];
	if (!type)
		type = t->types[h.type] = event_type_ours(h.type);
	t->present = 0;
	t->record_len = type->size;
	memset(t->record, 0, type->size);
	memcpy(t->record, &h, sizeof(h));
	err = take_pairs(t, type, pairs);
	if (!err && h.type < RECORD_DECLARED_FIRST)
		shape_set(t, type, h.type);
	return err ? err : keep_record(t, &h);
}

/* ---- the reader ---- */

/* Reads lines until the end or until as much waits as may. */
static int tracetext_fill(struct textfile *t)
{
	int err = 0;

	while (!t->end && !err && !pending_full(&t->pending)) {
		int more = line_read(t);
		char *p;

		if (more <= 0) {
			t->end = !more;
			err = more;
			continue;
		}
		p = t->line ? skip_space(t->line) : "";
		if (*p)
			err = *p == '#' ? take_comment(t, p) : take_event(t, p);
	}
	if (err)
		return err;
	if (t->end)
		pending_release(&t->pending, UINT64_MAX);
	else
		pending_release_half(&t->pending);
	return 0;
}

static int check_version(struct textfile *t)
{
	int more = line_read(t);

	if (more < 0)
		return more;
	if (!more || strncmp(t->line, FORMAT_LINE, strlen(FORMAT_LINE)))
		return line_fail(t, "not a hostrace text file");
	if (atoi(t->line + strlen(FORMAT_LINE)) != 1)
		return line_fail(
			t, "unsupported text format version %.16s; this hostrace reads version 1",
			t->line + strlen(FORMAT_LINE));
	return 0;
}

static int textfile_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	_cleanup_(textfile_cleanup_) struct reader *r = calloc(1, sizeof(struct textfile));
	struct textfile *t = (struct textfile *)r;
	int err = r ? trace_info_init(&r->info, path, "text")
		    : fail(-ENOMEM, "%s: out of memory", path);

	if (err)
		return err;
	r->ops = &textfile_reader;
	t->types = calloc(NR_TYPE_IDS, sizeof(*t->types));
	r->info.types_read = calloc(EVENT_TYPES_MAX, sizeof(*r->info.types_read));
	t->names = HASH_TABLE_OF_TEXTS(struct declared, NR_TYPE_IDS);
	t->next_id = RECORD_DECLARED_FIRST;
	t->pending.since_ns = hint ? hint->since_ns : 0;
	t->pending.until_ns = hint ? hint->until_ns : UINT64_MAX;
	if (!t->types || !r->info.types_read)
		return fail(-ENOMEM, "%s: out of memory", path);
	t->file = open_files_stream(hint ? hint->files : NULL, path);
	if (!t->file)
		return fail(-errno, "%s: %s", path, strerror(errno));
	err = check_version(t);
	if (!err)
		err = tracetext_fill(t);
	if (err)
		return err;
	if (t->pending.nr)
		r->info.start_ns = t->pending.slots[0].time_ns;
	if (t->pending.nr && t->end)
		r->info.end_ns = t->pending.slots[t->pending.nr - 1].time_ns;
	trace_info_window(&r->info);
	*ret = take_ptr(r);
	return 0;
}

static int textfile_next(struct reader *r, struct batch *batch)
{
	struct textfile *t = (struct textfile *)r;
	int err = 0;

	batch->nr = 0;
	if (t->pending.head == t->pending.ready && !t->end)
		err = tracetext_fill(t);
	if (err)
		return err;
	if (t->pending.head < t->pending.ready) {
		pending_batch(&t->pending, t->types, &r->info, batch);
		return 1;
	}
	if (t->pending.newest_ns)
		r->info.end_ns = t->pending.newest_ns;
	pending_deinit(&t->pending); /* another reader of the file may follow before this one is closed */
	trace_info_window(&r->info);
	if (r->info.late)
		trace_info_caveat(&r->info,
				  "%s: %" PRIu64 " events arrived too late to be sorted",
				  r->info.file, r->info.late);
	return 0;
}

const struct reader_ops textfile_reader = {
	.name = "text",
	.summary = "hostrace's trace file as text",
	.probe = textfile_probe,
	.open = textfile_open,
	.next = textfile_next,
	.close = textfile_close,
};
