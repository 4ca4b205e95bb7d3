/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the targets that include it: leaks of libraries for what they reject. libtraceevent's parser (1.7.1) leaks a few
 * bytes for each format, which is parsed once; libdw (0.188) the attributes of an abbreviation.
 */
#ifndef HOSTRACE_FUZZ_LSAN_H
#define HOSTRACE_FUZZ_LSAN_H

#ifndef LSAN_MORE /* of one target only */
#define LSAN_MORE ""
#endif

const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent\nleak:libdw" LSAN_MORE;
}

#endif
