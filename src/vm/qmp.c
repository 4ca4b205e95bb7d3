// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client of QMP, and what is asked of it: the process behind the socket, whether the VM runs, how its guest memory
 * is mapped, the memory regions of ports and addresses. What QMP itself does not report comes from the human monitor
 * ("info mtree", registers), as text that is parsed line by line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/process.h"
#include "event/event.h"
#include "vm/gdb_stub.h"
#include "vm/qmp.h"

/* Queries QEMU's monitor for the registers that define the guest's address translation. */

/* What is behind the guest's ports and addresses that are not RAM: QEMU's memory regions and their devices. */

struct qmp {
	int fd;
	char *name;
	char *line; /* received but not yet consumed */
	size_t len, size;
	json_int_t id;
	int patience_ms;
};

enum { LINE_FIRST = 64 << 10, CONNECT_PAUSE_MS = 10, LOOK_MS = 100 /* for a signal */ };

static int interrupted(const char *name)
{
	return fail(-EINTR, "%s: interrupted while waiting for the monitor", name);
}

/* ---- lines ---- */

static int receive(struct qmp *q, uint64_t until_ms)
{
	struct pollfd p = {.fd = q->fd, .events = POLLIN};
	int64_t left = (int64_t)(until_ms - monotonic_ms());
	ssize_t n;

	if (stop_pending())
		return interrupted(q->name);

	if (q->len == q->size) {
		size_t size = q->size ? 2 * q->size : LINE_FIRST;
		char *more = size <= QMP_LINE_MAX ? realloc(q->line, size) : NULL;

		if (!more)
			return fail(-EPROTO, "%s: received a line longer than %d bytes", q->name,
				    QMP_LINE_MAX);
		q->line = more;
		q->size = size;
	}
	n = left > 0 ? poll(&p, 1, (int)(left < LOOK_MS ? left : LOOK_MS)) : 0;
	if (n < 0)
		return errno == EINTR ? 0 : fail(-errno, "%s: %s", q->name, strerror(errno));
	if (!n && left > LOOK_MS)
		return 0;
	if (!n)
		return fail(-ETIMEDOUT, "%s: no reply within %d ms", q->name, q->patience_ms);
	n = recv(q->fd, q->line + q->len, q->size - q->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return fail(-ECONNRESET, "%s: the monitor closed the connection", q->name);
	q->len += (size_t)n;
	return 0;
}

/* The next line as an object. */
static int next_object(struct qmp *q, uint64_t until_ms, json_t **ret)
{
	char *end;
	json_error_t error;

	while (!(end = q->len ? memchr(q->line, '\n', q->len) : NULL)) {
		int err = receive(q, until_ms);

		if (err)
			return err;
	}
	*ret = json_text_load(q->line, (size_t)(end - q->line), 0, &error);
	q->len -= (size_t)(end + 1 - q->line);
	memmove(q->line, end + 1, q->len);
	if (json_is_object(*ret))
		return 0;
	json_decref(*ret);
	return fail(-EPROTO, "%s: not a QMP monitor (the reply is not JSON)", q->name);
}

/* The next object that has one of these keys; events and the like are skipped. */
static int next_with(struct qmp *q, const char *key, const char *or_key, uint64_t until,
		     json_t **ret)
{
	for (unsigned int i = 0; i < QMP_EVENTS_MAX; i++) {
		int err = next_object(q, until, ret);

		if (err)
			return err;
		if (json_object_get(*ret, key) || (or_key && json_object_get(*ret, or_key)))
			return 0;
		json_decref(*ret);
	}
	return fail(-EPROTO, "%s: no reply after %d messages", q->name, QMP_EVENTS_MAX);
}

/* ---- commands ---- */

static int qmp_refused(const struct qmp *q, const char *command, const json_t *error)
{
	const char *kind = json_string_value(json_object_get(error, "class"));
	const char *desc = json_string_value(json_object_get(error, "desc"));
	char text[256];

	snprintf(text, sizeof(text), "%s", desc ? desc : "no reason given");
	text_sanitize(text);
	return fail(kind && !strcmp(kind, "CommandNotFound") ? -EOPNOTSUPP : -EREMOTEIO,
		    "%s: %s: %s", q->name, command, text);
}

static int send_all(struct qmp *q, const char *text)
{
	struct timeval patience = {.tv_sec = q->patience_ms / 1000,
				   .tv_usec = q->patience_ms % 1000 * 1000};

	setsockopt(q->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (size_t len = strlen(text); len;) {
		ssize_t n = send(q->fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(-ECONNRESET, "%s: %s", q->name, strerror(errno));
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int answer_of(struct qmp *q, const char *command, json_int_t id, json_t **ret_value)
{
	uint64_t until = monotonic_ms() + (unsigned int)q->patience_ms;

	for (;;) {
		json_t *reply, *value;
		int err = next_with(q, "return", "error", until, &reply);

		if (err)
			return err;
		if (json_integer_value(json_object_get(reply, "id")) != id) {
			json_decref(reply); /* of a question that was abandoned */
			if (monotonic_ms() < until)
				continue;
			return fail(-ETIMEDOUT, "%s: received only replies to other commands",
				    q->name);
		}
		value = json_object_get(reply, "return");
		if (!value)
			err = qmp_refused(q, command, json_object_get(reply, "error"));
		else
			*ret_value = json_incref(value);
		json_decref(reply);
		return err;
	}
}

int qmp_execute(struct qmp *q, const char *command, json_t *arguments, json_t **ret_value)
{
	json_int_t id = ++q->id;
	json_t *ask = json_pack("{s:s, s:I}", "execute", command, "id", id);

	if (arguments)
		json_object_set_new(ask, "arguments", arguments);
	_cleanup_free_ char *text = json_dumps(ask, JSON_COMPACT);
	_cleanup_free_ char *line = NULL;

	json_decref(ask);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		return fail(-ENOMEM, "out of memory");
	int err = send_all(q, line);

	return err ? err : answer_of(q, command, id, ret_value);
}

/* ---- connections ---- */

static int greet(struct qmp *q)
{
	json_t *greeting, *nothing;
	uint64_t until_ms = monotonic_ms() + (unsigned int)q->patience_ms;
	int err = next_with(q, "QMP", NULL, until_ms, &greeting);

	if (err == -ETIMEDOUT)
		return fail(err,
			    "%s: no greeting from the monitor within %d ms; it may be in use by "
			    "another client, or be the VM's gdb stub, which stops the VM "
			    "('cont' in its monitor continues it)",
			    q->name, q->patience_ms);
	if (err)
		return err;
	json_decref(greeting);
	err = qmp_execute(q, "qmp_capabilities", NULL, &nothing);
	if (!err)
		json_decref(nothing);
	return err;
}

int qmp_open_fd(int fd, const char *name, int patience_ms, struct qmp **ret)
{
	struct qmp *q = calloc(1, sizeof(*q));
	int err;

	if (!q || !(q->name = strdup(name))) {
		free(q);
		close(fd);
		return fail(-ENOMEM, "out of memory");
	}
	q->fd = fd;
	q->patience_ms = patience_ms;
	err = greet(q);
	if (err)
		qmp_close(q);
	else
		*ret = q;
	return err;
}

/* connect() waits for a listener whose queue is full as long as that lasts; this does not. */
static int connect_until(int fd, const struct sockaddr_un *address, uint64_t until_ms)
{
	while (connect(fd, (const struct sockaddr *)address, sizeof(*address))) {
		if (errno != EAGAIN)
			return -errno;
		if (stop_pending())
			return -EINTR;
		if (monotonic_ms() >= until_ms)
			return -ETIMEDOUT;
		poll(NULL, 0, CONNECT_PAUSE_MS);
	}
	return fcntl(fd, F_SETFL, 0) ? -errno : 0;
}

/* Part of a millisecond is one; 0 remains 0. */
static int qmp_patience_ms(uint64_t timeout_ns)
{
	uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 > 0);

	return ms < INT_MAX ? (int)ms : INT_MAX;
}

int qmp_open(const char *path, int patience_ms, struct qmp **ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pid_t debugged = gdb_stub_owner(path);
	int fd, err;

	if (debugged) /* a connection would stop the VM */
		return fail(-EPROTO, "%s: this is the gdb stub of process %d, not its QMP monitor",
			    path, debugged);
	patience_ms = patience_ms ? patience_ms : QMP_PATIENCE_MS;
	if (strlen(path) >= sizeof(address.sun_path))
		return fail(-ENAMETOOLONG, "%s: socket path too long", path);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	err = connect_until(fd, &address, monotonic_ms() + (unsigned int)patience_ms);
	if (err) {
		close(fd);
		return err == -EINTR ? interrupted(path)
				     : fail(err, "%s: %s", path, strerror(-err));
	}
	return qmp_open_fd(fd, path, patience_ms, ret);
}

pid_t qmp_pid(const struct qmp *q)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	return getsockopt(q->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? 0 : peer.pid;
}

void qmp_close(struct qmp *q)
{
	if (!q)
		return;
	close(q->fd);
	free(q->name);
	free(q->line);
	free(q);
}

/* Does a VM run? By the UNIX socket of a QMP monitor (QEMU: -qmp unix:PATH,server=on,wait=off). */

static int running_ask(struct qmp *q, const char *path, bool *ret)
{
	json_t *status = NULL, *running;
	int err = qmp_execute(q, "query-status", NULL, &status);

	running = json_object_get(status, "running");
	*ret = json_is_true(running);
	if (!err && !json_is_boolean(running))
		err = fail(-EPROTO, "%s: invalid reply to query-status", path);
	json_decref(status);
	return err;
}

int qmp_running(const char *path, uint64_t timeout_ns, bool *ret)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	int err = qmp_open(path, qmp_patience_ms(timeout_ns), &q);

	return err ? err : running_ask(q, path, ret);
}

/*
 * The gdb stub is the character device "gdb", whose file name begins with "disconnected:" while nobody is connected.
 * A stub that is not listed, as there is none yet, has nobody's connection that is known.
 */
static bool stub_is_free(const json_t *chardevs)
{
	const json_t *one;
	size_t i;

	json_array_foreach (chardevs, i, one) {
		const char *label = json_string_value(json_object_get(one, "label")),
			   *file = json_string_value(json_object_get(one, "filename"));

		if (label && file && !strcmp(label, "gdb"))
			return !strncmp(file, "disconnected:", 13);
	}
	return false;
}

int qmp_before_debugger(const char *path, uint64_t timeout_ns, struct qmp_before *ret)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	int err = qmp_open(path, qmp_patience_ms(timeout_ns), &q);
	json_t *chardevs = NULL;

	*ret = (struct qmp_before){0};
	if (!err)
		err = running_ask(q, path, &ret->runs);
	if (!err && !ret->runs && !qmp_execute(q, "query-chardev", NULL, &chardevs))
		ret->no_debugger = stub_is_free(chardevs);
	json_decref(chardevs);
	return err;
}

int qmp_continue(const char *path, uint64_t timeout_ns)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	int err = qmp_open(path, qmp_patience_ms(timeout_ns), &q);
	json_t *nothing = NULL;
	bool runs = false;

	if (!err)
		err = qmp_execute(q, "cont", NULL, &nothing);
	json_decref(nothing);
	if (!err)
		err = running_ask(q, path, &runs);
	return err || runs ? err : fail(-EIO, "%s: 'cont' did not continue the VM", path);
}

/* Registers are available only from QEMU's human monitor, through QMP's human-monitor-command. */

#define CR0_PG	 (UINT64_C(1) << 31)
#define CR4_PAE	 (UINT64_C(1) << 5)
#define CR4_LA57 (UINT64_C(1) << 12)
#define EFER_LMA (UINT64_C(1) << 10)

static bool number_find(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);

	if (!at)
		return false;
	*ret = strtoull(at + strlen(name), NULL, 16);
	return true;
}

