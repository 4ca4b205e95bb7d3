// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Did perf record only some of a tracepoint's events (-F, -c)? Then no two of them belong together. The header of perf
 * script --header has it, of each event (perf's header.c, write_event_desc(); perf_event_attr_fprintf.c), with "freq"
 * only if it is 1:
 *
 *	# event : name = kvm:kvm_exit, , id = { 5, 6 }, type = 2, size = 128, config = 0x6e,
 *		{ sample_period, sample_freq } = 99, sample_type = IP|TID, freq = 1, sample_id_all = 1
 *
 * (newer: "type = 2 (tracepoint)"), and so has the period of an event: the events that it stands for, 1 of all.
 */
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/text_line.h"

/* What follows ", NAME = " in the line; NULL: it is not there. */
static const char *value_of(const char *s, const char *name)
{
	const char *end = s + strcspn(s, "\n"),
		   *p = memmem(s, (size_t)(end - s), name, strlen(name));

	return p ? p + strlen(name) : NULL;
}

bool text_header_is_sampled(const char *s)
{
	static const char event[] = "event : name = ";
	const char *type, *period, *freq;

	if (strncmp(s, event, sizeof(event) - 1) != 0)
		return false;
	type = value_of(s, ", type = ");
	period = value_of(s, ", { sample_period, sample_freq } = ");
	freq = value_of(s, ", freq = ");
	if (!type || text_decimal(&type) != 2) /* PERF_TYPE_TRACEPOINT */
		return false;
	return (period && text_decimal(&period) > 1) || (freq && *freq == '1');
}

bool text_is_sampled(const struct text_line *l)
{
	static const char field[] = "perf_period="; /* of CTF, which has none of 1 */

	return l->period > 1 ||
	       (l->system.len && memmem(l->text.at, l->text.len, field, sizeof(field) - 1));
}
