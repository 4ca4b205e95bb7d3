/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server of the Model Context Protocol (revision 2025-06-18), by which an assistant asks for reports: JSON-RPC 2.0,
 * a message in each line. Tools only read, and only the files that the server was started with.
 *
 *	line -> mcp_answer() -> tool -> struct mcp_reports, a report's command -> its JSON -> a page of it -> line
 *
 * An answer's text is a part of what `hostrace NAME -f json` prints (mcp_page()): figures are copied, not computed, and
 * the pages of an answer together are all of it.
 */
#ifndef HOSTRACE_MCP_H
#define HOSTRACE_MCP_H

#include "base/json_slice.h"
#include "base/options.h"
#include "output/capture.h"

enum {
	MCP_LINE_MAX = 1 << 20, /* bytes of a message */
	MCP_TOKENS_DEFAULT = 4000,
	MCP_TOKENS_MIN = 200,
	MCP_TOKENS_MAX = 1000000,
	MCP_TOKEN_BYTES = 4, /* what a token is counted as */
	MCP_FILES_MAX = 1024,
	MCP_WORDS_MAX = 64, /* options of a report */
	MCP_QUERY_SECONDS = 30,
	MCP_ENDED_SECONDS =
		2, /* of a query after the end of the input, which may be that the client is gone */
};

/* Errors of JSON-RPC. */
enum {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
};

/* The reports that there are, each by the name of its command. */
struct mcp_reports {
	bool (*is_one)(const char *name);

	/* Each with its "report" and "summary"; an array, a new reference. */
	json_t *(*list)(void);

	/* One with its arguments, options and columns; a new reference. */
	json_t *(*describe)(const char *name);

	/*
	 * Runs `hostrace NAME -i PATH -f FORMAT WORD...`; `words` ends with NULL. `to` is zeroed but for `only` and
	 * `stop`, and has the answer afterwards, if it is complete, and the error message. Returns the exit status.
	 */
	int (*run)(const char *name, const char *path, const char *format, const char *const *words,
		   struct capture *to);
};

/* The answer of a command, of which a page was shown: the next one is of the same. */
struct mcp_last {
	json_t *line; /* the words of its command line; NULL: none */
	uint64_t stamp; /* of its files, mcp_file_stamp() */
	struct capture capture;
	int status;
};

struct mcp {
	char *file[MCP_FILES_MAX]; /* what the assistant may ask about; owned */
	unsigned int nr_files;

	const struct mcp_reports *reports;
	struct mcp_last last;

	const char *(*stop)(void *arg); /* as in struct capture; may be NULL */
	void *stop_arg;
	const json_t *id; /* of the request that is being answered; NULL: none is */
	bool cancelled;	  /* it gets no answer */
};

/* Adds a file, or those in a directory whose names do not begin with '.'. 0 or -errno with the error message set. */
int mcp_add(struct mcp *m, const char *path);
void mcp_free(struct mcp *m);

/* The file of this argument, by its path as listed or the last part, borrowed; NULL with the error message set. */
const char *mcp_file(const struct mcp *m, const json_t *arguments, const char *key);

/* Of a file and those `before`: differs if one was written or replaced. Not 0. */
uint64_t mcp_file_stamp(uint64_t before, const char *path);

/* The answer to a message, a line of text without its end, owned by the caller; NULL: none is due, or no memory. */
char *mcp_answer(struct mcp *m, const char *line, size_t len);

/* Of a message that comes while a request is answered: does it cancel that? Sets m->cancelled. */
bool mcp_cancels(struct mcp *m, const char *line, size_t len);

/* Of a message that is longer than MCP_LINE_MAX. */
char *mcp_too_long(void);

/* ---- tools ---- */

/* The tools with the schemas of their arguments; a new reference. */
json_t *mcp_tools(void);

/*
 * The text of a tool's answer, owned by the caller. NULL with the error message set: -EINVAL as error_code() if the
 * arguments are not right (MCP_INVALID_PARAMS), else the tool's own error, which the assistant gets as its result.
 */
char *mcp_tool_call(struct mcp *m, const char *name, const json_t *arguments);

/* ---- pages ---- */

/*
 * Writes the part of a JSON object that begins at part `from`, in at most `bytes`. Parts are values: an object or array
 * of more than a few hundred bytes is divided, arrays of arrays are not. A part that alone exceeds `bytes` is
 * replaced by {"omitted_bytes": N}. *ret_next: the first part that is not in it; *ret_of: how many there are.
 */
void mcp_page(struct json_slice answer, uint64_t from, size_t bytes, FILE *out, uint64_t *ret_next,
	      uint64_t *ret_of);

#endif
