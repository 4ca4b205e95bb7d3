/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_COMMANDS_REQUESTS_READ_H
#define HOSTRACE_COMMANDS_REQUESTS_READ_H

#include "analyzers/virtqueue/requests.h"
#include "event/reader.h"

/*
 * Reads the inputs to their end and matches the guests' requests with the host's elements, within the error of the
 * clocks between them. What `requests` and `timeline` share. *ret is q's, as requests_end() says; the reader is the
 * caller's, also where this fails (then perhaps NULL). 0 or -errno with the sentence set.
 */
int requests_read(struct requests *q, struct reader **ret_reader, const struct request **ret,
		  size_t *ret_nr, struct request_totals *ret_totals);

#endif
