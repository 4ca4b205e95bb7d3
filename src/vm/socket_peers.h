/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The other ends of a process's sockets: Unix sockets by sock_diag(7), TCP by /proc/PID/net/tcp. Peers on this
 * host are found with their process; of others, TCP knows whether they acknowledge what was sent.
 */
#ifndef HOSTRACE_SOCKET_PEERS_H
#define HOSTRACE_SOCKET_PEERS_H

#include <stdint.h>
#include <sys/types.h>

enum { SOCKET_PEERS_MAX = 1024 };

struct socket_peer {
	int fd; /* of the process */
	pid_t pid; /* the peer's; 0: unknown, or on another host */
	char comm[16];
	char state;	      /* of the peer: R S D T t ..., 0: unknown */
	uint32_t unread;      /* bytes that the peer has received and not read; 0 also if unknown */
	uint32_t unsent;      /* TCP: bytes not acknowledged */
	uint32_t retransmits; /* TCP: of the oldest of them */
};

/*
 * *ret is allocated; connected sockets only. Other network namespaces than ours are seen for TCP, not for Unix sockets.
 * 0 or -ENOMEM with the error message set.
 */
int socket_peers_read(pid_t pid, struct socket_peer **ret, unsigned int *ret_nr);

#endif
