/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `hostrace blame` reads and answers, for it and for `hostrace report`. */
#ifndef HOSTRACE_BLAME_ANSWER_H
#define HOSTRACE_BLAME_ANSWER_H

#include "commands/common/input.h"
#include "output/blame_report.h"
#include "output/report.h"

extern const struct report_needs blame_needs;

/* Opens the inputs with all threads, which are needed to explain an exit, and reads them. 0 or -errno. */
int blame_read(struct blame *b, struct input_set **ret);

/* After the pass: sets what the report has of the inputs. Its notes, a new reference. */
json_t *blame_answer_begin(struct blame_report *r, const struct input_set *in);

/* Prints the answer as JSON; adds to the notes. 0 or -errno with the error message set. */
int blame_answer_json(const struct blame_report *r, const struct input_set *in, json_t *caveats,
		      FILE *f);

/* There are exits, and none is long enough. */
bool blame_none_selected(const struct blame_report *r);
const char *blame_none_print(const struct blame_report *r, char *buf, size_t size);

#endif
