// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The prefixes that programs put before each line: quotes, marks, dates, names of hosts and programs, numbers of lines,
 * names of files. paste.c decides which of them are removed.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "readers/text/date_words.h"
#include "readers/text/lines.h"
#include "readers/text/log_head.h"
#include "readers/text/paste_clean.h"
#include "readers/text/paste_json.h"

static const char *number_skip(const char *s)
{
	while (text_is_digit(*s))
		s++;
	return s;
}

/* As "dddd-dd-dd": d a digit, all others themselves. NULL: it is not so. */
static const char *pattern_skip(const char *s, const char *pattern)
{
	for (; *pattern; pattern++, s++)
		if (*pattern == 'd' ? !text_is_digit(*s) : *s != *pattern)
			return NULL;
	return s;
}

/* ".123456", ",123" and the time zone "Z", "+01:00"; all may be missing. */
static const char *fraction_skip(const char *s)
{
	const char *zone;

	if ((*s == '.' || *s == ',') && text_is_digit(s[1]))
		s = number_skip(s + 1);
	if (*s == 'Z')
		return s + 1;
	zone = *s == '+' || *s == '-' ? pattern_skip(s + 1, "dd:dd") : NULL;
	if (!zone && (*s == '+' || *s == '-'))
		zone = pattern_skip(s + 1, "dddd");
	return zone ? zone : s;
}

/* A date, a time of day, or seconds: what ts(1), syslog and containers print. */
static const char *date_skip(const char *s)
{
	const char *p = pattern_skip(s, "dddd-dd-dd"), *time;

	if (p && (*p == 'T' || *p == ' ')) {
		time = pattern_skip(p + 1, "dd:dd:dd");
	} else {
		time = pattern_skip(s, "dd:dd:dd");
		p = time ? fraction_skip(time) : NULL;
		if (p && pattern_skip(p - 5, "-dddd")) /* thread 2001, whose name is a time */
			return NULL;
	}
	if (time)
		return fraction_skip(time);
	time = date_words_parse(s, &(struct date_words){0});
	p = text_is_digit(*s) && !time ? number_skip(s) : NULL;
	if (p && *p == '.' && text_is_digit(p[1]))
		return number_skip(p + 1);
	return p && p - s == 10 ? p : time; /* ts %s */
}

/* "00O ", "01E+" of GitLab's jobs: the stream, and whether the line goes on from the one before */
static const char *job_stream_skip(const char *s)
{
	return isxdigit((unsigned char)s[0]) && isxdigit((unsigned char)s[1]) &&
			       (s[2] == 'O' || s[2] == 'E') && (s[3] == ' ' || s[3] == '+')
		       ? s + 4
		       : NULL;
}

/* "host kernel:", "host prog[123]:", "stdout F" of containers: what follows the date. */
static const char *source_skip(const char *s)
{
	const char *p = s;

	if (job_stream_skip(s))
		return job_stream_skip(s);
	if (!strncmp(s, "std", 3) && (!strncmp(s + 3, "out F ", 6) || !strncmp(s + 3, "err F ", 6)))
		return s + 8;
	for (int word = 0; word < 2; word++) {
		const char *begin = p;

		while (isgraph((unsigned char)*p) && (*p != ':' || isgraph((unsigned char)p[1])))
			p++;
		if (p == begin)
			return NULL;
		if (word && *p == ':') /* "CET kvm_exit:" is an event */
			return text_is_known_name(begin, p) ? NULL : p + 1;
		if (*p != ' ')
			return NULL;
		p++;
	}
	return NULL;
}

/* "[ 1234.567890]", "<6>[ 12.3]", "[Wed Nov 25 23:03:17 2026]", "[12345]" of systems that number threads. */
static const char *bracket_skip(const char *s)
{
	const char *p = s;

	if (*p == '<' && text_is_digit(p[1]) && number_skip(p + 1)[0] == '>')
		p = number_skip(p + 1) + 1;
	if (*p != '[')
		return NULL;
	p = text_skip_blanks(p + 1);
	if ((*p == 'T' || *p == 'C') && text_is_digit(p[1])) /* CONFIG_PRINTK_CALLER */
		p = number_skip(p + 1);
	else
		p = date_skip(p + (*p == '+')); /* dmesg -H: the time since the line before */
	return p && *p == ']' ? p + 1 : NULL;
}

