/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be known of a profile's figures: lines under its text, caveats of its JSON. New arrays of texts. */
#ifndef HOSTRACE_PROFILE_NOTES_H
#define HOSTRACE_PROFILE_NOTES_H

#include <jansson.h>

#include "analyzers/profile/host_profile.h"
#include "analyzers/profile/wait_profile.h"

json_t *wait_profile_notes(const struct wait_sums *sums);
json_t *host_profile_notes(enum host_profile_of of, const struct host_profile_totals *t);

#endif
