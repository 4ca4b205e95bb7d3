/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_COMMANDS_ROWS_H
#define HOSTRACE_COMMANDS_ROWS_H

#include "commands/common/output.h"
#include "event/reader.h"

/*
 * Writes every event of the reader as rows in out's format (text, json, csv), at most out->limit of them, with the
 * head or foot that reports have; of a backtrace max_frames frames, 0: all. What `list` and `export json|csv` share.
 * 0 or -errno with the sentence set.
 */
int rows_write(struct reader *r, struct output *out, uint64_t max_frames);

#endif