/* "kern  :info  : " of dmesg -x */
static const char *facility_skip(const char *s)
{
	static const char *const levels[] = {"emerg", "alert",	"crit", "err",
					     "warn",  "notice", "info", "debug"};
	const char *p = s;

	while (isalnum((unsigned char)*p))
		p++;
	p = p > s ? text_skip_blanks(p) : s;
	if (*p != ':')
		return NULL;
	s = ++p;
	while (islower((unsigned char)*p))
		p++;
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if ((size_t)(p - s) == strlen(levels[i]) &&
		    !memcmp(s, levels[i], (size_t)(p - s))) {
			p = text_skip_blanks(p);
			return p[0] == ':' && p[1] == ' ' ? p + 1 : NULL;
		}
	return NULL;
}

/*
 * A date, in brackets or not, and the host and program after it, which *source is; the zone between them may be any
 * word in capitals. NULL: it is none. A word in brackets alone does not prove that a host follows.
 */
static const char *dated_skip(const char *s, struct text_slice *source)
{
	bool level = *s == '<' && text_is_digit(s[1]) && number_skip(s + 1)[0] == '>', known;
	const char *bracket = bracket_skip(s),
		   *date = bracket ? bracket : date_skip(level ? number_skip(s + 1) + 1 : s), *zone,
		   *begin, *end;

	*source = (struct text_slice){s, 0};
	if (!date || *date != ' ')
		return bracket;
	zone = date_zone_skip(date);
	known = zone && *zone == ' ' && date_zone_is_known(date, zone);
	begin = text_skip_blanks(known ? zone : date);
	end = source_skip(begin);
	if (!end && !known && zone && *zone == ' ') {
		begin = text_skip_blanks(zone);
		end = source_skip(begin);
	}
	if (end && bracket && end[-2] != ']' && memcmp(end - 8, " kernel:", 8) != 0)
		end = NULL;
	if (!end)
		return known && !bracket ? zone : date;
	if (strncmp(begin, "std", 3) != 0 && !job_stream_skip(begin))
		*source = (struct text_slice){begin, (uint32_t)(end - begin)};
	return end;
}

/* What log_head.h has besides these. */
static const char *head_skip(const char *s, struct text_slice *source)
{
	struct log_head head;
	const char *p = log_head_parse(s, s + strcspn(s, "\n"), &head);

	*source = head.source;
	return p > s ? p : NULL;
}

/* A thread's name, "252812@1721976657.700972:", a date, or an object of JSON: no column of numbers. */
static bool begins_event(const char *s)
{
	return isalpha((unsigned char)*s) || *s == '<' || !strncmp(s, "{\"", 2) ||
	       *number_skip(s) == '@' || pattern_skip(s, "dddd-dd-dd");
}

/* "4512 kvm_exit:" of sort | uniq -c */
static bool begins_count(const char *s)
{
	const char *p = number_skip(s);

	return p > s && *p == ' ' && isalpha((unsigned char)*text_skip_blanks(p));
}

/* "12:" and "12-" of grep -n, "12 " of cat -n with its tab or, copied from a terminal, blanks; "12. " of a list. */
static const char *line_number_skip(const char *s)
{
	const char *p = number_skip(s);

	if (p == s || pattern_skip(s, "dd:dd:dd"))
		return NULL;
	if ((*p == '.' || *p == ')') && p[1] == ' ')
		return p + 1;
	if (*p == ' ' && p[1] == ' ' &&
	    (begins_event(text_skip_blanks(p)) || begins_count(text_skip_blanks(p))))
		return p + 1;
	return *p == '\t' || *p == ':' || *p == '-' ? p + 1 : NULL;
}

/* "trace.txt-4-", "trace.txt- ", "qemu.log-4711@" of grep -C, at what follows the name: after the last hyphen; NULL. */
static const char *context_skip(const char *s, const char *end)
{
	for (const char *p = end; p > s; p--)
		if (p[-1] == '-' && ((text_is_digit(*p) && strchr("-@", number_skip(p)[0])) ||
				     (p == end && (*p == ' ' || *p == '{'))))
			return p;
	return NULL;
}

