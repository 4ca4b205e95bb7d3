// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace-httpd: serves the pages of `hostrace exporter` and of `hostrace view` by libmicrohttpd, in a process without
 * privileges. The messages are in exporter/httpd_messages.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/select.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/helper.h"
#include "confine/confine.h"
#include "exporter/format.h"
#include "exporter/hosts.h"
#include "exporter/httpd/httpd.h"
#include "exporter/httpd_messages.h"

enum {
	ACCEPTED_AT_ONCE = 1024,
	CONNECTION_MEMORY = 16 << 10, /* bytes for a request's head */
	PAGES_PER_SECOND =
		16, /* that hostrace makes; further requests get the newest of this second */
};

struct made_page {
	struct MHD_Response *response; /* NULL: none yet */
	uint64_t round, second;	       /* of the loop, of the monotonic clock */
};

struct made_pages {
	uint64_t second; /* of the monotonic clock */
	unsigned int nr; /* made in it */
	struct made_page newest[METRIC_FORMATS];
	const char *text;	    /* of newest[METRIC_TEXT] */
	struct MHD_Response *front; /* made of this text; NULL: not yet */
};

struct server {
	struct MHD_Daemon *daemon;
	int listening;
	struct connections connections;
	struct hosts hosts;
	char *cert, *key, *passwords; /* malloc()ed texts; NULL: none */
	char *token;		      /* of `hostrace view`; NULL: the pages of the exporter */
	struct logins logins;	      /* of users in passwords */
	char problem[256];	      /* the first one that libmicrohttpd reports */
	uint8_t *message;	      /* HELPER_MESSAGE_MAX bytes */
	char *page;		      /* malloc()ed, being received */
	size_t len;
	struct made_pages made;
	uint64_t round; /* of the loop: what came in while the last one took its time is read in one */
	bool ended; /* hostrace has */
};

/* ---- the page ---- */

static int part_add(struct server *s, const struct helper_head *head)
{
	char *more;

	if (head->len > HTTPD_PAGE_MAX - s->len)
		return -E2BIG;
	more = realloc(s->page, s->len + head->len + 1);
	if (!more)
		return -ENOMEM;
	memcpy(more + s->len, s->message, head->len);
	s->page = more;
	s->len += head->len;
	return 0;
}

/* `err`: of the request. */
static int parts_receive(struct server *s, int err)
{
	struct helper_head head;

	s->page = NULL;
	s->len = 0;
	while (!err) {
		err = helper_request(&head, s->message);
		if (!err && head.kind == HTTPD_END)
			return s->page ? 0 : -ENODATA;
		if (!err)
			err = head.kind == HTTPD_PART ? part_add(s, &head) : -EPROTO;
	}
	s->ended = true;
	return err;
}

static int page_receive(struct server *s, enum metric_format format)
{
	uint8_t wanted = (uint8_t)format;

	return parts_receive(s, helper_reply(HTTPD_WANTED, &wanted, sizeof(wanted)));
}

/* NULL: there is none. */
static struct MHD_Response *page_make(struct server *s, enum metric_format format)
{
	struct MHD_Response *r;

	if (page_receive(s, format)) {
		free(s->page);
		return NULL;
	}
	s->page[s->len] = '\0';
	r = MHD_create_response_from_buffer(s->len, s->page, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(s->page);
		return NULL;
	}
	if (format == METRIC_TEXT)
		s->made.text = s->page;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, metric_format_type(format));
	MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	return r;
}

/* Requests that were there at once share a page: one that came later waits for two, however many there are. */
static bool page_is_fresh(const struct server *s, const struct made_page *p, uint64_t second)
{
	bool enough = s->made.second == second && s->made.nr >= PAGES_PER_SECOND;

	return p->response && (p->round == s->round || (enough && p->second == second));
}

static void response_drop(struct MHD_Response **r)
{
	if (*r)
		MHD_destroy_response(*r);
	*r = NULL;
}

/* Borrowed, until the next call. Clients that ask without end must not keep hostrace busy for the others. */
static struct MHD_Response *page_response(struct server *s, enum metric_format format)
{
	struct made_pages *made = &s->made;
	struct made_page *p = &made->newest[format];
	uint64_t second = monotonic_ms() / 1000;

	if (page_is_fresh(s, p, second))
		return p->response;
	response_drop(&p->response);
	if (format == METRIC_TEXT)
		response_drop(&made->front);
	made->nr = made->second == second ? made->nr + 1 : 1;
	made->second = second;
	*p = (struct made_page){page_make(s, format), s->round, second};
	return p->response;
}

/* ---- requests ---- */

