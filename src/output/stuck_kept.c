// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both sides use it: `record` for the answer of its child, reports for what a file has, which anybody may have written.
 * An entry that lacks what a diagnosis needs of it is left out as a whole.
 */
#include "output/stuck_kept.h"

#include <string.h>

#include "base/json_text.h"
#include "output/report.h"

static void text_copy(json_t *to, const json_t *from, const char *key)
{
	const char *text = json_string_value(json_object_get(from, key));
	char cut[STUCK_KEPT_TEXT];

	if (!text)
		return;
	snprintf(cut, sizeof(cut), "%s", text);
	json_object_set_new(to, key, json_text(cut));
}

/* Integers from 0 on. */
static void number_copy(json_t *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);

	if (json_is_integer(v) && json_integer_value(v) >= 0)
		json_object_set(to, key, v);
}

static bool kept_has(const json_t *o, const char *key)
{
	return json_object_get(o, key);
}

/* Each of these: the part of an entry that is kept, or NULL if it is not of use. *ret_lost: it should have been. */

static json_t *finding_keep(const json_t *from, bool *ret_lost)
{
	json_t *to = json_object();

	text_copy(to, from, "kind");
	text_copy(to, from, "text");
	text_copy(to, from, "device");
	number_copy(to, from, "queue");
	number_copy(to, from, "tid");
	number_copy(to, from, "age_ns");
	if (kept_has(to, "kind") && kept_has(to, "text") && kept_has(to, "age_ns"))
		return to;
	*ret_lost = true;
	json_decref(to);
	return NULL;
}

const char *stuck_backend_server(const json_t *backend)
{
	static const char *const drivers[] = {"nbd",  "rbd",   "iscsi", "ssh", "nfs",
					      "http", "https", "ftp",   "ftps"};
	const json_t *node;
	size_t i;

	json_array_foreach (json_object_get(backend, "nodes"), i, node)
		for (size_t d = 0; d < sizeof(drivers) / sizeof(*drivers); d++)
			if (!strcmp(text_of(node, "driver"), drivers[d]))
				return drivers[d];
	return NULL;
}

static json_t *queue_keep(const json_t *from, bool *ret_lost)
{
	json_t *to, *backend = json_object();
	const char *server = stuck_backend_server(json_object_get(from, "backend"));

	(void)ret_lost;
	number_copy(backend, json_object_get(from, "backend"), "throttled");
	if (server)
		json_object_set_new(backend, "nodes", json_pack("[{s:s}]", "driver", server));
	if (!server && !json_integer_value(json_object_get(backend, "throttled"))) {
		json_decref(backend);
		return NULL;
	}
	to = json_pack("{s:o}", "backend", backend);
	text_copy(to, from, "device");
	number_copy(to, from, "queue");
	return to;
}

static json_t *vcpu_keep(const json_t *from, bool *ret_lost)
{
	json_t *to = json_object();

	number_copy(to, from, "tid");
	number_copy(to, from, "busy_ns");
	text_copy(to, from, "where");
	if (kept_has(to, "tid"))
		return to;
	*ret_lost = true;
	json_decref(to);
	return NULL;
}

/* Returns how many entries are missing. */
static json_int_t list_keep(json_t *to, const json_t *answer, const char *key, size_t max,
			    json_t *(*keep)(const json_t *from, bool *ret_lost))
{
	json_t *list = json_array();
	json_int_t lost = 0;
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(answer, key), i, one) {
		bool is_lost = false;
		json_t *kept = keep(one, &is_lost);

		lost += is_lost || (kept && json_array_size(list) >= max);
		if (kept && json_array_size(list) < max)
			json_array_append_new(list, kept);
		else
			json_decref(kept);
	}
	json_object_set_new(to, key, list);
	return lost;
}

json_t *stuck_kept_error(const char *why)
{
	return json_pack("{s:o}", "error", json_text(why));
}

json_t *stuck_kept(const json_t *answer)
{
	json_int_t lost = json_integer_value(json_object_get(answer, "left_out"));
	json_t *to;

	if (!json_is_object(answer))
		return NULL;
	if (json_is_string(json_object_get(answer, "error")))
		return stuck_kept_error(text_of(answer, "error"));
	if (!json_is_array(json_object_get(answer, "findings")))
		return stuck_kept_error("its answer has no list of findings");
	to = json_object();
	number_copy(to, answer, "start_ns");
	number_copy(to, answer, "end_ns");
	lost = lost > 0 && lost < INT32_MAX ? lost : 0;
	lost += list_keep(to, answer, "findings", STUCK_KEPT_FINDINGS, finding_keep);
	lost += list_keep(to, answer, "queues", STUCK_KEPT_QUEUES, queue_keep);
	lost += list_keep(to, answer, "vcpus", STUCK_KEPT_VCPUS, vcpu_keep);
	if (lost)
		json_object_set_new(to, "left_out", json_integer(lost));
	return to;
}