/* "trace.txt:" of grep, before a blank, a line number, or, as it has a point or slash and letters, before anything. */
static const char *file_skip(const char *s)
{
	const char *p = s;
	bool is_file = false, letters = false;

	for (; isalnum((unsigned char)*p) || strchr("._/-+~", *p ? *p : ' '); p++) {
		is_file |= *p == '.' || *p == '/';
		letters |= isalpha((unsigned char)*p);
	}
	if (p > s && (*p == ' ' || *p == '@' || *p == '{') && is_file && letters)
		return context_skip(s, p);
	if (p == s || *p != ':')
		return NULL;
	p++;
	return *p == ' ' || (is_file && letters && begins_event(p)) ||
			       (text_is_digit(*p) && number_skip(p)[0] == ':')
		       ? p
		       : NULL;
}

/* "10:12 <jane> ", "10:12:30 <jane> " of a chat */
static const char *chat_skip(const char *s)
{
	const char *p = pattern_skip(s, "dd:dd"), *seconds = p ? pattern_skip(p, ":dd") : NULL;

	p = seconds ? seconds : p;
	if (!p || p[0] != ' ' || p[1] != '<' || p[2] == ' ')
		return NULL;
	for (p += 2; isgraph((unsigned char)*p) && *p != '>';)
		p++;
	return p[0] == '>' && p[1] == ' ' ? p + 1 : NULL;
}

/* "vm-1  | " of docker compose */
static const char *container_skip(const char *s)
{
	const char *p = s;

	while (isalnum((unsigned char)*p) || *p == '-' || *p == '_' || *p == '.')
		p++;
	if (p == s || *p != ' ')
		return NULL;
	p = text_skip_blanks(p);
	return p[0] == '|' && p[1] == ' ' ? p + 1 : NULL;
}

/* ">", "->", "* ", "+ ", "| ", "JD> ", and the '+' of diff(1): quotes, marks, lists. */
static const char *mark_skip(const char *s)
{
	const char *p = s;

	while (isupper((unsigned char)*p) && p - s < 3)
		p++;
	p = *p == '>' ? p : s;
	if (p == s && *p == '+' && (isalnum((unsigned char)p[1]) || p[1] == '<' || p[1] == '@'))
		return p + 1;
	if (*p == '-' && text_is_digit(p[1]) &&
	    (number_skip(p + 1)[0] == '@' || pattern_skip(p + 1, "dddd-dd-ddT")))
		return p + 1; /* of diff(1), before an event of QEMU */
	while (*p == '-' || *p == '*' || *p == '+' || *p == '|' || *p == '>')
		p++;
	if (p == s || (*p != ' ' && *p != '\t' && p[-1] != '>'))
		return NULL;
	return *p == ' ' ? p + 1 : p;
}

/* "{\"body\": \"", "\"" before a JSON string, or another in quotes */
static const char *string_skip(const char *s)
{
	const char *p = s + strspn(s, "{[ "), *key = p + 1;
	struct paste_json json;
	char quote = *p;

	if (paste_json_parse(s, s + strcspn(s, "\n"), &json))
		return json.text.at;
	if (quote != '"' && quote != '\'')
		return NULL;
	while (isalnum((unsigned char)*key) || *key == '_')
		key++;
	if (key > p + 1 && key[0] == quote && key[1] == ':') {
		key += 2 + strspn(key + 2, " ");
		return *key == '"' ? key + 1 : NULL;
	}
	return p + 1;
}

/* "[pod/vm-1/compute] " of kubectl logs --prefix */
static const char *pod_skip(const char *s)
{
	const char *p = s;

	if (strncmp(s, "[pod/", 5) != 0)
		return NULL;
	while (isgraph((unsigned char)*p) && *p != ']')
		p++;
	return p[0] == ']' && p[1] == ' ' ? p + 2 : NULL;
}

/* Without blanks, colons and hyphens at its end. */
static struct text_slice name_of(const char *s, const char *end)
{
	while (end > s && strchr(" :|-", end[-1]))
		end--;
	return (struct text_slice){s, (uint32_t)(end - s)};
}

/* Files of one trace, of which each CPU has one: "per_cpu/cpu3/trace:" */
static bool is_of_cpu(const char *s, const char *end)
{
	for (; s < end; s++)
		if (!memcmp(s, "cpu", 3) && text_is_digit(s[3]))
			return true;
	return false;
}

/* "trace.txt" of grep -C's "trace.txt-4-", too; none of a line's number. */
static struct text_slice file_of(const char *s, const char *end)
{
	struct text_slice name = name_of(s, end);
	const char *p = s + name.len;

