// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Labels of a sample, as the formats of text have them, "name=\"value\",...", and divided for the others; the value of
 * a duration.
 */
#include <inttypes.h>
#include <stdlib.h>
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

	if (l->nr == METRIC_PAIRS_MAX)
		return;
	snprintf(copy, sizeof(copy), "%s", value);
	text_sanitize(copy);
	n = snprintf(l->text + l->len, capacity, "%s%s=\"%.*s\"", l->len ? "," : "", name,
		     (int)value_escape(copy, text), text);
	if (n > 0 && (size_t)n < capacity) {
		l->len += (size_t)n;
		l->nr++;
	}
	l->text[l->len] = '\0';
}

/* Ends it at its closing quote and removes backslashes. Returns what follows. */
static char *value_unescape(char *value)
{
	char *to = value, *at = value;

	for (; *at != '"'; at++) {
		at += *at == '\\';
		*to++ = *at;
	}
	*to = '\0';
	return at + 1;
}

void metric_labels_split(const struct metric_labels *l, struct metric_pairs *ret)
{
	char *at = ret->text;

	memcpy(at, l->text, l->len + 1);
	for (ret->nr = 0; ret->nr < l->nr; ret->nr++) {
		at += ret->nr > 0; /* the comma */
		ret->pair[ret->nr].name = at;
		at = strchr(at, '=');
		*at = '\0';
		ret->pair[ret->nr].value = at + 2;
		at = value_unescape(at + 2);
	}
}

void metric_label_number(struct metric_labels *l, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	metric_label(l, name, text);
}

double metric_seconds_value(uint64_t ns)
{
	char text[32];

	return strtod(seconds_print(ns, text, sizeof(text)), NULL);
}
