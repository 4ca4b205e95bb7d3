// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace top: the counters of `stat` of all VMs, on a screen. The model, the view and the lines are made by
 * views/top; here are the options, the loop and the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/safe_path.h"
#include "collector/collector.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "commands/live/top.h"
#include "commands/live/watch.h"
#include "confine/confine.h"
#include "event/exit_reason.h"
#include "views/top/causes.h"

static struct {
	const char *vm, *snapshot;
	uint64_t interval_ns, duration_ns, count;
	bool batch, queues, tasks;
} opt = {.snapshot = "hostrace-top.txt", .interval_ns = NS_PER_S};

/* clang-format off */
static const struct option_row options[] = {
	{0,   "vm",       OPT_TEXT,     &opt.vm,          "PID|NAME", "only this VM; otherwise all, also those that start later"},
	{0,   "interval", OPT_DURATION, &opt.interval_ns, "T",        "read the counters every T (default: 1s)"},
	{'d', "duration", OPT_SPAN,     &opt.duration_ns, "T",        "stop after this time (10s, 500ms, 2m)"},
	{'b', "batch",    OPT_FLAG,     &opt.batch,       NULL,       "print text, without a screen and keys; also with -f and -o"},
	{'n', "count",    OPT_U64,      &opt.count,       "N",        "stop after N intervals"},
	{0,   "queues",   OPT_FLAG,     &opt.queues,      NULL,       "also show the virtqueues of the VMs that run now; probes QEMU, which costs each request some microseconds"},
	{0,   "guest-tasks", OPT_FLAG,  &opt.tasks,       NULL,       "also show the tasks of the Linux guests that run now, read from their memory at each exit"},
	{0,   "snapshot", OPT_TEXT,     &opt.snapshot,    "FILE",     "key w writes FILE-1.EXT, FILE-2.EXT, ... (default: hostrace-top.txt)"},
	{0},
};
/* clang-format on */

enum { SNAPSHOTS_MAX = 9999 };

struct top {
	struct top_vms vms;
	struct top_queues *queues; /* NULL: not watched */
	struct top_tasks *tasks;   /* the same */
	struct top_causes *causes;
	struct top_model model;
	struct top_view view;
	struct top_frame frame;
	struct top_screen *screen; /* NULL: batch */
	struct output out;	   /* batch */
	struct confine_paths *paths;
	int signals;
	unsigned int snapshots; /* number of the last one */
	uint64_t start_ns, intervals;
	bool utf8, quit;
};

/* ---- frames ---- */

static void clock_print(char *buf, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm) || !strftime(buf, size, "%H:%M:%S", &tm))
		*buf = '\0';
}

static const char *top_note(const struct top *t, char *buf, size_t size)
{
	char tasks[TOP_NOTE_BYTES], queues[64] = "";
	uint64_t lost = top_queues_lost(t->queues);

	/* the others leave no space for it */
	if (t->view.list == TOP_TASKS && top_tasks_why(t->tasks, t->view.pid, buf, size))
		return buf;
	*buf = '\0';
	top_vms_note(&t->vms, buf, size);
	if (lost)
		snprintf(queues, sizeof(queues), "%" PRIu64 " events of virtqueues lost", lost);
	top_note_add(buf, size, queues);
	top_note_add(buf, size, top_tasks_note(t->tasks, tasks, sizeof(tasks)));
	return *buf ? buf : NULL;
}

static int frame_make(struct top *t, struct top_page *page)
{
	char now[16], note[2 * TOP_NOTE_BYTES], cause[TOP_NOTE_BYTES];

	clock_print(now, sizeof(now));
	page->time = now;
	page->note = top_note(t, note, sizeof(note));
	page->cause = NULL;
	if (top_cause_print(&t->view, &t->model, cause, sizeof(cause)))
		page->cause = cause;
	page->utf8 = t->utf8;
	return top_frame_make(&t->frame, &t->view, &t->model, page);
}

static unsigned int rows_per_page(const struct top *t)
{
	struct top_page page = {.note = "its line", .cause = "its line"};

	if (t->screen)
		top_screen_size(t->screen, &page.width, &page.height);
	return top_page_rows(&page);
}