	while (p > s && text_is_digit(p[-1]))
		p--;
	if (p == s)
		return (struct text_slice){s, 0};
	if (end[-1] == '-' && p > s && p < s + name.len && p[-1] == '-')
		name = name_of(s, p);
	return name;
}

static struct text_slice source_of(const char *s, const char *end, bool sure)
{
	struct text_slice source;
	struct paste_json json;

	s += strspn(s, " \t");
	if (paste_json_parse(s, s + strcspn(s, "\n"), &json) && json.text.at == end)
		return json.host;
	if (pod_skip(s) == end || container_skip(s) == end)
		return name_of(s, end);
	if (!mark_skip(s) && !chat_skip(s) && dated_skip(s, &source) == end && source.len)
		return name_of(source.at, end);
	if (head_skip(s, &source) == end && source.len)
		return source;
	if (!date_skip(s) && file_skip(s) == end && !is_of_cpu(s, end) &&
	    (sure || end[-1] != ':' || memchr(s, '.', (size_t)(end - s))))
		return file_of(s, end);
	return (struct text_slice){s, 0};
}

bool paste_prefix_is_date(const char *s)
{
	s += strspn(s, " \t");
	return !mark_skip(s) && !chat_skip(s) && (bracket_skip(s) || date_skip(s));
}

/* "[ 9001.100001][ T4711] kvm_exit: ...": what the kernel prints of events to its log (tp_printk). */
void paste_prefix_log(const char *s, const char *end, struct text_log *ret)
{
	struct log_head head;
	const char *caller;

	s += strspn(s, " \t");
	if (*s == '<' && text_is_digit(s[1]) && !strncmp(number_skip(s + 1), ">[", 2))
		s = number_skip(s + 1) + 1;
	if (log_head_parse(s, end, &head) == s || !head.has_time || !head.time.decimals)
		return;
	ret->has_time = true;
	ret->time = head.time;
	caller = *s == '[' ? memmem(s, (size_t)(end - s), "][", 2) : NULL;
	caller = caller ? text_skip_blanks(caller + 2) : s;
	if (*caller == 'T' && text_is_digit(caller[1])) {
		uint64_t tid = text_decimal(&(const char *){caller + 1});

		ret->tid = tid <= INT32_MAX ? (uint32_t)tid : 0;
	}
}

char paste_prefix_kind(const char *s)
{
	s += strspn(s, " \t");
	return text_is_digit(*s) ? '0' : isalpha((unsigned char)*s) ? 'a' : *s;
}

struct text_slice paste_prefix_source(const char *const *layer, unsigned int nr, bool sure)
{
	struct text_slice name = {NULL, 0};

	while (nr-- && !name.len)
		name = source_of(layer[nr], layer[nr + 1], sure);
	return name;
}

const char *paste_prefix_skip(const char *s, bool has_parts)
{
	static const char message[] = "MESSAGE="; /* journalctl -o export */
	const char *at = strncmp(s, message, strlen(message)) ? mark_skip(s) : s + strlen(message);
	struct text_slice source;

	if (!at && bracket_skip(s))
		at = dated_skip(s, &source);
	if (!at)
		at = chat_skip(s);
	if (!at)
		at = pod_skip(s);
	if (!at)
		at = string_skip(s);
	if (!at)
		at = container_skip(s);
	if (!at)
		at = dated_skip(s, &source);
	if (!at)
		at = facility_skip(s);
	if (!at)
		at = head_skip(s, &source);
	if (!at)
		at = line_number_skip(s);
	return at || has_parts ? at : file_skip(s);
}

bool paste_is_prompt(const char *s, const char *end)
{
	const char *p = s + (*s == '['), *user = p, *at;

	while (p < end && (isalnum((unsigned char)*p) || strchr("._-", *p)))
		p++;
	at = p;
	if (p == user || *p++ != '@')
		return false;
	while (p < end && (isalnum((unsigned char)*p) || strchr("._-", *p)))
		p++;
	if (p == at + 1 || text_is_digit(at[1]) || *p != (*s == '[' ? ' ' : ':'))
		return false;
	p += strcspn(p, "#$\n"); /* the path */
	return p < end && (p + 1 == end || p[1] == ' ');
}
