/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_COMMANDS_REQUESTS_READ_H
#define HOSTRACE_COMMANDS_REQUESTS_READ_H

#include "analyzers/virtqueue/requests.h"
#include "input/input_set.h"

/*
 * Opens the inputs, reads them to their end and matches the guests' requests with the host's elements, within the
 * error of the clocks between them. *ret belongs to q, see requests_end(). 0 or -errno with the error message set.
 */
int requests_read(struct requests *q, struct input_set *in, const struct request **ret,
		  size_t *ret_nr, struct request_totals *ret_totals);

#endif
