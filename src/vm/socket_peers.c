// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The other ends of a process's sockets: Unix sockets by sock_diag(7), TCP by /proc/PID/net/tcp. Peers on this
 * host are found with their process; of others, TCP knows whether they acknowledge what was sent.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "vm/proc.h"
#include "vm/thread_state.h"

enum { SOCKET_PEERS_MAX = 1024 };

enum { REPLY_BYTES = 32 << 10, SOCKETS_MAX = 1 << 20, DESCRIPTORS_MAX = 1 << 20, WAIT_S = 2 };

/* A socket of this host. */
struct known {
	uint32_t inode, peer; /* peer: 0 unknown */
	uint32_t unread, unsent, retransmits;
	char local[40], remote[40]; /* TCP, as /proc/net/tcp has them; "" for Unix sockets */
};

struct table {
	struct known *list;
	unsigned int nr;
};

struct end {
	int fd;
	uint32_t inode, peer;
};

static int known_add(struct table *t, const struct known *k)
{
	if (t->nr == SOCKETS_MAX)
		return 0;
	return array_add(t->list, t->nr, *k);
}

/* ---- Unix sockets ---- */

static int unix_add(struct table *t, const struct nlmsghdr *h)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	struct known k = {0};
	int left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return 0;
	k.inode = m->udiag_ino;
	for (const struct rtattr *a = (const void *)(m + 1); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(uint32_t))
			memcpy(&k.peer, RTA_DATA(a), sizeof(k.peer));
		if (a->rta_type == UNIX_DIAG_RQLEN && RTA_PAYLOAD(a) >= sizeof(uint32_t))
			memcpy(&k.unread, RTA_DATA(a), sizeof(k.unread));
	}
	return k.peer ? known_add(t, &k) : 0;
}

static int unix_ask(int fd)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req ask;
	} m = {.head = {.nlmsg_len = sizeof(m),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	       .ask = {.sdiag_family = AF_UNIX,
		       .udiag_states = ~0u,
		       .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN}};

	return send(fd, &m, sizeof(m), 0) == (ssize_t)sizeof(m) ? 0 : -errno;
}

/* A kernel without sock_diag, or a sandbox: no Unix socket is known. */
static int unix_read(struct table *t)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	_cleanup_free_ char *reply = malloc(REPLY_BYTES);
	const struct timeval timeout = {.tv_sec = WAIT_S};

	if (!reply)
		return fail(-ENOMEM, "out of memory");
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ||
	    unix_ask(fd))
		return 0;
	for (;;) {
		ssize_t got = recv(fd, reply, REPLY_BYTES, 0);
		size_t left = got > 0 ? (size_t)got : 0;
		const struct nlmsghdr *h = (const void *)reply;

		if (got <= 0)
			return 0;
		for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return 0;
			int err = unix_add(t, h);

			if (err)
				return err;
		}
	}
}

/* ---- TCP ---- */

/* "sl: LOCAL REMOTE ST TX:RX TR:WHEN RETRANSMITS UID TIMEOUT INODE" */
static int tcp_read(pid_t pid, const char *name, struct table *t)
{
	char path[64], line[512];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, name);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	while (f && !err && fgets(line, sizeof(line), f)) {
		struct known k = {0};

		if (sscanf(line,
			   "%*d: %39s %39s %*x %" SCNx32 ":%" SCNx32 " %*x:%*x %" SCNx32
			   " %*u %*d %" SCNu32,
			   k.local, k.remote, &k.unsent, &k.unread, &k.retransmits,
			   &k.inode) == 6 &&
		    k.inode)
			err = known_add(t, &k);
	}
	return err;
}

/* The other ends of connections within this host. */
static void tcp_join(struct table *t, struct known *k)
{
	for (unsigned int i = 0; i < t->nr && !k->peer; i++)
		if (t->list[i].local[0] && !strcmp(t->list[i].local, k->remote) &&
		    !strcmp(t->list[i].remote, k->local))
			k->peer = t->list[i].inode;
}

