/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of the commands that work on samples, and what they mean. */
#ifndef HOSTRACE_COMMANDS_SAMPLE_OPTIONS_H
#define HOSTRACE_COMMANDS_SAMPLE_OPTIONS_H

#include "analyzers/profile/profile.h"
#include "commands/common/command.h"
#include "commands/common/compat_option.h"
#include "commands/common/symbol_options.h"
#include "output/samples/samples_output.h"

extern const struct option_row sample_line_options[]; /* -b -l --no-header */
extern const struct option_row profile_options[];     /* -r -g --function --min-* --max-levels */
extern const struct option_rule profile_rules[];      /* of these */
extern bool no_header_given;

struct sample_line_options sample_line_given(void);

/* Was an option given that only `list` of an OSv trace has? The first one's name, or NULL. */
const char *sample_option_given(void);

/* Has each option for names, all of which are in backtraces, an effect? As options_unused_check(). */
int backtrace_options_check(void);

/* --group-by, the filters, symbols. -EINVAL with the error message set. */
int profile_given(struct profile_options *ret);

/* "N" or "P%". NULL text: none. -EINVAL with the error message set. */
int min_hits_parse(const char *text, uint64_t *ret_hits, double *ret_percent);

/* Index of the word in a list that ends with NULL; NULL: 0. -EINVAL with the error message set. */
int choice_parse(const char *option, const char *word, const char *const *list);

/* After the failure of sample_range_of_osv(): like command_usage(), but as the original does it with --compat. */
int time_range_wrong(void);

/* For reports of which the original ignores the time window. */
void time_range_compat(struct time_range *range);

#endif
