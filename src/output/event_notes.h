/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of KVM that no report pairs, but that say why others happen: a sentence for each that a trace holds. */
#ifndef HOSTRACE_EVENT_NOTES_H
#define HOSTRACE_EVENT_NOTES_H

#include <jansson.h>
#include <stdint.h>

struct input_set;

/* Which reports print the sentence. */
enum { NOTE_EXITS = 1, NOTE_INTERRUPTS = 2, NOTE_SUMMARY = 4 };

struct event_note {
	const char *event;
	unsigned int where;
	const char *sentence; /* with one %llu: how many */
};

extern const struct event_note event_notes[]; /* ends with event NULL */

/* After the inputs were read to their end. Adds those that they have; none if a part of the events is selected. */
void event_notes_add(json_t *list, unsigned int where, const struct input_set *in);

#endif
