// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of tables of other tools that a mail client joined into one line:
 *
 *	kvm_exit 901234 50.0 30123 kvm_entry 901230 50.0 30122
 *	1234 HLT 17 EPT_VIOLATION
 *	@exits[HLT]: 3000 @exits[MSR_WRITE]: 45000
 *	Event Total %Total CurAvg/s kvm_exit 901234 50.0 30123
 *
 * A line is split if it consists of names and values only, and one name of it is certainly KVM's.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

static const char blanks[] = " \t|";

enum join_word { JOIN_END, JOIN_OTHER, JOIN_NAME, JOIN_VALUE };

struct join_shape {
	bool certain; /* a name is KVM's */
};

/* "27.10%" and the parentheses around it, the second word of "PF excp" */
static bool is_value(const char *s)
{
	static const char *const parts[] = {"(", "+-", ")", "excp"};
	double v;

	return tool_value_parse(s, 1, &v) || tool_is_rounded(s) ||
	       array_any(sizeof(parts) / sizeof(*parts), i, !strcmp(s, parts[i]));
}

/* The word at *s, which is moved behind it. */
static enum join_word word_next(const char **s, struct join_shape *shape)
{
	char word[64];
	size_t len = strcspn(*s += strspn(*s, blanks), blanks);

	if (!len || len >= sizeof(word))
		return len ? JOIN_OTHER : JOIN_END;
	snprintf(word, sizeof(word), "%.*s", (int)len, *s);
	*s += len;
	if (is_value(word))
		return JOIN_VALUE;
	word[len - (word[len - 1] == ':')] = '\0';
	if (strchr(word, ':') || !tool_is_name(word) ||
	    (!exit_reason_known(word) && !tool_is_kvm_event(word)))
		return JOIN_OTHER;
	shape->certain |= exit_reason_known(word) || tool_is_kvm_name(word);
	return JOIN_NAME;
}

/* The end of the row at s: of a name and values, or of one value and a name; NULL: there is none. */
static const char *row_end(const char *s, bool values_first, struct join_shape *shape)
{
	const char *at = s, *end = NULL;

	if (word_next(&at, shape) != (values_first ? JOIN_VALUE : JOIN_NAME))
		return NULL;
	if (values_first)
		return word_next(&at, shape) == JOIN_NAME ? at : NULL;
	while (word_next(&at, shape) == JOIN_VALUE)
		end = at;
	return end;
}

/* Does the text consist of at least so many rows? */
static bool has_rows(const char *s, bool values_first, unsigned int least)
{
	struct join_shape shape = {0};
	unsigned int rows = 0;

	for (; s && s[strspn(s, blanks)]; rows++)
		s = row_end(s, values_first, &shape);
	return s && shape.certain && rows >= least;
}

/* Of "@exits[HLT]: 3000 @exits[MSR_WRITE]: 45000" and "{ 12 } hitcount: 7 { 48 } hitcount: 9": the second one. */
static char *keyed_next(char *s)
{
	const char *mark = *s == '@' ? "]: " : *s == '{' ? "} hitcount:" : NULL;
	uint64_t count;

	for (char *at = mark ? strstr(s, mark) : NULL; at; at = strstr(at, mark)) {
		at += strlen(mark);
		const char *end = tool_count_read(at + strspn(at, " "), &count);

		if (end && *end == ' ' && end[strspn(end, " ")] == *s)
			return at + (end - at);
	}
	return NULL;
}

/* "PATH/exits:12 PATH/halt_exits:7" */
static char *path_next(char *s)
{
	char *blank = *s == '/' && strstr(s, "/kvm/") ? strchr(s, ' ') : NULL;

	return blank && blank[strspn(blank, " ")] == '/' && isdigit((unsigned char)blank[-1])
		       ? blank
		       : NULL;
}

/* A heading's end, if a row follows it. */
static char *heading_next(char *s)
{
	static const char *const last[] = {"CurAvg/s", "Current", "Avg time", "Mean time"};

	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++) {
		char *at = strstr(s, last[i]);

		at = at ? at + strlen(last[i]) : NULL;
		if (at && *at == ' ' && at[strspn(at, " ")] && has_rows(at, false, 1))
			return at;
	}
	return NULL;
}

void tool_join_open(struct tool_join *j, char *s)
{
	const char *text = tool_blanks_skip(s);
	bool names = isalpha((unsigned char)*text) && has_rows(text, false, 2),
	     values = isdigit((unsigned char)*text) && has_rows(text, true, 2);

	*j = (struct tool_join){.rest = s, .names = names, .values = values};
}

char *tool_join_next(struct tool_join *j)
{
	struct join_shape shape = {0};
	char *s = j->rest, *text, *next = NULL;

	if (!s)
		return NULL;
	text = s + (tool_blanks_skip(s) - s);
	if (j->names || j->values) {
		const char *at = row_end(text, j->values, &shape);

		next = at && at[strspn(at, blanks)] ? text + (at - text) : NULL;
	} else {
		next = heading_next(text);
		if (next)
			tool_join_open(j, next);
		next = next ? next : keyed_next(text);
		next = next ? next : path_next(text);
	}
	j->rest = next && *next ? next + 1 : NULL;
	if (next)
		*next = '\0';
	return s;
}
