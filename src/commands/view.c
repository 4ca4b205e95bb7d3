// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace view: a recording in the browser. hostrace-httpd answers requests on this host only; this process reads the
 * recording, and nothing that comes from the network but paths and parameters, which hostrace-httpd has decoded.
 *
 * Any program of this host could connect, so the URL has a token. A browser's command line can be read by other users:
 * it gets the name of a file that only this user can read, which has the URL.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/temporary.h"
#include "browse/browse.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "confine/confine.h"
#include "exporter/httpd_messages.h"
#include "exporter/server.h"

static uint64_t port;
static const char *socket_path;
static bool no_browser;

/* clang-format off */
static const struct option_row view_command_options[] = {
	{0, "port",       OPT_U64,  &port,        "N",    "serve on this port of 127.0.0.1 (default: any)"},
	{0, "socket",     OPT_TEXT, &socket_path, "PATH", "serve on this Unix socket instead"},
	{0, "no-browser", OPT_FLAG, &no_browser,  NULL,   "only print the address"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, view_command_options, NULL};

enum { TOKEN_BYTES = 16, URL_BYTES = 512 };

struct view_server {
	struct helper httpd;
	struct exporter_socket socket;
	struct input_set *set;
	struct browse *browse;
	char *options; /* of the commands that print what the page has */
	char *notes;   /* the file of notes; NULL: no file is read */
	char token[2 * TOKEN_BYTES + 1], url[URL_BYTES];
	char *message;
	int signals;
	int opener; /* closed when this process ends; -1: no browser is opened */
};

/* ---- the browser ---- */

/* In the child: xdg-open may return before the browser has read the file. */
static void opener_run(int go, const char *url)
{
	const char *folder = getenv("XDG_RUNTIME_DIR") ?: getenv("TMPDIR") ?: "/tmp";
	char path[4096], byte;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	snprintf(path, sizeof(path), "%s/hostrace-XXXXXX.html", folder);
	if (read(go, &byte, 1) != 1 || (fd = mkostemps(path, 5, O_CLOEXEC)) < 0)
		_exit(EXIT_FAILED);
	dprintf(fd, "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" "
		    "content=\"0; url=%s\"><a href=\"%s\">hostrace</a>\n",
		url, url);
	close(fd);
	if (!fork()) {
		signal(SIGINT, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execlp("xdg-open", "xdg-open", path, NULL);
		_exit(EXIT_FAILED);
	}
	while (read(go, &byte, 1) > 0)
		;
	unlink(path);
	_exit(EXIT_FINE);
}

/* Where there is a display; root's browser would not be the user's. */
static bool opener_wanted(void)
{
	return !no_browser && !socket_path && geteuid() &&
	       (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
}

/* Before this process gives up the right to start programs. */
static int opener_start(struct view_server *v)
{
	int ends[2];
	pid_t pid;

	if (!opener_wanted())
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(ends[1]);
		close(v->httpd.fd);
		opener_run(ends[0], v->url);
	}
	close(ends[0]);
	v->opener = ends[1];
	return pid < 0 ? fail(-errno, "fork: %s", strerror(errno)) : 0;
}

/* ---- start ---- */

static int token_make(struct view_server *v)
{
	uint8_t random[TOKEN_BYTES];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return fail(-errno, "getrandom: %s", strerror(errno));
	for (unsigned int i = 0; i < TOKEN_BYTES; i++)
		snprintf(v->token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int server_start(struct view_server *v)
{
	_cleanup_free_ char *address = NULL;
	struct exporter_server server = {.token = v->token};
	int err = token_make(v);

	if (!err && (socket_path ? asprintf(&address, "unix:%s", socket_path)
				 : asprintf(&address, "127.0.0.1:%" PRIu64, port)) < 0)
		err = fail(-ENOMEM, "out of memory");
	server.listen = address;
	if (!err)
		err = exporter_server_start(&server, &v->httpd, v->message);
	if (!err)
		err = exporter_socket_note(&server, &v->socket);
	snprintf(v->url, sizeof(v->url), "http://%s/%s/", socket_path ? "localhost" : v->message,
		 v->token);
	return err;
}

/* A signal ends this process until the recording is read, and the loop then. */
static int recording_read(struct view_server *v)
{
	sigset_t signals;
	int err;

	if (v->socket.path)
		temporary_add(v->socket.path);
	sigprocmask(SIG_BLOCK, NULL, &signals);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	command_progress();
	err = browse_open(v->set, v->options ?: "", v->notes, &v->browse);
	temporary_pause();
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return err;
}

/* NULL: it may not be written, as another user's file is there: the page has the reason, and no notes. */
static const char *notes_writable(const char *path)
{
	_cleanup_confine_paths_ struct confine_paths *paths = path ? confine_paths_new() : NULL;

	return paths && !confine_paths_write(paths, path, false) ? path : NULL;
}

static int view_start(struct view_server *v)
{
	int err;

	v->message = malloc(HELPER_MESSAGE_MAX);
	v->signals = v->message ? exporter_signals_open() : fail(-ENOMEM, "out of memory");
	err = v->signals < 0 ? v->signals : server_start(v);
	if (!err)
		err = opener_start(v);
	command_confine_sends();
	if (!err)
		err = command_confine_two(v->socket.path, notes_writable(v->notes), NULL);
	if (!err)
		err = input_make(true, &v->set);
	return err ? err : recording_read(v);
}

/* ---- requests ---- */

static int head_send(struct view_server *v, const struct browse_answer *a)
{
	uint16_t status = (uint16_t)a->status;
	size_t len = strlen(a->type) + 1;

	memcpy(v->message, &status, sizeof(status));
	memcpy(v->message + sizeof(status), a->type, len);
	return helper_send(&v->httpd, HTTPD_HEAD, v->message, sizeof(status) + len);
}

/* In parts: it may be large. */
static int file_send(struct view_server *v, FILE *file)
{
	ssize_t len;
	int err = 0;

	for (off_t at = 0; !err; at += len) {
		len = pread(fileno(file), v->message, HELPER_MESSAGE_MAX, at);
		if (len < 0)
			return fail(-errno, "temporary file: %s", strerror(errno));
		if (!len)
			return helper_send(&v->httpd, HTTPD_END, NULL, 0);
		err = helper_send(&v->httpd, HTTPD_PART, v->message, (size_t)len);
	}
	return err;
}

static void end_now(void)
{
	temporary_delete_all();
	_exit(EXIT_FINE);
}

/* A signal ends the process also while an answer is made, which may take minutes. hostrace-httpd ends by itself. */
static int answer_make(struct view_server *v, const struct helper_head *head,
		       struct browse_answer *answer)
{
	sigset_t blocked;
	int err;

	temporary_before_end(end_now);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	err = head->kind == HTTPD_ASKED
		      ? browse_answer(v->browse, v->message, head->len, answer)
		      : browse_change(v->browse, v->message, head->len, answer);
	temporary_pause();
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	return err;
}

static int view_request(struct view_server *v)
{
	struct browse_answer answer = {0};
	struct helper_head head;
	int err = helper_receive(&v->httpd, &head, v->message);

	if (!err && head.kind != HTTPD_ASKED && head.kind != HTTPD_POSTED)
		err = fail(-EPROTO, "hostrace-httpd sent an unknown message %u", head.kind);
	if (!err)
		err = answer_make(v, &head, &answer);
	if (!err)
		err = head_send(v, &answer);
	if (!err)
		err = answer.file ? file_send(v, answer.file)
				  : exporter_page_send(&v->httpd, answer.text, answer.len);
	free(answer.text);
	if (answer.file)
		fclose(answer.file);
	return err;
}

static int view_loop(struct view_server *v)
{
	struct pollfd p[2] = {{.fd = v->signals, .events = POLLIN},
			      {.fd = v->httpd.fd, .events = POLLIN}};
	int err = 0;

	while (!err) {
		int nr = poll(p, 2, -1);

		if (nr < 0 && errno != EINTR)
			return fail(-errno, "poll: %s", strerror(errno));
		if (nr > 0 && p[0].revents)
			return 0;
		if (nr > 0 && p[1].revents)
			err = view_request(v);
	}
	return err;
}

static void address_print(struct view_server *v)
{
	progress_end();
	if (socket_path)
		printf("%s on unix:%s\n", v->url, socket_path);
	else
		printf("%s\n", v->url);
	fflush(stdout);
	command_note("stop with ^C");
	if (v->opener >= 0 && write(v->opener, "", 1) != 1)
		command_note("warning: the browser is not opened: %s", strerror(errno));
}

/* "vm.hrt.notes" next to the first input, which may be a folder. NULL: it is a pipe, or there is no memory. */
static char *notes_path(const char *input)
{
	size_t len = strlen(input);
	struct stat st;
	char *path;

	while (len > 1 && input[len - 1] == '/')
		len--;
	if (!strncmp(input, "/dev/", 5) || !strncmp(input, "/proc/", 6) || stat(input, &st) ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return NULL;
	return asprintf(&path, "%.*s.notes", (int)len, input) < 0 ? NULL : path;
}

static int cmd_view(int argc, char **argv)
{
	struct view_server v = {.signals = -1, .opener = -1};
	int err;

	if (port > UINT16_MAX)
		return command_usage("invalid --port %" PRIu64 " (at most %d)", port, UINT16_MAX);
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (!input_given.files.nr)
		input_add_file(INPUT_DEFAULT);
	v.options = input_line_without_times();
	v.notes = notes_path(input_given.files.item[0]);
	err = view_start(&v);
	if (!err)
		address_print(&v);
	if (!err)
		err = view_loop(&v);
	temporary_remove(v.socket.path);
	exporter_socket_remove(&v.socket);
	helper_stop(&v.httpd);
	browse_close(v.browse);
	input_set_close(v.set);
	free(v.options);
	free(v.notes);
	free(v.message);
	close(v.signals);
	close(v.opener);
	return err ? command_failed() : EXIT_FINE;
}

const struct command view_command = {
	.name = "view",
	.args = "[FILE...]",
	.summary = "Show the whole recording in the browser, at any zoom.",
	.group = "Report",
	.details =
		"Serves a page on 127.0.0.1 until ^C, prints its address, which has a token, and\n"
		"opens it with xdg-open where there is a display. vCPUs, threads, virtqueues and\n"
		"guest tasks are tracks as of 'timeline'; reports of any range are those of the\n"
		"commands.",
	.examples = "  hostrace view vm.hrt\n  hostrace view vm.hrt --no-browser --port 8000\n"
		    "  hostrace view --socket /run/user/1000/view.sock vm.hrt",
	.options = options,
	.rules = (const struct option_rule[]){{"port", .unless = "socket"},
					      {"no-browser", .unless = "socket"},
					      {0}},
	.run = cmd_view,
};
