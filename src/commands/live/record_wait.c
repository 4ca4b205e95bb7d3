// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --wait: a recorder that survives the VM's restart. Each run of the VM is recorded by a child, which waits for
 * the VM, records it and gives up its privileges, as without --wait. The parent keeps its own, only waits for the child
 * and passes signals on to it; it does not read anything.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/vm_options.h"
#include "commands/live/record.h"
#include "vm/select.h"

enum {
	STATUS_AGAIN = 100,	   /* of a child: its VM has ended */
	STATUS_AGAIN_FAILED = 101, /* the same, and a dump was not written: the next ones may be */
};

static bool waits;

/* clang-format off */
const struct option_row record_wait_options[] = {
	{0, "wait", OPT_FLAG, &waits, NULL, "with --trigger and --vm NAME or UUID: wait for the VM, and again when it has ended"},
	{0},
};
/* clang-format on */

bool record_waits(void)
{
	return waits;
}

static bool is_pid(const char *item)
{
	return strspn(item, "0123456789") == strlen(item);
}

int record_wait_check(const struct recording *r)
{
	if (r->argv || !record_opt.vms.nr || !record_has_triggers())
		return fail_usage(-EINVAL, "--wait requires --trigger and --vm, and no command");
	for (unsigned int i = 0; i < record_opt.vms.nr; i++)
		if (is_pid(record_opt.vms.item[i]))
			return fail_usage(
				-EINVAL,
				"--wait: a VM has another PID after its restart; select it "
				"by name or UUID, not by '%s'",
				record_opt.vms.item[i]);
	return 0;
}

/* In the child: until there is what --vm selects. A process that only has its name is reported (-EACCES). */
static int vm_wait(void)
{
	int logged = 0, err = privileges_check();

	while (!err) {
		struct vm *vms = NULL;
		unsigned int nr = 0;

		err = vm_select_given(&record_opt.vms, &vms, &nr);
		vm_list_free(vms, nr);
		if (err != -ESRCH && err != -EACCES)
			break;
		if (logged != err)
			command_note("waiting for VM %s: %s", record_opt.vms.item[0], error_text());
		logged = err;
		err = 0;
		sleep(1);
	}
	return err;
}

static int child_run(struct recording *r, int (*once)(struct recording *r), const sigset_t *mask,
		     pid_t parent)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a parent that is killed passes nothing on */
	if (getppid() != parent)
		return EXIT_FAILED;
	setpgid(0, 0); /* ^C reaches the parent, which passes it on */
	sigprocmask(SIG_SETMASK, mask, NULL);
	status = vm_wait() ? command_failed() : once(r);
	if (r->stop != STOP_VM || (status && !r->dumps_failed))
		return status;
	return status ? STATUS_AGAIN_FAILED : STATUS_AGAIN;
}

/* Until the child ends; *ret_ended is set by a signal that ends the recording. */
static int child_watch(pid_t child, const sigset_t *set, bool *ret_ended)
{
	siginfo_t info;
	int status;

	for (;;) {
		int nr = sigwaitinfo(set, &info);

		if (nr > 0 && nr != SIGCHLD)
			kill(child, nr);
		*ret_ended |= nr > 0 && nr != SIGCHLD && nr != SIGUSR1 &&
			      nr != SIGUSR2;
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
	}
}

int record_wait(struct recording *r, int (*once)(struct recording *r))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
	bool ended = false, again;
	sigset_t set, old;
	pid_t self = getpid();
	int status, result = EXIT_FINE;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	sigaddset(&old, SIGUSR1); /* for a dump; no end while it waits for a VM */
	sigaddset(&old, SIGUSR2);
	do {
		pid_t child = fork();

		if (!child)
			_exit(child_run(r, once, &old, self));
		if (child < 0) {
			fail(-errno, "fork: %s", strerror(errno));
			return command_failed();
		}
		status = child_watch(child, &set, &ended);
		again = WIFEXITED(status) && (WEXITSTATUS(status) == STATUS_AGAIN ||
					      WEXITSTATUS(status) == STATUS_AGAIN_FAILED);
		if (WIFEXITED(status) ? WEXITSTATUS(status) == STATUS_AGAIN_FAILED : !ended)
			result = EXIT_FAILED;
		else if (WIFEXITED(status) && !again && WEXITSTATUS(status))
			result = WEXITSTATUS(status);
	} while (!ended && again);
	return result;
}
