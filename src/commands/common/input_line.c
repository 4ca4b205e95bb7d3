// SPDX-License-Identifier: GPL-2.0-or-later
/* The input options as they would be typed: for commands that other commands name to the user. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "commands/common/input.h"
#include "vm/cmdline.h"

enum { NUMBER_BYTES = 12 };

struct words {
	char **word;
	unsigned int nr;
};

/* Takes the text; NULL: no memory, the line is shorter then. */
static void word_add(struct words *w, char *text)
{
	if (!text || array_room(w->word, w->nr))
		free(text);
	else
		w->word[w->nr++] = text;
}

static void option_add(struct words *w, const char *name, const char *value)
{
	word_add(w, strdup(name));
	word_add(w, strdup(value));
}

static void list_add(struct words *w, const char *name, const struct text_list *list)
{
	for (unsigned int i = 0; i < list->nr; i++)
		option_add(w, name, list->item[i]);
}

static void numbers_add(struct words *w, const char *name, const struct number_list *list)
{
	size_t size = (size_t)list->nr * NUMBER_BYTES + 1, len = 0;
	char *text = list->nr ? calloc(1, size) : NULL;

	if (!text)
		return;
	for (unsigned int i = 0; i < list->nr; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%u", i ? "," : "",
					list->item[i]);
	word_add(w, strdup(name));
	word_add(w, text);
}

static void time_add(struct words *w, const char *name, const struct time_arg *time)
{
	if (time->text)
		option_add(w, name, time->text);
}

static char *line_make(struct words *w)
{
	char *line = w->nr ? vm_cmdline_quote(w->word, w->nr) : strdup("");

	if (line)
		text_sanitize(line);
	for (unsigned int i = 0; i < w->nr; i++)
		free(w->word[i]);
	free(w->word);
	return line;
}

static void files_add(struct words *w)
{
	const struct text_list *files = &input_given.files;

	if (files->nr != 1 || strcmp(files->item[0], INPUT_DEFAULT) != 0)
		list_add(w, "-i", files);
}

static void filters_add(struct words *w)
{
	list_add(w, "--vm", &input_given.vms);
	numbers_add(w, "--vcpu", &input_given.vcpus);
	numbers_add(w, "--tid", &input_given.tids);
	list_add(w, "--event", &input_given.globs);
	list_add(w, "--reason", &input_given.reasons);
}

static void clocks_add(struct words *w)
{
	char khz[24];

	list_add(w, "--guest", &input_given.guests);
	if (input_given.clock)
		option_add(w, "--clock", input_given.clock);
	snprintf(khz, sizeof(khz), "%" PRIu64, input_given.tsc_khz);
	if (input_given.tsc_khz)
		option_add(w, "--tsc-khz", khz);
}

char *input_line_files(void)
{
	struct words w = {0};

	files_add(&w);
	return line_make(&w);
}

char *input_line_without_times(void)
{
	struct words w = {0};

	files_add(&w);
	clocks_add(&w);
	filters_add(&w);
	return line_make(&w);
}

char *input_line_filters(void)
{
	struct words w = {0};

	time_add(&w, "--since", &input_given.since);
	time_add(&w, "--until", &input_given.until);
	time_add(&w, "--period", &input_given.period);
	filters_add(&w);
	return line_make(&w);
}
