// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/calltree.h"
#include "analyzers/profile/osv_report.h"
#include "base/decimal.h"
#include "event/event.h"

bool osv_range_trim(const struct osv_range *r, uint64_t start_ns, int64_t duration_ns,
		    double *ret_ns)
{
	double from = (double)start_ns, to = from + (double)duration_ns;

	if (r->has_since && from < r->since_ns)
		from = r->since_ns;
	if (r->has_until && to > r->until_ns)
		to = r->until_ns;
	*ret_ns = to - from;
	return to >= from;
}

const char *osv_stamp(uint64_t ns, char *buf, size_t size)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	snprintf(buf, size, "%12s", text);
	return buf;
}

const char *osv_ms(double ns, char *buf, size_t size)
{
	return decimal_print(ns / 1e6, 3, buf, size);
}

const char *osv_pretty(double ns, char *buf, size_t size)
{
	return calltree_duration(ns, buf, size);
}

static const char rows_begin[] = "{\"rows\":[";

void osv_sink_row(struct osv_sink *sink, json_t *row)
{
	if (!sink->nr)
		fputs(rows_begin, sink->out);
	fputs(sink->nr++ ? ",\n" : "\n", sink->out);
	if (row)
		json_dumpf(row, sink->out, JSON_COMPACT);
	json_decref(row);
}

void osv_sink_end(struct osv_sink *sink, json_t *head)
{
	char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;

	if (!sink->nr)
		fputs(rows_begin, sink->out);
	fprintf(sink->out, "\n]%s%s\n", text ? "," : "", text ? text + 1 : "}");
	free(text);
	json_decref(head);
}

json_t *osv_text_json(const char *text)
{
	json_t *value = json_string(text);

	if (value)
		return value;
	_cleanup_free_ char *copy = strdup(text); /* broken UTF-8 */

	if (copy)
		text_neutralise(copy);
	return json_string(copy ? copy : "");
}

json_t *osv_who_json(const struct osv_sample *s)
{
	return json_pack("{s:o, s:o, s:I, s:I}", "thread",
			 json_sprintf("0x%" PRIx64, s->thread), "comm",
			 osv_text_json(s->thread_name), "cpu", (json_int_t)s->cpu, "vcpu",
			 (json_int_t)s->cpu);
}
