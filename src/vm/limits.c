// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread is limited by its cgroup and by all that contain it: libvirt makes one for each vCPU, Kubernetes sets the
 * quota of a pod above. So from each thread's cgroup upwards, each directory is opened once for all its threads.
 *
 *	           version 2                      version 1 (controllers cpu, blkio, memory)
 *	quota      cpu.max "20000 100000"         cpu.cfs_quota_us, cpu.cfs_period_us; -1: none
 *	throttled  cpu.stat: nr_throttled, throttled_usec (version 1: throttled_time, ns)
 *	I/O        io.max "8:0 rbps=1048576 ..."  blkio.throttle.{read,write}_{bps,iops}_device "8:0 1048576"
 *	memory     memory.max, memory.high        memory.limit_in_bytes; LONG_MAX in pages: none
 *	reached    memory.events: high, max       memory.failcnt
 *
 * Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/; time of throttling is the sum over all CPUs
 * (kernel/sched/core.c, cpu_cfs_stat_show()).
 */
#include "vm/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "vm/reread.h"

enum {
	GROUPS_MAX =
		128, /* of all VMs, each with a descriptor; what is in further ones is not recorded */
	CPUS_MAX = 4096,
	FILE_MAX = 8192,
	IO_TEXT_MAX = 256,
	STAT_TEXT_MAX = 1 << 20, /* /proc/stat has a line a CPU, and long ones of interrupts */
};

enum controller { OF_CPU, OF_IO, OF_MEMORY, NR_OF };

/* Their names in version 1, where each may be in a hierarchy of its own. */
static const char *const controllers[NR_OF] = {
	[OF_CPU] = "cpu", [OF_IO] = "blkio", [OF_MEMORY] = "memory"};

struct throttling {
	uint64_t times, ns;
};

struct group {
	pid_t pid; /* the VM */
	char *path;
	bool v2;
	unsigned int of; /* a bit for each enum controller that this hierarchy has */
	double cpus;	 /* 0: no quota */
	uint64_t memory; /* bytes; 0: no limit */
	char io[IO_TEXT_MAX];
	struct reread stat;    /* cpu.stat, where there is a quota */
	struct reread reached; /* memory.events or memory.failcnt, where there is a limit */
	struct throttling start;
	uint64_t reached_start;
	json_t *tids;
};

/* Of one CPU of the host, since it was booted. */
struct cpu_times {
	uint64_t stolen_ns, busy_ns; /* busy: stolen time included */
};

struct vm_limits {
	struct group *groups;
	unsigned int nr;
	uint64_t start_ns;
	struct reread stat, vmstat; /* of /proc */
	bool stays_open;
	struct cpu_times cpus[CPUS_MAX];
	unsigned int nr_cpus;
	uint64_t swapped_in;
};

/* ---- text ---- */

/* NULL: there is none. */
static const char *next_line(const char *p)
{
	const char *newline = strchr(p, '\n');

	return newline ? newline + 1 : NULL;
}

double limits_quota(const char *text)
{
	double quota = 0, period = 0;

	return sscanf(text, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0
		       ? quota / period
		       : 0;
}

uint64_t limits_number(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; p; p = next_line(p))
		if (!strncmp(p, key, len) && p[len] == ' ')
			return strtoull(p + len, NULL, 10);
	return 0;
}

/* Is the word in the list "cpu,cpuacct"? */
static bool is_listed(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (const char *end = list + len, *p = list; p < end; p++) {
		size_t one = strcspn(p, ",:");

		if (one == n && !strncmp(p, word, n))
			return true;
		p += one;
	}
	return false;
}

