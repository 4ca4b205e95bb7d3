/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_RECORD_SAMPLE_H
#define HOSTRACE_RECORD_SAMPLE_H

#include "commands/live/record.h"

extern const struct record_part record_sample_part;
extern const struct option_row record_sample_options[];

#endif