/* ---- processes ---- */

static uint32_t inode_of(int dir, const char *fd)
{
	char link[64];
	ssize_t n = readlinkat(dir, fd, link, sizeof(link) - 1);
	uint32_t inode = 0;

	link[n > 0 ? n : 0] = '\0';
	return sscanf(link, "socket:[%" SCNu32 "]", &inode) == 1 ? inode : 0;
}

/* Calls fn for the sockets of a process. */
static int sockets_each(pid_t pid, int (*fn)(void *arg, pid_t pid, int fd, uint32_t inode),
			void *arg)
{
	char path[64];
	struct dirent *d;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	_cleanup_closedir_ DIR *dir = opendir(path);
	for (unsigned int i = 0; dir && !err && (d = readdir(dir)) && i < DESCRIPTORS_MAX; i++) {
		uint32_t inode =
			isdigit((unsigned char)*d->d_name) ? inode_of(dirfd(dir), d->d_name) : 0;

		if (inode)
			err = fn(arg, pid, atoi(d->d_name), inode);
	}
	return err;
}

struct reading {
	struct table table;
	struct end end[SOCKET_PEERS_MAX];
	struct socket_peer *peer; /* of end[i] */
	unsigned int nr;
};

static int end_add(void *arg, pid_t pid, int fd, uint32_t inode)
{
	struct reading *r = arg;
	struct known *k = NULL;

	(void)pid;
	for (unsigned int i = 0; i < r->table.nr && !k; i++)
		if (r->table.list[i].inode == inode)
			k = &r->table.list[i];
	if (!k || r->nr == SOCKET_PEERS_MAX)
		return 0;
	if (array_room(r->peer, r->nr))
		return -ENOMEM;
	tcp_join(&r->table, k);
	r->end[r->nr] = (struct end){fd, inode, k->peer};
	r->peer[r->nr] = (struct socket_peer){
		.fd = fd, .unsent = k->unsent, .retransmits = k->retransmits};
	for (unsigned int i = 0; i < r->table.nr; i++)
		if (k->peer && r->table.list[i].inode == k->peer)
			r->peer[r->nr].unread = r->table.list[i].unread;
	r->nr++;
	return 0;
}

static int peer_found(void *arg, pid_t pid, int fd, uint32_t inode)
{
	struct reading *r = arg;

	(void)fd;
	for (unsigned int i = 0; i < r->nr; i++) {
		struct socket_peer *p = &r->peer[i];

		if (r->end[i].peer != inode || p->pid)
			continue;
		p->pid = pid;
		p->state = proc_state(pid);
		proc_comm(pid, p->comm, sizeof(p->comm));
		text_sanitize(p->comm);
	}
	return 0;
}

static void processes_search(struct reading *r, pid_t own)
{
	_cleanup_closedir_ DIR *dir = r->nr ? opendir("/proc") : NULL;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		int pid = isdigit((unsigned char)*d->d_name) ? atoi(d->d_name) : 0;

		if (pid && pid != own)
			sockets_each(pid, peer_found, r);
	}
}

int socket_peers_read(pid_t pid, struct socket_peer **ret, unsigned int *ret_nr)
{
	_cleanup_free_ struct reading *r = calloc(1, sizeof(*r));
	int err = r ? unix_read(&r->table) : fail(-ENOMEM, "out of memory");

	if (!r)
		return err;
	if (!err)
		err = tcp_read(pid, "tcp", &r->table);
	if (!err)
		err = tcp_read(pid, "tcp6", &r->table);
	if (!err)
		err = sockets_each(pid, end_add, r);
	if (!err)
		processes_search(r, pid);
	free(r->table.list);
	if (err) {
		free(r->peer);
		return err;
	}
	*ret = r->peer;
	*ret_nr = r->nr;
	return 0;
}