static int top_draw(struct top *t)
{
	struct top_page page = {0};
	int err = top_view_update(&t->view, &t->model);

	top_screen_size(t->screen, &page.width, &page.height);
	if (!err)
		err = frame_make(t, &page);
	if (!err)
		top_screen_draw(t->screen, &t->frame);
	return err;
}

static void frame_write(const struct top_frame *frame, FILE *f)
{
	for (unsigned int i = 0; i < frame->nr; i++) {
		const char *text = frame->line[i].text;
		size_t len = strlen(text);

		while (len && text[len - 1] == ' ')
			len--;
		fprintf(f, "%.*s\n", (int)len, text);
	}
}

static int batch_print(struct top *t)
{
	struct top_page page = {.width = (unsigned int)t->out.width,
				.limit = t->out.limit,
				.plain = true};
	FILE *f = t->out.file;
	int err = 0;

	if (!strcmp(t->out.format, "json")) {
		json_t *line = top_model_json(&t->model);

		err = line ? json_text_put(line, f, JSON_COMPACT) : -1;
		json_decref(line);
		if (err)
			return fail(-ENOMEM, "out of memory");
		fputc('\n', f);
	} else {
		err = top_view_update(&t->view, &t->model);
		if (!err)
			err = frame_make(t, &page);
		if (!err) {
			frame_write(&t->frame, f);
			fputc('\n', f);
		}
	}
	output_flush(&t->out);
	return err;
}

/* ---- snapshots ---- */

/* "hostrace-top-3.txt" */
static void snapshot_name(unsigned int number, char *buf, size_t size)
{
	const char *base = strrchr(opt.snapshot, '/');
	const char *extension = strrchr(base ? base + 1 : opt.snapshot, '.');
	int stem = extension ? (int)(extension - opt.snapshot) : (int)strlen(opt.snapshot);

	snprintf(buf, size, "%.*s-%u%s", stem, opt.snapshot, number, extension ? extension : "");
}

/* A file that did not exist, for this user only. O_EXCL: not through a link. */
static int snapshot_create(struct top *t, char *name, size_t size)
{
	while (t->snapshots < SNAPSHOTS_MAX) {
		_cleanup_free_ char *at = NULL;
		int fd, err;

		snapshot_name(++t->snapshots, name, size);
		err = safe_path_resolve(name, &at);
		if (err)
			return err;
		fd = safe_path_open(at, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return fail(-errno, "cannot create %s: %s", name, strerror(errno));
	}
	return fail(-EEXIST, "%s exists, and so do all numbers before it", name);
}

static int snapshot_write(struct top *t, char *name, size_t size)
{
	struct top_page page = {.plain = true};
	unsigned int height;
	int fd, err;
	FILE *f;

	top_screen_size(t->screen, &page.width, &height);
	err = frame_make(t, &page);
	fd = err ? err : snapshot_create(t, name, size);
	if (fd < 0)
		return fd;
	f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return fail(-ENOMEM, "out of memory");
	}
	frame_write(&t->frame, f);
	err = ferror(f) ? -EIO : 0;
	if (fclose(f))
		err = -errno;
	return err ? fail(err, "cannot write %s: %s", name, strerror(-err)) : 0;
}

static void snapshot(struct top *t)
{
	char name[4096] = "";

	if (snapshot_write(t, name, sizeof(name)))
		snprintf(t->view.message, sizeof(t->view.message), "%s", error_text());
	else
		snprintf(t->view.message, sizeof(t->view.message), "written to %.120s", name);
}

/* ---- the loop ---- */

/* A VM that ended is read for the last time, so that nothing is missing that it did. */
static int read_now(struct top *t)
{
	int err;

	t->model.since_start = t->view.since_start;
	err = top_vms_read(&t->vms, &t->model);
	if (!err)
		top_causes_read(t->causes, &t->vms, &t->model);
	if (!err)
		err = top_queues_read(t->queues, &t->model);
	if (!err)
		err = top_vms_look(&t->vms, &t->model);
	if (!err)
		err = top_causes_follow(t->causes, &t->vms);
	top_tasks_look(t->tasks, &t->vms);
	if (t->vms.only && !t->vms.nr)
		t->quit = true;
	return err;
}

