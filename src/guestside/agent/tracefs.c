// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An instance of tracefs (Documentation/trace/ftrace.rst, "Instances"): buffers, events, clock and options of its own,
 * so that whoever else traces this guest is not disturbed, and rmdir takes all of it away.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guestside/agent/agent.h"

#define INSTANCE_PREFIX "hostrace-"

enum {
	FILE_MAX = 64 << 20, /* bytes of one file of tracefs */
	ITEM_MAX = 128,
};

static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* What shows where time goes without costing much: who runs, what interrupts, what the disks do, a few calls. */
static const char default_events[] =
	"sched,irq,block,timer,"
	"syscalls:sys_*_read,syscalls:sys_*_write,syscalls:sys_*_openat,syscalls:sys_*_fsync,"
	"syscalls:sys_*_futex,syscalls:sys_*_nanosleep,syscalls:sys_*_clock_nanosleep,"
	"syscalls:sys_*_sendto,syscalls:sys_*_recvfrom";

static int file_write(const struct trace *t, const char *name, const char *text, int flags)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static char *file_read(const char *path, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0, room = 4096;
	char *text = fd < 0 ? NULL : malloc(room);

	while (text) {
		ssize_t n = read(fd, text + len, room - len - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		if (len + 1 == room) {
			char *grown = room < FILE_MAX ? realloc(text, 2 * room) : NULL;

			if (!grown)
				break;
			text = grown;
			room *= 2;
		}
	}
	if (text)
		text[len] = '\0';
	if (ret_len)
		*ret_len = len;
	return text;
}

char *trace_read(const struct trace *t, const char *name, size_t *ret_len)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? t->root : t->dir,
		 *name == '/' ? "" : "/", name);
	return file_read(path, ret_len);
}

static const char *root_find(void)
{
	char probe[64];

	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
			snprintf(probe, sizeof(probe), "%s/instances", roots[i]);
			if (!access(probe, F_OK))
				return roots[i];
		}
		if (mount("tracefs", roots[0], "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
			return NULL;
	}
	return NULL;
}

/* Instances of agents that were killed. */
static void stale_remove(const char *root)
{
	char path[512];
	struct dirent *e;

	snprintf(path, sizeof(path), "%s/instances", root);
	_cleanup_closedir_ DIR *dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		long pid = strncmp(e->d_name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX))
				   ? 0
				   : strtol(e->d_name + strlen(INSTANCE_PREFIX), NULL, 10);

		if (pid <= 0 || !kill((pid_t)pid, 0) || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", root, e->d_name);
		rmdir(path);
	}
}

/* Directories under `path` that match the glob, handed to each(). How many. */
static int each_match(const struct trace *t, const char *system, const char *glob,
		      int (*each)(const struct trace *t, const char *system, const char *name,
				  const char *rest),
		      const char *rest)
{
	char path[512];
	struct dirent *e;
	int nr = 0;

	snprintf(path, sizeof(path), "%s/events/%s", t->dir, system);
	_cleanup_closedir_ DIR *dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && e->d_type != DT_REG && !fnmatch(glob, e->d_name, 0))
			nr += each(t, system, e->d_name, rest);
	return nr;
}

static int event_switch_on(const struct trace *t, const char *system, const char *name,
			   const char *rest)
{
	char file[256];

	(void)rest;
	snprintf(file, sizeof(file), "events/%.100s/%.100s/enable", system, name);
	return file_write(t, file, "1", 0) == 0;
}

/* A whole system at once, else each event that matches. */
static int system_switch_on(const struct trace *t, const char *none, const char *system,
			    const char *glob)
{
	char file[256];

	(void)none;
	if (!strcmp(system, "ftrace")) /* its entries are not events */
		return 0;
	snprintf(file, sizeof(file), "events/%.100s/enable", system);
	if (!strcmp(glob, "*") && !file_write(t, file, "1", 0))
		return 1;
	return each_match(t, system, glob, event_switch_on, NULL);
}

/* SYSTEM is SYSTEM:*; both parts may be globs. */
static int event_enable(const struct trace *t, char *item, bool must)
{
	char *colon = strchr(item, ':');

	if (colon)
		*colon = '\0';
	if (!each_match(t, "", item, system_switch_on, colon ? colon + 1 : "*") && must)
		return complain(-ENOENT, "this kernel has no event '%s%s%s'", item,
				colon ? ":" : "", colon ? colon + 1 : "");
	return 0;
}

