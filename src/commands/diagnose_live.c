// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A diagnosis of a running VM. A VM that hangs shows nothing in a recording, so `stuck` looks, too: afterwards, when it
 * sees what was there all the time, and what began meanwhile. Both commands take their privileges, and give them up, as
 * if they were typed.
 */
#include "commands/diagnose_live.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/process.h"
#include "commands/common/command.h"
#include "commands/common/vm_options.h"

enum { FOUND = EXIT_FOUND, ARGS_MAX = 16, ANSWER_MAX = 64 << 20 };

/* The exit status, or -errno with the error message set. */
static int run_self(char *const *words, int out)
{
	char self[PATH_MAX], *argv[ARGS_MAX] = {self_path(self)};
	int status;
	pid_t pid;

	for (int i = 0; words[i] && i + 2 < ARGS_MAX; i++)
		argv[i + 1] = words[i];
	pid = process_start(argv, -1, out, -1, SIGINT);
	if (pid < 0)
		return (int)pid;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static json_t *answer_read(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	_cleanup_free_ char *text = len > 0 && len <= ANSWER_MAX ? malloc((size_t)len) : NULL;
	json_error_t why;

	if (!text || pread(fd, text, (size_t)len, 0) != len)
		return NULL;
	return json_text_load(text, (size_t)len, 0, &why);
}

static json_t *stuck_get(char *pid)
{
	_cleanup_close_ int fd = memfd_create("stuck", MFD_CLOEXEC);
	int status =
		fd < 0 ? -1
		       : run_self((char *[]){"stuck", "--vm", pid, "-q", "-f", "json", NULL}, fd);

	return status == EXIT_FINE || status == FOUND ? answer_read(fd) : NULL;
}

/* What a device's backend holds changes all the time: that of an earlier look counts, too. */
static json_t *looks_join(json_t *before, json_t *after)
{
	if (!after)
		return before;
	json_array_extend(json_object_get(after, "queues"), json_object_get(before, "queues"));
	json_decref(before);
	return after;
}

int diagnose_record(const char *name, uint64_t duration_ns, const char *path, json_t **ret_stuck)
{
	char pid[16], duration[32];
	json_t *before;
	struct vm vm;
	int status = vm_find_given(name, &vm);

	*ret_stuck = NULL;
	if (status)
		return status;
	snprintf(pid, sizeof(pid), "%d", (int)vm.pid);
	snprintf(duration, sizeof(duration), "%" PRIu64 "ns", duration_ns);
	vm_free(&vm);
	before = stuck_get(pid);
	status = run_self((char *[]){"record", "--vm", pid, "--for", "blame,sched,virtio,leaks",
				     "--duration", duration, "-o", (char *)path, "-q", NULL},
			  -1);
	*ret_stuck = looks_join(before, stuck_get(pid));
	if (status > 0)
		return fail(-EIO, "the recording failed; see its message above");
	return status;
}
