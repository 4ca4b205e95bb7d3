// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of an assistant, a line each, and pages of answers. What a command would answer is the input's own last
 * line, so that pages are made of any text.
 */
#include "mcp/mcp.h"
#include "walk.h"

/* The line after the last one that is a message. */
static struct json_slice *fuzz_answer(void)
{
	static struct json_slice answer;

	return &answer;
}

static int fuzz_run(const char *name, const char *path, const char *format,
		    const char *const *words, struct capture *to)
{
	const struct json_slice *answer = fuzz_answer();
	size_t words_bytes = strlen(path) + strlen(format) + strlen(name);

	for (; *words; words++)
		words_bytes += strlen(*words);
	to->text = malloc(answer->len + 1);
	if (!to->text)
		return EXIT_FAILURE;
	memcpy(to->text, answer->at, answer->len);
	to->text[answer->len] = '\0';
	to->bytes = answer->len;
	to->complete = words_bytes % 7;
	return EXIT_SUCCESS;
}

static bool fuzz_is_one(const char *name)
{
	return *name != 'x';
}

static json_t *fuzz_list(void)
{
	return json_pack("[s,s]", "exits", "diff");
}

static json_t *fuzz_describe(const char *name)
{
	return json_pack("{s:s%}", "report", name, strlen(name));
}

static const struct mcp_reports fuzz_reports = {fuzz_is_one, fuzz_list, fuzz_describe, fuzz_run};

static void pages_walk(struct json_slice answer)
{
	uint64_t from = 0, next, of;
	char *text = NULL;
	size_t bytes;

	do {
		FILE *f = open_memstream(&text, &bytes);

		if (!f)
			abort();
		mcp_page(answer, from, 64, f, &next, &of);
		fclose(f);
		free(text);
		if (next < from || next > of || (next == from && from < of))
			abort();
		from = next;
	} while (from < of);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp m = {.reports = &fuzz_reports, .file = {strdup("a.hrt")}, .nr_files = 1};
	const char *line = (const char *)data, *end = line + size;
	const uint8_t *last = memrchr(data, '\n', size);

	*fuzz_answer() = last ? json_slice_of((const char *)last + 1, (size_t)(data + size - last - 1))
			      : json_slice_of("", 0);
	if (fuzz_answer()->len)
		pages_walk(*fuzz_answer());
	while (line < end) {
		const char *eol = memchr(line, '\n', (size_t)(end - line));

		free(mcp_answer(&m, line, (size_t)((eol ? eol : end) - line)));
		line = eol ? eol + 1 : end;
	}
	mcp_free(&m);
	return 0;
}
