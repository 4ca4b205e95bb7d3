/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the one target that includes it: libtraceevent's parser leaks a few bytes for every format that it rejects
 * (1.7.1). A format is parsed once, so the leak does not grow.
 */
#ifndef HOSTRACE_FUZZ_LSAN_H
#define HOSTRACE_FUZZ_LSAN_H

const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent";
}

#endif
