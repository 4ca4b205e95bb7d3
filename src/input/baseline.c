// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the recordings of baselines are. */
#include "input/baseline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

static const char name_chars[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

int baseline_name_check(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > BASELINE_NAME_MAX || strspn(name, name_chars) != len ||
	    strchr("._-", *name))
		return fail_usage(
			-EINVAL,
			"'%.80s' is no name of a baseline: up to %d letters, digits, '.', "
			"'_' and '-', beginning with a letter or digit",
			name, BASELINE_NAME_MAX);
	if (!strcmp(name, "now") || !strcmp(name, "vs"))
		return fail_usage(-EINVAL, "'%s' has another meaning for 'hostrace diff'", name);
	return 0;
}

int baseline_folder(const char *name, char path[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	bool absolute = state && *state == '/'; /* others are to be ignored: XDG Base Directory Specification */

	if (!absolute && (!home || *home != '/'))
		return fail(-ENOENT,
			    "baselines are kept in $HOME/.local/state, and HOME is not set");
	int len = snprintf(path, PATH_MAX, "%s%s/hostrace/baselines%s%s", absolute ? state : home,
			   absolute ? "" : "/.local/state", name ? "/" : "", name ? name : "");

	return len < PATH_MAX ? 0
			      : fail(-ENAMETOOLONG, "%.80s...: %s", path, strerror(ENAMETOOLONG));
}

int baseline_run(const char *name, unsigned int run, char path[PATH_MAX])
{
	char folder[PATH_MAX];
	int err = baseline_folder(name, folder);

	if (!err && snprintf(path, PATH_MAX, "%s/%03u.hrt", folder, run) >= PATH_MAX)
		err = fail(-ENAMETOOLONG, "%.80s...: %s", folder, strerror(ENAMETOOLONG));
	return err;
}

unsigned int baseline_runs(const char *name, unsigned int number[BASELINE_RUNS_MAX])
{
	char path[PATH_MAX];
	unsigned int nr = 0;
	struct stat st;

	if (baseline_name_check(name))
		return 0;
	for (unsigned int i = 1; i <= BASELINE_RUNS_MAX; i++)
		if (!baseline_run(name, i, path) && !stat(path, &st))
			number[nr++] = i;
	return nr;
}
