// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child takes its privileges, and gives them up, as if its command was typed. It writes into files and not into
 * pipes: whoever records need not read meanwhile.
 */
#include "commands/common/stuck_run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/process.h"
#include "output/stuck_kept.h"

enum { ANSWER_MAX = 16 << 20, ERROR_BYTES = 256, STATUS_FOUND = 3, CHILD_NICE = 5 };

/* A VMM whose memory is a file that nobody serves can hold up who reads it, even after SIGKILL. */
enum { ANSWER_TRIES = 1000, STOP_TRIES = 100, TRY_NS = 20 * 1000 * 1000 };

static void run_close(struct stuck_run *s)
{
	if (s->out >= 0)
		close(s->out);
	if (s->err_out >= 0)
		close(s->err_out);
	*s = (struct stuck_run){.out = -1, .err_out = -1};
}

int stuck_run_start(struct stuck_run *s, pid_t vm)
{
	char self[PATH_MAX], pid[16];
	char *argv[] = {self_path(self), "stuck", "--vm", pid, "-q", "-f", "json", NULL};

	snprintf(pid, sizeof(pid), "%d", (int)vm);
	*s = (struct stuck_run){.out = memfd_create("stuck", MFD_CLOEXEC),
				.err_out = memfd_create("stuck-error", MFD_CLOEXEC),
				.start_ns = monotonic_ns()};
	if (s->out >= 0 && s->err_out >= 0)
		s->pid = process_start(argv, -1, s->out, s->err_out, SIGTERM);
	else
		s->pid = fail(-errno, "memfd_create: %s", strerror(errno));
	if (s->pid < 0) {
		int err = (int)s->pid;

		run_close(s);
		return err;
	}
	setpriority(PRIO_PROCESS, (id_t)s->pid, CHILD_NICE); /* the VM needs its CPUs itself */
	return 0;
}

/* The first line of the error message, without the program's name. */
static json_t *error_read(int fd)
{
	static const char prefix[] = "hostrace: ";
	char text[ERROR_BYTES], *from = text;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, prefix, sizeof(prefix) - 1))
		from += sizeof(prefix) - 1;
	return stuck_kept_error(*from ? from : "hostrace stuck ended without an answer");
}

static json_t *answer_read(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	_cleanup_free_ char *text = len > 0 && len <= ANSWER_MAX ? malloc((size_t)len) : NULL;
	json_auto_t *answer = NULL;
	json_error_t why;

	if (len > ANSWER_MAX)
		return stuck_kept_error("its answer is longer than 16 MiB");
	if (text && pread(fd, text, (size_t)len, 0) == len)
		answer = json_text_load(text, (size_t)len, 0, &why);
	return stuck_kept(answer) ?: stuck_kept_error("its answer cannot be read");
}

/* 0: it has not ended after so many tries. */
static pid_t child_await(pid_t child, int *ret_status, unsigned int tries)
{
	const struct timespec pause = {.tv_nsec = TRY_NS};
	pid_t pid;

	while (!(pid = waitpid(child, ret_status, WNOHANG)) && --tries)
		nanosleep(&pause, NULL);
	return pid;
}

json_t *stuck_run_end(struct stuck_run *s, bool wait)
{
	json_t *kept;
	int status;
	pid_t pid;

	if (s->pid <= 0)
		return NULL;
	pid = child_await(s->pid, &status, wait ? ANSWER_TRIES : 1);
	if (!pid && !wait)
		return NULL;
	if (!pid)
		kept = stuck_kept_error("hostrace stuck did not answer within 20 s");
	else if (pid > 0 && WIFEXITED(status) &&
	    (!WEXITSTATUS(status) || WEXITSTATUS(status) == STATUS_FOUND))
		kept = answer_read(s->out);
	else
		kept = error_read(s->err_out);
	json_object_set_new(kept, "start_ns", json_integer((json_int_t)s->start_ns));
	json_object_set_new(kept, "end_ns", json_integer((json_int_t)monotonic_ns()));
	run_close(s);
	return kept;
}

void stuck_run_stop(struct stuck_run *s)
{
	if (s->pid <= 0)
		return;
	if (!kill(s->pid, SIGTERM) && !child_await(s->pid, NULL, STOP_TRIES))
		kill(s->pid, SIGKILL);
	run_close(s);
}
