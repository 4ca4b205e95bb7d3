// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace baseline: keeps recordings under a name (input/baseline.h), lists and removes them. Recordings are copied as
 * they are; whether they are any is looked at in a process of its own, confined, as every report is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/order.h"
#include "base/safe_path.h"
#include "base/user_rights.h"
#include "commands/common/baseline_table.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "input/baseline.h"
#include "output/report.h"

static bool append;

/* clang-format off */
static const struct option_row baseline_options[] = {
	{0, "append", OPT_FLAG, &append, NULL, "save: add runs to a baseline that exists"},
	{0},
};
/* clang-format on */

/* ---- save ---- */

static bool wants_none(const char *event, void *arg)
{
	(void)event, (void)arg;
	return false;
}

/* The child's part: can all be opened as inputs? The message is printed here. */
static int recordings_open(void)
{
	_cleanup_input_set_ struct input_set *set = NULL;
	int err = command_confine(NULL);

	if (!err)
		err = input_make(false, &set);
	if (!err)
		err = input_set_open(set, wants_none, NULL);
	return err ? command_failed() : EXIT_FINE;
}

/* 0; or the status of the child, which printed why. */
static int recordings_check(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(recordings_open());
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return fail(-errno, "fork: %s", strerror(errno)), command_failed();
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int copy_from(int from, const char *name, FILE *to)
{
	char buf[65536];
	ssize_t len;

	while ((len = read(from, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, (size_t)len, to) != (size_t)len)
			return fail(-errno, "copy of %s: %s", name, strerror(errno));
	return len ? fail(-errno, "%s: %s", name, strerror(errno)) : 0;
}

/* -ENOENT without a message: there is none, which is fine for a companion. */
static int file_copy(const char *from, const char *to)
{
	_cleanup_close_ int fd = open_as_user(from, O_RDONLY | O_CLOEXEC);
	struct new_file f = {0};
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st))
		return fail(-errno, "%s: %s", from, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(-EINVAL,
			    "%s: not a regular file; save what 'hostrace import' makes of it",
			    from);
	int err = new_file_open(&f, to, false);

	return new_file_close(&f, err ? err : copy_from(fd, from, f.file));
}

/* "vm.hrt" -> "vm.guest", "vm.guest2", ... */
static void companion_print(const char *recording, unsigned int nr, char path[PATH_MAX])
{
	size_t len = strlen(recording);
	char number[16] = "";

	if (len > 4 && !strcmp(recording + len - 4, ".hrt"))
		len -= 4;
	if (nr > 1)
		snprintf(number, sizeof(number), "%u", nr);
	snprintf(path, PATH_MAX, "%.*s.guest%s", (int)len, recording, number);
}

static int run_save(const char *recording, const char *name, unsigned int run)
{
	char to[PATH_MAX], from[PATH_MAX], companion[PATH_MAX];
	int err = baseline_run(name, run, to);

	if (!err)
		err = file_copy(recording, to);
	if (err == -ENOENT)
		return fail(err, "%s: %s", recording, strerror(ENOENT));
	for (unsigned int i = 1; !err; i++) {
		companion_print(recording, i, from);
		companion_print(to, i, companion);
		err = file_copy(from, companion);
	}
	return err == -ENOENT ? 0 : err;
}

static int directory_make(const char *path)
{
	_cleanup_free_ char *at = NULL;
	int err = safe_path_resolve(path, &at);

	return !err && safe_path_mkdir(at) && errno != EEXIST
		       ? fail(-errno, "%s: %s", path, strerror(errno))
		       : err;
}

/* With what is above it. */
static int folder_make(const char *name)
{
	char path[PATH_MAX];
	int err = baseline_folder(name, path);

	for (char *slash = strchr(path + 1, '/'); slash && !err; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		err = directory_make(path);
		*slash = '/';
	}
	return err ? err : directory_make(path);
}

/* With its companions. */
static int run_remove(const char *folder, unsigned int run)
{
	char path[PATH_MAX], companion[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%03u.hrt", folder, run);
	for (unsigned int i = 1; i; i++) {
		companion_print(path, i, companion);
		if (safe_path_unlink(companion))
			break;
	}
	return safe_path_unlink(path) ? fail(-errno, "%s: %s", path, strerror(errno)) : 0;
}

/* What was saved of a failed attempt, and the folder if it is empty then. */
static void runs_take_back(const char *name, unsigned int first, unsigned int last)
{
	char folder[PATH_MAX], text[512];
	_cleanup_free_ char *at = NULL;
	int err = error_code();

	snprintf(text, sizeof(text), "%s", error_text());
	if (!baseline_folder(name, folder) && !safe_path_resolve(folder, &at)) {
		for (unsigned int i = first; i <= last; i++)
			run_remove(at, i);
		safe_path_rmdir(at);
	}
	fail(err, "%s", text);
}

/* Under sudo $HOME may be another user's, who could not use a folder of root's there. */
static int home_check(void)
{
	const char *home = getenv("XDG_STATE_HOME") ? NULL : getenv("HOME");
	struct stat st;

	if (!home || stat(home, &st) || st.st_uid == geteuid())
		return 0;
	return fail(-EACCES, "%s is another user's; run it as that user, or set XDG_STATE_HOME",
		    home);
}

static int runs_save(const char *name)
{
	unsigned int number[BASELINE_RUNS_MAX], nr = input_given.files.nr, saved = 0;
	unsigned int runs = baseline_runs(name, number), last = runs ? number[runs - 1] : 0;
	int err = home_check();

	if (err)
		return err;
	if (runs && !append)
		return fail(-EEXIST,
			    "there is a baseline '%s' of %u runs; --append adds to it, "
			    "'hostrace baseline remove %s' removes it",
			    name, runs, name);
	if (last + nr > BASELINE_RUNS_MAX)
		return fail(-E2BIG, "a baseline has at most %d runs", BASELINE_RUNS_MAX);
	err = folder_make(name);
	while (saved < nr && !err) {
		err = run_save(input_given.files.item[saved], name, last + saved + 1);
		saved++;
	}
	if (err)
		runs_take_back(name, last + 1, last + saved);
	else
		command_note("baseline %s: %u run%s", name, runs + nr, runs + nr > 1 ? "s" : "");
	return err;
}

static int action_save(int argc, char **argv)
{
	if (!argc)
		return command_usage("save: missing name of the baseline");
	if (options_unused_check("format output", "on 'baseline save'"))
		return command_usage("%s", error_text());
	if (baseline_name_check(argv[0]) || input_add_args(argc - 1, argv + 1, BASELINE_RUNS_MAX))
		return command_failed();
	if (!input_given.files.nr)
		input_add_file(INPUT_DEFAULT);
	int status = recordings_check();

	if (status)
		return status;
	return runs_save(argv[0]) ? command_failed() : EXIT_FINE;
}

/* ---- list ---- */

struct baseline {
	char name[BASELINE_NAME_MAX + 1];
	uint64_t runs, bytes;
	time_t saved;
};

static struct cell get_saved(struct table *t, const void *at)
{
	const struct baseline *b = at;
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%FT%TZ", gmtime_r(&b->saved, &tm));
	return (struct cell){0, table_text(t, text)};
}

static const struct column_def columns[] = {
	{"name", "name", COL_TEXT, MEMBER(struct baseline, name), .doc = "of the baseline"},
	{"runs", "runs", COL_COUNT, MEMBER(struct baseline, runs), .doc = "its recordings"},
	{"bytes", "bytes", COL_COUNT, MEMBER(struct baseline, bytes), .doc = "their size"},
	{"saved", "saved", COL_TEXT, .get = get_saved, .doc = "when the last one was, in UTC"},
	{0},
};

const struct table_def baseline_table = {"baseline", "list", "a baseline", {columns}};

static void baseline_look(struct baseline *b)
{
	unsigned int number[BASELINE_RUNS_MAX];
	char path[PATH_MAX];
	struct stat st;

	b->runs = baseline_runs(b->name, number);
	for (unsigned int i = 0; i < b->runs; i++) {
		if (baseline_run(b->name, number[i], path) || stat(path, &st))
			continue;
		b->bytes += (uint64_t)st.st_size;
		b->saved = st.st_mtime > b->saved ? st.st_mtime : b->saved;
	}
}

/* Those that have runs; a folder that is not there has none. */
static int baselines_list(struct table *t)
{
	char path[PATH_MAX];
	struct dirent **entry = NULL;
	int err = baseline_folder(NULL, path),
	    nr = err ? 0 : scandir(path, &entry, NULL, alphasort);

	table_open(t, &baseline_table, NULL, NULL);
	if (nr < 0 && errno != ENOENT)
		err = fail(-errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < nr; i++) {
		struct baseline b = {0};

		snprintf(b.name, sizeof(b.name), "%.*s", BASELINE_NAME_MAX, entry[i]->d_name);
		if (!err && !strcmp(b.name, entry[i]->d_name))
			baseline_look(&b);
		if (b.runs)
			err = table_add(t, &b);
		free(entry[i]);
	}
	free(entry);
	return err;
}

static json_t *baseline_head(const struct report *r)
{
	return json_pack("{s:{s:s, s:s}, s:[], s:{s:s, s:i}, s:O}", "hostrace", "version",
			 HOSTRACE_VERSION, "command", r->command, "inputs", "clock", "method",
			 "host", "error_ns", 0, "caveats", r->caveats);
}

static void none_print(const struct report *r)
{
	if (!report_is_json(r))
		fprintf(r->out->file, "no baselines; 'hostrace baseline save NAME' keeps one\n");
}

static int action_list(int argc, char **argv)
{
	json_auto_t *caveats = json_array();
	struct output out;

	if (argc)
		return command_usage("list: unexpected argument '%s'", argv[0]);
	if (options_unused_check("append", "on 'baseline list'"))
		return command_usage("%s", error_text());
	if (output_open(table_formats, &out))
		return command_failed();
	struct report report = {.out = &out,
				.command = command_now->name,
				.wide = out.wide,
				.head = baseline_head,
				.foot = caveats_print,
				.empty = none_print,
				.caveats = caveats};
	struct table t = {0};
	int err = report_table_made(&report, baselines_list(&t), &t);

	return output_end(err, &out, false);
}

/* ---- remove ---- */

/* Only what `save` made. */
static int runs_remove(const char *name, const char *folder, const unsigned int *number,
		       unsigned int runs)
{
	int err = 0;

	for (unsigned int i = 0; i < runs && !err; i++)
		err = run_remove(folder, number[i]);
	if (!err && safe_path_rmdir(folder))
		err = fail(-errno, "baseline %s: %s", name, strerror(errno));
	return err;
}

static int action_remove(int argc, char **argv)
{
	unsigned int number[BASELINE_RUNS_MAX];
	unsigned int runs = argc == 1 ? baseline_runs(argv[0], number) : 0;
	_cleanup_free_ char *at = NULL;
	char path[PATH_MAX];

	if (argc != 1)
		return command_usage("remove: expected one name of a baseline");
	if (options_unused_check("append format output", "on 'baseline remove'"))
		return command_usage("%s", error_text());
	if (!runs) {
		fail(-ENOENT, "no baseline '%.80s'; 'hostrace baseline list' shows those there are",
		     argv[0]);
		return command_failed();
	}
	int err = baseline_folder(argv[0], path);

	if (!err)
		err = safe_path_resolve(path, &at);
	if (!err)
		err = runs_remove(argv[0], at, number, runs);
	return err ? command_failed() : EXIT_FINE;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} actions[] = {{"save", action_save}, {"list", action_list}, {"remove", action_remove}};

static int cmd_baseline(int argc, char **argv)
{
	if (!argc)
		return command_usage("missing action: save, list or remove");
	user_rights_only();
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (!strcmp(argv[0], actions[i].name))
			return actions[i].run(argc - 1, argv + 1);
	return command_usage("unknown action '%s': save, list or remove", argv[0]);
}

static const struct option_row *const options[] = {baseline_options, output_file_options, NULL};

const struct command baseline_command = {
	.name = "baseline",
	.args = "save NAME [FILE...] | list | remove NAME",
	.summary = "Keep recordings under a name, to compare later ones with.",
	.group = "Report",
	.details =
		"The recordings of a baseline are runs of one state of a system: 'hostrace diff\n"
		"NAME now' compares hostrace.hrt with them, 'hostrace report --baseline NAME'\n"
		"shows on the page what changed. They are copied into\n"
		"~/.local/state/hostrace/baselines.",
	.examples = "  hostrace baseline save good run1.hrt run2.hrt run3.hrt\n"
		    "  hostrace diff good now\n"
		    "  hostrace baseline list\n"
		    "  hostrace baseline remove good",
	.options = options,
	.unused = "limit wide",
	.run = cmd_baseline,
};
