// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tools: which command each runs, and the page of its answer. Arguments that are not right are -EINVAL; what a
 * command says of its options or of the recording is another error, which the assistant reads as the tool's result.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/version.h"
#include "mcp/mcp.h"
#include "output/report.h"

/* ---- the answer ---- */

/* An integer argument; false with the error message set: it is none, or not in this range. */
static bool number_argument(const json_t *arguments, const char *key, uint64_t min, uint64_t max,
			    uint64_t *ret)
{
	const json_t *value = json_object_get(arguments, key);
	char *end = NULL;

	if (!value)
		return true;
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		*ret = (uint64_t)json_integer_value(value);
	else if (json_is_string(value))
		*ret = strtoull(json_string_value(value), &end, 10);
	if ((!json_is_integer(value) && (!end || *end || end == json_string_value(value))) ||
	    *ret < min || *ret > max) {
		fail(-EINVAL, "argument '%s' is not a number from %" PRIu64 " to %" PRIu64, key,
		     min, max);
		return false;
	}
	return true;
}

/* Where the page begins: "FROM-STAMP", of what is read from files. False with the error message set. */
static bool cursor_argument(const json_t *arguments, uint64_t stamp, uint64_t *ret)
{
	const char *text = json_string_value(json_object_get(arguments, "cursor"));
	uint64_t from, of;
	int end = 0;

	*ret = 0;
	if (!text)
		return true;
	if (sscanf(text, "%" SCNu64 "-%" SCNx64 "%n", &from, &of, &end) != 2 || text[end] ||
	    *text == '-' || from == UINT64_MAX) {
		fail(-EINVAL, "argument 'cursor' is not the next_cursor of a page");
		return false;
	}
	*ret = from;
	if (of == stamp)
		return true;
	fail(-ESTALE, "argument 'cursor': the recording has changed since that page, or the cursor "
		      "is of another one: ask again without a cursor");
	return false;
}

/* A page of `answer` with the members of `head`, which is stolen. stamp: of the files that it is from; 0: of none. */
static char *page_text(const json_t *arguments, json_t *head, struct json_slice answer,
		       uint64_t stamp)
{
	uint64_t limit = MCP_TOKENS_DEFAULT, from, next, of;
	enum { TAIL_BYTES = 128 };
	char *first = json_text_make(head, JSON_COMPACT | JSON_ENSURE_ASCII), *text = NULL;
	size_t bytes, most;
	FILE *f = NULL;

	json_decref(head);
	fail(-ENOMEM, "out of memory");
	if (first && number_argument(arguments, "limit", MCP_TOKENS_MIN, MCP_TOKENS_MAX, &limit) &&
	    cursor_argument(arguments, stamp, &from))
		f = open_memstream(&text, &bytes);
	if (!f) {
		free(first);
		return NULL;
	}
	most = limit * MCP_TOKEN_BYTES - TAIL_BYTES;
	most -= strlen(first) < most ? strlen(first) : most;
	fprintf(f, "%.*s,\"answer\":", (int)strlen(first) - 1, first);
	mcp_page(answer, from, most, f, &next, &of);
	fprintf(f, ",\"parts\":{\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"of\":%" PRIu64 "}", from,
		next, of);
	if (next < of)
		fprintf(f, ",\"next_cursor\":\"%" PRIu64 "-%" PRIx64 "\"", next, stamp);
	fputc('}', f);
	free(first);
	if (memstream_close(f, &text) && from < of + !of)
		return text;
	if (text)
		fail(-EINVAL, "argument 'cursor': the answer has %" PRIu64 " parts", of);
	free(text);
	return NULL;
}

/* ---- commands ---- */

/* Its words, as an array. */
static json_t *command_line(const char *report, const char *path, const char *const *words)
{
	json_t *line = json_pack("[s,s,s,o]", "hostrace", report, "-i", json_text(path));

	for (; *words; words++)
		json_array_append_new(line, json_text(*words));
	return line;
}