int qmp_space_parse(const char *text, struct guest_space *ret)
{
	uint64_t cr0 = 0, cr4 = 0, efer = 0;

	if (!number_find(text, "CR0=", &cr0) || !number_find(text, "CR3=", &ret->cr3) ||
	    !number_find(text, "CR4=", &cr4))
		return fail(-EBADMSG, "no CR0, CR3 and CR4 in the monitor's 'info registers'");
	number_find(text, "EFER=", &efer);
	ret->paging = !(cr0 & CR0_PG)	 ? GUEST_PHYSICAL
		      : !(cr4 & CR4_PAE) ? GUEST_PAGING_32
		      : !(efer & EFER_LMA) ? GUEST_PAGING_PAE
		      : cr4 & CR4_LA57	   ? GUEST_PAGING_5
					   : GUEST_PAGING_4;
	return 0;
}

int qmp_space(const char *path, uint64_t timeout_ns, struct guest_space *ret)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	json_t *text = NULL;
	int err = qmp_open(path, qmp_patience_ms(timeout_ns), &q);

	if (err)
		return err == -ENOENT || err == -ECONNREFUSED ? -EAGAIN : err;
	err = qmp_execute(q, "human-monitor-command",
			  json_pack("{s:s}", "command-line", "info registers"), &text);
	if (!err)
		err = qmp_space_parse(json_is_string(text) ? json_string_value(text) : "", ret);
	json_decref(text);
	return err;
}

