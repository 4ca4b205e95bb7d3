// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Landlock (Documentation/userspace-api/landlock.rst): no file can be opened, created, renamed or deleted by name but
 * those that libraries read while they work. Inputs and outputs are opened by the supervisor or before. What newer ABIs
 * restrict is numbered here: the system's header may be older than the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "confine/internal.h"

#define FS_ABI1	   ((UINT64_C(1) << 13) - 1) /* EXECUTE to MAKE_SYM */
#define FS_REFER   (UINT64_C(1) << 13)	     /* ABI 2 */
#define FS_TRUNC   (UINT64_C(1) << 14)	     /* ABI 3 */
#define NET_ALL	   UINT64_C(3)		     /* ABI 4: TCP bind and connect */
#define FS_IOCTL   (UINT64_C(1) << 15)	     /* ABI 5 */
#define SCOPE_ALL  UINT64_C(3)		     /* ABI 6: abstract Unix sockets, signals */

struct ruleset {
	uint64_t fs, net, scoped;
};

/* With what is in them. */
static const char *const readable[] = {
	"/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/debug", "/usr/lib/locale",
	"/proc/cpuinfo", "/proc/self", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
	"/dev/urandom", "/dev/null",
};

static int ruleset_create(const struct ruleset *r, size_t size, unsigned int flags)
{
	return (int)syscall(SYS_landlock_create_ruleset, r, size, flags);
}

int landlock_version(void)
{
	int version = ruleset_create(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? version : 0;
}

/* The rights that this version knows, and the size of the structure that it was introduced with. */
static size_t ruleset_fill(int version, struct ruleset *ret)
{
	*ret = (struct ruleset){.fs = FS_ABI1 | (version >= 2 ? FS_REFER : 0) |
				      (version >= 3 ? FS_TRUNC : 0) |
				      (version >= 5 ? FS_IOCTL : 0),
				.net = version >= 4 ? NET_ALL : 0,
				.scoped = version >= 6 ? SCOPE_ALL : 0};
	return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

/* One that cannot be added is one file less. */
static void rule_add(int ruleset, const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.parent_fd = fd};
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return;
	rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
			      (S_ISDIR(st.st_mode) ? LANDLOCK_ACCESS_FS_READ_DIR : 0);
	syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

int landlock_prepare(void)
{
	int version = landlock_version(), fd;
	struct ruleset r;
	size_t size;

	if (!version)
		return -1;
	size = ruleset_fill(version, &r);
	fd = ruleset_create(&r, size, 0);
	for (size_t i = 0; i < sizeof(readable) / sizeof(*readable) && fd >= 0; i++)
		rule_add(fd, readable[i]);
	return fd;
}

int landlock_restrict(int ruleset)
{
	int err;

	if (ruleset < 0)
		return landlock_version()
			       ? fail(-EPERM, "Landlock: cannot create a ruleset")
			       : 0;
	err = syscall(SYS_landlock_restrict_self, ruleset, 0)
		      ? fail(-errno, "Landlock: cannot restrict this process: %s", strerror(errno))
		      : 0;
	close(ruleset);
	return err;
}
