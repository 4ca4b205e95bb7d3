// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A diagnosis of a running VM. A VM that hangs shows nothing in a recording, so `stuck` looks, too: `record` has it do
 * so at its start, and it does so again afterwards, when it sees what was there all the time, and what began meanwhile.
 * Both commands take their privileges, and give them up, as if they were typed.
 */
#include "commands/diagnose_live.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "commands/common/command.h"
#include "commands/common/stuck_run.h"
#include "commands/common/vm_options.h"

enum { ARGS_MAX = 16 };

/* The exit status, or -errno with the error message set. */
static int run_self(char *const *words)
{
	char self[PATH_MAX], *argv[ARGS_MAX] = {self_path(self)};
	int status;
	pid_t pid;

	for (int i = 0; words[i] && i + 2 < ARGS_MAX; i++)
		argv[i + 1] = words[i];
	pid = process_start(argv, -1, -1, -1, SIGINT);
	if (pid < 0)
		return (int)pid;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

int diagnose_record(const char *name, uint64_t duration_ns, const char *path, json_t **ret_stuck)
{
	char pid[16], duration[32];
	struct stuck_run stuck;
	struct vm vm;
	int status = vm_find_given(name, &vm);

	*ret_stuck = NULL;
	if (status)
		return status;
	snprintf(pid, sizeof(pid), "%d", (int)vm.pid);
	snprintf(duration, sizeof(duration), "%" PRIu64 "ns", duration_ns);
	status = run_self((char *[]){"record", "--vm", pid, "--for", "diagnose", "--duration",
				     duration, "-o", (char *)path, "-q", NULL});
	if (!stuck_run_start(&stuck, vm.pid))
		*ret_stuck = stuck_run_end(&stuck, true);
	vm_free(&vm);
	if (status > 0)
		return fail(-EIO, "the recording failed; see its message above");
	return status;
}
