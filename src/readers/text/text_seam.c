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
	MARK_MIN = 2,
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

/* "...", "[...]", also with the character of three dots; "--" of grep(1), "=====". Not ")", which a line may end in. */
static bool is_mark(const char *s, const char *end)
{
	unsigned int nr = 0;

	for (; s < end; s++) {
		if ((unsigned char)*s >= 0x80 || strchr("*_~.-=", *s))
			nr++;
		else if (!strchr(" []()<>{}", *s))
			return false;
	}
	return nr >= MARK_MIN;
}

/* "==> trace.txt <==" of tail(1), "--More--" of more(1), "(END)" of less(1) */
static bool is_of_pager(const char *s, const char *end)
{
	return (seam_begins(s, "==> ") && end - s > 4 && !memcmp(end - 4, " <==", 4)) ||
	       seam_begins(s, "--More--") || seam_begins(s, "(END)");
}

/* "<snip 3000 lines>", "[... 20000 lines cut ...]", "---8<---" */
static bool is_cut_mark(const char *s, const char *end)
{
	static const char *const words[] = {"snip",	 "snap",     "cut",	   "omitted",
					    "skipped",	 "trimmed",  "removed",	   "deleted",
					    "truncated", "elided",   "more lines", "8<",
					    ">8",	 "skipping", "repeats",	   "many more"};
	char line[ELISION_BYTES_MAX + 1];
	size_t len = (size_t)(end - s);

	if (len > 8 && !memcmp(s, ".  ", 3) && s[7] == ':') /* bytes in hexadecimal, perf script -D */
		return false;
	if (len > ELISION_BYTES_MAX || !strchr("[(<{-*.~=#+_8", *s))
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
	if (!is_mark(s, end) && !is_of_pager(s, end) && !is_cut_mark(s, end) &&
	    !seam_begins(s, "cpus=") && !seam_begins(s, "# tracer: ") && !seam_begins(s, "$ ") &&
	    !seam_begins(s, "-- Boot ") && !seam_begins(s, "-- Reboot --") &&
	    !paste_is_prompt(s, end))
		return false;
	ret->any = true;
	return true;
}

static bool is_one_of(const char *s, size_t len, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == len && !memcmp(s, *words, len))
			return true;
	return false;
}

/* "x500", "500x", "500 times", "repeated 500 times" */
static uint64_t times_parse(const char *s, const char *end)
{
	static const char *const before[] = {"x", "* ", "repeated ", "repeats ", "same ", "", NULL},
				 *const after[] = {"x", " x", " times", " more times", NULL};
	const char *digits = s, *p;
	uint64_t nr;

	while (digits < end && !text_is_digit(*digits))
		digits++;
	p = digits;
	nr = text_decimal(&p);
	if (p > end || p == digits || !is_one_of(s, (size_t)(digits - s), before))
		return 0;
	return digits > s && p == end && strchr("x*", *s) ? nr
	       : is_one_of(p, (size_t)(end - p), after)	  ? nr
							  : 0;
}

uint64_t text_repeats(struct text_slice text)
{
	const char *end = text.at + text.len, *s = end;

	if (text.len < 4 || !strchr(")]0123456789", end[-1]))
		return 0;
	if (text_is_digit(end[-1])) { /* " x500" */
		while (s > text.at && text_is_digit(s[-1]))
			s--;
		return s - text.at >= 2 && s[-1] == 'x' && s[-2] == ' ' ? times_parse(s - 1, end)
									: 0;
	}
	while (s > text.at && !strchr("([", *s))
		s--;
	return s > text.at && s[-1] == ' ' ? times_parse(s + 1, end - 1) : 0;
}

/* "0x408c8@perf.data [0x8]: event: 68", "0 1000000000 0xd288 [0x40]: PERF_RECORD_COMM: ..." */
static bool is_dump_head(const char *s, const char *end)
{
	return memmem(s, (size_t)(end - s), "]: event: ", 10) ||
	       memmem(s, (size_t)(end - s), "]: PERF_RECORD_", 15);
}

bool text_is_perf_dump(const char *line, const char *end, bool after_one)
{
	const char *s = line;

	return (after_one && end - s == 1 && *s == '.') || seam_begins(s, ". ... raw event") ||
	       seam_begins(s, ".  00") || seam_begins(s, "... thread: ") ||
	       seam_begins(s, "...... dso: ") ||
	       ((*s >= '0' && *s <= '9') && is_dump_head(s, end));
}