/*
 * The text of "info mtree -f -o" (QEMU, softmmu/memory.c):
 *
 *	FlatView #2
 *	 AS "I/O", root: io
 *	 Root memory region: io
 *	  0000000000000071-0000000000000071 (prio 0, i/o): rtc @0000000000000001 owner:{dev path=/machine/...}
 *	  000000000000c000-000000000000c03f (prio 1, i/o): e1000-io owner:{dev id=eth1}
 *
 * A device without an id of its own has a path only, which says less than the region's name. What no device has mapped
 * is a region "io" or "system", or none. Nothing in the text is trusted: ids are those of a command line.
 */

struct region_line {
	uint64_t first, last;
	char type[16], name[REGION_NAME_MAX], id[REGION_NAME_MAX];
};

/* Copies up to `end`, cut if need be. */
static void copy_until(char *to, size_t size, const char *from, const char *end)
{
	size_t len = (size_t)(end - from);

	snprintf(to, size, "%.*s", (int)(len < size ? len : size), from);
	text_sanitize(to);
}

/* Where the region's name ends: what follows it depends on the region. */
static const char *name_end(const char *name, const char *line_end)
{
	static const char *const next[] = {" @0", " owner:{", " parent:{", " KVM", " [", "\r"};
	const char *end = line_end;

	for (size_t i = 0; i < sizeof(next) / sizeof(next[0]); i++) {
		const char *at = memmem(name, (size_t)(end - name), next[i], strlen(next[i]));

		end = at ? at : end;
	}
	return end;
}

