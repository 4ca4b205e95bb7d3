// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs that print a record on several lines, of which one is the text:
 *
 *	__CURSOR=s=0f5a...                                journalctl -o export
 *	__REALTIME_TIMESTAMP=1764500000000000
 *	MESSAGE= CPU 0/KVM-901 [002] ..... 60.000001: kvm_exit: ...
 *	                                                  a blank line ends it
 *	[ 11-30 12:00:00.001  1000: 1001 I/trace    ]     logcat -v long
 *	 CPU 0/KVM-901 [002] ..... 60.000001: kvm_exit: ...
 *
 * The other lines are no place where events may be missing.
 */
#include <ctype.h>
#include <string.h>

#include "readers/text/date_words.h"
#include "readers/text/paste_state.h"

/* "_HOSTNAME=", "PRIORITY=" */
static bool is_field(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && (isupper((unsigned char)*p) || text_is_digit(*p) || *p == '_'))
		p++;
	return p > s && p < end && *p == '=';
}

/* d: a digit, L: a level. Up to its end; the rest is a tag and "]". */
static bool is_logcat_head(const char *s, const char *end)
{
	static const char pattern[] = "[ dd-dd dd:dd:dd.ddd ";
	const char *p = s;

	for (size_t i = 0; pattern[i]; i++, p++)
		if (p >= end || (pattern[i] == 'd' ? !text_is_digit(*p) : *p != pattern[i]))
			return false;
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	while (p < end && (*p == ' ' || *p == ':' || text_is_digit(*p)))
		p++;
	return end - p > 2 && strchr("VDIWEFA", *p) && p[1] == '/' && end[-1] == ']';
}

static bool is_blank(const char *s, const char *end)
{
	while (s < end && isspace((unsigned char)*s))
		s++;
	return s == end;
}

bool paste_is_frame(enum paste_frames *known, const char *s, const char *end)
{
	static const char cursor[] = "__CURSOR=", message[] = "MESSAGE=";

	if ((size_t)(end - s) > strlen(cursor) && !memcmp(s, cursor, strlen(cursor)))
		*known = PASTE_JOURNAL;
	else if (is_logcat_head(s, end))
		*known = PASTE_LOGCAT;
	else if (*known == PASTE_NO_FRAMES)
		return false;
	else if (is_blank(s, end))
		return true;
	else if (*known == PASTE_LOGCAT)
		return false;
	return *known == PASTE_LOGCAT ||
	       (is_field(s, end) && ((size_t)(end - s) < strlen(message) ||
				     memcmp(s, message, strlen(message)) != 0));
}
