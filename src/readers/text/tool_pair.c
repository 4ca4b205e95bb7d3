// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of one name and one count, in either order, with what awk, a spreadsheet or a person put around them:
 *
 *	90112 HLT              HLT,90112              HLT: 90112 (95.2%)       | HLT | 90112 |
 *	90112 reason HLT       90112 kvm_exit reason HLT                       90112 exit_reason 12
 *	500 kvm:kvm_exit:      kvm:kvm_exit   500     (bcc's funccount)        kvm_exit=500
 *	vcpu.0.halt_exits.sum=4512                    (virsh domstats --vcpu)
 *	- HLT ..... 90112      HLT 90112 ########
 *
 * A line with any other word, or with a second number, is none; what is neither letter nor digit separates words.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/exit_reason.h"
#include "readers/text/tool_line.h"

enum { PAIR_TEXT = 256, PAIR_WORD = 128 };

struct tool_pair {
	char name[PAIR_WORD];
	enum tool_row_of of; /* ROW_OF_OTHER: the number of an exit reason */
	bool has_name, has_count;
	bool of_reason; /* it says so, as "reason HLT" */
	bool after_reason;
	bool is_domstats;
	uint64_t count;
};

/* Blanks, punctuation, frames, bars: up to a letter or digit, or "-1" and "$" of a command. */
static const char *pair_separators_skip(const char *s)
{
	while (*s && !isalnum((unsigned char)*s) && *s != '$' &&
	       !(*s == '-' && isdigit((unsigned char)s[1])))
		s++;
	return s;
}

/* "95.2%" at s: its end; NULL: it is none. */
static const char *pair_percent(const char *s)
{
	uint64_t integer;
	double v;
	const char *end = tool_number_parse(s, &v, &integer);

	end = end ? end + strspn(end, " ") : NULL;
	return end && *end == '%' ? end + 1 : NULL;
}

/* A number at s: the count, or the number of an exit reason. Its end; NULL: it is none, or one too many. */
static const char *pair_number(struct tool_pair *p, const char *s)
{
	const char *end = pair_percent(s);
	uint64_t number;
	char *hex;

	if (end)
		return end;
	end = tool_count_read(s, &number);
	if (p->after_reason && s[0] == '0' && s[1] == 'x') {
		number = strtoull(s, &hex, 16);
		end = hex;
	}
	if (!end || (isalnum((unsigned char)*end) && strcmp(end, "x") != 0) || *end == '_' ||
	    (*end == '.' && isalnum((unsigned char)end[1])))
		return NULL;
	if (p->after_reason && !p->has_name && number <= UINT32_MAX) {
		snprintf(p->name, sizeof(p->name), "@exit_reason[%.*s]", (int)(end - s), s);
		p->of = ROW_OF_OTHER;
		p->has_name = true;
		p->after_reason = false;
		return end;
	}
	if (p->has_count)
		return NULL;
	p->count = number;
	p->has_count = true;
	return end;
}

/* "vcpu.0.halt_exits.sum" of virsh: "halt_exits" */
static bool pair_domstats(struct tool_pair *p, const char *word)
{
	static const char sum[] = ".sum";
	size_t len = strlen(word), vcpu = strspn(word + (len > 5 ? 5 : len), "0123456789");

	if (len < 12 || strncmp(word, "vcpu.", 5) != 0 || !vcpu || word[5 + vcpu] != '.' ||
	    strcmp(word + len - strlen(sum), sum) != 0)
		return false;
	snprintf(p->name, sizeof(p->name), "%.*s", (int)(len - strlen(sum) - 6 - vcpu),
		 word + 6 + vcpu);
	p->is_domstats = true;
	return true;
}

static bool pair_is_filler(const char *word)
{
	static const char *const fillers[] = {"count", "counts", "times", "x", "cumulative"};

	return array_any(sizeof(fillers) / sizeof(*fillers), i, !strcasecmp(word, fillers[i]));
}

static bool pair_word(struct tool_pair *p, const char *word)
{
	if (!strcasecmp(word, "reason") || !strcasecmp(word, "exit_reason")) {
		if (p->has_name && strcmp(p->name, "kvm_exit") != 0)
			return false;
		p->has_name = false;
		p->of_reason = p->after_reason = true;
		return true;
	}
	p->after_reason = false;
	if (pair_is_filler(word))
		return true;
	if (p->has_name)
		return false;
	p->has_name = true;
	p->of = ROW_OF_EVENT;
	if (pair_domstats(p, word))
		return true;
	snprintf(p->name, sizeof(p->name), "%s", !strncmp(word, "kvm:kvm_", 8) ? word + 4 : word);
	if (exit_reason_known(word) || userspace_reason_known(word)) {
		p->of = ROW_OF_REASON;
		return true;
	}
	return tool_is_event(word, strlen(word)) ||
	       (tool_is_lower(word) && tool_is_kvm_event(word));
}

/* The word at s, which may have the colon of "kvm:kvm_exit" and points: its end, or NULL. */
static const char *pair_word_end(const char *s)
{
	const char *p = s;

	while (isalnum((unsigned char)*p) || (*p && strchr("_-/", *p)) ||
	       (*p && strchr(":.", *p) && isalnum((unsigned char)p[1]) &&
		(*p == '.' || isalpha((unsigned char)p[1]))))
		p++;
	return p > s && isalnum((unsigned char)*s) && p - s < PAIR_WORD ? p : NULL;
}

static bool pair_parse(struct tool_pair *p, const char *s)
{
	char word[PAIR_WORD];

	*p = (struct tool_pair){.of = ROW_OF_EVENT};
	for (s = pair_separators_skip(s); *s; s = pair_separators_skip(s)) {
		const char *end;

		if (isdigit((unsigned char)*s)) {
			s = pair_number(p, s);
			if (!s)
				return false;
			continue;
		}
		end = pair_word_end(s);
		if (!end)
			return false;
		end += strncmp(end, " excp", 5) ? 0 : 5; /* "PF excp" of SVM */
		snprintf(word, sizeof(word), "%.*s", (int)(end - s), s);
		if (!pair_word(p, word))
			return false;
		s = end;
	}
	return p->has_name && p->has_count;
}

/* Does no other text have such a name? Those of SVM, "hlt", are words of other lists, too. */
static bool pair_is_certain(const struct tool_pair *p, bool count_first)
{
	if (p->of == ROW_OF_REASON)
		return p->of_reason || count_first || isupper((unsigned char)*p->name);
	return p->of == ROW_OF_OTHER || p->is_domstats || tool_is_kvm_name(p->name) ||
	       tool_is_event(p->name, strlen(p->name));
}

int tool_pair_line(struct tool_lines *l, const struct tool_words *w)
{
	static const char stat[] = "perf stat", counts[] = "counts (sort | uniq -c)",
			  domstats[] = "virsh domstats";
	char text[PAIR_TEXT] = "";
	const char *tool = counts;
	struct tool_pair p;
	size_t len = 0;
	int err;

	for (unsigned int i = 0; i < w->nr && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
					w->word[i]);
	if (len >= sizeof(text) || !pair_parse(&p, text))
		return 0;
	if (p.is_domstats)
		tool = domstats;
	else if (l->table->tool && !strcmp(l->table->tool, stat) && p.of == ROW_OF_EVENT)
		tool = stat; /* "499 kvm:kvm_entry:" below "500 kvm:kvm_exit", which looks like one of perf stat */
	if (l->table->tool && strcmp(l->table->tool, tool) != 0)
		return 0;
	if (p.of == ROW_OF_OTHER)
		return tool_key_put(l, tool, p.name, p.count);
	l->certain |= pair_is_certain(&p, isdigit((unsigned char)*text)) || tool == stat;
	tool_block_once(l, p.is_domstats ? text : p.name);
	err = tool_count_put(l, tool, p.of, p.name, p.count);
	if (!err && l->table->nr)
		l->table->row[l->table->nr - 1].maybe = true;
	return err ? err : 1;
}