/* The answer of the command, also of an earlier call if its files are the same: 0, or the error message is set. */
static int answer_get(struct mcp *m, const char *report, const char *path, const char *format,
		      const char *const *words)
{
	struct text_list only = {.nr = 0};
	json_t *line = command_line(report, path, words);
	uint64_t stamp = mcp_file_stamp(0, path);

	if (!line)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; words[i] && i < OPTION_LIST_MAX; i++)
		if (array_any(m->nr_files, k, !strcmp(m->file[k], words[i]))) {
			only.item[only.nr++] = words[i];
			stamp = mcp_file_stamp(stamp, words[i]);
		}
	if (m->last.stamp == stamp && json_equal(m->last.line, line)) {
		json_decref(line);
		return 0;
	}
	json_decref(m->last.line);
	capture_free(&m->last.capture);
	m->last = (struct mcp_last){.stamp = stamp};
	m->last.capture.only = &only;
	m->last.capture.stop = m->stop;
	m->last.capture.stop_arg = m->stop_arg;
	m->last.status = m->reports->run(report, path, format, words, &m->last.capture);
	m->last.capture.only = NULL;
	if (m->last.capture.complete && m->last.capture.text) {
		m->last.line = line;
		if (!strcmp(format, "json"))
			m->last.capture.bytes =
				json_slice_compact(m->last.capture.text, m->last.capture.bytes);
		return 0;
	}
	json_decref(line);
	return fail(-EIO, "%s: %s", report,
		    *m->last.capture.error ? m->last.capture.error : "no answer");
}

static json_t *answer_head(const struct mcp *m, const char *path)
{
	json_t *head = json_object();

	json_object_set_new(head, "file", json_text(path));
	json_object_set(head, "command", m->last.line);
	json_object_set_new(head, "status", json_integer(m->last.status));
	if (m->last.status == EXIT_FAILURE)
		json_object_set_new(head, "failure", json_text(m->last.capture.error));
	return head;
}

static char *command_answer(struct mcp *m, const char *report, const char *path,
			    const char *const *words, const json_t *arguments)
{
	const struct capture *to = &m->last.capture;

	if (answer_get(m, report, path, "json", words))
		return NULL;
	return page_text(arguments, answer_head(m, path), json_slice_of(to->text, to->bytes),
			 m->last.stamp);
}

/* The texts of an array; false with the error message set. */
static bool words_argument(const json_t *arguments, const char **words)
{
	const json_t *list = json_object_get(arguments, "options"), *word;
	unsigned int nr = 0;
	size_t i;

	json_array_foreach (list, i, word) {
		if (!json_is_string(word) || nr == MCP_WORDS_MAX)
			break;
		words[nr++] = json_string_value(word);
	}
	if (!list || (json_is_array(list) && nr == json_array_size(list)))
		return true;
	fail(-EINVAL, "argument 'options' is not an array of at most %d strings", MCP_WORDS_MAX);
	return false;
}

static char *run_report_call(struct mcp *m, const json_t *arguments)
{
	const char *words[MCP_WORDS_MAX + 2] = {NULL}, *name = text_of(arguments, "report");
	bool known = m->reports->is_one(name);
	const char *path = known ? mcp_file(m, arguments, "file") : NULL;
	unsigned int nr = 0;

	if (!known || !strcmp(name, "sql")) {
		fail(-EINVAL, "unknown report '%s': list_reports names them", name);
		return NULL;
	}
	if (path && strcmp(name, "diff") != 0 && json_object_get(arguments, "other_file")) {
		fail(-EINVAL, "argument 'other_file' is for report diff only");
		return NULL;
	}
	if (!path || !words_argument(arguments, words))
		return NULL;
	while (words[nr])
		nr++;
	if (!strcmp(name, "diff")) {
		words[nr] = mcp_file(m, arguments, "other_file");
		if (!words[nr])
			return NULL;
	}
	return command_answer(m, name, path, words, arguments);
}

static char *diagnose_call(struct mcp *m, const json_t *arguments)
{
	const char *words[MCP_WORDS_MAX + 1] = {NULL};
	const char *path = mcp_file(m, arguments, "file");

	if (!path || !words_argument(arguments, words))
		return NULL;
	return command_answer(m, "diagnose", path, words, arguments);
}

/* ---- sql ---- */

