// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dumps of record --trigger: PREFIX-TRIGGER-TIME.hrt and its report, .txt. A child writes both:
 * it has the ring as it was when it was forked, and the recorder continues meanwhile. The dumps of
 * earlier runs count, too; one that was moved away does not.
 */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/user_rights.h"
#include "commands/common/command.h"
#include "commands/live/record_trigger.h"

enum {
	REPORT_BYTES = 64 << 10, /* set aside for a report */
	LINE_BYTES = 512,
	EXIT_TOO_LARGE = 2, /* of the child: the dump would exceed --max-disk */
};

/* ---- the journal ---- */

/* sd-daemon(3): "<5>" before a line, if stderr is the journal's. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void journal_note(int priority, const char *fmt, ...)
{
	char text[2 * LINE_BYTES];
	bool quiet = common.quiet;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	common.quiet = false;
	if (stderr_is_journal())
		fprintf(stderr, "<%d>", priority);
	command_note("%s", text);
	common.quiet = quiet;
}

/* ---- which are there ---- */

static int file_add(struct dump_files *d, const char *path)
{
	int err = array_room(d->list, d->nr);
	char *copy = err ? NULL : strdup(path);

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	d->list[d->nr++] = (struct dump_file){copy};
	return 0;
}

/* Calls `use` for each file whose name is that of a dump or its report, and ends in `end`. */
static int dumps_find(struct dump_files *d, const char *end,
		      int (*use)(struct dump_files *d, const char *path))
{
	_cleanup_free_ char *pattern = NULL;
	glob_t found = {0};
	int err = 0;

	if (asprintf(&pattern, "%s-[a-z]*-2*Z*%s", d->prefix, end) < 0)
		return fail(-ENOMEM, "out of memory");
	if (!glob(pattern, GLOB_NOSORT, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc && !err; i++)
			err = use(d, found.gl_pathv[i]);
	globfree(&found);
	return err;
}

/* "x.hrt.123.tmp": what a child left that was killed while it wrote x.hrt. */
static int left_remove(struct dump_files *d, const char *temporary)
{
	size_t len = strlen(temporary) - strlen(".tmp");

	(void)d;
	while (len && temporary[len - 1] != '.')
		len--;

	_cleanup_free_ char *path = strndup(temporary, len ? len - 1 : 0);

	if (!path)
		return fail(-ENOMEM, "out of memory");
	new_file_remove_left(path);
	return 0;
}

int dumps_open(struct dump_files *d)
{
	int err;

	d->prefix = strndup(record_opt.output, (size_t)record_output_stem());
	if (!d->prefix)
		return fail(-ENOMEM, "out of memory");
	err = dumps_find(d, ".tmp", left_remove);
	return err ? err : dumps_find(d, ".hrt", file_add);
}

void dumps_close(struct dump_files *d)
{
	for (size_t i = 0; i < d->nr; i++)
		free(d->list[i].path);
	free(d->list);
	free(d->prefix);
}

/* "x.hrt" -> "x.txt" */
static void report_path(const char *dump, char *buf, size_t size)
{
	snprintf(buf, size, "%.*stxt", (int)strlen(dump) - 3, dump);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Bytes of those that are still there; the others are forgotten, but for one that is being written.
 */
static uint64_t bytes_used(struct dump_files *d)
{
	uint64_t sum = 0;
	size_t kept = 0;

	for (size_t i = 0; i < d->nr; i++) {
		char report[4096];
		struct stat st;

		if (lstat(d->list[i].path, &st)) {
			if (d->child && i == d->nr - 1) {
				d->list[kept++] = d->list[i];
				continue;
			}
			free(d->list[i].path);
			continue;
		}
		report_path(d->list[i].path, report, sizeof(report));
		sum += (uint64_t)st.st_size + size_of(report);
		d->list[kept++] = d->list[i];
	}
	d->nr = kept;
	return sum;
}

/* What a dump may take (0: there is no limit), if there is space at all. */
static bool space_read(struct dump_files *d, uint64_t *ret_bytes)
{
	uint64_t used = bytes_used(d);

	*ret_bytes = 0;
	if (!d->max_bytes)
		return true;
	if (used + 2 * REPORT_BYTES > d->max_bytes)
		return false;
	*ret_bytes = d->max_bytes - used - REPORT_BYTES;
	return true;
}

bool dumps_have_room(struct dump_files *d)
{
	uint64_t bytes;

	return space_read(d, &bytes) && d->nr < d->keep;
}

/* ---- writing one ---- */

static uint64_t realtime_of(uint64_t ns)
{
	return clock_read_ns(CLOCK_REALTIME) - (monotonic_ns() - ns);
}

/*
 * PREFIX-exit-latency-20261122T231500.123Z.hrt; -2, -3, ... where that exists. One that cannot be looked up, as in a
 * directory that was removed, is returned: whoever creates the file reports the error.
 */
static char *path_make(const struct dump_files *d, const struct dump_cause *cause)
{
	uint64_t ns = realtime_of(cause->culprit.end_ns);
	time_t seconds = (time_t)(ns / NS_PER_S);
	char when[32], number[16] = "", *path;
	struct stat st;
	struct tm tm;

	strftime(when, sizeof(when), "%Y%m%dT%H%M%S", gmtime_r(&seconds, &tm));
	for (unsigned int i = 2;; i++) {
		if (asprintf(&path, "%s-%s-%s.%03uZ%s.hrt", d->prefix, cause->name, when,
			     (unsigned int)(ns % NS_PER_S / NS_PER_MS), number) < 0)
			return NULL;
		if (lstat(path, &st))
			return path;
		free(path);
		snprintf(number, sizeof(number), "-%u", i);
	}
}

static void size_limit(uint64_t bytes)
{
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};

	if (!bytes)
		return;
	signal(SIGXFSZ, SIG_IGN); /* the write fails with EFBIG */
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Once in a row. */
static void too_large_note(const struct dump_files *d, const struct dump_cause *cause)
{
	if (!d->logged)
		journal_note(
			4,
			"%s: no dump is written: it would exceed --max-disk; such triggers are "
			"counted from now on; move dumps away: %s-*",
			cause->name, d->prefix);
}

/* In the metadata: what the dump was made for. */
static json_t *trigger_describe(const struct dump_cause *cause)
{
	const struct trigger_culprit *c = &cause->culprit;

	return json_pack("{s:s,s:I,s:I,s:b,s:I,s:i,s:i,s:i,s:s}", "name", cause->name, "min_ns",
			 (json_int_t)cause->min_ns, "value_ns",
			 (json_int_t)(c->end_ns - c->start_ns), "open", c->open, "realtime_ns",
			 (json_int_t)realtime_of(c->end_ns), "pid", (int)c->pid, "tid", (int)c->tid,
			 "vcpu", (int)c->vcpu, "labels", c->labels);
}

/* In the child: its exit status. */
static int child_write(const struct dump_files *d, struct recording *r, const char *path,
		       const struct dump_cause *cause, uint64_t space)
{
	uint64_t start = cause->culprit.start_ns;
	char report[4096], line[LINE_BYTES], next[DUMP_NEXT_BYTES];
	json_t *meta = record_meta_end(r);
	int err;

	json_object_set_new(meta, "trigger", trigger_describe(cause));
	size_limit(space);
	err = trace_writer_dump(r->writer, path,
				start > cause->before_ns ? start - cause->before_ns : 0, meta);
	json_decref(meta);
	if (err == -EFBIG && space && d->child_triggers) {
		too_large_note(d, cause);
		return EXIT_TOO_LARGE;
	}
	if (err) {
		journal_note(3, "%s: cannot write the dump: %s", cause->name, error_text());
		return EXIT_FAILED;
	}
	report_path(path, report, sizeof(report));
	err = dump_report(path, report, cause, line, sizeof(line));
	journal_note(5, "%s; dump: %s; next: hostrace %s -i %s", line, path,
		     dump_next(cause, next, sizeof(next)), path);
	if (err)
		journal_note(4, "%s: cannot write the report: %s", path, error_text());
	return err ? EXIT_FAILED : EXIT_FINE;
}

static void suppress(struct dump_files *d)
{
	d->suppressed += d->child_triggers;
	d->logged = true;
}

int dumps_start(struct dump_files *d, struct recording *r, const struct dump_cause *cause,
		bool always)
{
	uint64_t space;
	char *path;
	int err;

	d->child_triggers = always ? 0 : 1 + cause->nr_more;
	if (!space_read(d, &space) && !always) {
		too_large_note(d, cause);
		suppress(d);
		return 0;
	}
	path = path_make(d, cause);
	err = path ? file_add(d, path) : fail(-ENOMEM, "out of memory");
	if (!err) {
		d->child = fork();
		if (!d->child)
			_exit(child_write(d, r, path, cause, space));
		if (d->child < 0) {
			d->child = 0;
			err = fail(-errno, "fork: %s", strerror(errno));
		}
	}
	free(path);
	return err;
}

/* Reports it, and removes what it had written so far. */
static void child_was_killed(const struct dump_files *d, int signal)
{
	const char *path = d->list[d->nr - 1].path;
	uint64_t begun = user_rights_begin();
	char report[4096], temporary[sizeof(report) + 32];

	report_path(path, report, sizeof(report));
	for (int i = 0; i < 2; i++) {
		snprintf(temporary, sizeof(temporary), "%s.%d.tmp", i ? report : path,
			 (int)d->child);
		unlink(temporary);
	}
	user_rights_end(begun);
	journal_note(3, "%s: not written: its writer was killed by signal %d", path, signal);
}

void dumps_reap(struct dump_files *d, bool wait)
{
	int status;

	if (!d->child || waitpid(d->child, &status, wait ? 0 : WNOHANG) != d->child)
		return;
	if (WIFSIGNALED(status))
		child_was_killed(d, WTERMSIG(status));
	d->child = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TOO_LARGE) {
		suppress(d);
		return;
	}
	d->logged = false;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		d->written++;
	else
		d->failed++;
}
