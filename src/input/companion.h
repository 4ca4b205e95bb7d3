/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Companion files: the guest traces that `record --guest` saved together with a recording. The recording holds their
 * names and sizes (doc/format.md, "guests").
 */
#ifndef HOSTRACE_INPUT_COMPANION_H
#define HOSTRACE_INPUT_COMPANION_H

/*
 * Paths of the recording's guest traces: at most `max`, each to be freed. A file matches if it has the recorded size,
 * and either the recorded name, in the recording's present folder, or the name that it would get if both were renamed
 * (VM.guest for VM.hrt). note() is called for each one that is missing or does not match. Returns how many were
 * found; 0 as well if the recording cannot be opened, is not in our format, or can be read only once.
 */
unsigned int companions_find(const char *recording, void (*note)(const char *fmt, ...), char **ret,
			     unsigned int max);

#endif
