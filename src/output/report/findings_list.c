// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A finding and its words. From candidates to findings: the largest of each kind, the largest kinds first, with the
 * number of others. Beside them what has to be known before reading the figures, and the page's title.
 */
#include "output/report/findings.h"

#include <string.h>

#include "base/order.h"
#include "base/units.h"
#include "output/report.h"
#include "output/report/page.h"
#include "output/table.h"

enum { SMALLEST = 1000 }; /* a share below 1/1000 is no finding */

/* ---- a finding ---- */

bool finding_counts(const struct found *f, double share)
{
	return share >= 1.0 / SMALLEST && json_array_size(f->list) < CANDIDATES_MAX;
}

void finding_add(struct found *f, const char *kind, const char *cause, const char *section,
		 double share, json_t *sentence)
{
	if (!finding_counts(f, share)) {
		json_decref(sentence);
		return;
	}
	json_array_append_new(f->list, json_pack("{s:s,s:s,s:s,s:f,s:o,s:o*}", "kind", kind,
						 "cause", cause, "section", section, "share", share,
						 "text", json_sanitized(sentence), "stands",
						 share > 1 ? json_true() : NULL));
}

bool finding_is_there(const struct found *f, const char *cause)
{
	const json_t *one;
	size_t i;

	json_array_foreach (f->list, i, one)
		if (!strcmp(text_of(one, "cause"), cause))
			return true;
	return false;
}

double share_of(const struct found *f, uint64_t ns)
{
	return f->span_ns ? (double)ns / (double)f->span_ns : 0;
}

const char *share_print(const struct found *f, uint64_t ns, char *buf, size_t size)
{
	char time[16], all[16], of[48];

	snprintf(of, sizeof(of), f->is_interval ? "the interval" : "the recording");
	if (f->is_part)
		snprintf(of, sizeof(of), "the %s that are known of its vCPUs",
			 duration_print(f->span_ns, all, sizeof(all)));
	snprintf(buf, size, "%.1f %% of %s (%s)", 100 * share_of(f, ns), of,
		 duration_print(ns, time, sizeof(time)));
	return buf;
}

const char *vcpu_print(const json_t *row, char *buf, size_t size)
{
	const char *vm = text_of(row, "vm");

	snprintf(buf, size, "vCPU %" JSON_INTEGER_FORMAT "%s%s",
		 json_integer_value(json_object_get(row, "vcpu")), *vm ? " of " : "", vm);
	return buf;
}

/* ---- the list ---- */

static int finding_compare(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int order = order_double(json_real_value(json_object_get(y, "share")),
				 json_real_value(json_object_get(x, "share")));

	order = order ? order : strcmp(text_of(x, "kind"), text_of(y, "kind"));
	return order ? order : strcmp(text_of(x, "text"), text_of(y, "text"));
}

/* The first of its kind and cause in `result`; NULL: there is none. */
static json_t *same_kind(const json_t *result, const json_t *finding)
{
	json_t *one;
	size_t i;

	json_array_foreach (result, i, one)
		if (!strcmp(text_of(one, "kind"), text_of(finding, "kind")) &&
		    !strcmp(text_of(one, "cause"), text_of(finding, "cause")))
			return one;
	return NULL;
}

/* Further ones of a kind are counted with the largest: eight vCPUs with the same problem are one finding. */
static void more_add(json_t *first, const json_t *finding)
{
	uint64_t more = number(first, "more");

	if (!more)
		json_object_set(first, "more_share", json_object_get(finding, "share"));
	json_object_set_new(first, "more", json_integer((json_int_t)more + 1));
}

static void more_print(json_t *finding)
{
	double share = json_real_value(json_object_get(finding, "more_share"));
	uint64_t more = number(finding, "more");
	char up_to[32] = "";

	if (!more)
		return;
	if (share <= 1)
		snprintf(up_to, sizeof(up_to), ", up to %.1f %%", 100 * share);
	else
		json_object_del(finding, "more_share");
	json_object_set_new(finding, "text",
			    json_sprintf("%s The same of %llu other%s%s.", text_of(finding, "text"),
					 (unsigned long long)more, more == 1 ? "" : "s", up_to));
}

json_t *findings_sorted(const json_t *list)
{
	size_t nr = json_array_size(list), i, kept[2] = {0}; /* causes, notes */
	json_t **all = calloc(nr + 1, sizeof(*all)), *result = json_array(), *first;

	for (i = 0; all && i < nr; i++)
		all[i] = json_array_get(list, i);
	if (all)
		qsort(all, nr, sizeof(*all), finding_compare);
	for (i = 0; all && i < nr; i++)
		if ((first = same_kind(result, all[i])))
			more_add(first, all[i]);
		else if (kept[json_object_get(all[i], "note") != NULL]++ < FINDINGS_MAX)
			json_array_append(result, all[i]);
	free(all);
	json_array_foreach (result, i, first) {
		more_print(first);
		if (json_real_value(json_object_get(first, "share")) > 1)
			json_object_set_new(first, "share", json_real(1));
	}
	return result;
}

/* ---- notes ---- */

static void note_add(json_t *notes, const char *note)
{
	json_t *one;
	size_t i;

	json_array_foreach (notes, i, one)
		if (!strcmp(json_string_value(one), note))
			return;
	json_array_append_new(notes, json_string(note));
}

json_t *page_notes_make(const json_t *sections)
{
	const json_t *info = data_of(sections, "info"), *sync = data_of(sections, "sync"), *one;
	json_t *notes = json_array();
	size_t i;

	json_array_foreach (json_object_get(info, "caveats"), i, one)
		note_add(notes, json_string_value(one));
	json_array_foreach (json_object_get(sync, "rows"), i, one)
		if (!strcmp(text_of(one, "verdict"), "unreliable")) {
			note_add(notes, "guest timestamps are unreliable; see the clock section");
			break;
		}
	return notes;
}

json_t *page_title_make(const json_t *sections)
{
	const json_t *info = json_object_get(data_of(sections, "info"), "result");
	size_t vms = json_array_size(json_object_get(info, "vms"));
	const char *name = text_of(json_object_get(info, "vm"), "name"),
		   *host = text_of(info, "host");
	bool is_host = *host && *host != '('; /* "(none)": it was not set */
	char span[16], number_of[32];

	snprintf(number_of, sizeof(number_of), "%zu VMs", vms);
	return json_sanitized(
		json_sprintf("%s%s%s, %s",
			     vms > 1 ? number_of
			     : *name ? name
				     : "recording",
			     is_host ? " on " : "", is_host ? host : "",
			     duration_print(number(info, "span_ns"), span, sizeof(span))));
}
