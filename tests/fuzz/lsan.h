/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the one target that includes it: libtraceevent's parser loses a few bytes with every format that it refuses
 * (1.7.1). A format is parsed once, so that is no leak that could grow.
 */
#ifndef HOSTRACE_FUZZ_LSAN_H
#define HOSTRACE_FUZZ_LSAN_H

const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent";
}

#endif
