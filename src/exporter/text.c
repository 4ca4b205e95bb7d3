// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "event/event.h"
#include "exporter/text.h"

/* Backslash, quote and newline; the last is already replaced. */
static size_t value_escape(const char *value, char *buf)
{
	size_t len = 0;

	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			buf[len++] = '\\';
		buf[len++] = *value;
	}
	return len;
}

void metric_label(struct metric_labels *l, const char *name, const char *value)
{
	char copy[METRIC_VALUE_MAX + 1], text[2 * METRIC_VALUE_MAX];
	size_t capacity = sizeof(l->text) - l->len;
	int n;

	snprintf(copy, sizeof(copy), "%s", value);
	text_neutralise(copy);
	n = snprintf(l->text + l->len, capacity, "%s%s=\"%.*s\"", l->len ? "," : "", name,
		     (int)value_escape(copy, text), text);
	if (n > 0 && (size_t)n < capacity)
		l->len += (size_t)n;
	l->text[l->len] = '\0';
}

void metric_label_number(struct metric_labels *l, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	metric_label(l, name, text);
}

void metric_family(struct metric_text *t, const char *name, const char *type, const char *help)
{
	t->family = name;
	if (t->out)
		fprintf(t->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void sample_write(struct metric_text *t, const char *suffix, const struct metric_labels *l,
			 const char *value)
{
	t->samples++;
	if (t->out && l && l->len)
		fprintf(t->out, "%s%s{%s} %s\n", t->family, suffix, l->text, value);
	else if (t->out)
		fprintf(t->out, "%s%s %s\n", t->family, suffix, value);
}

static void number_write(struct metric_text *t, const char *suffix, const struct metric_labels *l,
			 uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	sample_write(t, suffix, l, text);
}

static void seconds_write(struct metric_text *t, const char *suffix, const struct metric_labels *l,
			  uint64_t ns)
{
	char text[32];

	sample_write(t, suffix, l, seconds_print(ns, text, sizeof(text)));
}

void metric_number(struct metric_text *t, const struct metric_labels *l, uint64_t value)
{
	number_write(t, "", l, value);
}

void metric_seconds(struct metric_text *t, const struct metric_labels *l, uint64_t ns)
{
	seconds_write(t, "", l, ns);
}

static void bucket_write(struct metric_text *t, const struct metric_labels *l, const char *bound,
			 uint64_t count)
{
	struct metric_labels all = *l;

	metric_label(&all, "le", bound);
	number_write(t, "_bucket", &all, count);
}

void metric_histogram(struct metric_text *t, const struct metric_labels *l,
		      const struct metric_histogram *h)
{
	uint64_t count = 0;
	char bound[32];

	for (unsigned int i = 0; i + 1 < h->nr; i++) {
		count += h->count[i];
		bucket_write(t, l, seconds_print(h->bound_ns[i], bound, sizeof(bound)), count);
	}
	count += h->count[h->nr - 1];
	bucket_write(t, l, "+Inf", count);
	seconds_write(t, "_sum", l, h->sum_ns);
	number_write(t, "_count", l, count);
}
