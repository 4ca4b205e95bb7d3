// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of notes: read as what another program may have written, replaced as a whole. */
#include "browse/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/new_file.h"
#include "base/order.h"
#include "base/read_full.h"
#include "base/safe_path.h"

#define NOTES_KEY "hostrace_notes"

static const char foreign[] = "%s exists and is not a file of notes that hostrace wrote; it is "
			      "left as it is";

/* ---- reading ---- */

/* -ENOENT without an error message: there is none. */
static int notes_file_open(const char *path)
{
	_cleanup_free_ char *at = NULL;
	struct stat st;
	int fd, err = safe_path_resolve(path, &at);

	if (err)
		return err;
	fd = safe_path_open(at, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 && errno == ELOOP)
		return fail(-EEXIST, "%s is a link, which is not followed", path);
	if (fd < 0)
		return fail(errno == ENOENT ? -EIO : -errno, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    is_trusted_owner(st.st_uid))
		return fd;
	close(fd);
	return fail(-EEXIST, foreign, path);
}

static bool is_note(const json_t *n)
{
	const char *text = json_string_value(json_object_get(n, "text"));
	int64_t from_ns = number_of(n, "from_ns"), to_ns = number_of(n, "to_ns");

	return json_object_size(n) == 3 && json_is_integer(json_object_get(n, "from_ns")) && text &&
	       *text && strlen(text) <= NOTE_TEXT_MAX && from_ns >= 0 && to_ns > from_ns;
}

static bool are_notes(const json_t *file, const json_t *list)
{
	size_t i;
	json_t *n;

	if (number_of(file, NOTES_KEY) != 1 || json_object_size(file) != 2 ||
	    !json_is_array(list) || json_array_size(list) > NOTES_MAX)
		return false;
	json_array_foreach(list, i, n)
		if (!is_note(n))
			return false;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;

	return order_u64((uint64_t)number_of(x, "from_ns"), (uint64_t)number_of(y, "from_ns")) ?:
	       order_u64((uint64_t)number_of(x, "to_ns"), (uint64_t)number_of(y, "to_ns")) ?:
	       strcmp(text_of(x, "text"), text_of(y, "text"));
}

/* Of a file that was written by hand. NULL: no memory. */
static json_t *notes_sorted(json_t *list)
{
	json_t *note[NOTES_MAX], *sorted = json_array();
	size_t nr = json_array_size(list);

	for (size_t i = 0; i < nr; i++)
		note[i] = json_array_get(list, i);
	qsort(note, nr, sizeof(*note), by_time);
	for (size_t i = 0; i < nr; i++)
		json_array_append(sorted, note[i]);
	return sorted;
}

int notes_read(const char *path, json_t **ret)
{
	_cleanup_free_ char *text = malloc(NOTES_FILE_MAX + 1);
	_cleanup_close_ int fd = text ? notes_file_open(path) : fail(-ENOMEM, "out of memory");
	json_t *file = NULL, *list;
	json_error_t why;
	ssize_t len;
	int err = 0;

	*ret = NULL;
	if (fd == -ENOENT)
		return (*ret = json_array()) ? 0 : fail(-ENOMEM, "out of memory");
	if (fd < 0)
		return fd;
	len = read_full(fd, text, NOTES_FILE_MAX + 1);
	if (len < 0)
		return fail((int)len, "%s: %s", path, strerror((int)-len));
	if (len <= NOTES_FILE_MAX)
		file = json_text_load(text, (size_t)len, JSON_REJECT_DUPLICATES, &why);
	list = json_object_get(file, "notes");
	if (!are_notes(file, list))
		err = fail(-EEXIST, foreign, path);
	else if (!(*ret = notes_sorted(list)))
		err = fail(-ENOMEM, "out of memory");
	json_decref(file);
	return err;
}

/* ---- writing ---- */

/* Another view of the recording waits: its folder is locked, as the file is replaced. *ret: -1 if it cannot be. */
static void notes_lock(const char *path, int *ret)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	*ret = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (*ret >= 0)
		flock(*ret, LOCK_EX);
}

static int notes_write(const char *path, json_t *list)
{
	json_t *file = json_pack("{s:i,s:O}", NOTES_KEY, 1, "notes", list);
	struct new_file f;
	int err = file ? new_file_open(&f, path, false) : fail(-ENOMEM, "out of memory");

	if (!err) {
		json_text_put(file, f.file, JSON_PRESERVE_ORDER | JSON_INDENT(1));
		fputc('\n', f.file);
		err = new_file_close(&f, 0);
	}
	json_decref(file);
	return err;
}

/* Where it is, or belongs. */
static size_t note_find(const json_t *list, const struct note *note, bool *ret_is_there)
{
	size_t i;
	json_t *n;

	*ret_is_there = false;
	json_array_foreach(list, i, n) {
		uint64_t from_ns = (uint64_t)number_of(n, "from_ns"),
			 to_ns = (uint64_t)number_of(n, "to_ns");
		int order = strcmp(text_of(n, "text"), note->text);

		*ret_is_there = from_ns == note->from_ns && to_ns == note->to_ns && !order;
		if (*ret_is_there || from_ns > note->from_ns ||
		    (from_ns == note->from_ns &&
		     (to_ns > note->to_ns || (to_ns == note->to_ns && order > 0))))
			break;
	}
	return i;
}

static int note_insert(json_t *list, size_t at, const struct note *note)
{
	json_t *n = json_pack("{s:I,s:I,s:s}", "from_ns", (json_int_t)note->from_ns, "to_ns",
			      (json_int_t)note->to_ns, "text", note->text);

	if (!n)
		return fail(-EINVAL, "the note's text is not UTF-8");
	return json_array_insert_new(list, at, n) ? fail(-ENOMEM, "out of memory") : 0;
}

int notes_add(const char *path, const struct note *note, json_t **ret)
{
	_cleanup_close_ int lock = -1;
	bool is_there = false;
	size_t at;
	int err;

	notes_lock(path, &lock);
	err = notes_read(path, ret);
	at = err ? 0 : note_find(*ret, note, &is_there);

	if (!err && (!*note->text || strlen(note->text) > NOTE_TEXT_MAX))
		err = fail(-EINVAL, "a note has 1 to %d bytes of text", NOTE_TEXT_MAX);
	if (!err && is_there)
		err = fail(-EEXIST, "there is such a note already");
	if (!err && json_array_size(*ret) >= NOTES_MAX)
		err = fail(-E2BIG, "%s has %d notes, the most that are kept; delete some", path,
			   NOTES_MAX);
	if (!err)
		err = note_insert(*ret, at, note);
	return err ? err : notes_write(path, *ret);
}

int notes_delete(const char *path, const struct note *note, json_t **ret)
{
	_cleanup_close_ int lock = -1;
	bool is_there = false;
	size_t at;
	int err;

	notes_lock(path, &lock);
	err = notes_read(path, ret);
	at = err ? 0 : note_find(*ret, note, &is_there);

	if (!err && !is_there)
		err = fail(-ENOENT, "there is no such note");
	if (err)
		return err;
	json_array_remove(*ret, at);
	return notes_write(path, *ret);
}
