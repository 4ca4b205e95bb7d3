/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is the text of an event all of it? See text_grammar.c. */
#ifndef HOSTRACE_TEXT_GRAMMAR_H
#define HOSTRACE_TEXT_GRAMMAR_H

#include "readers/text/text_line.h"

/* In ascending order: of several forms the highest counts. */
enum text_end {
	END_UNKNOWN, /* no form of the event begins so */
	END_HALF,    /* after a value, and more must follow */
	END_WITHIN,  /* within a word, or before a value */
	END_OPEN,    /* of a whole text, if its last value is: it has no end of its own, or a remark may follow */
	END_WHOLE,
};

/* How the text of an event of this name ends. */
enum text_end text_end_of(struct text_slice name, struct text_slice text);

#endif