static int keys_read(struct top *t)
{
	int key, err = 0;

	while (!err && !t->quit && (key = top_screen_key(t->screen))) {
		switch (top_view_key(&t->view, key, rows_per_page(t))) {
		case TOP_QUIT:
			t->quit = true;
			break;
		case TOP_SNAPSHOT:
			snapshot(t);
			break;
		case TOP_READ:
			err = read_now(t);
			break;
		default:
			break;
		}
		if (!err)
			err = top_view_update(&t->view, &t->model);
	}
	return err;
}

static void signals_read(struct top *t)
{
	struct signalfd_siginfo info;

	while (read(t->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH && t->screen)
			top_screen_resize(t->screen);
		else if (info.ssi_signo == SIGTSTP && t->screen)
			top_screen_stop(t->screen);
		else if (info.ssi_signo == SIGTSTP)
			raise(SIGSTOP);
		else if (info.ssi_signo != SIGWINCH)
			t->quit = true;
	}
}

/* Waits for that time, a signal or a key. */
static int wait_for(struct top *t, uint64_t until)
{
	struct pollfd p[2] = {{.fd = t->signals, .events = POLLIN},
			      {.fd = t->screen ? STDIN_FILENO : -1, .events = POLLIN}};
	uint64_t now = monotonic_ns(), left = until > now ? until - now : 0;
	struct timespec ts = {.tv_sec = (time_t)(left / NS_PER_S),
			      .tv_nsec = (long)(left % NS_PER_S)};

	if (ppoll(p, 2, &ts, NULL) <= 0)
		return 0;
	if (p[0].revents)
		signals_read(t);
	if (p[1].revents & POLLIN)
		return keys_read(t);
	if (p[1].revents)
		t->quit = true; /* the terminal is gone */
	return 0;
}

static int interval_end(struct top *t)
{
	int err = t->view.paused ? 0 : read_now(t);

	t->intervals++;
	if (opt.count && t->intervals >= opt.count)
		t->quit = true;
	if (err || t->screen)
		return err;
	watch_writing_begin();
	err = batch_print(t);
	watch_writing_end();
	return err;
}

static uint64_t later(uint64_t next)
{
	uint64_t now = monotonic_ns();

	next += opt.interval_ns;
	return next > now ? next : now + opt.interval_ns; /* it was stopped meanwhile */
}

static int top_loop(struct top *t)
{
	uint64_t end, next;
	int err = read_now(t);

	t->start_ns = monotonic_ns();
	end = opt.duration_ns ? t->start_ns + opt.duration_ns : UINT64_MAX;
	next = t->start_ns + opt.interval_ns;
	while (!err && !t->quit && monotonic_ns() < end) {
		if (t->screen)
			err = top_draw(t);
		if (!err)
			err = wait_for(t, next < end ? next : end);
		if (!err && !t->quit && monotonic_ns() >= next) {
			err = interval_end(t);
			next = later(next);
		}
	}
	if (!err && !t->screen && !(t->vms.only && !t->vms.nr) &&
	    (!opt.count || t->intervals < opt.count))
		err = interval_end(t); /* the last one is shorter */
	return err;
}

/* ---- start and end ---- */

static int signals_open(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? fail(-errno, "signalfd: %s", strerror(errno)) : fd;
}

/* A selected VM is only read from mapped memory; others are looked for in /proc, and added to a map of BPF. */
static int confine_now(struct top *t)
{
	struct confinement c = {.phase = t->vms.only ? CONFINE_DRAIN : CONFINE_WATCH,
				.keep = t->vms.only ? 0 : CAPS_KEPT_TO_LOOK,
				.terminal = t->screen};
	const char *path = t->screen ? opt.snapshot : t->out.new_file.path;
	int err = 0;

	if (path) {
		c.paths = t->paths;
		err = t->paths ? confine_paths_write(t->paths, path, t->screen) : -ENOMEM;
	}
	return err ? err : confine(&c);
}

static const char *exit_name(uint32_t reason)
{
	return exit_reason_name(reason, vm_host_isa());
}

