/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a report is written and how. Opened and closed by commands/common/output.h. */
#ifndef HOSTRACE_OUTPUT_H
#define HOSTRACE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/new_file.h"
#include "output/wrap.h"

struct output {
	FILE *file;
	const char *format; /* "text" unless -f is given */
	uint64_t limit;	    /* rows; 0 = all */
	const char *sort;   /* column name or NULL */
	bool color;	    /* escape sequences may be used */
	int width;	    /* columns of the terminal, 80 elsewhere */
	bool wide;	    /* text: all columns, and no line is cut or broken */
	FILE *wrapped;	    /* what `file` breaks the lines for; NULL: `file` is not of wrap_open() */
	struct wrap_options *wrap;
	pid_t pager;	    /* the process that `file` is the input of; 0: none */
	struct new_file new_file; /* -o FILE; zeroed: standard output */
};

#endif
