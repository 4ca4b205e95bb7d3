/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the sections of the page small, whatever the recording's length. What is cut is counted. */
#ifndef HOSTRACE_REPORT_FIT_H
#define HOSTRACE_REPORT_FIT_H

#include <jansson.h>
#include <stddef.h>

/* How many bytes it takes in the page (page.h), escaped. */
size_t page_json_bytes(const json_t *value);

/*
 * Shortens a command's answer to `max` bytes:
 *
 *	rows that are call trees	nodes with few hits become one "(N more)" each
 *	other rows			the first ones are kept; of blame's, the longest parts of each exit
 *	other arrays			("stages", "groups", "causes", ...) the first members are kept
 *
 * Adds "cut" to `section`: [{"what", "shown", "of"}, ...] if anything is missing.
 */
void section_fit(json_t *data, size_t max, json_t *section);

#endif
