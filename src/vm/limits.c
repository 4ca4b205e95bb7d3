// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread is limited by its cgroup and by all that contain it: libvirt makes one for each vCPU, Kubernetes sets the
 * quota of a pod above. So from each thread's cgroup upwards, each directory is opened once for all its threads.
 *
 *	           version 2                      version 1 (controllers cpu, blkio, memory)
 *	quota      cpu.max "20000 100000"         cpu.cfs_quota_us, cpu.cfs_period_us; -1: none
 *	weight     cpu.weight; default: 100       cpu.shares; default: 1024
 *	throttled  cpu.stat: nr_throttled, throttled_usec (version 1: throttled_time, ns)
 *	I/O        io.max "8:0 rbps=1048576 ..."  blkio.throttle.{read,write}_{bps,iops}_device "8:0 1048576"
 *	memory     memory.max, memory.high        memory.limit_in_bytes; LONG_MAX in pages: none
 *	reached    memory.events: high, max       memory.failcnt
 *	waited     cpu.pressure, io.pressure, memory.pressure: "some", since its tasks wait meanwhile
 *
 * Counts are read again every second, so that what is known of a recording is known of its parts, too (vm/series.h).
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
#include "vm/host_load.h"
#include "vm/reread.h"
#include "vm/series.h"

enum {
	GROUPS_MAX = 128, /* of all VMs; what is in further ones is not recorded */
	PRESSURES = 3,
	FILE_MAX = 8192,
	IO_TEXT_MAX = 256,
};

enum controller { OF_CPU, OF_IO, OF_MEMORY, NR_OF };

/* Their names in version 1, where each may be in a hierarchy of its own. */
static const char *const controllers[NR_OF] = {
	[OF_CPU] = "cpu", [OF_IO] = "blkio", [OF_MEMORY] = "memory"};

enum group_count {
	GROUP_THROTTLED,
	GROUP_THROTTLED_NS,
	GROUP_REACHED,
	GROUP_OOM_KILLS,
	GROUP_CPU_WAITED,
	GROUP_IO_WAITED,
	GROUP_MEMORY_WAITED,
	GROUP_COUNTS
};

static const char *const group_counts[GROUP_COUNTS] = {
	"throttled",	 "throttled_ns", "memory_reached",  "oom_kills",
	"cpu_waited_ns", "io_waited_ns", "memory_waited_ns"};

struct group {
	pid_t pid; /* the VM */
	char *path;
	bool v2;
	unsigned int of; /* a bit for each enum controller that this hierarchy has */
	double cpus;	 /* 0: no quota */
	double weight;	 /* 1: the default; 0: unknown */
	uint64_t memory; /* bytes; 0: no limit */
	char io[IO_TEXT_MAX];
	struct reread stat;    /* cpu.stat, where there is a quota */
	struct reread reached; /* memory.events or memory.failcnt, where there is a limit */
	struct reread pressure[PRESSURES]; /* of version 2, of a thread's own cgroup */
	json_t *tids;
};

/*
 * A reading of all counts is a row: GROUP_COUNTS of each cgroup, HOST_COUNTS, CPU_COUNTS of each CPU. A CPU that was
 * plugged in later is not in it.
 */
struct vm_limits {
	struct group *groups;
	unsigned int nr;
	struct host_load host;
	bool stays_open;
	unsigned int nr_cpus, columns;
	uint64_t *start, *now, *cpus; /* rows, and HOST_CPUS_MAX CPUs */
	uint64_t start_ns;
	struct series series; /* columns is 0 until vm_limits_sample() */
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

double limits_weight(const char *text, bool v2)
{
	double weight = 0;

	return sscanf(text, "%lf", &weight) == 1 && weight > 0 ? weight / (v2 ? 100 : 1024) : 0;
}

static void weight_read(struct group *g, const char *directory)
{
	char text[32];

	if (file_read(directory, g->v2 ? "cpu.weight" : "cpu.shares", text, sizeof(text)))
		g->weight = limits_weight(text, g->v2);
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

static void pressure_open(struct group *g, const char *directory, bool stays_open)
{
	static const char *const names[PRESSURES] = {"cpu.pressure", "io.pressure",
						     "memory.pressure"};
	char path[PATH_MAX];

	for (int i = 0; i < PRESSURES && g->v2; i++)
		if (snprintf(path, sizeof(path), "%s/%s", directory, names[i]) < (int)sizeof(path))
			reread_open(&g->pressure[i], path, stays_open);
}

/* All its counts since it was made. */
static void group_read(const struct group *g, uint64_t ret[GROUP_COUNTS])
{
	char text[FILE_MAX];

	memset(ret, 0, GROUP_COUNTS * sizeof(*ret));
	if (reread_text(&g->stat, text, sizeof(text))) {
		ret[GROUP_THROTTLED] = reread_number(text, "nr_throttled");
		ret[GROUP_THROTTLED_NS] = g->v2 ? reread_number(text, "throttled_usec") * 1000
						: reread_number(text, "throttled_time");
	}
	if (reread_text(&g->reached, text, sizeof(text))) {
		ret[GROUP_REACHED] =
			g->v2 ? reread_number(text, "high") + reread_number(text, "max")
			      : strtoull(text, NULL, 10);
		ret[GROUP_OOM_KILLS] = g->v2 ? reread_number(text, "oom_kill") : 0;
	}
	for (int i = 0; i < PRESSURES; i++)
		if (reread_text(&g->pressure[i], text, sizeof(text)))
			ret[GROUP_CPU_WAITED + i] = pressure_ns(text);
}

static struct group *group_find(const struct vm_limits *l, pid_t pid, const char *path,
				enum controller controller)
{
	return array_find(l->groups, l->nr, i,
			  l->groups[i].pid == pid && l->groups[i].of & 1U << controller &&
				  !strcmp(l->groups[i].path, path));
}

/* `own`: a thread is in it. NULL: there are too many, or no memory. */
static struct group *group_add(struct vm_limits *l, pid_t pid, const char *root, const char *path,
			       bool v2, enum controller controller, bool own)
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
			    .pressure = {{.fd = -1}, {.fd = -1}, {.fd = -1}},
			    .tids = json_array()};
	if (!g->path) {
		json_decref(g->tids);
		return NULL;
	}
	l->nr++;
	if (g->of & 1U << OF_CPU) {
		quota_read(g, directory, l->stays_open);
		weight_read(g, directory);
	}
	if (g->of & 1U << OF_IO)
		io_read(g, directory);
	if (g->of & 1U << OF_MEMORY)
		memory_read(g, directory, l->stays_open);
	if (own)
		pressure_open(g, directory, l->stays_open);
	return g;
}

