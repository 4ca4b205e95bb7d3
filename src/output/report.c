// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What all formats share: the end of a report that is a table, keys of times in ticks, notes ("caveats"), the
 * explanation of a report without rows.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/condition.h"
#include "base/units.h"
#include "output/report.h"

const char table_formats[] = "text json csv";
const char histogram_formats[] = "text json csv";
const char heatmap_formats[] = "text json csv svg html";

const struct format *format_find(const char *name)
{
	for (const struct format *const *f = formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

/* --where: the rows that it selects. Without any, that is the answer. */
static int rows_select(struct report *r, struct table *t, char *none, size_t size)
{
	_cleanup_condition_ struct condition *where = NULL;
	size_t nr = t->nr_rows;
	int err = condition_parse("--where", r->where, &where);

	if (!err)
		err = table_where(t, where);
	if (err || t->nr_rows)
		return err;
	if (nr)
		report_answer_none(r, where_none_print(where, nr, "row", none, size));
	return 0;
}

int report_table(const struct report *given, struct table *t, const char *sort)
{
	const char *key = given->out->sort ? given->out->sort : sort;
	int err = key ? table_sort(t, key) : 0;
	struct report r = *given;
	char none[320];

	if (!err && r.where)
		err = rows_select(&r, t, none, sizeof(none));
	table_limit(t, r.out->limit);
	if (!err)
		err = format_find(r.out->format)->table(&r, t);
	table_free(t);
	return err;
}

int report_table_made(const struct report *r, int err, struct table *t)
{
	if (!err)
		return report_table(r, t, NULL);
	table_free(t);
	return err;
}

const char *report_key(bool ticks, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key);

	if (!ticks || len < 3 || strcmp(key + len - 3, "_ns"))
		return key;
	snprintf(buf, size, "%.*s_ticks", (int)(len - 3), key);
	return buf;
}

json_t *report_json_in_ticks(json_t *value)
{
	json_t *made = json_is_object(value)  ? json_object()
		       : json_is_array(value) ? json_array()
					      : NULL;
	const char *key;
	char buf[64];
	json_t *v;
	size_t i;

	if (!made)
		return value;
	json_object_foreach (value, key, v)
		json_object_set_new(made, report_key(true, key, buf, sizeof(buf)),
				    report_json_in_ticks(json_incref(v)));
	json_array_foreach (value, i, v)
		json_array_append_new(made, report_json_in_ticks(json_incref(v)));
	json_decref(value);
	return made;
}

const char *report_duration(const struct report *r, uint64_t time, char *buf, size_t size)
{
	return r->ticks ? ticks_print(time, buf, size) : duration_print(time, buf, size);
}

json_t *json_text(const char *text)
{
	json_t *j = json_string(text);
	_cleanup_free_ char *copy = j ? NULL : strdup(text);

	if (!copy)
		return j;
	text_sanitize(copy);
	return json_string(copy);
}

json_t *json_sanitized(json_t *string)
{
	_cleanup_free_ char *text = string ? strdup(json_string_value(string)) : NULL;

	if (!text)
		return string;
	text_sanitize(text);
	json_string_set(string, text);
	return string;
}

void caveat_add(json_t *list, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		return;
	}
	text_sanitize(text);
	json_array_append_new(list, json_string(text));
}

void caveat_count(json_t *list, const char *what, uint64_t nr)
{
	if (nr)
		caveat_add(list, "%s: %" PRIu64, what, nr);
}

/* The colour begins anew on each line, since a pager ends it there. */
void caveat_print_tone(const char *text, enum tone tone, FILE *out)
{
	int column = fprintf(out, "#");

	fputs(tone_begin(tone), out);
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column + 1 + len > 79 && column > 4) {
			fputs(tone_end(tone), out);
			column = fprintf(out, "\n#  ") - 1;
			fputs(tone_begin(tone), out);
		}
		column += fprintf(out, " %.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fprintf(out, "%s\n", tone_end(tone));
}

void caveat_print(const char *text, FILE *out)
{
	caveat_print_tone(text, TONE_NONE, out);
}

void caveats_print(const struct report *r)
{
	size_t i;
	json_t *text;

	if (r->out->notes == NOTES_NONE)
		return;
	json_array_foreach (r->caveats, i, text)
		caveat_print(json_string_value(text), r->out->file);
}

void report_left_out(const struct report *r, uint64_t rows)
{
	const char *format = r->out->format;
	char text[96];

	if (!rows)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " more rows (%s)", rows,
		 r->out->limit ? "--limit" : "select fewer with --since, --until");
	if (!strcmp(format, "text") && r->out->notes != NOTES_NONE)
		fprintf(r->out->file, "# %s\n", text);
	else if (report_is_json(r) && r->caveats)
		caveat_add(r->caveats, "%s", text);
	else if (r->note)
		r->note("%s", text);
}

void report_answer_none(struct report *r, const char *text)
{
	r->answers = true;
	if (!strcmp(r->out->format, "text"))
		r->first_line = text;
	else if (report_is_json(r) && r->caveats)
		caveat_add(r->caveats, "%s", text);
	else if (r->note)
		r->note("%s", text);
}

const char *where_none_print(const struct condition *where, uint64_t of, const char *what,
			     char *buf, size_t size)
{
	snprintf(buf, size, "no %s matches --where '%.200s' (of %" PRIu64 ")", what,
		 condition_text(where), of);
	text_sanitize(buf);
	return buf;
}

void report_empty(const struct report *r)
{
	if (r->answers)
		return;
	if (r->empty)
		r->empty(r);
	else if (!strcmp(r->out->format, "text"))
		fprintf(r->out->file, "no data\n");
}
