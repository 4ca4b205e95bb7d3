/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all report commands that are a view of an analyzer share. */
#ifndef HOSTRACE_COMMANDS_VIEW_RUN_H
#define HOSTRACE_COMMANDS_VIEW_RUN_H

#include "base/options.h"
#include "views/view.h"

/*
 * Reads everything that the command line's options name, folds it and writes the report. Returns an
 * exit status; messages are printed. What all report commands do.
 */
int view_run(const struct view *view, const char *analyzer, const char *by);

/* --link, of heat maps. */
extern const struct option_row link_options[];

/* -j: of the commands that call it. */
extern const struct option_row view_options[];

#endif
