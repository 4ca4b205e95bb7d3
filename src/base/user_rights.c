// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the capabilities over files out of the effective set while something that the caller named is opened. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/user_rights.h"

#define BIT(cap) (UINT64_C(1) << (cap))
#define TO_FILES (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER))

struct caps {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct half[2];
};

static bool caps_read(struct caps *c)
{
	*c = (struct caps){.head = {.version = _LINUX_CAPABILITY_VERSION_3}};
	return !syscall(SYS_capget, &c->head, c->half);
}

static uint64_t effective(const struct caps *c)
{
	return c->half[0].effective | (uint64_t)c->half[1].effective << 32;
}

static void effective_write(struct caps *c, uint64_t caps)
{
	c->half[0].effective = (uint32_t)caps;
	c->half[1].effective = (uint32_t)(caps >> 32);
	syscall(SYS_capset, &c->head, c->half);
}

/* Set if execve() gave this program rights that the caller does not have. */
static bool has_foreign_rights(void)
{
	return getuid() && getauxval(AT_SECURE);
}

uint64_t user_rights_begin(void)
{
	struct caps c;
	uint64_t had;

	if (!has_foreign_rights() || !caps_read(&c))
		return 0;
	had = effective(&c) & TO_FILES;
	if (had)
		effective_write(&c, effective(&c) & ~TO_FILES);
	return had;
}

void user_rights_end(uint64_t begun)
{
	int saved = errno;
	struct caps c;

	if (begun && caps_read(&c))
		effective_write(&c, effective(&c) | begun);
	errno = saved;
}

int open_as_user(const char *path, int flags)
{
	uint64_t begun = user_rights_begin();
	int fd = open(path, flags);

	user_rights_end(begun);
	return fd;
}

void user_rights_only(void)
{
	struct caps c = {.head = {.version = _LINUX_CAPABILITY_VERSION_3}};

	/* execve() made it undumpable: the supervisor of files (confine/), of the same user, could not read it. */
	if (has_foreign_rights() && !syscall(SYS_capset, &c.head, c.half))
		prctl(PR_SET_DUMPABLE, 1);
}

bool user_is_another(void)
{
	return getuid() != geteuid() || getgid() != getegid();
}
