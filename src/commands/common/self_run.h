/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that runs another one, as if it was typed: that takes its privileges, and gives them up, itself. */
#ifndef HOSTRACE_SELF_RUN_H
#define HOSTRACE_SELF_RUN_H

/* `words`, then `rest` (NULL: none); both end with NULL. The exit status, or -errno with the error message set. */
int self_run(char *const *words, char *const *rest);

#endif
