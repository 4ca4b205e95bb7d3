// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of JSON-RPC 2.0 as the Model Context Protocol uses it (modelcontextprotocol.io/specification/2025-06-18):
 * no batches, an id is a string or an integer, and what has none is a notification, which gets no answer. Each message
 * is answered before the next one; an SQL query, which may take long, is cancelled by a message that comes meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/version.h"
#include "mcp/mcp.h"
#include "output/report.h"

static const char *const revisions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
	"hostrace reads recordings of QEMU/KVM virtual machines. Begin with describe, then "
	"diagnose; run_report has the figures, sql answers other questions. Times are nanoseconds; "
	"null: not recorded. An answer has at most 4000 tokens, counted as bytes/4: ask for the "
	"next page with its next_cursor, or raise limit.";

static char *reply_make(const json_t *id, const char *key, json_t *value)
{
	json_t *all = json_pack("{s:s,s:O?,s:o}", "jsonrpc", "2.0", "id", id, key, value);
	char *text;

	if (all && !json_object_get(all, "id"))
		json_object_set_new(all, "id", json_null());
	text = json_text_make(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(all);
	return text;
}

static char *reply_error(const json_t *id, int code, const char *text)
{
	return reply_make(id, "error",
			  json_pack("{s:i,s:o}", "code", code, "message", json_text(text)));
}

char *mcp_too_long(void)
{
	return reply_error(NULL, MCP_INVALID_REQUEST, "the message has more than 1048576 bytes");
}

/* ---- methods: the result, a new reference; NULL with *code and the error message set ---- */

typedef json_t *mcp_method(struct mcp *m, const json_t *params, int *code);

static json_t *mcp_initialize(struct mcp *m, const json_t *params, int *code)
{
	const char *asked = text_of(params, "protocolVersion"), *revision = revisions[0];

	(void)m;
	if (!*asked) {
		*code = MCP_INVALID_PARAMS;
		fail(-EINVAL, "initialize: missing protocolVersion");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(revisions) / sizeof(*revisions); i++)
		if (!strcmp(asked, revisions[i]))
			revision = revisions[i];
	return json_pack("{s:s,s:{s:{}},s:{s:s,s:s,s:s},s:s}", "protocolVersion", revision,
			 "capabilities", "tools", "serverInfo", "name", "hostrace", "title",
			 "hostrace", "version", HOSTRACE_VERSION, "instructions", instructions);
}

static json_t *mcp_ping(struct mcp *m, const json_t *params, int *code)
{
	(void)m, (void)params, (void)code;
	return json_object();
}

static json_t *mcp_tools_list(struct mcp *m, const json_t *params, int *code)
{
	(void)m;
	if (!json_object_get(params, "cursor"))
		return json_pack("{s:o}", "tools", mcp_tools());
	*code = MCP_INVALID_PARAMS;
	fail(-EINVAL, "tools/list: invalid cursor: the list has one page");
	return NULL;
}

static json_t *mcp_tools_call(struct mcp *m, const json_t *params, int *code)
{
	const json_t *arguments = json_object_get(params, "arguments");
	const char *name = text_of(params, "name");
	char *text;
	json_t *result;

	if (arguments && !json_is_object(arguments))
		fail(-EINVAL, "tools/call: arguments are not an object");
	text = arguments && !json_is_object(arguments) ? NULL : mcp_tool_call(m, name, arguments);
	if (!text && error_code() == -EINVAL) {
		*code = MCP_INVALID_PARAMS;
		return NULL;
	}
	result = json_pack("{s:[{s:s,s:o}],s:b}", "content", "type", "text", "text",
			   json_text(text ? text : error_text()), "isError", !text);
	free(text);
	return result;
}

static const struct {
	const char *name;
	mcp_method *call;
} methods[] = {
	{"initialize", mcp_initialize},
	{"ping", mcp_ping},
	{"tools/list", mcp_tools_list},
	{"tools/call", mcp_tools_call},
};

static char *request_answer(struct mcp *m, const json_t *id, const char *method,
			    const json_t *params)
{
	int code = MCP_INTERNAL_ERROR;

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		json_t *result;

		if (strcmp(methods[i].name, method) != 0)
			continue;
		fail(-ENOMEM, "out of memory");
		result = methods[i].call(m, params, &code);
		return result ? reply_make(id, "result", result)
			      : reply_error(id, code, error_text());
	}
	fail(-ENOSYS, "unknown method '%s'", method);
	return reply_error(id, MCP_METHOD_NOT_FOUND, error_text());
}

static char *message_answer(struct mcp *m, const json_t *message)
{
	const json_t *id = json_object_get(message, "id");
	const json_t *params = json_object_get(message, "params");
	const char *method = json_string_value(json_object_get(message, "method"));

	if (!json_is_object(message))
		return reply_error(NULL, MCP_INVALID_REQUEST, "the message is not an object");
	if (strcmp(text_of(message, "jsonrpc"), "2.0") != 0)
		return reply_error(NULL, MCP_INVALID_REQUEST, "jsonrpc is not \"2.0\"");
	if (!method && (json_object_get(message, "result") || json_object_get(message, "error")))
		return NULL; /* an answer; nothing was asked */
	if (id && !json_is_string(id) && !json_is_integer(id))
		return reply_error(NULL, MCP_INVALID_REQUEST, "id is not a string or an integer");
	if (!method)
		return reply_error(id, MCP_INVALID_REQUEST, "method is not a string");
	if (!id)
		return NULL;
	if (params && !json_is_object(params))
		return reply_error(id, MCP_INVALID_PARAMS, "params are not an object");
	m->id = id;
	m->cancelled = false;

	char *text = request_answer(m, id, method, params);

	m->id = NULL;
	if (!m->cancelled)
		return text;
	free(text);
	return NULL;
}

bool mcp_cancels(struct mcp *m, const char *line, size_t len)
{
	static const char word[] = "cancelled"; /* a '/' before it may be written "\\/" */
	json_error_t why;
	json_t *message;

	if (!m->id || !memmem(line, len, word, strlen(word)))
		return false;
	message = json_text_load(line, len, JSON_REJECT_DUPLICATES, &why);
	if (!strcmp(text_of(message, "method"), "notifications/cancelled"))
		m->cancelled |= json_equal(
			json_object_get(json_object_get(message, "params"), "requestId"), m->id);
	json_decref(message);
	return m->cancelled;
}

char *mcp_answer(struct mcp *m, const char *line, size_t len)
{
	json_error_t why;
	json_t *message = json_text_load(line, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
	char *text;

	if (!message)
		return reply_error(NULL, MCP_PARSE_ERROR, why.text);
	text = message_answer(m, message);
	json_decref(message);
	return text;
}
