// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "confine/internal.h"

#define BIT(cap) (UINT64_C(1) << (cap))

#if defined(HOSTRACE_UNCONFINED)
enum { BUILT = 0 };
#else
enum { BUILT = 1 };
#endif

bool confine_built(void)
{
	return BUILT;
}

/* What reads, or also writes, all files: if there is no supervisor to do it. */
static uint64_t caps_instead(const struct confine_paths *p)
{
	return paths_any_write(p) ? BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER)
				  : BIT(CAP_DAC_READ_SEARCH);
}

static bool uses_landlock(enum confine_phase phase)
{
	return phase == CONFINE_DRAIN || phase == CONFINE_READ || phase == CONFINE_SERVE;
}

/*
 * From the filter on, system calls that name a file wait for the supervisor, which has to get the filter's descriptor
 * first. So no handler of a signal may delete a file in between. 0; 1: there can be no supervisor; -errno.
 */
static int supervisor_use(struct supervisor *s)
{
	sigset_t all, before;
	int listener, err;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	listener = calls_supervise();
	err = listener < 0 ? 1 : supervisor_go(s, listener);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

/*
 * The order: the supervisor is a copy of what we are now; no_new_privs comes before what needs it; the list of calls is
 * last. Whether there can be a supervisor is known when its filter is loaded.
 */
static int confine_in_order(struct confinement *c, struct supervisor *s)
{
	const struct identity ordinary = identity_ordinary(),
			      *to = identity_droppable(&ordinary) ? &ordinary : NULL;
	int death = 0, err, ruleset = uses_landlock(c->phase) ? landlock_prepare() : -1;

	prctl(PR_GET_PDEATHSIG, &death);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail(-errno, "cannot set no_new_privs: %s", strerror(errno));
	err = c->paths ? supervisor_use(s) : 0;
	if (err > 0) {
		supervisor_cancel(s);
		c->alone = true;
		c->instead = identity_caps() & caps_instead(c->paths);
		err = 0;
	}
	if (!err)
		err = identity_drop(to, c->keep | c->instead);
	prctl(PR_SET_PDEATHSIG, death); /* a change of user clears it */
	if (!err)
		err = identity_verify(to, c->keep | c->instead);
	if (!err && uses_landlock(c->phase) && !c->alone)
		err = landlock_restrict(ruleset);
	if (!err && c->phase != CONFINE_EXECUTE)
		err = calls_restrict(c, c->phase, paths_any_write(c->paths));
	return err;
}

static int filter_verify(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER
		       ? 0
		       : fail(-EPERM, "cannot restrict system calls: no filter is active");
}

int confine(struct confinement *c)
{
	struct supervisor s = {0};

	file_owner();
	clock_own();
	int err = !BUILT || !c->paths ? 0 : supervisor_start(c->paths, &s);

	if (!BUILT || err)
		return err;
	err = confine_in_order(c, &s);
	return err || c->phase == CONFINE_EXECUTE ? err : filter_verify();
}

int confine_more(const struct confinement *c)
{
	int err = BUILT ? identity_caps_set(c->instead) : 0;

	if (!BUILT || err)
		return err;
	err = identity_verify(NULL, c->instead);
	if (!err && !c->alone)
		err = landlock_restrict(landlock_prepare());
	if (!err)
		err = calls_restrict(c, CONFINE_DRAIN, paths_any_write(c->paths));
	return err ? err : filter_verify();
}

static bool action_available(uint32_t action)
{
	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

void confine_offers(struct confine_offers *ret)
{
	struct identity to = identity_ordinary();

	*ret = (struct confine_offers){.seccomp = action_available(SECCOMP_RET_KILL_PROCESS),
				       .supervisor = action_available(SECCOMP_RET_USER_NOTIF),
				       .landlock = landlock_version(),
				       .uid = to.uid,
				       .user = to.user};
}
