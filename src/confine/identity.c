// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * User and capabilities. The user is looked up in /etc/passwd itself: the name service may load modules and ask a
 * server.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "confine/internal.h"

enum { NOBODY = 65534, CAPS_MAX = 64 };

#define BIT(cap) (UINT64_C(1) << (cap))

struct identity identity_ordinary(void)
{
	struct identity ret = {NOBODY, NOBODY, "nobody"};
	_cleanup_fclose_ FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw;

	while (f && (pw = fgetpwent(f))) {
		if (!pw->pw_uid || !pw->pw_gid)
			continue;
		if (!strcmp(pw->pw_name, "hostrace"))
			return (struct identity){pw->pw_uid, pw->pw_gid, "hostrace"};
		if (!strcmp(pw->pw_name, "nobody"))
			ret = (struct identity){pw->pw_uid, pw->pw_gid, "nobody"};
	}
	return ret;
}

/* ---- capabilities ---- */

struct caps {
	uint64_t effective, permitted, inheritable;
};

static int caps_get(struct caps *ret)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {0};

	if (syscall(SYS_capget, &head, d))
		return fail(-errno, "cannot read capabilities: %s", strerror(errno));
	*ret = (struct caps){d[0].effective | (uint64_t)d[1].effective << 32,
			     d[0].permitted | (uint64_t)d[1].permitted << 32,
			     d[0].inheritable | (uint64_t)d[1].inheritable << 32};
	return 0;
}

uint64_t identity_caps(void)
{
	struct caps caps = {0};

	return caps_get(&caps) ? 0 : caps.effective;
}

int identity_caps_set(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {
		{.effective = (uint32_t)keep, .permitted = (uint32_t)keep},
		{.effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32)},
	};

	if (syscall(SYS_capset, &head, d))
		return fail(-errno, "cannot drop capabilities: %s", strerror(errno));
	return 0;
}

static bool bounding_has(int cap)
{
	return prctl(PR_CAPBSET_READ, cap) > 0;
}

/* Without CAP_SETPCAP it stays: with no_new_privs it has nothing to bound. */
static int bounding_clear(void)
{
	if (!(identity_caps() & BIT(CAP_SETPCAP)))
		return 0;
	for (int cap = 0; cap < CAPS_MAX; cap++)
		if (bounding_has(cap) && prctl(PR_CAPBSET_DROP, cap))
			return fail(-errno, "cannot drop capability %d from the bounding set: %s",
				    cap, strerror(errno));
	return 0;
}

/* ---- the user ---- */

/* In a user namespace that does not have this user, "root" is an ordinary user outside of it. */
static bool is_mapped(const char *map, unsigned int id)
{
	_cleanup_fclose_ FILE *f = fopen(map, "re");
	unsigned int inside, outside, count;

	while (f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3)
		if (id >= inside && id - inside < count)
			return true;
	return !f;
}

bool identity_droppable(const struct identity *to)
{
	const uint64_t needed = BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP);

	return !geteuid() && (identity_caps() & needed) == needed &&
	       is_mapped("/proc/self/uid_map", to->uid) && is_mapped("/proc/self/gid_map", to->gid);
}

/* Capabilities no longer depend on the user: a change of it clears none, access(2) counts them, root has none. */
static int user_become(const struct identity *to)
{
	const unsigned long bits = SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
				   SECBIT_NOROOT | SECBIT_NOROOT_LOCKED;

	if (prctl(PR_SET_SECUREBITS, bits) || setgroups(0, NULL) ||
	    setresgid(to->gid, to->gid, to->gid) || setresuid(to->uid, to->uid, to->uid))
		return fail(-errno, "cannot become user %s (%u): %s", to->user, to->uid,
			    strerror(errno));
	return 0;
}

int identity_drop(const struct identity *to, uint64_t keep)
{
	uint64_t kept = identity_caps() & keep;
	int err = bounding_clear();

	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = fail(-errno, "cannot set no_new_privs: %s", strerror(errno));
	if (!err && to)
		err = user_become(to);
	if (!err) {
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
		err = identity_caps_set(kept);
	}
	return err;
}

/* ---- reading back ---- */

static int remains(const char *what)
{
	return fail(-EPERM, "cannot drop privileges: %s remained", what);
}

static int user_verify(const struct identity *to)
{
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) || getresgid(&gid[0], &gid[1], &gid[2]))
		return fail(-errno, "cannot read the user: %s", strerror(errno));
	for (int i = 0; i < 3; i++)
		if (uid[i] != to->uid || gid[i] != to->gid)
			return remains("the user");
	if (getgroups(0, NULL))
		return remains("supplementary groups");
	if (!setresuid(0, 0, 0) || !setresgid(0, 0, 0))
		return remains("the right to become root");
	return 0;
}

int identity_verify(const struct identity *to, uint64_t keep)
{
	struct caps caps;
	bool bounded = false;
	int err = to ? user_verify(to) : 0;

	if (!err)
		err = caps_get(&caps);
	if (err)
		return err;
	if ((caps.effective | caps.permitted) & ~keep || caps.inheritable)
		return remains("capabilities");
	for (int cap = 0; cap < CAPS_MAX; cap++) {
		bounded |= bounding_has(cap);
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) > 0)
			return remains("ambient capabilities");
	}
	if (to && bounded)
		return remains("the bounding set");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return remains("the right to gain privileges");
	if (!keep && !identity_caps_set(BIT(CAP_SYS_ADMIN)))
		return remains("the right to raise capabilities");
	return 0;
}