/* The thread's cgroup of this controller and all above it. */
static void thread_add(struct vm_limits *l, pid_t pid, pid_t tid, enum controller controller)
{
	char name[64], text[FILE_MAX], path[PATH_MAX], root[PATH_MAX];
	const char *v1 = controllers[controller];
	bool v2, own = true;

	snprintf(name, sizeof(name), "%d/task/%d/cgroup", (int)pid, (int)tid);
	if (!file_read("/proc", name, text, sizeof(text)) ||
	    !limits_path(text, v1, path, sizeof(path), &v2) || (controller != OF_CPU && v2) ||
	    !mount_find(v1, v2, root, sizeof(root)))
		return;
	while (path[1]) { /* the root has no limits */
		struct group *g = group_find(l, pid, path, controller);

		g = g ? g : group_add(l, pid, root, path, v2, controller, own);
		own = false;
		if (g)
			json_array_append_new(g->tids, json_integer(tid));
		*strrchr(path, '/') = '\0';
		if (!*path)
			break;
	}
}

/* ---- readings ---- */

static unsigned int host_column(const struct vm_limits *l)
{
	return l->nr * GROUP_COUNTS;
}

static unsigned int cpu_column(const struct vm_limits *l, unsigned int cpu)
{
	return host_column(l) + HOST_COUNTS + cpu * CPU_COUNTS;
}

static void row_read(const struct vm_limits *l, uint64_t *row)
{
	unsigned int nr = host_cpus_read(&l->host, l->cpus);

	for (unsigned int i = 0; i < l->nr; i++)
		group_read(&l->groups[i], row + i * GROUP_COUNTS);
	host_counts_read(&l->host, row + host_column(l));
	memset(row + cpu_column(l, 0), 0, l->nr_cpus * CPU_COUNTS * sizeof(*row));
	if (nr == l->nr_cpus)
		memcpy(row + cpu_column(l, 0), l->cpus, nr * CPU_COUNTS * sizeof(*row));
}

void vm_limits_sample(struct vm_limits *l, uint64_t now_ns)
{
	uint64_t *row;

	if (!l->series.columns && series_init(&l->series, l->columns, NS_PER_S))
		return; /* without memory, the whole is known, and no part */
	row = series_next(&l->series, now_ns);
	if (row)
		row_read(l, row);
}

/* A count that did not begin, or that is of another thing by now, is 0. */
static json_int_t since_start(const struct vm_limits *l, unsigned int column)
{
	return l->now[column] > l->start[column] ? (json_int_t)(l->now[column] - l->start[column])
						 : 0;
}

/* The count, and in "every" its values every second. */
static void count_add(const struct vm_limits *l, json_t *o, json_t *every, const char *name,
		      unsigned int column)
{
	json_t *list = series_column(&l->series, column, l->start[column]);

	json_object_set_new(o, name, json_integer(since_start(l, column)));
	if (list)
		json_object_set_new(every, name, list);
}

static void every_add(json_t *o, json_t *every)
{
	if (json_object_size(every))
		json_object_set(o, "every", every);
	json_decref(every);
}

static bool is_counted(const struct group *g, enum group_count count)
{
	if (count <= GROUP_THROTTLED_NS)
		return g->cpus > 0;
	if (count <= GROUP_OOM_KILLS)
		return g->memory;
	return g->pressure[count - GROUP_CPU_WAITED].fd >= 0 ||
	       g->pressure[count - GROUP_CPU_WAITED].path;
}

