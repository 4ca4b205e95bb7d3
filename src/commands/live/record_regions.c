// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --qmp: what is behind the VM's ports and addresses, so that reports name the devices of PCI BARs, and what its
 * disks did (vm/disks.h). QEMU's monitor is queried before probes are attached, so that it is not among what is
 * recorded, and again at the end, as guests move BARs. It is not kept open meanwhile: it serves one client at a time.
 *
 * Without --qmp, a VM with disks that are not virtio, of which there are no events, or with limits on its command line
 * is asked for its disks alone, if its command line names a monitor. That it does not answer is no error of the
 * recording, and a diagnosis says so.
 *
 * A child process does it, which may connect to sockets when the recorder itself may not any more, and parses what QEMU
 * says without privileges. For each byte that it receives, it sends one line of JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "vm/disks.h"
#include "vm/qmp.h"

enum {
	CHILD_FD = 3,
	SOCKET_FD = 4,			/* of the monitor, where it is not given */
	REPLY_MS = 8 * QMP_PATIENCE_MS, /* the child connects twice, and awaits some answers */
	REPLY_MAX = REGIONS_MAX * 512 + DISKS_MAX * 2048,
	UNASKED_MS = 1000, /* for an answer: another client may have the monitor */
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
	json_t *disks, *disks_end;	 /* disks_query(), or {"error"}; NULL: not asked */
	uint64_t disks_ns, disks_end_ns; /* when */
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

static json_t *disks_make(pid_t *ret_pid)
{
	char socket[32];
	json_t *disks;

	snprintf(socket, sizeof(socket), "/proc/self/fd/%d", SOCKET_FD);
	return disks_query(qmp ? qmp : socket, qmp ? 0 : UNASKED_MS, &disks, ret_pid)
		       ? json_pack("{s:s}", "error", error_text())
		       : disks;
}

static json_t *reply_make(void)
{
	json_t *list = NULL, *reply;
	pid_t pid = 0;

	if (qmp && qmp_regions(qmp, &list, &pid))
		return json_pack("{s:s}", "error", error_text());
	reply = json_pack("{s:o*}", "list", list);
	json_object_set_new(reply, "disks", disks_make(&pid));
	json_object_set_new(reply, "pid", json_integer(pid));
	return reply;
}

static void regions_child(int fd, int socket)
{
	struct confinement c = {
		.phase = CONFINE_FOLLOW, .connects = true, .keep = CAPS_KEPT_TO_CONNECT};
	char asked;

	if (socket >= 0)
		socket = fcntl(socket, F_DUPFD, SOCKET_FD);
	if (fd != CHILD_FD)
		dup2(fd, CHILD_FD);
	if (socket >= 0 && socket != SOCKET_FD)
		dup2(socket, SOCKET_FD);
	close_range((unsigned int)(socket >= 0 ? SOCKET_FD : CHILD_FD) + 1, ~0u, 0);
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

static const char *name_of(void)
{
	return qmp ? qmp : "QEMU's monitor";
}

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
	return fail(-ETIMEDOUT, "%s: no answer", name_of());
}

/* *ret, *ret_disks: new references; NULL: it was not asked. */
static int list_query(json_t **ret, json_t **ret_disks, pid_t *ret_pid)
{
	_cleanup_free_ char *text = malloc(REPLY_MAX);
	json_t *reply = NULL;
	const char *error;
	int err = text ? 0 : fail(-ENOMEM, "out of memory");

	if (!err && send(regions.fd, "?", 1, MSG_NOSIGNAL) != 1)
		err = fail(-EPIPE, "%s: the process that queries it has ended", name_of());
	if (!err)
		err = line_read(text, REPLY_MAX);
	if (err)
		return err;
	reply = json_loads(text, 0, NULL);
	error = json_string_value(json_object_get(reply, "error"));
	*ret_pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
	*ret = json_incref(json_object_get(reply, "list"));
	*ret_disks = json_incref(json_object_get(reply, "disks"));
	if (error || (qmp && !*ret))
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

static int child_start(int socket)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return fail(-errno, "socketpair: %s", strerror(errno));
	regions.child = fork();
	if (!regions.child)
		regions_child(fds[1], socket);
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
	err = child_start(-1);
	if (!err)
		err = list_query(&regions.start, &regions.disks, &regions.pid);
	regions.disks_ns = monotonic_ns();
	return err;
}

/* Before probes are attached, as a monitor that does not answer takes time. */
static void disks_ask(struct recording *r)
{
	int socket = disks_monitor_open(r->vms[0].pid), err = socket < 0 ? socket : 0;
	json_t *none = NULL;

	if (!err)
		err = child_start(socket);
	if (socket >= 0)
		close(socket);
	if (!err)
		err = list_query(&none, &regions.disks, &regions.pid);
	json_decref(none);
	regions.disks_ns = monotonic_ns();
	if (!err && regions.pid != r->vms[0].pid && !json_object_get(regions.disks, "error"))
		err = fail(-ESRCH, "its monitor is another process's");
	if (!err && !json_object_get(regions.disks, "error"))
		return;
	child_end();
	if (err) {
		json_decref(regions.disks);
		regions.disks = json_pack("{s:s}", "error", error_text());
	}
	regions.pid = r->vms[0].pid;
}

static int regions_begin(struct recording *r)
{
	json_auto_t *vm = !qmp && !r->argv && r->nr_vms == 1 ? vm_json(&r->vms[0]) : NULL;

	if (vm && (disks_other_of(vm) || disks_throttled_by_option(vm)))
		disks_ask(r);
	return 0;
}

/* What disks did until probes were attached does not count. Later answers are taken for as quick as the first. */
static void disks_restart(void)
{
	json_t *list = NULL, *disks = NULL;
	pid_t pid = 0;

	if (!list_query(&list, &disks, &pid) && pid == regions.pid &&
	    !json_object_get(disks, "error")) {
		json_decref(regions.disks);
		regions.disks = json_incref(disks);
		regions.disks_ns = monotonic_ns();
	}
	json_decref(list);
	json_decref(disks);
}

static int regions_start(struct recording *r)
{
	if (!qmp && regions.child > 0)
		disks_restart();
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
	if (list_query(&regions.end, &regions.disks_end, &pid) || pid != regions.pid)
		snprintf(regions.why, sizeof(regions.why), "%s", error_text());
	regions.disks_end_ns = monotonic_ns();
	child_end();
	return 0;
}

/* The list of the end is omitted where it is the same. */
static void regions_add(json_t *meta)
{
	json_t *one;

	if (!regions.start)
		return;
	one = json_pack("{s:i,s:O}", "pid", (int)regions.pid, "start", regions.start);
	if (regions.end && !json_equal(regions.start, regions.end))
		json_object_set(one, "end", regions.end);
	json_object_set_new(meta, "regions", json_pack("[o]", one));
}

/* What they did is known at the end. */
static void disks_add(json_t *meta)
{
	const json_t *error = json_object_get(regions.disks, "error");
	json_t *disks;

	if (!error)
		error = json_object_get(regions.disks_end, "error");
	if (error)
		disks = json_pack("{s:O}", "error", error);
	else if (!regions.disks_end)
		disks = json_pack("{s:s}", "error",
				  *regions.why ? regions.why : "not asked at the end");
	else
		disks = disks_between(regions.disks, regions.disks_end);
	json_object_set_new(disks, "pid", json_integer(regions.pid));
	json_object_set_new(disks, "ns",
			    json_integer((json_int_t)(regions.disks_end_ns - regions.disks_ns)));
	json_object_set_new(meta, "disks", disks);
}

static void meta_add(struct recording *r, json_t *meta, bool final)
{
	(void)r;
	regions_add(meta);
	if (final && regions.disks)
		disks_add(meta);
}

static void regions_summary(struct recording *r)
{
	(void)r;
	if (*regions.why && qmp)
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
	json_decref(regions.disks);
	json_decref(regions.disks_end);
}

const struct record_part record_regions_part = {
	.choose = regions_choose,
	.begin = regions_begin,
	.start = regions_start,
	.stop = regions_stop,
	.meta = meta_add,
	.summary = regions_summary,
	.close = close_all,
};
