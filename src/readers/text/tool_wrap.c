// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of kvm_stat that a mailer or a terminal broke, at 50 columns or fewer:
 *
 *	kvm_entry                              kvm_fpu                                   521664
 *	     52166411   46.8  2773738          11   46.8  2773738
 *
 * A row is a name, the total, the percentage (with a point and one digit), and a rate, which may be missing; without a
 * heading (kvm_stat -1) a name and two numbers. Lines are joined, with a blank or within a number, if only one of both
 * makes such a row. Else the table is broken, and refused: half a number is as good as any other.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "readers/text/tool_line.h"

enum { VALUES_MAX = 3 };

/* A line by its words. */
enum wrap_kind { WRAP_OTHER, WRAP_NAME, WRAP_ROW, WRAP_VALUES };

/* The first words of kvm_stat's headings, without blanks. */
static const char *const wrap_headings[] = {"EventTotal%TotalCurAvg/s", "EventTotalCurrent"};

static bool is_values(const char *s)
{
	return *s && strspn(s, " 0123456789.") == strlen(s) && strpbrk(s, "0123456789");
}

/* The end of a row's name; s: it has none. */
static const char *name_end(const char *s)
{
	const char *p = s;

	if (!islower((unsigned char)*s) && strncmp(s, "Total", 5))
		return s;
	while (isalnum((unsigned char)*p) || (*p && strchr("_()", *p)))
		p++;
	return *p && *p != ' ' ? s : p;
}

static enum wrap_kind kind_of(const char *s)
{
	const char *end = name_end(s), *rest = end + strspn(end, " ");

	if (is_values(s))
		return WRAP_VALUES;
	return end == s ? WRAP_OTHER : !*rest ? WRAP_NAME : is_values(rest) ? WRAP_ROW : WRAP_OTHER;
}

/* Is the word a whole value of a column: a percentage, or an integer? */
static bool is_value(const char *s, size_t len, bool percent)
{
	size_t digits = strspn(s, "0123456789");

	if (!percent)
		return digits == len;
	return digits + 2 == len && s[digits] == '.' && isdigit((unsigned char)s[digits + 1]);
}

/* How many values the row has; -1: it is none. */
static int row_values(const char *s, bool percent)
{
	int nr = 0;

	for (s = name_end(s); *(s += strspn(s, " ")); nr++) {
		size_t len = strcspn(s, " ");

		if (nr == (percent ? VALUES_MAX : VALUES_MAX - 1) ||
		    !is_value(s, len, percent && nr == 1))
			return -1;
		s += len;
	}
	return nr;
}

/* Is there a heading with a percentage above? */
static bool has_percent(const struct tool_lines *l)
{
	return l->heading && l->nr_columns == VALUES_MAX;
}

/* The last row, whose percentage is missing. */
static bool is_total(const struct tool_lines *l)
{
	return !strncmp(l->held, "Total", 5);
}

static void broken(struct tool_lines *l)
{
	l->table->broken = true;
}

/* Joins the values to the row that is held. */
static void values_join(struct tool_lines *l, const char *s)
{
	char apart[2 * sizeof(l->held)], one[sizeof(apart)];
	bool percent = has_percent(l), fits_apart, fits_one;
	size_t len = strlen(l->held);

	if (len + strlen(s) + 2 > sizeof(l->held)) {
		broken(l);
		return;
	}
	snprintf(apart, sizeof(apart), "%s %s", l->held, s);
	snprintf(one, sizeof(one), "%s%s", l->held, s);
	fits_apart = row_values(apart, percent) > 0;
	fits_one = kind_of(l->held) == WRAP_ROW && row_values(one, percent) > 0;
	if (fits_apart == fits_one && !is_total(l))
		broken(l);
	memcpy(l->held, fits_one ? one : apart, sizeof(l->held));
	l->held_lines++;
}

void tool_wrap_flush(struct tool_lines *l, char *ret)
{
	unsigned int lines = l->held_lines;

	*ret = '\0';
	l->held_lines = 0;
	if (!lines || (lines > 1 && is_total(l)))
		return;
	memcpy(ret, l->held, sizeof(l->held));
	if (lines > 1 && islower((unsigned char)*ret) && row_values(ret, has_percent(l)) < 2)
		broken(l);
	if (lines == 1 && strchr(ret, '(') && !strchr(ret, ')'))
		broken(l);
}

static void hold(struct tool_lines *l, const char *s)
{
	snprintf(l->held, sizeof(l->held), "%s", s);
	l->held_lines = 1;
}

/* Without its blanks, is `s` after what is held the beginning of a heading? */
static bool continues_heading(const struct tool_lines *l, const char *s, bool *whole)
{
	char words[sizeof(l->held)] = "";
	size_t nr = 0;

	for (const char *part = l->held, *next = s; part; part = next, next = NULL)
		for (; *part && nr < sizeof(words) - 1; part++)
			if (*part != ' ')
				words[nr++] = *part;
	for (size_t i = 0; i < sizeof(wrap_headings) / sizeof(*wrap_headings); i++)
		if (nr >= strlen("Event") && !strncmp(wrap_headings[i], words, nr)) {
			*whole = !wrap_headings[i][nr];
			return true;
		}
	return false;
}

/* True: the line is held, or was joined. */
static bool heading_hold(struct tool_lines *l, const char *s, char *ret)
{
	bool held = l->held_lines && !strncmp(l->held, "Event", 5), whole;
	size_t len = held ? strlen(l->held) : 0;

	if (strpbrk(s, "0123456789") || (!held && strncmp(s, "Event", 5)))
		return false;
	if (!held) {
		tool_wrap_flush(l, ret);
		*l->held = '\0';
	}
	if (!continues_heading(l, s, &whole) || len + strlen(s) + 1 > sizeof(l->held) ||
	    (whole && !held))
		return false;
	snprintf(l->held + len, sizeof(l->held) - len, "%s", s);
	if (whole)
		snprintf(l->held, sizeof(l->held), "Event Total %s",
			 strchr(l->held, '%') ? "%Total CurAvg/s" : "Current");
	l->held_lines++;
	return true;
}

/* Does what is held go on with these values? "kvm_exit" and one number may be of kvm_stat -l -f. */
static bool may_go_on(const struct tool_lines *l, const char *s)
{
	enum wrap_kind kind = l->held_lines ? kind_of(l->held) : WRAP_OTHER;

	return kind == WRAP_ROW || (kind == WRAP_NAME && (l->heading || strchr(s, ' ') ||
							  strncmp(l->held, "kvm_", 4) != 0));
}

bool tool_wrap_take(struct tool_lines *l, const char *text, bool is_kvm_stat, char *ret)
{
	const char *s = tool_blanks_skip(text);
	enum wrap_kind kind = is_kvm_stat ? kind_of(s) : WRAP_OTHER;
	bool take = false;

	*ret = '\0';
	if (heading_hold(l, s, ret))
		return true;
	if (*ret)
		return false;
	if (kind == WRAP_VALUES && may_go_on(l, s)) {
		values_join(l, s);
		return true;
	}
	tool_wrap_flush(l, ret);
	take = (kind == WRAP_NAME || kind == WRAP_ROW) && strlen(s) < sizeof(l->held);
	if (take)
		hold(l, s);
	return take;
}
