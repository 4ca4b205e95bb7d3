// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A copy of the parts of tracefs that a recording needs, as a guest without any tool can make it with cp and cat:
 *
 *   DIR/events/SYSTEM/NAME/format, DIR/events/header_page
 *   DIR/per_cpu/cpuN/trace_pipe_raw (or DIR/cpuN.raw): pages of the ring buffer; DIR/per_cpu/cpuN/stats
 *   DIR/trace_clock, DIR/saved_cmdlines
 *
 * It becomes a struct tracedat_file whose CPUs have files of their own.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/read_full.h"
#include "readers/ftrace/tracedat.h"
#include "readers/ftrace/tracedat_internal.h"

enum {
	CPUS_TRIED = 1024,
	FORMATS_MAX = 1 << 16,
	PAGE_USUAL = 4096,
};

/* A small file as text, "" if it is not there. To be freed; NULL: no memory. */
static char *text_load(int dir, const char *name, size_t max)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = malloc(max + 1);
	ssize_t n = text && fd >= 0 ? read_full(fd, text, max) : 0;

	if (fd >= 0)
		close(fd);
	if (text)
		text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* "field: char data; offset:16; size:4080;" tells the page's size, "commit; ... size:8" the kernel's long. */
static void header_page_take(struct tracedat_file *f, const char *text)
{
	const char *commit = strstr(text, "commit;"), *data = strstr(text, " data;"),
		   *size = commit ? strstr(commit, "size:") : NULL,
		   *at = data ? strstr(data, "offset:") : NULL,
		   *len = data ? strstr(data, "size:") : NULL;
	unsigned long page;

	f->page_size = PAGE_USUAL;
	if (size)
		f->commit_size = strtoul(size + 5, NULL, 10) == 4 ? 4 : 8;
	page = at && len ? strtoul(at + 7, NULL, 10) + strtoul(len + 5, NULL, 10) : 0;
	if (page >= 512 && page <= FTRACE_PAGE_MAX)
		f->page_size = (uint32_t)page;
}

static int format_take(int system_dir, const char *system, const char *event, unsigned int *nr,
		       struct ftrace_events *events)
{
	char name[300];
	char *text;
	int err = 0;

	if (*event == '.' || (*nr)++ >= FORMATS_MAX)
		return 0;
	snprintf(name, sizeof(name), "%.255s/format", event);
	text = text_load(system_dir, name, FTRACE_FORMAT_MAX);
	if (!text)
		return fail(-ENOMEM, "out of memory");
	if (*text)
		err = ftrace_events_add(events, system, text, strlen(text));
	free(text);
	return err;
}

static DIR *dir_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static int system_take(int events_dir, const char *system, unsigned int *nr,
		       struct ftrace_events *events)
{
	DIR *d = *system == '.' ? NULL : dir_open(events_dir, system);
	struct dirent *e;
	int err = 0;

	while (!err && d && (e = readdir(d)))
		err = format_take(dirfd(d), system, e->d_name, nr, events);
	if (d)
		closedir(d);
	return err;
}

static int formats_take(struct tracedat_file *f, int dir, struct ftrace_events *events)
{
	DIR *d = dir_open(dir, "events");
	unsigned int nr = 0;
	struct dirent *e;
	int err = 0;

	if (!d)
		return fail(-EINVAL, "%s is a directory without events/: not a copy of tracefs",
			    f->path);
	while (!err && (e = readdir(d)))
		err = system_take(dirfd(d), e->d_name, &nr, events);
	closedir(d);
	return err;
}

static int stats_take(int dir, unsigned int cpu, struct tracedat_all_stats *stats)
{
	char name[64], line[TRACEDAT_TEXT_MAX];
	char *text;
	int err = 0;

	snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", cpu);
	text = text_load(dir, name, TRACEDAT_TEXT_MAX / 2);
	if (!text)
		return fail(-ENOMEM, "out of memory");
	snprintf(line, sizeof(line), "CPU: %u\n%s", cpu, text);
	if (*text)
		err = tracedat_stats_take(stats, line);
	free(text);
	return err;
}

static int cpu_take(struct tracedat_file *f, int dir, unsigned int cpu,
		    struct tracedat_all_stats *stats)
{
	static const char *const names[] = {"per_cpu/cpu%u/trace_pipe_raw", "cpu%u.raw", "cpu%u"};
	struct stat st;
	char name[64];
	int fd = -1, err;

	for (size_t i = 0; fd < 0 && i < sizeof(names) / sizeof(names[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(name, sizeof(name), names[i], cpu);
#pragma GCC diagnostic pop
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	}
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return 0;
	}
	err = tracedat_cpu_add(f, cpu, 0, (uint64_t)st.st_size, false);
	if (err) {
		close(fd);
		return err;
	}
	f->cpu[f->nr_cpus - 1].fd = fd;
	f->cpu[f->nr_cpus - 1].bytes = (uint64_t)st.st_size;
	return stats_take(dir, cpu, stats);
}

static int parts_take(struct tracedat_file *f, int dir, struct ftrace_events *events,
		      struct tracedat_all_stats *stats)
{
	char *header = text_load(dir, "events/header_page", TRACEDAT_TEXT_MAX),
	     *clock = text_load(dir, "trace_clock", TRACEDAT_TEXT_MAX);
	int err = header && clock ? formats_take(f, dir, events) : fail(-ENOMEM, "out of memory");

	if (!err) {
		header_page_take(f, header);
		tracedat_clock_take(f, clock);
		f->cmdlines = text_load(dir, "saved_cmdlines", TRACEDAT_SECTION_MAX);
	}
	free(header);
	free(clock);
	for (unsigned int cpu = 0; !err && cpu < CPUS_TRIED; cpu++)
		err = cpu_take(f, dir, cpu, stats);
	if (!err && !f->nr_cpus)
		err = fail(-ENODATA,
			   "%s has no pages (per_cpu/cpu0/trace_pipe_raw, cpu0.raw, ...)",
			   f->path);
	return err;
}

static int dir_read(struct tracedat_file *f, struct trace_info *info, struct ftrace_events *events)
{
	struct tracedat_all_stats stats = {0};
	int dir = open(info->file, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	f->path = info->file;
	f->commit_size = 8;
	if (dir < 0)
		return fail(-errno, "%s: %s", info->file, strerror(errno));
	err = parts_take(f, dir, events, &stats);
	close(dir);
	if (!err)
		tracedat_stats_give(f, &stats);
	free(stats.cpu);
	return err;
}

static int tracefs_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	static const struct tracedat_container folder = {
		.kind = "ftrace pages", .ops = &tracefs_reader, .open = dir_read};

	return tracedat_open_as(&folder, path, hint, ret);
}

const struct reader_ops tracefs_reader = {
	.name = "ftrace pages",
	.summary = "a directory with ftrace's raw pages, one file per CPU, and the formats",
	.directory = true,
	.open = tracefs_open,
	.next = tracedat_next,
	.counts = tracedat_counts,
	.rows = &tracedat_rows,
	.close = tracedat_close,
};
