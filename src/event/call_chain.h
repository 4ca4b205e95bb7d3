/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's call chains as events: "perf:call_chain" (of a guest's recording "guest:call_chain") follows the sample that
 * it belongs to, with its time, CPU and thread. A perf.data has addresses, the kernel's before the user space's, each
 * innermost first; perf script's text has names.
 */
#ifndef HOSTRACE_CALL_CHAIN_H
#define HOSTRACE_CALL_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "event/event.h"

enum {
	CALL_CHAIN_FRAMES_MAX = 127, /* kernel.perf_event_max_stack by default */
	CALL_CHAIN_FRAMES_SHOWN = 63,	 /* have fields, and space in every record */
	CALL_CHAIN_TEXT_MAX = 8192,
};

/* A record ends after its last frame, but not before CALL_CHAIN_RECORD_MIN. */
struct call_chain {
	struct record_hdr hdr;
	uint32_t size, reserved; /* number of frames */
	uint64_t frame[CALL_CHAIN_FRAMES_MAX];
};

enum {
	CALL_CHAIN_RECORD_MIN = offsetof(struct call_chain, frame) + 8 * CALL_CHAIN_FRAMES_SHOWN,
};

/* Of addresses, or with `text` of one field "text": "innermost (dso);...;outermost (dso);". NULL: too many types. */
const struct event_type *call_chain_type(bool guest, bool text);

/* A record of such a text but for its header, of up to CALL_CHAIN_TEXT_MAX bytes and 40: returns its size. */
size_t call_chain_put_text(const char *text, size_t len, uint8_t *record);

#endif