/* Lines are "ID:CONTROLLERS:PATH"; version 2's has none. A path that leads out of the namespace begins with "/..". */
bool limits_path(const char *text, const char *controller, char *ret, size_t size, bool *ret_v2)
{
	bool found = false;

	for (const char *p = text; p && *p; p = next_line(p)) {
		const char *list = strchr(p, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		size_t len = path ? strcspn(path + 1, "\n") : 0;
		bool v2 = path == list + 1;

		if (!path || len >= size || path[1] != '/' || !strncmp(path + 1, "/..", 3))
			continue;
		if (!is_listed(list + 1, (size_t)(path - list) - 1, controller) && (!v2 || found))
			continue;
		snprintf(ret, size, "%.*s", (int)len, path + 1);
		*ret_v2 = v2;
		found = true;
	}
	return found;
}

/* ---- files ---- */

static bool file_read(const char *directory, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	struct reread f;
	bool is_read;

	*buf = '\0';
	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return false;
	reread_open(&f, path, true);
	is_read = reread_text(&f, buf, size);
	reread_close(&f);
	return is_read;
}

/* Where the hierarchy with this controller, or version 2's, is mounted. */
static bool mount_find(const char *controller, bool v2, char *ret, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (f && !found && (m = getmntent(f))) {
		found = v2 ? !strcmp(m->mnt_type, "cgroup2")
			   : !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, controller);
		if (found)
			snprintf(ret, size, "%s", m->mnt_dir);
	}
	if (f)
		endmntent(f);
	return found;
}

/* ---- a cgroup ---- */

static struct throttling throttling_read(const struct group *g)
{
	char text[FILE_MAX];

	if (!reread_text(&g->stat, text, sizeof(text)))
		return (struct throttling){0};
	return (struct throttling){.times = limits_number(text, "nr_throttled"),
				   .ns = g->v2 ? limits_number(text, "throttled_usec") * 1000
					       : limits_number(text, "throttled_time")};
}

static void quota_read(struct group *g, const char *directory, bool stays_open)
{
	char text[FILE_MAX], period[32], path[PATH_MAX];

	if (g->v2) {
		file_read(directory, "cpu.max", text, sizeof(text));
	} else if (file_read(directory, "cpu.cfs_quota_us", text, 32) &&
		   file_read(directory, "cpu.cfs_period_us", period, sizeof(period))) {
		snprintf(text + strcspn(text, "\n"), sizeof(period) + 1, " %s", period);
	}
	g->cpus = limits_quota(text);
	if (g->cpus > 0 &&
	    snprintf(path, sizeof(path), "%s/cpu.stat", directory) < (int)sizeof(path))
		reread_open(&g->stat, path, stays_open);
}

/* "8:0 rbps=1048576; 8:16 riops=100": what is not limited is left out. */
static void io_add(struct group *g, const char *text, const char *what)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest, *line = copy ? strtok_r(copy, "\n", &rest) : NULL;

	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		size_t len = strlen(g->io);

		snprintf(g->io + len, sizeof(g->io) - len, "%s%s%s%s", len ? "; " : "", what,
			 *what ? " " : "", line);
	}
}

static void io_read(struct group *g, const char *directory)
{
	static const char *const files[] = {"read_bps", "write_bps", "read_iops", "write_iops"};
	char text[FILE_MAX], name[64];

	if (g->v2 && file_read(directory, "io.max", text, sizeof(text)))
		io_add(g, text, "");
	for (size_t i = 0; !g->v2 && i < sizeof(files) / sizeof(*files); i++) {
		snprintf(name, sizeof(name), "blkio.throttle.%s_device", files[i]);
		if (file_read(directory, name, text, sizeof(text)))
			io_add(g, text, files[i]);
	}
}

/* How often its memory reached the limit. */
static uint64_t reached_read(const struct group *g)
{
	char text[FILE_MAX];

	if (!reread_text(&g->reached, text, sizeof(text)))
		return 0;
	return g->v2 ? limits_number(text, "high") + limits_number(text, "max")
		     : strtoull(text, NULL, 10);
}

/* Bytes; 0: no limit: "max", or as many pages as fit in a long. */
static uint64_t memory_limit(const char *directory, const char *name)
{
	char text[64];
	uint64_t bytes;

	if (!file_read(directory, name, text, sizeof(text)))
		return 0;
	bytes = strtoull(text, NULL, 10);
	return bytes < INT64_MAX / 4096 * 4096 ? bytes : 0;
}

static void memory_read(struct group *g, const char *directory, bool stays_open)
{
	uint64_t high = g->v2 ? memory_limit(directory, "memory.high") : 0;
	char path[PATH_MAX];

	g->memory = memory_limit(directory, g->v2 ? "memory.max" : "memory.limit_in_bytes");
	if (high && (!g->memory || high < g->memory))
		g->memory = high;
	if (g->memory && snprintf(path, sizeof(path), "%s/%s", directory,
				  g->v2 ? "memory.events" : "memory.failcnt") < (int)sizeof(path))
		reread_open(&g->reached, path, stays_open);
}

