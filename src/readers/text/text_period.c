// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is before an event of perf script whose columns have no time: "CPU 0/KVM  4113          1 kvm:kvm_exit: ...".
 * The last number may be the thread's or the sample's period.
 *
 * Source: perf's builtin-script.c (process_event).
 */
#include <ctype.h>
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/text_line.h"

enum {
	PERIOD_WIDTH = 10, /* "%10u " */
	MISC_WIDTH = 6,
	MISC_LETTERS = 3,
	THREAD_DIGITS = 3, /* a name that ends in a blank and a number, "fc_vcpu 12", has fewer */
};

/*
 * perf script -F misc: in which mode the CPU was ("K", "U", "H", "GK", "GU" of a guest), and what a record of another
 * kind has ("E", "M", "S", "Sp"), in a column of its own, 6 wide. It is behind a number, a CPU or a name that is known.
 */
const char *text_misc_cut(const char *s, const char *end)
{
	const char *p = text_trim_end(s, end), *word = p, *before;

	while (word > s && isalpha((unsigned char)word[-1]))
		word--;
	before = text_trim_end(s, word);
	if (word == p || p - word > MISC_LETTERS || (word > s && word == before) ||
	    strspn(word, "KUHGgMESp") < (size_t)(p - word) || islower((unsigned char)*word))
		return end;
	return before == s || before[-1] == ']' || text_is_digit(before[-1]) ||
			       end - word == MISC_WIDTH || text_is_vmm_thread(s, before)
		       ? before
		       : end;
}

bool text_is_vmm_thread(const char *s, const char *end)
{
	static const char *const names[] = {"CPU ",	"qemu-", "vhost-",
					    "kvm-vcpu", "IO ",	 "fc_vcpu "};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if ((size_t)(end - s) > strlen(names[i]) && !memcmp(s, names[i], strlen(names[i])))
			return true;
	return false;
}

/*
 * Do a thread's name and number end at `end`, before a number that is a period? That of a tracepoint is 1 mostly, and
 * the thread with this number is init.
 */
static bool is_thread(const char *s, const char *end, struct text_slice period)
{
	const char *digits = text_digits_before(s, end), *name = digits;

	if (digits > s && digits[-1] == '/') /* "4100/4113" */
		name = text_digits_before(s, digits - 1);
	return digits < end && name > s && name[-1] == ' ' &&
	       (text_is_vmm_thread(s, name) || end - digits >= THREAD_DIGITS ||
		(period.len == 1 && *period.at == '1'));
}

/* Others may have removed blanks. */
const char *text_period_cut(const char *line, const char *s, const char *name)
{
	const char *end = text_trim_end(s, name), *digits = text_digits_before(s, end),
		   *before = text_trim_end(line, digits);

	if (digits == end || digits == before || !memchr(name, ':', strcspn(name, " \n") - 1))
		return name;
	if (end - before == PERIOD_WIDTH || end - before == PERIOD_WIDTH + 1 ||
	    end - digits > PERIOD_WIDTH || (before > s && before[-1] == ']') ||
	    (before > s && text_misc_cut(s, digits) < before) ||
	    (before > s && is_thread(s, before, text_slice_of(digits, end))))
		return digits;
	return name;
}
