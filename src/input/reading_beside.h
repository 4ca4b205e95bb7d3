/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `record --guest` took in the same go lies in files of its own beside the recording, which names them and knows
 * their sizes (doc/format.md, "guests"). Here they are found again.
 */
#ifndef HOSTRACE_READING_BESIDE_H
#define HOSTRACE_READING_BESIDE_H

/*
 * Paths of the guests' traces that belong to the recording: at most `max`, each to free. A file of the name that the
 * recording knows, in the recording's own folder wherever that is now; else VM.guest beside VM.hrt, should both have
 * been renamed; and only if it has the size that it had. Why one is not taken is said by note(). How many; 0 as well
 * if the recording cannot be opened, is no file of ours, or can be read only once.
 */
unsigned int reading_beside(const char *recording, void (*note)(const char *fmt, ...), char **ret,
			    unsigned int max);

#endif