static bool is_limited(const struct group *g)
{
	bool is_light = g->weight > 0 && g->weight < 1;

	return g->cpus > 0 || is_light || g->memory || *g->io || is_counted(g, GROUP_CPU_WAITED);
}

static json_t *group_json(const struct vm_limits *l, unsigned int index, bool first)
{
	const struct group *g = &l->groups[index];
	json_t *every = json_object(),
	       *o = json_pack("{s:i,s:s*,s:O,s:o,s:o*,s:s?,s:o}", "pid", (int)g->pid, "path", g->path,
			      "tids", g->tids, "cpus",
			      g->cpus > 0 ? json_real(g->cpus) : json_null(), "weight",
			      g->weight > 0 ? json_real(g->weight) : NULL, "io_limits",
			      *g->io ? g->io : NULL, "memory",
			      g->memory ? json_integer((json_int_t)g->memory) : json_null());

	for (enum group_count c = 0; c < GROUP_COUNTS && !first; c++)
		if (is_counted(g, c))
			count_add(l, o, every, group_counts[c], index * GROUP_COUNTS + c);
	every_add(o, every);
	return o;
}

/* Of each CPU; in "every" of all CPUs, for each of these of each second. */
static void cpus_add(const struct vm_limits *l, json_t *o, json_t *every, enum host_cpu_count c)
{
	json_t *list = json_array(), *columns = json_array();
	bool changed = false;

	for (unsigned int i = 0; i < l->nr_cpus; i++) {
		unsigned int column = cpu_column(l, i) + c;
		json_t *one = series_column(&l->series, column, l->start[column]);

		changed |= !!one;
		json_array_append_new(columns, one ? one : json_array());
		json_array_append_new(list, json_integer(since_start(l, column)));
	}
	json_object_set_new(o, host_cpu_counts[c], list);
	if (changed)
		json_object_set(every, host_cpu_counts[c], columns);
	json_decref(columns);
}

static json_t *host_json(const struct vm_limits *l)
{
	json_t *o = json_object(), *every = json_object();

	for (enum host_cpu_count c = 0; c < CPU_COUNTS; c++)
		cpus_add(l, o, every, c);
	for (enum host_count c = 0; c < HOST_COUNTS; c++)
		count_add(l, o, every, host_counts[c], host_column(l) + c);
	every_add(o, every);
	return o;
}

/* ---- all of it ---- */

void vm_limits_restart(struct vm_limits *l)
{
	row_read(l, l->start);
	l->start_ns = monotonic_ns();
}

json_t *vm_limits_json(const struct vm_limits *l, bool first)
{
	json_t *list = json_array(), *o = json_pack("{s:o}", "cgroups", list);

	if (!first)
		row_read(l, l->now);
	for (unsigned int i = 0; i < l->nr; i++)
		if (is_limited(&l->groups[i]))
			json_array_append_new(list, group_json(l, i, first));
	if (first)
		return o;
	json_object_set_new(o, "host", host_json(l));
	json_object_set_new(o, "start_ns", json_integer((json_int_t)l->start_ns));
	json_object_set_new(o, "ns", json_integer((json_int_t)(monotonic_ns() - l->start_ns)));
	if (l->series.nr)
		json_object_set_new(o, "at_ns", series_times(&l->series));
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

/* After the cgroups are known. */
static int rows_open(struct vm_limits *l)
{
	l->cpus = calloc(HOST_CPUS_MAX * CPU_COUNTS, sizeof(*l->cpus));
	if (!l->cpus)
		return fail(-ENOMEM, "out of memory");
	l->nr_cpus = host_cpus_read(&l->host, l->cpus);
	l->columns = cpu_column(l, l->nr_cpus);
	l->start = calloc(l->columns, sizeof(*l->start));
	l->now = calloc(l->columns, sizeof(*l->now));
	if (!l->start || !l->now)
		return fail(-ENOMEM, "out of memory");
	vm_limits_restart(l);
	return 0;
}

struct vm_limits *vm_limits_open(const struct vm *vms, unsigned int nr, bool stays_open)
{
	struct vm_limits *l = calloc(1, sizeof(*l));

	if (!l) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	l->stays_open = stays_open;
	host_load_open(&l->host, stays_open);
	for (unsigned int i = 0; i < nr; i++)
		vm_add(l, &vms[i]);
	if (!rows_open(l))
		return l;
	vm_limits_close(l);
	return NULL;
}

void vm_limits_close(struct vm_limits *l)
{
	if (!l)
		return;
	for (unsigned int i = 0; i < l->nr; i++) {
		reread_close(&l->groups[i].stat);
		reread_close(&l->groups[i].reached);
		for (int k = 0; k < PRESSURES; k++)
			reread_close(&l->groups[i].pressure[k]);
		json_decref(l->groups[i].tids);
		free(l->groups[i].path);
	}
	free(l->groups);
	host_load_close(&l->host);
	series_deinit(&l->series);
	free(l->start);
	free(l->now);
	free(l->cpus);
	free(l);
}