static int top_start(struct top *t)
{
	char note[TOP_NOTE_BYTES];
	bool userspace;
	int err = privileges_check();

	if (!err)
		err = top_vms_open(&t->vms, opt.vm, opt.tasks);
	if (err)
		return err;
	err = top_causes_open(&t->vms, &t->causes);
	if (!err && opt.queues)
		err = top_queues_open(&t->vms, &t->queues);
	if (!err && opt.tasks)
		err = top_tasks_open(&t->vms, &t->tasks);
	if (!err && opt.batch && top_tasks_note(t->tasks, note, sizeof(note)))
		command_note("%s", note);
	if (err)
		return err;
	userspace = stat_span(t->vms.stat) == STAT_USERSPACE_EXIT;
	err = top_model_open(&t->model, userspace ? userspace_reason_name : exit_name,
			     true);
	t->model.times_ports = !userspace;
	t->model.has_queues = opt.queues;
	t->model.has_tasks = opt.tasks;
	t->model.has_causes = stat_has_causes(t->vms.stat);
	top_view_init(&t->view);
	tzset();
	if (!err && !opt.batch)
		err = top_screen_open(&t->screen);
	return err ? err : confine_now(t);
}

static int usage_check(int argc, char **argv)
{
	if (argc)
		return command_usage("unexpected argument '%s'; select a VM with --vm", argv[0]);
	if (opt.interval_ns < 10 * NS_PER_MS)
		return command_usage("the interval is too short (at least 10ms)");
	opt.batch |= !output_is("text") || output_file();
	if (!opt.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return command_usage(
			"not a terminal; use --batch, or 'hostrace stat --interval 1s'");
	return 0;
}

static int top_watch(struct top *t)
{
	char ended[64] = "";
	int err = top_start(t);

	if (!err)
		err = top_loop(t);
	if (!err && t->vms.only && !t->vms.nr)
		snprintf(ended, sizeof(ended), "the VM '%.40s' has ended", opt.vm);
	top_screen_close(t->screen); /* messages come after it */
	if (*ended)
		command_note("%s", ended);
	return err;
}

static int cmd_top(int argc, char **argv)
{
	struct top t = {.signals = -1};
	int err = usage_check(argc, argv);

	if (err)
		return err;
	setlocale(LC_CTYPE, "");
	t.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	common.no_pager = true;
	if (opt.batch && output_open("text json", &t.out))
		return command_failed();
	t.paths = confine_paths_new();
	t.signals = signals_open();
	err = t.signals < 0 ? t.signals : top_watch(&t);
	watch_writing_begin();
	if (opt.batch && err)
		output_cancel(&t.out);
	else if (opt.batch)
		err = output_close(&t.out);
	watch_writing_end();
	top_view_close(&t.view);
	top_frame_free(&t.frame);
	top_model_close(&t.model);
	top_causes_close(t.causes);
	top_queues_close(t.queues);
	top_tasks_close(t.tasks);
	top_vms_close(&t.vms);
	confine_paths_free(t.paths);
	close(t.signals);
	return err ? command_failed() : EXIT_FINE;
}

extern const struct command top_command;

const struct command top_command = {
	.name = "top",
	.args = "",
	.summary = "Show exits of running VMs on a live screen.",
	.group = "Live (needs privileges)",
	.details =
		"Shows VMs, their vCPUs, exit reasons, causes and ports with the figures of the "
		"last\n"
		"interval, from counters that are kept in the kernel, as 'stat' does. Enter goes\n"
		"down, Backspace up, ? shows all keys. With --queues also virtqueues, with\n"
		"--guest-tasks tasks of Linux guests.",
	.examples = "  hostrace top\n"
		    "  hostrace top --vm web1 --interval 250ms\n"
		    "  hostrace top --batch -n 1\n"
		    "  hostrace top -f json -d 1m",
	.options = (const struct option_row *const[]){options, vm_user_options, output_file_options,
						      NULL},
	.rules = (const struct option_rule[]){{"limit", .formats = "text"},
					      {"snapshot", .formats = "text",
					       .unless = "batch output"},
					      {0}},
	.run = cmd_top,
};
