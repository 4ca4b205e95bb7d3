// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/safe_path.h"
#include "fetch/download_state.h"

enum { STATE_BYTES_MAX = 16384 };

static char *state_name(const char *part)
{
	char *name;

	return asprintf(&name, "%s.json", part) < 0 ? NULL : name;
}

void download_state_remove(const char *part)
{
	_cleanup_free_ char *name = state_name(part);

	if (name)
		safe_path_unlink(name);
}

static json_t *state_read(const char *part)
{
	_cleanup_free_ char *name = state_name(part);
	_cleanup_close_ int fd =
		name ? safe_path_open(name, O_RDONLY | O_NONBLOCK, 0) : -1;
	char text[STATE_BYTES_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return NULL;
	ssize_t len = read(fd, text, sizeof(text));

	return len > 0 ? json_loadb(text, (size_t)len, 0, NULL) : NULL;
}

bool download_state_load(const char *part, const char *url, struct download_state *ret)
{
	json_t *j = state_read(part);
	const char *of = json_string_value(json_object_get(j, "url"));
	const char *validator = json_string_value(json_object_get(j, "validator"));
	json_int_t total = json_integer_value(json_object_get(j, "total"));

	*ret = (struct download_state){0};
	if (of && !strcmp(of, url) && validator && *validator && total > 0 &&
	    strlen(validator) < sizeof(ret->validator) && !strpbrk(validator, "\r\n")) {
		strcpy(ret->validator, validator);
		ret->total = (uint64_t)total;
		ret->resumable = true;
	}
	json_decref(j);
	return ret->resumable;
}

/* Made again under O_EXCL: never through somebody else's file. */
int download_state_save(const char *part, const char *url, const struct download_state *s)
{
	_cleanup_free_ char *name = state_name(part);
	json_t *j;
	int fd, bad;

	if (!name)
		return fail(-ENOMEM, "out of memory");
	safe_path_unlink(name);
	if (!s->resumable)
		return 0;
	fd = safe_path_open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fail(-errno, "%s: %s", name, strerror(errno));
	j = json_pack("{s:s,s:s,s:I}", "url", url, "validator", s->validator, "total",
		      (json_int_t)s->total);
	bad = !j || json_dumpfd(j, fd, JSON_INDENT(1));
	json_decref(j);
	bad |= close(fd) != 0;
	return bad ? fail(-EIO, "cannot write %s", name) : 0;
}
