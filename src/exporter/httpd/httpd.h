/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_HTTPD_H
#define HOSTRACE_HTTPD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
	CONNECTIONS_MAX = 48,	      /* without password */
	CONNECTIONS_PER_PEER = 16,    /* of these, from one address; for IPv6, from one network of 64 bits */
	CONNECTIONS_OF_USERS_MAX = 16,
	CONNECTIONS_MORE_MAX = 512,   /* new ones, and those that libmicrohttpd still has to close */
	MOMENT_MS = 250,	      /* in which a new one is not ended */
	REQUEST_SECONDS = 10,	      /* for head and body */
	IDLE_SECONDS = 15,	      /* between two requests */
	ANSWER_SECONDS = 60,	      /* to receive an answer */
	ANSWERS_PER_SECOND = 4,	      /* of one connection, then it is closed */
	SEND_BYTES = 64 << 10,	      /* that the kernel takes for who does not read */
	CONNECTION_PEER = 8,	      /* bytes of an address that count */
	WAITING_MAX = 4096,	      /* with TLS: accepted ones that wait for their handshake */
	WAITING_LOOK_MS = 10,	      /* until those that wait have a turn, if none could have one */
	PEERS_MAX = 64,		      /* addresses that have a turn at once; of users, that are known */
	FILES_OF_OTHERS = 16,	      /* descriptors that are no connections */
};

struct connection {
	int fd; /* libmicrohttpd's; -1: this entry is free */
	bool ending, answered, of_user;
	uint64_t number, begin_ms, until_ms;
	uint64_t second; /* of the monotonic clock */
	unsigned int nr_answers; /* ... in which it had so many */
	uint8_t peer[CONNECTION_PEER];
};

/* The daemon does not have it yet. */
struct connection_waiting {
	int fd; /* -1: now it has */
	uint8_t peer[CONNECTION_PEER];
	struct sockaddr_storage at;
	socklen_t at_len;
};

struct connection_peers {
	uint8_t peer[PEERS_MAX][CONNECTION_PEER];
	unsigned int nr; /* that were added; the newest are kept */
};

/* Zeroed, then connections_init(). */
struct connections {
	struct connection list[CONNECTIONS_MAX + CONNECTIONS_OF_USERS_MAX + CONNECTIONS_MORE_MAX];
	struct connection_waiting waiting[WAITING_MAX]; /* the oldest first */
	unsigned int nr_waiting, waiting_max;
	struct connection_peers users; /* addresses from which one gave the password */
	uint64_t begun, read_ms; /* of connections_expire() */
	bool tls;
};

/* Before privileges are dropped: it reads how many descriptors there may be. */
void connections_init(struct connections *c, bool tls);

/* Is there space for a new one? */
bool connections_free(struct connections *c);

/*
 * Accepts one that waits on the listening socket, and gives it to the daemon; with TLS, connections_begin() does that.
 * False: there is none.
 */
bool connections_accept(struct connections *c, int listening, struct MHD_Daemon *daemon);

/*
 * With TLS, gives accepted ones to the daemon: of each address the oldest, those of users first. An address that has
 * all its places waits until one of them has had its moment. Call it once before each MHD_run(). Returns the ms until
 * it is to be called again; -1: none waits.
 */
int connections_begin(struct connections *c, struct MHD_Daemon *daemon);

/*
 * Ends those whose time is over, and what is too many. read_ms: when the daemon last looked for what they have sent;
 * what came after it must be read before its connection can be ended. Returns the ms until it is to be called again;
 * -1: none.
 */
int connections_expire(struct connections *c, uint64_t read_ms);

/* For MHD_OPTION_NOTIFY_CONNECTION and MHD_OPTION_NOTIFY_COMPLETED, with the connections. */
void connections_notify(void *arg, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode code);
void connections_completed(void *arg, struct MHD_Connection *connection, void **state,
			   enum MHD_RequestTerminationCode code);

/* CONNECTION_PEER bytes; NULL: unknown. */
const uint8_t *connections_peer(struct connections *c, struct MHD_Connection *connection);

/*
 * Counts the request, which is complete. False: the connection has had its answers of this second. It is to be closed:
 * the requests that it has sent ahead would be answered before those of new connections.
 */
bool connections_may_ask(struct connections *c, struct MHD_Connection *connection);

/* The request of this connection is complete, and gets its answer; a user gave the password. */
void connections_answer(struct connections *c, struct MHD_Connection *connection, bool of_user);

/*
 * A listening socket for "ADDR:PORT" (numbers; an IPv6 address in brackets) or "unix:PATH". A socket file that nobody
 * listens on is replaced; the new one is for its user and group only. buf gets the address with the port that it has.
 * `local`: -EACCES if other hosts could reach it. The descriptor, or -errno with the error message set.
 */
int listen_open(const char *address, bool local, char *buf, size_t size);

enum { USERS_MAX = 64 };

struct user {
	const char *name, *hash;
};

/* Zero-initialised: everyone may. */
struct users {
	struct user user[USERS_MAX];
	unsigned int nr;
};

/*
 * Divides the text, which must live as long as the users, into its lines; those that are empty or begin with '#' are
 * comments. -EINVAL with the error message set: a line is invalid, has a hash that crypt(3) does not know, or there is
 * no user.
 */
int users_parse(struct users *u, char *text);

enum {
	LOGIN_FAILURES_MAX = 5,	   /* wrong passwords of an address; then one each LOGIN_LATER_SECONDS */
	LOGIN_LATER_SECONDS = 5,
	LOGIN_FORGET_SECONDS = 60, /* without another wrong one */
	LOGIN_FAILING_MAX = 256,   /* addresses; of more, the one that failed the longest ago is forgotten */
	/* Of hashes that are computed one after the other: for addresses with a wrong password, and for the others. */
	LOGIN_HASHES_MS = 1000,
	LOGIN_HASHES_FIRST_MS = 3000,
};

#define LOGIN_LATER_TEXT "5" /* LOGIN_LATER_SECONDS */

enum login { LOGIN_FINE, LOGIN_WRONG, LOGIN_LATER };

struct login_failing {
	uint8_t peer[CONNECTION_PEER];
	unsigned int nr;
	uint64_t last_ms; /* 0: this entry is free */
};

/* Zeroed, with users; then logins_init(). */
struct logins {
	struct users users;
	uint64_t key[2], verified[USERS_MAX]; /* 0: not yet */
	struct login_failing failing[LOGIN_FAILING_MAX];
	uint64_t hashes_ms, hashes_at_ms; /* time that hashes took, less half of the time that has passed since */
};

/* -errno with the error message set. */
int logins_init(struct logins *l);

/* The peer is connections_peer(). LOGIN_LATER: neither right nor wrong, as the password was not looked at. */
enum login login_check(struct logins *l, const uint8_t *peer, const char *name,
		       const char *password);

/* The page at "/" of the text that Prometheus gets. malloc()ed; NULL: out of memory. */
char *front_page(const char *metrics, size_t *ret_len);

/* The path below /TOKEN/; NULL: the URL has another token, or none. */
const char *asked_path(const char *token, const char *url);

/* The message HTTPD_ASKED of a request: its length; -E2BIG; -EINVAL: a parameter has a NUL. */
ssize_t asked_make(struct MHD_Connection *c, const char *path, char *text, size_t size);

/* Those of each answer of `hostrace view`. */
void asked_headers(struct MHD_Response *r, const char *type);

#endif
