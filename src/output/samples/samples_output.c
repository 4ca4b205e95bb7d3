// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/json_text.h"
#include "base/units.h"
#include "event/event.h"
#include "output/json_rows.h"
#include "output/samples/samples_output.h"

const char *sample_timestamp(uint64_t ns, char *buf, size_t size)
{
	char text[32];

	snprintf(buf, size, "%12s", seconds_print(ns, text, sizeof(text)));
	return buf;
}

const char *sample_ms(double ns, char *buf, size_t size)
{
	return decimal_print(ns / 1e6, 3, buf, size);
}

void row_sink_add(struct row_sink *sink, json_t *row)
{
	if (!sink->nr)
		json_rows_begin(sink->out);
	json_rows_next(sink->out, sink->nr++);
	sink->shown = true;
	if (row)
		json_text_put(row, sink->out, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(row);
}

void row_sink_end(struct row_sink *sink, json_t *head)
{
	if (!sink->nr)
		json_rows_begin(sink->out);
	json_rows_end(sink->out, head);
}

json_t *text_json(const char *text)
{
	json_t *value = json_string(text);

	if (value)
		return value;
	_cleanup_free_ char *copy = strdup(text); /* broken UTF-8 */

	if (copy)
		text_neutralise(copy);
	return json_string(copy ? copy : "");
}

json_t *sample_who_json(const struct sample *s)
{
	return json_pack("{s:o, s:o, s:I, s:I}", "thread", json_sprintf("0x%" PRIx64, s->thread),
			 "comm", text_json(s->thread_name), "cpu", (json_int_t)s->cpu, "vcpu",
			 (json_int_t)s->cpu);
}