static bool line_parse(const char *line, const char *end, struct region_line *ret)
{
	static const char OWNER[] = " owner:{dev id=";
	const char *name = memmem(line, (size_t)(end - line), "): ", 3), *id, *id_end;
	char head[64];

	*ret = (struct region_line){0};
	if (!name)
		return false;
	copy_until(head, sizeof(head), line, name);
	if (sscanf(head, " %" SCNx64 "-%" SCNx64 " (prio %*d, %15[a-z/-]", &ret->first, &ret->last,
		   ret->type) != 3)
		return false;
	name += 3;
	copy_until(ret->name, sizeof(ret->name), name, name_end(name, end));
	id = memmem(name, (size_t)(end - name), OWNER, strlen(OWNER));
	id_end = id ? memchr(id, '}', (size_t)(end - id)) : NULL;
	if (id_end)
		copy_until(ret->id, sizeof(ret->id), id + strlen(OWNER), id_end);
	return ret->last >= ret->first && ret->last <= INT64_MAX && *ret->name;
}

/* Accesses to RAM do not leave KVM. */
static bool is_device(const struct region_line *l)
{
	return strcmp(l->type, "ram") && strcmp(l->name, "io") && strcmp(l->name, "system");
}

static void region_add(json_t *list, const char *space, const struct region_line *l)
{
	char name[2 * REGION_NAME_MAX + 8];

	snprintf(name, sizeof(name), *l->id ? "%s of %s" : "%s", l->name, l->id);
	json_array_append_new(list, json_pack("[s,I,I,s]", space, (json_int_t)l->first,
					      (json_int_t)l->last, name));
}

int qmp_regions_parse(const char *mtree, json_t **ret)
{
	json_t *list = json_array();
	const char *space = NULL, *end;

	for (const char *line = mtree; *line; line = *end ? end + 1 : end) {
		struct region_line l;

		end = strchrnul(line, '\n');
		if (!strncmp(line, "FlatView", 8))
			space = NULL;
		else if (!strncmp(line, " AS \"I/O\"", 9))
			space = "port";
		else if (!strncmp(line, " AS \"memory\"", 12))
			space = "mmio";
		else if (space && json_array_size(list) < REGIONS_MAX &&
			 line_parse(line, end, &l) && is_device(&l))
			region_add(list, space, &l);
	}
	if (json_array_size(list)) {
		*ret = list;
		return 0;
	}
	json_decref(list);
	return fail(-EBADMSG, "no region in the monitor's 'info mtree -f'");
}

int qmp_regions(const char *socket, json_t **ret, pid_t *ret_pid)
{
	_cleanup_(qmp_cleanup_) struct qmp *q = NULL;
	json_t *text = NULL;
	int err = qmp_open(socket, 0, &q);

	if (!err)
		err = qmp_execute(q, "human-monitor-command",
				  json_pack("{s:s}", "command-line", "info mtree -f -o"), &text);
	if (!err) {
		*ret_pid = qmp_pid(q);
		err = qmp_regions_parse(json_is_string(text) ? json_string_value(text) : "", ret);
	}
	json_decref(text);
	return err;
}
