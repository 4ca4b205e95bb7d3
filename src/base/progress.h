/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line on standard error, a terminal, about how much of the inputs has been read. It appears after a second and is
 * erased before anything else is printed. One per process; without progress_begin() nothing is counted.
 */
#ifndef HOSTRACE_PROGRESS_H
#define HOSTRACE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* `name` begins the line; it is borrowed. */
void progress_begin(const char *name);

/* Erases the line, and prints no further one. */
void progress_end(void);

/* An input that is being read. Zeroed: none. */
struct progress_input {
	uint64_t bytes;
	uint64_t done; /* when it was opened, of all inputs */
};

/* For readers. Once all inputs are closed, the next ones are counted anew: some reports read them several times. */
void progress_input_open(struct progress_input *in, uint64_t bytes);
void progress_input_close(const struct progress_input *in);

/* So many bytes of some input were read. */
void progress_read(size_t bytes);

/* Replaces the line by another text; erases it. For commands that have a line of their own. */
void progress_line_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void progress_line_erase(void);

#endif