static enum login login_of(struct server *s, struct MHD_Connection *c)
{
	static const uint8_t unknown[CONNECTION_PEER];
	const uint8_t *peer = connections_peer(&s->connections, c);
	char *password = NULL, *name;
	enum login login = LOGIN_WRONG;

	if (!s->passwords)
		return LOGIN_FINE;
	name = MHD_basic_auth_get_username_password(c, &password);
	if (name && password)
		login = login_check(&s->logins, peer ? peer : unknown, name, password);
	if (password)
		explicit_bzero(password, strlen(password));
	MHD_free(password);
	MHD_free(name);
	return login;
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r)
{
	enum MHD_Result ret = MHD_queue_response(c, status, r);

	MHD_destroy_response(r);
	return ret;
}

static enum MHD_Result text_reply(struct MHD_Connection *c, unsigned int status, const char *text)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
	if (status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, LOGIN_LATER_TEXT);
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	return reply(c, status, r);
}

/* Borrowed, until the next call. NULL: there is none. */
static struct MHD_Response *front_response(struct server *s)
{
	size_t len;
	char *page;
	struct MHD_Response *r;

	if (!page_response(s, METRIC_TEXT) || s->made.front)
		return s->made.front;
	page = front_page(s->made.text, &len);
	r = page ? MHD_create_response_from_buffer(len, page, MHD_RESPMEM_MUST_FREE) : NULL;
	if (r)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
					"text/html; charset=utf-8");
	else
		free(page);
	return s->made.front = r;
}

/* ---- of `hostrace view` ---- */

struct asked_answer {
	uint16_t status;
	char type[64];
};

static int asked_receive(struct server *s, unsigned int kind, size_t len,
			 struct asked_answer *ret)
{
	struct helper_head head;
	int err = helper_reply(kind, s->message, len);

	if (!err)
		err = helper_request(&head, s->message);
	if (!err && (head.kind != HTTPD_HEAD || head.len <= sizeof(ret->status) ||
		     head.len > sizeof(*ret) || s->message[head.len - 1]))
		err = -EPROTO;
	if (!err)
		memcpy(ret, s->message, head.len);
	return parts_receive(s, err);
}

static enum MHD_Result asked_reply(struct server *s, struct MHD_Connection *c, unsigned int kind,
				   const char *path)
{
	struct asked_answer answer;
	struct MHD_Response *r = NULL;
	ssize_t len = path ? asked_make(c, path, (char *)s->message, HELPER_MESSAGE_MAX) : 0;

	if (!path)
		return text_reply(c, MHD_HTTP_FORBIDDEN,
				  "the address that 'hostrace view' printed has a token\n");
	if (len == -EINVAL)
		return text_reply(c, MHD_HTTP_BAD_REQUEST, "a parameter has a NUL\n");
	if (len < 0)
		return text_reply(c, MHD_HTTP_URI_TOO_LONG, "the request is too long\n");
	if (!asked_receive(s, kind, (size_t)len, &answer))
		r = MHD_create_response_from_buffer(s->len, s->page, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(s->page);
		return text_reply(c, MHD_HTTP_SERVICE_UNAVAILABLE, "hostrace sent no page\n");
	}
	asked_headers(r, answer.type);
	return reply(c, answer.status, r);
}

/* Demands a password, or another one, now or later. */
static enum MHD_Result password_reply(struct MHD_Connection *c, enum login login)
{
	static const char text[] = "a user and a password are needed\n";

	if (login == LOGIN_LATER)
		return text_reply(c, MHD_HTTP_TOO_MANY_REQUESTS, "too many wrong passwords\n");

	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ret = r ? MHD_queue_basic_auth_fail_response(c, "hostrace", r) : MHD_NO;

	if (r)
		MHD_destroy_response(r);
	return ret;
}

struct host_check {
	const struct hosts *hosts;
	struct sockaddr_storage local;
	unsigned int nr;
	bool foreign, is_malformed;
};

