/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of `hostrace baseline list`. */
#ifndef HOSTRACE_BASELINE_TABLE_H
#define HOSTRACE_BASELINE_TABLE_H

#include "output/table.h"

extern const struct table_def baseline_table;

#endif