static struct group *group_find(const struct vm_limits *l, pid_t pid, const char *path,
				enum controller controller)
{
	return array_find(l->groups, l->nr, i,
			  l->groups[i].pid == pid && l->groups[i].of & 1U << controller &&
				  !strcmp(l->groups[i].path, path));
}

/* NULL: there are too many, or no memory. */
static struct group *group_add(struct vm_limits *l, pid_t pid, const char *root, const char *path,
			       bool v2, enum controller controller)
{
	char directory[PATH_MAX];
	struct group *g;

	if (l->nr == GROUPS_MAX || array_room(l->groups, l->nr) ||
	    snprintf(directory, sizeof(directory), "%s%s", root, path) >= (int)sizeof(directory))
		return NULL;
	g = &l->groups[l->nr];
	*g = (struct group){.pid = pid,
			    .path = strdup(path),
			    .v2 = v2,
			    .of = v2 ? (1U << NR_OF) - 1 : 1U << controller,
			    .stat.fd = -1,
			    .reached.fd = -1,
			    .tids = json_array()};
	if (!g->path) {
		json_decref(g->tids);
		return NULL;
	}
	l->nr++;
	if (g->of & 1U << OF_CPU)
		quota_read(g, directory, l->stays_open);
	if (g->of & 1U << OF_IO)
		io_read(g, directory);
	if (g->of & 1U << OF_MEMORY)
		memory_read(g, directory, l->stays_open);
	return g;
}

/* The thread's cgroup of this controller and all above it. */
static void thread_add(struct vm_limits *l, pid_t pid, pid_t tid, enum controller controller)
{
	char name[64], text[FILE_MAX], path[PATH_MAX], root[PATH_MAX];
	const char *v1 = controllers[controller];
	bool v2;

	snprintf(name, sizeof(name), "%d/task/%d/cgroup", (int)pid, (int)tid);
	if (!file_read("/proc", name, text, sizeof(text)) ||
	    !limits_path(text, v1, path, sizeof(path), &v2) || (controller != OF_CPU && v2) ||
	    !mount_find(v1, v2, root, sizeof(root)))
		return;
	while (path[1]) { /* the root has no limits */
		struct group *g = group_find(l, pid, path, controller);

		g = g ? g : group_add(l, pid, root, path, v2, controller);
		if (g)
			json_array_append_new(g->tids, json_integer(tid));
		*strrchr(path, '/') = '\0';
		if (!*path)
			break;
	}
}

static bool is_limited(const struct group *g)
{
	return g->cpus > 0 || g->memory || *g->io;
}

static json_t *group_json(const struct group *g, bool first)
{
	struct throttling now = throttling_read(g);
	json_t *o =
		json_pack("{s:i,s:s*,s:O,s:o,s:s?,s:o}", "pid", (int)g->pid, "path", g->path,
			  "tids", g->tids, "cpus", g->cpus > 0 ? json_real(g->cpus) : json_null(),
			  "io_limits", *g->io ? g->io : NULL, "memory",
			  g->memory ? json_integer((json_int_t)g->memory) : json_null());

	if (!first && g->cpus > 0) {
		json_object_set_new(o, "throttled",
				    json_integer((json_int_t)(now.times - g->start.times)));
		json_object_set_new(o, "throttled_ns",
				    json_integer((json_int_t)(now.ns - g->start.ns)));
	}
	if (!first && g->memory)
		json_object_set_new(o, "memory_reached",
				    json_integer((json_int_t)(reached_read(g) - g->reached_start)));
	return o;
}

/* ---- the host ---- */

/*
 * "cpu0 user nice system idle iowait irq softirq steal ...", in ticks (proc(5)); time of guests is part of user's.
 * Returns the number of CPUs.
 */