/* A token of RFC 9110, section 5.6.2: no space, as before the colon, which would make another name of it. */
static bool is_header_name(const char *key)
{
	return *key && !key[strspn(key, "!#$%&'*+-.^_`|~0123456789"
					"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

static enum MHD_Result host_check(void *arg, enum MHD_ValueKind kind, const char *key,
				  const char *value)
{
	struct host_check *c = arg;

	(void)kind;
	c->is_malformed |= !is_header_name(key);
	if (strcasecmp(key, MHD_HTTP_HEADER_HOST))
		return MHD_YES;
	c->nr++;
	c->foreign |= !value || !hosts_has(c->hosts, value, (const struct sockaddr *)&c->local);
	return MHD_YES;
}

/*
 * RFC 9112, section 3.2: HTTP/1.1 has one Host header. libmicrohttpd passes on none that is folded, but also names that
 * are none (section 5.1). 0: it is ours; else
 * the status of the answer.
 */
static unsigned int host_refused(const struct server *s, struct MHD_Connection *c,
				 const char *version)
{
	struct host_check check = {.hosts = &s->hosts};
	socklen_t len = sizeof(check.local);
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (!info || getsockname(info->connect_fd, (struct sockaddr *)&check.local, &len))
		return MHD_HTTP_MISDIRECTED_REQUEST;
	MHD_get_connection_values(c, MHD_HEADER_KIND, host_check, &check);
	if (check.is_malformed || check.nr > 1 ||
	    (!check.nr && strcmp(version, MHD_HTTP_VERSION_1_0)))
		return MHD_HTTP_BAD_REQUEST;
	return check.foreign ? MHD_HTTP_MISDIRECTED_REQUEST : 0;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_len, void **state)
{
	struct server *s = arg;
	struct MHD_Response *page;
	const char *path;
	unsigned int refused;
	enum login login;

	(void)upload;
	if (!*state) { /* the head has arrived; the body, if there is one, has not */
		*state = s;
		return MHD_YES;
	}
	if (*upload_len) {
		*upload_len = 0;
		return MHD_YES;
	}
	path = s->token ? asked_path(s->token, url) : NULL;
	if (!path && !connections_may_ask(&s->connections, c))
		return text_reply(c, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "too many requests on one connection\n");
	refused = host_refused(s, c, version);
	if (refused) {
		connections_answer(&s->connections, c, false);
		return text_reply(c, refused,
				  refused == MHD_HTTP_BAD_REQUEST
					  ? "one Host header is needed, and no space "
					    "before a header's colon\n"
					  : "unknown host; see --host in hostrace-exporter(1)\n");
	}
	login = login_of(s, c);
	connections_answer(&s->connections, c, path || (login == LOGIN_FINE && s->passwords));
	if (login != LOGIN_FINE)
		return password_reply(c, login);
	if (s->token && !strcmp(method, MHD_HTTP_METHOD_POST))
		return asked_reply(s, c, HTTPD_POSTED, path);
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return text_reply(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (s->token)
		return asked_reply(s, c, HTTPD_ASKED, path);
	if (strcmp(url, "/") && strcmp(url, "/metrics"))
		return text_reply(c, MHD_HTTP_NOT_FOUND, "no such page; try /metrics\n");
	page = !url[1] ? front_response(s)
		       : page_response(s, metric_format_negotiate(MHD_lookup_connection_value(
						  c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT)));
	return page ? MHD_queue_response(c, MHD_HTTP_OK, page)
		    : text_reply(c, MHD_HTTP_SERVICE_UNAVAILABLE, "hostrace sent no page\n");
}

/* ---- start and loop ---- */

static void problem_keep(void *arg, const char *format, va_list values)
{
	struct server *s = arg;

	if (!*s->problem)
		vsnprintf(s->problem, sizeof(s->problem), format, values);
	s->problem[strcspn(s->problem, "\n")] = '\0';
}

static int daemon_start(struct server *s)
{
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, s->key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
		{MHD_OPTION_END, 0, NULL},
	};
	const struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
	unsigned int flags =
		MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG | (s->cert ? MHD_USE_TLS : 0);

	s->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, answer, s, /* the logger comes first */
		MHD_OPTION_EXTERNAL_LOGGER, problem_keep, s, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)(sizeof(s->connections.list) / sizeof(s->connections.list[0])),
		MHD_OPTION_NOTIFY_CONNECTION, connections_notify, &s->connections,
		MHD_OPTION_NOTIFY_COMPLETED, connections_completed, &s->connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECONDS, MHD_OPTION_ARRAY,
		s->cert ? tls : plain, MHD_OPTION_END);
	if (s->daemon)
		return 0;
	return fail(-EIO, "libmicrohttpd does not start%s: %s",
		    s->cert ? " with this certificate and key" : "",
		    *s->problem ? s->problem : "unknown reason");
}

/* What comes before the address. */
static int setting_keep(struct server *s, const struct helper_head *head)
{
	char **to = head->kind == HTTPD_CERT	? &s->cert
		    : head->kind == HTTPD_KEY	? &s->key
		    : head->kind == HTTPD_USERS ? &s->passwords
		    : head->kind == HTTPD_TOKEN ? &s->token
						: NULL;

	if (head->kind == HTTPD_HOST && head->len && !s->message[head->len - 1])
		return hosts_add(&s->hosts, (char *)s->message);
	if (!to || *to || !head->len || s->message[head->len - 1])
		return fail(-EPROTO, "hostrace-httpd is not a command of its own");
	*to = strdup((char *)s->message);
	explicit_bzero(s->message, head->len);
	if (!*to)
		return fail(-ENOMEM, "out of memory");
	return to == &s->passwords ? users_parse(&s->logins.users, s->passwords) : 0;
}

static bool is_address(const struct helper_head *head)
{
	return head->kind == HTTPD_LISTEN || head->kind == HTTPD_LISTEN_INSECURE;
}

/* Then the address is in the message. An error is returned after it: before, hostrace does not read our reply. */
static int settings_receive(struct server *s, struct helper_head *head)
{
	int kept = 0, err = helper_request(head, s->message);

	while (!err && !is_address(head)) {
		kept = kept ? kept : setting_keep(s, head);
		err = helper_request(head, s->message);
	}
	if (err || kept)
		return err ? err : kept;
	if (!head->len || s->message[head->len - 1])
		return fail(-EPROTO, "hostrace-httpd is not a command of its own");
	return 0;
}

static int serve_start(struct server *s, char *address, size_t size)
{
	struct confinement c = {.phase = CONFINE_SERVE};
	struct helper_head head;
	bool local;
	int err = settings_receive(s, &head);

	if (!err)
		err = logins_init(&s->logins);
	if (err)
		return err;
	local = head.kind == HTTPD_LISTEN && !(s->cert && s->key && s->passwords);
	connections_init(&s->connections, s->cert != NULL);
	s->listening = listen_open((char *)s->message, local, address, size);
	err = s->listening < 0 ? s->listening : daemon_start(s);
	return err ? err : confine(&c);
}

static int shorter(int a, int b)
{
	return b < 0 || (a >= 0 && a < b) ? a : b;
}

/* What is waited for, then what of it is ready. */
struct ready {
	fd_set read, write, except;
};

/*
 * Adds libmicrohttpd's descriptors, each for what it waits for. With MHD_USE_EPOLL (0.9.75) it takes a descriptor that
 * was readable once as ready until its handshake is complete, and runs without a pause.
 */
static int ready_wait(struct server *s, int timeout_ms, struct ready *r)
{
	struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * (long)NS_PER_MS};
	int max = s->listening;

	*r = (struct ready){0};
	FD_SET(STDIN_FILENO, &r->read);
	if (connections_free(&s->connections))
		FD_SET(s->listening, &r->read);
	if (MHD_get_fdset2(s->daemon, &r->read, &r->write, &r->except, &max, FD_SETSIZE) != MHD_YES)
		return -EIO;
	if (pselect(max + 1, &r->read, &r->write, &r->except, timeout_ms < 0 ? NULL : &t, NULL) >=
	    0)
		return 0;
	*r = (struct ready){0};
	return errno == EINTR ? 0 : -errno;
}

