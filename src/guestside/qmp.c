// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QMP (QEMU's docs/interop/qmp-spec): lines of JSON; a greeting, qmp_capabilities, then commands. Registers are only to
 * be had from the monitor for people, through human-monitor-command.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "guestside/qmp.h"

#define CR0_PG	 (UINT64_C(1) << 31)
#define CR4_PAE	 (UINT64_C(1) << 5)
#define CR4_LA57 (UINT64_C(1) << 12)
#define EFER_LMA (UINT64_C(1) << 10)

struct qmp {
	int fd;
	const char *path;
	char *buf;
	size_t len;
	uint64_t until_ms;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* The next line as JSON; NULL with the sentence set. */
static json_t *line_read(struct qmp *q)
{
	char *end;

	while (!(end = memchr(q->buf, '\n', q->len))) {
		struct pollfd p = {.fd = q->fd, .events = POLLIN};
		uint64_t now = now_ms();
		ssize_t n;

		if (now >= q->until_ms || poll(&p, 1, (int)(q->until_ms - now)) <= 0) {
			fail(-ETIMEDOUT, "%s: QEMU's monitor does not answer", q->path);
			fail_hint(-ETIMEDOUT, "is somebody else connected to it?");
			return NULL;
		}
		n = q->len < QMP_ANSWER_MAX ? read(q->fd, q->buf + q->len, QMP_ANSWER_MAX - q->len)
					    : 0;
		if (n <= 0) {
			fail(-EBADMSG, "%s: the answer ends too early, or is too long", q->path);
			return NULL;
		}
		q->len += (size_t)n;
	}

	size_t used = (size_t)(end - q->buf) + 1;
	json_t *line = json_loadb(q->buf, used, 0, NULL);

	q->len -= used;
	memmove(q->buf, q->buf + used, q->len);
	if (!line)
		fail(-EBADMSG, "%s: what answers there is no QMP monitor", q->path);
	return line;
}

/* What the command returns; events that come in between are passed over. */
static json_t *command(struct qmp *q, const char *text)
{
	json_t *line, *value;

	if (write(q->fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		fail(-EPIPE, "%s: %s", q->path, strerror(errno));
		return NULL;
	}
	while ((line = line_read(q))) {
		value = json_object_get(line, "return");
		if (value) {
			json_incref(value);
			json_decref(line);
			return value;
		}
		value = json_object_get(json_object_get(line, "error"), "desc");
		if (value) {
			fail(-EBADMSG, "%s: QEMU says: %s", q->path, json_string_value(value));
			json_decref(line);
			return NULL;
		}
		json_decref(line);
	}
	return NULL;
}

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
		return fail(-EBADMSG, "the monitor's 'info registers' shows no CR0, CR3 and CR4");
	number_find(text, "EFER=", &efer);
	ret->paging = !(cr0 & CR0_PG)	 ? GUEST_PHYSICAL
		      : !(cr4 & CR4_PAE) ? GUEST_PAGING_32
		      : !(efer & EFER_LMA) ? GUEST_PAGING_PAE
		      : cr4 & CR4_LA57	   ? GUEST_PAGING_5
					   : GUEST_PAGING_4;
	return 0;
}

static int registers_ask(struct qmp *q, struct guest_space *ret)
{
	json_t *greeting = line_read(q), *able, *text;
	int err;

	if (!greeting)
		return -EBADMSG;
	json_decref(greeting);
	able = command(q, "{\"execute\":\"qmp_capabilities\"}\n");
	if (!able)
		return -EBADMSG;
	json_decref(able);
	text = command(q, "{\"execute\":\"human-monitor-command\",\"arguments\":"
			  "{\"command-line\":\"info registers\"}}\n");
	if (!text)
		return -EBADMSG;
	err = qmp_space_parse(json_string_value(text) ? json_string_value(text) : "", ret);
	json_decref(text);
	return err;
}

int qmp_space(const char *path, struct guest_space *ret)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_free_ char *buf = malloc(QMP_ANSWER_MAX);
	struct qmp q = {.fd = fd, .path = path, .buf = buf, .until_ms = now_ms() + QMP_TIMEOUT_MS};

	if (fd < 0 || !buf)
		return fail(-ENOMEM, "%s: no socket, or no memory", path);
	if (strlen(path) >= sizeof(at.sun_path))
		return fail(-ENAMETOOLONG, "%s: a socket's path is shorter", path);
	strcpy(at.sun_path, path);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fail(errno == ENOENT || errno == ECONNREFUSED ? -EAGAIN : -errno, "%s: %s",
			    path, strerror(errno));
	return registers_ask(&q, ret);
}
