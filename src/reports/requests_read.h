/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guests' block requests and the elements of the host that they are (analyzers/virtqueue/requests.h), within the
 * error of the clocks between them: a pass of its own for reports that need them before or besides something else.
 */
#ifndef HOSTRACE_REPORTS_REQUESTS_READ_H
#define HOSTRACE_REPORTS_REQUESTS_READ_H

#include "analyzers/virtqueue/requests.h"
#include "input/input_set.h"

struct requests_pass {
	struct requests *requests;
	const struct input_set *in;
	const struct request *list; /* after requests_pass_end(); owned by `requests` */
	size_t nr;
	struct request_totals totals;
};

/*
 * Of inputs that are open for requests_wants() with READ_BEFORE. 0 or -errno with the error message set, as all here.
 */
int requests_pass_open(struct requests_pass *p, const struct input_set *in);
void requests_pass_event(struct requests_pass *p, const struct event *ev);
int requests_pass_end(struct requests_pass *p);
void requests_pass_close(struct requests_pass *p);

#endif