static int events_enable(const struct trace *t, const char *list)
{
	bool must = list;

	for (const char *at = list ? list : default_events; *at;) {
		size_t len = strcspn(at, ",");
		char item[ITEM_MAX];
		int err;

		if (len >= sizeof(item))
			return complain(-EINVAL, "event name too long");
		memcpy(item, at, len);
		item[len] = '\0';
		err = len ? event_enable(t, item, must) : 0;
		if (err)
			return err;
		at += len + (at[len] == ',');
	}
	return 0;
}

static int configure(struct trace *t, const struct trace_options *opt)
{
	char text[32];
	int err = file_write(t, "tracing_on", "0", 0);

	if (!err)
		err = file_write(t, "trace_clock", opt->clock, 0);
	if (err)
		return complain(err, "cannot set the trace clock %s: %s", opt->clock,
				strerror(-err));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)opt->buffer_kb);
	err = file_write(t, "buffer_size_kb", text, 0);
	if (err)
		return complain(err, "cannot set the buffer size to %s KiB: %s", text,
				strerror(-err));
	snprintf(text, sizeof(text), "%d", (int)getpid());
	file_write(t, "set_event_notrace_pid", text, 0); /* since 5.7; else it sees itself */
	err = opt->stack ? file_write(t, "options/stacktrace", "1", 0) : 0;
	if (err)
		return complain(err, "cannot enable stack traces: %s", strerror(-err));
	return events_enable(t, opt->events);
}

static int pipes_open(struct trace *t)
{
	char path[512];

	for (unsigned int cpu = 0; cpu < TRACE_CPUS_MAX; cpu++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u", t->dir, cpu);
		if (access(path, F_OK))
			break;
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", t->dir, cpu);
		t->pipe[cpu] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		t->nr_cpus = cpu + 1;
		if (t->pipe[cpu] < 0 && errno == EMFILE)
			return complain(-errno, "too many CPUs: %s", strerror(errno));
	}
	return t->nr_cpus ? 0 : complain(-ENOENT, "%s: no CPU buffers found", t->dir);
}

/* Sub-buffers may be larger than a page (since 6.8); header_page tells. */
static size_t page_bytes(const struct trace *t)
{
	_cleanup_free_ char *text = trace_read(t, "/events/header_page", NULL);
	const char *data = text ? strstr(text, "data;") : NULL,
		   *at = data ? strstr(data, "offset:") : NULL,
		   *size = data ? strstr(data, "size:") : NULL;
	size_t bytes = 0;

	if (at && size)
		bytes = strtoul(at + 7, NULL, 10) + strtoul(size + 5, NULL, 10);
	return bytes >= 512 && bytes <= 1 << 20 ? bytes : (size_t)sysconf(_SC_PAGESIZE);
}

int trace_open(struct trace *t, const struct trace_options *opt)
{
	int err;

	t->dir[0] = '\0';
	t->nr_cpus = 0;
	t->root = root_find();
	if (!t->root)
		return complain(-ENOENT,
				"cannot find tracefs (%s); the agent needs root and a kernel with "
				"CONFIG_TRACING",
				strerror(errno));
	stale_remove(t->root);
	snprintf(t->dir, sizeof(t->dir), "%s/instances/" INSTANCE_PREFIX "%d", t->root,
		 (int)getpid());
	if (mkdir(t->dir, 0700)) {
		err = complain(-errno, "cannot create %s: %s", t->dir, strerror(errno));
		t->dir[0] = '\0';
		return err;
	}
	t->page_size = page_bytes(t);
	err = configure(t, opt);
	return err ? err : pipes_open(t);
}

void trace_close(struct trace *t)
{
	for (unsigned int cpu = 0; cpu < t->nr_cpus; cpu++)
		if (t->pipe[cpu] >= 0)
			close(t->pipe[cpu]);
	t->nr_cpus = 0;
	if (!t->dir[0])
		return;
	file_write(t, "tracing_on", "0", 0);
	file_write(t, "events/enable", "0", 0);
	if (rmdir(t->dir))
		complain(-errno, "cannot remove %s: %s", t->dir, strerror(errno));
	t->dir[0] = '\0';
}

int trace_on(struct trace *t, bool on)
{
	int err = file_write(t, "tracing_on", on ? "1" : "0", 0);

	return err ? complain(err, "cannot switch tracing %s: %s", on ? "on" : "off",
			      strerror(-err))
		   : 0;
}

int trace_page(struct trace *t, unsigned int cpu, uint8_t *page)
{
	ssize_t n;

	if (t->pipe[cpu] < 0)
		return 0;
	do
		n = read(t->pipe[cpu], page, t->page_size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN || errno == ENODEV ? 0 : -errno;
	if ((size_t)n < t->page_size && n > 0)
		memset(page + n, 0, t->page_size - (size_t)n);
	return n > 16;
}