static unsigned int cpus_read(const struct vm_limits *l, struct cpu_times *ret)
{
	_cleanup_free_ char *text = malloc(STAT_TEXT_MAX);
	uint64_t ns_per_tick = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t user, nice, system, irq, softirq, steal;
	unsigned int nr = 0;

	if (!text || !reread_text(&l->stat, text, STAT_TEXT_MAX))
		return 0;
	for (const char *p = text; p && nr < CPUS_MAX; p = next_line(p))
		if (strncmp(p, "cpu ", 4) != 0 && /* the sum of all */
		    sscanf(p,
			   "cpu%*u %" SCNu64 "%" SCNu64 "%" SCNu64 " %*u %*u %" SCNu64 "%" SCNu64
			   "%" SCNu64,
			   &user, &nice, &system, &irq, &softirq, &steal) == 6)
			ret[nr++] = (struct cpu_times){
				.stolen_ns = steal * ns_per_tick,
				.busy_ns = (user + nice + system + irq + softirq + steal) *
					   ns_per_tick};
	return nr;
}

static uint64_t swapped_in_read(const struct vm_limits *l)
{
	char text[FILE_MAX];

	reread_text(&l->vmstat, text, sizeof(text));
	return limits_number(text, "pswpin");
}

static void time_append(json_t *list, uint64_t from, uint64_t to)
{
	json_array_append_new(list, json_integer(to > from ? (json_int_t)(to - from) : 0));
}

static json_t *host_json(const struct vm_limits *l)
{
	_cleanup_free_ struct cpu_times *now = calloc(CPUS_MAX, sizeof(*now));
	unsigned int nr = now ? cpus_read(l, now) : 0;
	json_t *stolen = json_array(), *busy = json_array();

	for (unsigned int i = 0; i < nr && nr == l->nr_cpus; i++) {
		time_append(stolen, l->cpus[i].stolen_ns, now[i].stolen_ns);
		time_append(busy, l->cpus[i].busy_ns, now[i].busy_ns);
	}
	return json_pack("{s:o,s:o,s:I}", "stolen_ns", stolen, "busy_ns", busy, "swapped_in",
			 (json_int_t)(swapped_in_read(l) - l->swapped_in));
}

/* ---- all of it ---- */

void vm_limits_restart(struct vm_limits *l)
{
	for (unsigned int i = 0; i < l->nr; i++) {
		l->groups[i].start = throttling_read(&l->groups[i]);
		l->groups[i].reached_start = reached_read(&l->groups[i]);
	}
	l->start_ns = monotonic_ns();
	l->nr_cpus = cpus_read(l, l->cpus);
	l->swapped_in = swapped_in_read(l);
}

json_t *vm_limits_json(const struct vm_limits *l, bool first)
{
	json_t *list = json_array(), *o = json_pack("{s:o}", "cgroups", list);

	for (unsigned int i = 0; i < l->nr; i++)
		if (is_limited(&l->groups[i]))
			json_array_append_new(list, group_json(&l->groups[i], first));
	if (first)
		return o;
	json_object_set_new(o, "host", host_json(l));
	json_object_set_new(o, "ns", json_integer((json_int_t)(monotonic_ns() - l->start_ns)));
	return o;
}

/* Memory and I/O are the process's. */
static void vm_add(struct vm_limits *l, const struct vm *vm)
{
	for (enum controller c = 0; c < NR_OF; c++)
		thread_add(l, vm->pid, vm->pid, c);
	for (unsigned int i = 0; i < vm->nr_vcpus; i++)
		if (vm->vcpus[i].tid)
			thread_add(l, vm->pid, vm->vcpus[i].tid, OF_CPU);
}

struct vm_limits *vm_limits_open(const struct vm *vms, unsigned int nr, bool stays_open)
{
	struct vm_limits *l = calloc(1, sizeof(*l));

	if (!l) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	l->stays_open = stays_open;
	reread_open(&l->stat, "/proc/stat", stays_open);
	reread_open(&l->vmstat, "/proc/vmstat", stays_open);
	for (unsigned int i = 0; i < nr; i++)
		vm_add(l, &vms[i]);
	vm_limits_restart(l);
	return l;
}

void vm_limits_close(struct vm_limits *l)
{
	if (!l)
		return;
	for (unsigned int i = 0; i < l->nr; i++) {
		reread_close(&l->groups[i].stat);
		reread_close(&l->groups[i].reached);
		json_decref(l->groups[i].tids);
		free(l->groups[i].path);
	}
	free(l->groups);
	reread_close(&l->stat);
	reread_close(&l->vmstat);
	free(l);
}
