/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's block request, from its issue in the guest to its completion there, through what the host saw of it:
 *
 *   guest   issue ............................................. irq handler . complete
 *              \ kick: exits of the vCPU                       /
 *   host        `---- kvm_exit ---- pop (element) ==== fill - interrupt
 *
 * Neither side names the other: the guest knows sectors, the host knows heads of descriptor chains. A request and an
 * element belong together if the request's time, widened by the clock's error, encloses the element's; among several,
 * the queue that the CPU's requests use decides, then the order of completion (requests_match.c). Disks of the guest
 * are assigned to devices of the host so that most requests match. Only matches are reported; the rest is counted.
 */
#ifndef HOSTRACE_REQUESTS_H
#define HOSTRACE_REQUESTS_H

#include <stddef.h>

#include "base/cleanup.h"
#include "event/event.h"
#include "event/guest_fields.h"

enum {
	REQUESTS_MAX = 1 << 18,	     /* of the guest; elements of the host likewise */
	REQUEST_EXITS_MAX = 1 << 21, /* exits kept */
	REQUEST_DISKS_MAX = 64,
};

/* Times are 0 where a thing was not seen. */
struct request {
	struct guest_block block;
	uint32_t pid;  /* of the VM; 0: unknown */
	uint32_t vcpu; /* that issued it */
	uint16_t source; /* the input, as event.source: the guest */
	uint64_t issue_ns, complete_ns, irq_ns; /* irq: the handler that it was completed in */
	unsigned int exits;			/* of that vCPU between issue and pop */
	uint64_t exit_ns, exit_latency_ns; /* the one that carried the kick */
	const char *exit_reason;	   /* NULL: none was seen, or it has no name */
	uint64_t pop_ns, fill_ns, interrupt_ns;
	const char *device; /* of the host, "" if it has no name; as long as the requests */
	const char *kind;   /* its type, as elements_type() has it, when the element was returned */
	uint32_t queue, head;
	bool matched;
};

struct request_totals {
	uint64_t requests; /* issued and completed in the recording */
	uint64_t open;	   /* issued and not completed, or the other way round */
	uint64_t matched;
	uint64_t elements; /* popped and filled, of devices that are disks of this guest */
	uint64_t overflow; /* events dropped because a table was full */
	/* Why requests have no element: no device is their disk; none came and went in their time; others have it. */
	uint64_t without_disk, without_element, without_taken;
};

struct requests;

struct requests *requests_new(void);
void requests_free(struct requests *r);
DEFINE_CLEANUP(requests, struct requests *, requests_free);

/* Only requests that complete in [since_ns, until_ns) are reported. To be called before the first event. */
void requests_window(struct requests *r, uint64_t since_ns, uint64_t until_ns);

/* Does it look at this event? As struct read_hint wants it; arg is not used. */
bool requests_wants(const char *event, void *arg);

/* In order of time. `guest`: the event is of the guest's own trace. */
void requests_event(struct requests *r, const struct event *ev, bool guest);

/* After the last event; error_ns: of the guest's clock. *ret belongs to r, in order of issue. 0 or -ENOMEM. */
int requests_end(struct requests *r, uint64_t error_ns, const struct request **ret, size_t *ret_nr,
		 struct request_totals *totals);

#endif
