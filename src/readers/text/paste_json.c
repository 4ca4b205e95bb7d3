// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs that are exported as JSON, an object a line: journalctl -o json, docker, Loki, Elasticsearch.
 *
 *	{"_HOSTNAME": "a", "MESSAGE": "kvm_exit: reason HLT ...", "_PID": "99"}
 *
 * Only strings are members that count, also of objects within.
 * The last one may lack its closing quote, as the line was cut.
 */
#include "readers/text/paste_json.h"

#include <string.h>

#include "base/array.h"

/* Behind the string whose opening quote precedes s; `end` if it is not closed. */
static const char *string_end(const char *s, const char *end)
{
	for (; s < end && *s != '"'; s++)
		s += *s == '\\' && s + 1 < end;
	return s;
}

static bool is_key(struct text_slice key, const char *const *names, size_t nr)
{
	return array_any(nr, i, strlen(names[i]) == key.len && !memcmp(names[i], key.at, key.len));
}

static void member_see(struct paste_json *json, struct text_slice key, struct text_slice value)
{
	static const char *const texts[] = {"MESSAGE", "message", "msg",  "log",
					    "line",    "body",	  "text", "textPayload"},
				 *const hosts[] = {"_HOSTNAME", "hostname",	  "host",
						   "HOSTNAME",	"node",		  "pod_name",
						   "pod",	"container_name", "CONTAINER_NAME"};

	if (!json->text.len && is_key(key, texts, sizeof(texts) / sizeof(*texts)))
		json->text = value;
	if (!json->host.len && is_key(key, hosts, sizeof(hosts) / sizeof(*hosts)))
		json->host = value;
}

bool paste_json_parse(const char *s, const char *end, struct paste_json *ret)
{
	struct paste_json json = {.text = {s, 0}, .host = {s, 0}};
	struct text_slice key = {s, 0};
	unsigned int depth = 1;
	bool is_value = false, in_host = false;

	s += strspn(s, " \t[,");
	if (s >= end || *s != '{')
		return false;
	for (s++; s < end && depth; s++) {
		const char *begin = s + 1, *close;

		if (*s == '{')
			in_host = key.len == 4 && !memcmp(key.at, "host", 4);
		in_host &= *s != '}';
		depth += (*s == '{') - (*s == '}');
		is_value = *s == ':' || (is_value && *s != ',' && *s != '{');
		if (*s != '"')
			continue;
		close = string_end(begin, end);
		struct text_slice string = {begin, (uint32_t)(close - begin)};

		if (is_value && in_host && key.len == 4 && !memcmp(key.at, "name", 4) &&
		    !json.host.len)
			json.host = string; /* {"host": {"name": "a"}} of Elasticsearch */
		else if (is_value)
			member_see(&json, key, string);
		else
			key = string;
		s = close;
	}
	*ret = json;
	return json.text.len;
}
