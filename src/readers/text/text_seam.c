// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines between events that say that something is missing there: what people write where they cut a text ("[...]",
 * "<snip 3000 lines>"), the beginning of another text (the header of a tool, a shell's prompt), and losses that the
 * programs report through which the text went: printk (kernel/printk/printk.c), systemd-journald, rsyslog, perf,
 * babeltrace2. A span from the event before to the event after was not measured.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"
#include "readers/text/text_line.h"

enum {
	ELISION_BYTES_MAX = 100, /* a line that is longer is a text of its own */
	DOTS_MIN = 2,
};

static bool seam_begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* "** 57 printk messages dropped **": a number between these words. */
static bool loss_parse(const char *s, const char *end, struct text_seam *ret)
{
	static const struct {
		const char *before, *after;
		bool other; /* the number is not one of events */
	} losses[] = {
		{"** ", " printk messages dropped", false},
		{": ", " callbacks suppressed", false},
		{"Missed ", " kernel messages", false},
		{"Suppressed ", " messages", false},
		{": ", " messages lost due to rate-limiting", false},
		{"lost ", " messages from pid", false},
		{"message repeated ", " times", false},
		{"and lost ", " chunk", true},
		{"racer discarded ", " event", false},
		{"racer discarded ", " packet", true},
		{"racer may have discarded ", "", true},
	};

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		size_t len = strlen(losses[i].before);
		const char *p = s;

		while ((p = memmem(p, (size_t)(end - p), losses[i].before, len))) {
			uint64_t count;

			p += len;
			count = text_decimal(&p);
			if (!seam_begins(p, losses[i].after))
				continue;
			ret->any = ret->stated = true;
			ret->count += losses[i].other ? 0 : count;
			return true;
		}
	}
	return false;
}

/* "...", "[...]", also with the character of three dots. */
static bool is_dots(const char *s, const char *end)
{
	unsigned int dots = 0;

	for (; s < end; s++) {
		if (*s == '.')
			dots++;
		else if (seam_begins(s, "\xe2\x80\xa6")) {
			dots += DOTS_MIN;
			s += 2;
		} else if (!strchr(" []()<>{}*_~", *s))
			return false;
	}
	return dots >= DOTS_MIN;
}

/* "<snip 3000 lines>", "[... 20000 lines cut ...]", "---8<---" */
static bool is_cut_mark(const char *s, const char *end)
{
	static const char *const words[] = {"snip",    "snap",	  "cut",     "omitted", "skipped",
					    "trimmed", "removed", "deleted", "truncated", "elided",
					    "more lines", "8<",	  ">8"};
	char line[ELISION_BYTES_MAX + 1];
	size_t len = (size_t)(end - s);

	if (len > ELISION_BYTES_MAX || !strchr("[(<{-*.~=#+_", *s))
		return false;
	for (size_t i = 0; i < len; i++)
		line[i] = (char)tolower((unsigned char)s[i]);
	line[len] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

bool text_seam_parse(const char *line, const char *end, struct text_seam *ret)
{
	const char *s = text_skip_quote(line);

	while (end > s && end[-1] == ' ')
		end--;
	if (s >= end)
		return false;
	if (loss_parse(s, end, ret))
		return true;
	if (!is_dots(s, end) && !is_cut_mark(s, end) && !seam_begins(s, "cpus=") &&
	    !seam_begins(s, "# tracer: ") && !seam_begins(s, "$ ") && !seam_begins(s, "-- Boot ") &&
	    !seam_begins(s, "-- Reboot --") && !paste_is_prompt(s, end))
		return false;
	ret->any = true;
	return true;
}
