// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --qmp: what is behind the VM's ports and addresses, so that reports name the devices of PCI BARs. QEMU's
 * monitor is queried before probes are attached, so that it is not among what is recorded, and again at the end, as
 * guests move BARs. It is not kept open meanwhile: it serves one client at a time.
 *
 * A child process does it, which may connect to sockets when the recorder itself may not any more, and parses what QEMU
 * says without privileges. For each byte that it receives, it sends one line of JSON.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "vm/qmp.h"

enum {
	CHILD_FD = 3,
	REPLY_MS = 4 * QMP_PATIENCE_MS, /* the child connects, and awaits three answers */
	REPLY_MAX = REGIONS_MAX * 512,
};

static const char *qmp;

/* clang-format off */
const struct option_row record_regions_options[] = {
	{0, "qmp", OPT_TEXT, &qmp, "SOCKET", "QEMU's monitor, queried at the start and the end: reports name the devices behind ports and MMIO addresses (with --vm)"},
	{0},
};
/* clang-format on */

static struct {
	pid_t child;
	int fd;
	pid_t pid; /* of the VM */
	json_t *start, *end; /* lists of regions; NULL: unknown */
	char why[256];	     /* ... at the end */
} regions = {.fd = -1};

/* ---- the child ---- */

static bool reply_send(json_t *reply)
{
	char *text = json_dumps(reply, JSON_COMPACT | JSON_ENSURE_ASCII);
	size_t len = text ? strlen(text) : 0, done = 0;
	ssize_t n = 1;

	if (text)
		text[len++] = '\n'; /* instead of the NUL */
	while (done < len && n > 0) {
		n = send(CHILD_FD, text + done, len - done, MSG_NOSIGNAL);
		done += n > 0 ? (size_t)n : 0;
	}
	free(text);
	json_decref(reply);
	return len && done == len;
}

static json_t *reply_make(void)
{
	json_t *list = NULL;
	pid_t pid = 0;

	return qmp_regions(qmp, &list, &pid)
		       ? json_pack("{s:s}", "error", error_text())
		       : json_pack("{s:i,s:o}", "pid", (int)pid, "list", list);
}

static void regions_child(int fd)
{
	struct confinement c = {
		.phase = CONFINE_FOLLOW, .connects = true, .keep = CAPS_KEPT_TO_CONNECT};
	char asked;

	if (fd != CHILD_FD)
		dup2(fd, CHILD_FD);
	close_range(CHILD_FD + 1, ~0u, 0);
	for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0}; *s; s++)
		signal(*s, SIG_IGN); /* they are for the recorder */
	if (confine(&c)) {
		reply_send(json_pack("{s:s}", "error", error_text()));
		_exit(1);
	}
	while (read(CHILD_FD, &asked, 1) == 1 && reply_send(reply_make()))
		;
	_exit(0);
}

/* ---- the recorder ---- */

/* The child's line, of which *text has `size` bytes. */
static int line_read(char *text, size_t size)
{
	uint64_t until = monotonic_ms() + REPLY_MS, now;
	struct pollfd p = {.fd = regions.fd, .events = POLLIN};
	size_t len = 0;

	while (len < size && (now = monotonic_ms()) < until) {
		ssize_t n = poll(&p, 1, (int)(until - now)) > 0
				    ? recv(regions.fd, text + len, size - len, MSG_DONTWAIT)
				    : -1;

		if (!n)
			break;
		len += n > 0 ? (size_t)n : 0;
		if (len && text[len - 1] == '\n') {
			text[len - 1] = '\0';
			return 0;
		}
	}
	return fail(-ETIMEDOUT, "%s: no answer", qmp);
}

static int list_query(json_t **ret, pid_t *ret_pid)
{
	_cleanup_free_ char *text = malloc(REPLY_MAX);
	json_t *reply = NULL;
	const char *error;
	int err = text ? 0 : fail(-ENOMEM, "out of memory");

	if (!err && send(regions.fd, "?", 1, MSG_NOSIGNAL) != 1)
		err = fail(-EPIPE, "%s: the process that queries it has ended", qmp);
	if (!err)
		err = line_read(text, REPLY_MAX);
	if (err)
		return err;
	reply = json_loads(text, 0, NULL);
	error = json_string_value(json_object_get(reply, "error"));
	*ret_pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
	*ret = json_incref(json_object_get(reply, "list"));
	if (error || !*ret)
		err = fail(-EREMOTEIO, "%s", error ? error : "unintelligible answer");
	json_decref(reply);
	return err;
}

static void child_end(void)
{
	if (regions.child <= 0)
		return;
	shutdown(regions.fd, SHUT_RDWR); /* the supervisor may have it, too */
	close(regions.fd);
	waitpid(regions.child, NULL, 0);
	regions.child = 0;
}

static int child_start(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return fail(-errno, "socketpair: %s", strerror(errno));
	regions.child = fork();
	if (!regions.child)
		regions_child(fds[1]);
	close(fds[1]);
	regions.fd = fds[0];
	return regions.child < 0 ? fail(-errno, "fork: %s", strerror(errno)) : 0;
}

static int regions_choose(struct collector_options *c)
{
	int err;

	(void)c;
	if (!qmp)
		return 0;
	if (!record_opt.vms.nr)
		return fail_usage(-EINVAL, "--qmp requires --vm");
	err = child_start();
	return err ? err : list_query(&regions.start, &regions.pid);
}

static int regions_start(struct recording *r)
{
	if (!qmp)
		return 0;
	if (r->nr_vms != 1)
		return fail_usage(-EINVAL, "--qmp requires one VM; --vm selects %u", r->nr_vms);
	if (regions.pid != r->vms[0].pid)
		return fail_usage(-EINVAL,
				  "%s: the monitor belongs to process %d, not to the VM (%d)", qmp,
				  regions.pid, r->vms[0].pid);
	return 0;
}

static int regions_stop(struct recording *r)
{
	pid_t pid = 0;

	(void)r;
	if (regions.child <= 0)
		return 0;
	if (list_query(&regions.end, &pid) || pid != regions.pid)
		snprintf(regions.why, sizeof(regions.why), "%s", error_text());
	child_end();
	return 0;
}

/* The list of the end is omitted where it is the same. */
static void meta_add(struct recording *r, json_t *meta, bool final)
{
	json_t *one;

	(void)r;
	(void)final;
	if (!regions.start)
		return;
	one = json_pack("{s:i,s:O}", "pid", (int)regions.pid, "start", regions.start);
	if (regions.end && !json_equal(regions.start, regions.end))
		json_object_set(one, "end", regions.end);
	json_object_set_new(meta, "regions", json_pack("[o]", one));
}

static void regions_summary(struct recording *r)
{
	(void)r;
	if (*regions.why)
		command_note(
			"warning: devices that the guest mapped since the start are unknown: %s",
			regions.why);
}

static void close_all(struct recording *r)
{
	(void)r;
	child_end();
	json_decref(regions.start);
	json_decref(regions.end);
}

const struct record_part record_regions_part = {
	.choose = regions_choose,
	.start = regions_start,
	.stop = regions_stop,
	.meta = meta_add,
	.summary = regions_summary,
	.close = close_all,
};
