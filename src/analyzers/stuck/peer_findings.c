// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that QEMU is connected to and that do not answer: NBD servers, vhost-user devices. */
#include <inttypes.h>

#include "analyzers/stuck/stuck.h"

static int peer_find(struct stuck_report *r, const struct socket_peer *p)
{
	uint64_t span_ns = r->now->time_ns - r->before->time_ns;

	if (p->state == 'T' || p->state == 't')
		return stuck_find(r, "peer-stopped", NULL, 0, span_ns,
				  "QEMU's socket %d is connected to process %d (%s), which is "
				  "stopped%s; %" PRIu32 " bytes wait to be read by it",
				  p->fd, (int)p->pid, p->comm,
				  p->state == 't' ? " by a debugger" : "", p->unread);
	if (p->retransmits)
		return stuck_find(r, "peer-silent", NULL, 0, span_ns,
				  "QEMU's TCP socket %d has sent %" PRIu32
				  " bytes that its peer does not acknowledge, in %" PRIu32
				  " attempts",
				  p->fd, p->unsent, p->retransmits);
	return 0;
}

int stuck_peer_findings(struct stuck_report *r, const struct socket_peer *peer, unsigned int nr)
{
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++)
		err = peer_find(r, &peer[i]);
	return err;
}