/*
 * Accepts what is there, and answers what has arrived. Each connection is read before it can be ended: the time at
 * which that began counts, as pages are made meanwhile. Returns the ms until the next round at the latest; -1: none.
 */
static int httpd_round(struct server *s, const struct ready *r)
{
	MHD_UNSIGNED_LONG_LONG left;
	bool more = FD_ISSET(s->listening, &r->read);
	uint64_t read_ms;
	int begin;

	for (unsigned int i = 0; more && i < ACCEPTED_AT_ONCE; i++)
		more = connections_accept(&s->connections, s->listening, s->daemon);
	begin = connections_begin(&s->connections, s->daemon);
	s->round++;
	read_ms = monotonic_ms();
	MHD_run_from_select(s->daemon, &r->read, &r->write, &r->except);
	begin = shorter(begin, connections_expire(&s->connections, read_ms));
	return MHD_get_timeout(s->daemon, &left) == MHD_YES ? shorter(begin, (int)left) : begin;
}

static int httpd_loop(struct server *s)
{
	struct ready r;
	int timeout = -1;

	while (!s->ended) {
		if (ready_wait(s, timeout, &r))
			return EXIT_FAILURE;
		/* hostrace sends only what was requested: it has ended */
		if (FD_ISSET(STDIN_FILENO, &r.read))
			break;
		timeout = httpd_round(s, &r);
	}
	return EXIT_SUCCESS;
}

int main(void)
{
	struct server s = {.message = malloc(HELPER_MESSAGE_MAX)};
	char address[256];
	int status;

	signal(SIGPIPE, SIG_IGN);
	helper_ignore_signals();
	if (!s.message)
		return EXIT_FAILURE;
	if (serve_start(&s, address, sizeof(address))) {
		helper_reply(HTTPD_FAILED, error_text(), strlen(error_text()) + 1);
		return EXIT_FAILURE;
	}
	if (helper_reply(HTTPD_READY, address, strlen(address) + 1))
		return EXIT_FAILURE;
	status = httpd_loop(&s);
	MHD_stop_daemon(s.daemon);
	free(s.message);
	return status;
}