static char *tables_answer(struct mcp *m, const char *path, const json_t *arguments)
{
	static const char *const words[] = {"--schema", NULL};
	json_t *tables = json_array(), *all;
	char *text = NULL, *page, *rest;

	if (answer_get(m, "sql", path, "text", words)) {
		json_decref(tables);
		return NULL;
	}
	text = strdup(m->last.capture.text ? m->last.capture.text : "");
	rest = text;
	for (const char *line; rest && (line = strsep(&rest, "\n"));)
		if (*line)
			json_array_append_new(tables, json_text(line));
	free(text);
	all = json_pack("{s:o}", "tables", tables);
	text = json_text_make(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(all);
	page = page_text(arguments, answer_head(m, path),
			 json_slice_of(text ? text : "", text ? strlen(text) : 0), m->last.stamp);
	free(text);
	return page;
}

static char *sql_call(struct mcp *m, const json_t *arguments)
{
	const char *query = json_string_value(json_object_get(arguments, "query"));
	const char *path = mcp_file(m, arguments, "file");
	char *end = NULL, *page;

	if (!path)
		return NULL;
	if (!query)
		return tables_answer(m, path, arguments);
	if (asprintf(&end, "%s\n", query) <
	    0) { /* with a line's end it is not the name of a file */
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	page = command_answer(m, "sql", path, (const char *[]){"--", end, NULL}, arguments);
	free(end);
	return page;
}

/* ---- what there is ---- */

static char *json_page(const json_t *arguments, json_t *all)
{
	char *text = json_text_make(all, JSON_COMPACT | JSON_ENSURE_ASCII), *page = NULL;

	json_decref(all);
	if (text)
		page = page_text(arguments, json_pack("{s:s}", "version", HOSTRACE_VERSION),
				 json_slice_of(text, strlen(text)), 0);
	else
		fail(-ENOMEM, "out of memory");
	free(text);
	return page;
}

static char *files_answer(const struct mcp *m, const json_t *arguments)
{
	json_t *files = json_array();

	for (unsigned int i = 0; i < m->nr_files; i++) {
		struct stat st;
		json_t *bytes = stat(m->file[i], &st) ? json_null() : json_integer(st.st_size);

		json_array_append_new(files, json_pack("{s:o,s:o}", "file", json_text(m->file[i]),
						       "bytes", bytes));
	}
	return json_page(arguments, json_pack("{s:o}", "files", files));
}

/* The raw text of a member of the last answer, within its "result". */
static void member_put(const struct mcp *m, const char *member, const char *key, FILE *f)
{
	struct json_slice all = json_slice_of(m->last.capture.text, m->last.capture.bytes);
	struct json_slice of = json_slice_member(all, member), value = of;

	if (key && of.at)
		value = json_slice_member(of, key);
	fprintf(f, "%.*s", value.at ? (int)value.len : 4, value.at ? value.at : "null");
}

/* What the recording is, from `info`, and what it lacks, from `diagnose`. */
static char *describe_call(struct mcp *m, const json_t *arguments)
{
	static const char *const none[] = {NULL};
	char *text = NULL, *page = NULL;
	const char *path;
	uint64_t stamp;
	size_t bytes;
	FILE *f;

	if (!json_object_get(arguments, "file") && m->nr_files != 1)
		return files_answer(m, arguments);
	path = mcp_file(m, arguments, "file");
	if (!path || answer_get(m, "info", path, "json", none))
		return NULL;
	stamp = m->last.stamp;
	f = open_memstream(&text, &bytes);
	if (!f) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	fputs("{\"caveats\":", f);
	member_put(m, "caveats", NULL, f);
	fputs(",\"result\":", f);
	member_put(m, "result", NULL, f);
	fputs(",\"not_recorded\":", f);
	if (answer_get(m, "diagnose", path, "json", none))
		fputs("null", f);
	else
		member_put(m, "result", "not_recorded", f);
	fputc('}', f);
	if (memstream_close(f, &text))
		page = page_text(arguments, json_pack("{s:o}", "file", json_text(path)),
				 json_slice_of(text, strlen(text)), stamp);
	free(text);
	return page;
}

static char *list_reports_call(struct mcp *m, const json_t *arguments)
{
	const char *name = json_string_value(json_object_get(arguments, "report"));

	if (!name)
		return json_page(arguments, json_pack("{s:o}", "reports", m->reports->list()));
	if (m->reports->is_one(name))
		return json_page(arguments, m->reports->describe(name));
	fail(-EINVAL, "unknown report '%s'", name);
	return NULL;
}

/* ---- the list ---- */

#define FILE_SCHEMA                                                                                \
	"\"file\":{\"type\":\"string\",\"description\":"                                           \
	"\"a file that describe lists; may be omitted if there is one\"}"
#define PAGE_SCHEMA                                                                                \
	"\"cursor\":{\"type\":\"string\",\"description\":\"next_cursor of the page before\"},"     \
	"\"limit\":{\"type\":\"integer\",\"minimum\":200,\"maximum\":1000000,\"description\":"     \
	"\"tokens of an answer, counted as bytes/4 (default 4000)\"}"
#define OPTIONS_SCHEMA                                                                             \
	"\"options\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"         \
	"\"words of the command line, such as [\\\"--by\\\",\\\"vcpu\\\"]; list_reports has "      \
	"them\"}"
#define TOOL_SCHEMA(properties, required)                                                          \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required             \
	"],\"additionalProperties\":false}"

static const struct mcp_tool {
	const char *name, *title, *description, *schema;
	char *(*call)(struct mcp *m, const json_t *arguments);
} tools[] = {
	{"list_reports", "List reports",
	 "The reports with a summary each; with 'report', its options and the meaning of its "
	 "columns.",
	 TOOL_SCHEMA("\"report\":{\"type\":\"string\"}," PAGE_SCHEMA, ""), list_reports_call},
	{"describe", "Describe a recording",
	 "The files; of one file: its time span, VMs, events, losses, and what was not "
	 "recorded.",
	 TOOL_SCHEMA(FILE_SCHEMA "," PAGE_SCHEMA, ""), describe_call},
	{"run_report", "Run a report",
	 "The answer of 'hostrace REPORT -f json', such as exits (VM-exits by reason), blame "
	 "(what their time went into), sched, virtio, requests. diff compares with 'other_file'.",
	 TOOL_SCHEMA("\"report\":{\"type\":\"string\"}," FILE_SCHEMA
		     ",\"other_file\":{\"type\":\"string\"}," OPTIONS_SCHEMA "," PAGE_SCHEMA,
		     "\"report\""),
	 run_report_call},
	{"sql", "Query by SQL",
	 "A SELECT of SQLite over events, spans and reports as tables; without 'query' the "
	 "tables and their columns. Times are ns; quantile(x, 0.99) and hist(x) are functions. "
	 "A query may take 30 s.",
	 TOOL_SCHEMA("\"query\":{\"type\":\"string\"}," FILE_SCHEMA "," PAGE_SCHEMA, ""), sql_call},
	{"diagnose", "Diagnose a VM",
	 "What makes the VM slow: causes with their cost and cure, what was ruled out, what was "
	 "not recorded.",
	 TOOL_SCHEMA(FILE_SCHEMA "," OPTIONS_SCHEMA "," PAGE_SCHEMA, ""), diagnose_call},
};

json_t *mcp_tools(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		const struct mcp_tool *t = &tools[i];

		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:o,s:{s:b,s:b}}", "name",
						      t->name, "title", t->title, "description",
						      t->description, "inputSchema",
						      json_loads(t->schema, 0, NULL), "annotations",
						      "readOnlyHint", 1, "openWorldHint", 0));
	}
	return list;
}

/* An argument that the tool has not is an error: what it asks for would be missing without a word. */
static bool arguments_known(const struct mcp_tool *tool, const json_t *arguments)
{
	json_t *schema = json_loads(tool->schema, 0, NULL), *value;
	const json_t *known = json_object_get(schema, "properties");
	const char *key, *wrong = NULL;

	json_object_foreach ((json_t *)arguments, key, value) {
		const char *type = text_of(json_object_get(known, key), "type");

		if (!*type)
			fail(-EINVAL, "%s: unknown argument '%s'", tool->name, key);
		else if (!strcmp(type, "string") && !json_is_string(value))
			fail(-EINVAL, "%s: argument '%s' is not a string", tool->name, key);
		else
			continue;
		wrong = key;
	}
	json_decref(schema);
	return !wrong;
}

char *mcp_tool_call(struct mcp *m, const char *name, const json_t *arguments)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (!strcmp(tools[i].name, name))
			return arguments_known(&tools[i], arguments) ? tools[i].call(m, arguments)
								     : NULL;
	fail(-EINVAL, "unknown tool '%s'", name);
	return NULL;
}
