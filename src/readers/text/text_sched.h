/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sched_switch and sched_wakeup from text; for text_kvm.c. */
#ifndef HOSTRACE_TEXT_SCHED_H
#define HOSTRACE_TEXT_SCHED_H

#include "readers/text/text_line.h"

/* Fills the fields of a zeroed record. */
/* As struct text_kind.rest. */
uint64_t text_sched_switch(struct text_slice text, uint8_t *record);
uint64_t text_sched_wakeup(struct text_slice text, uint8_t *record);

#endif
