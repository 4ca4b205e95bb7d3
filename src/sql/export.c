// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All tables as those of a database file: it is attached to the connection, and rows are inserted into it as the inputs
 * are read, by one pass for the tables of events (export_events.c), one for those of spans (export_spans.c) and one for
 * each report (export_reports.c). SQLite writes pages as they are filled and keeps few of them. The table "notes" has
 * what answers would say.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "reports/head.h"
#include "sql/fd_vfs.h"
#include "sql/file_table.h"

static int export_failed(struct sql *s, const struct fd_vfs *file, const char *path, int status)
{
	if (s->err) /* whose error message is set */
		return s->err;
	if (file->err)
		return fail(file->err, "%s: %s", path, strerror(-file->err));
	return fail(status == SQLITE_NOMEM ? -ENOMEM : -EIO, "%s: SQLite: %s", path,
		    sqlite3_errmsg(s->db));
}

/* ---- tables ---- */

/* The file is new: what would undo a failed write, and wait for the disk, is not needed. */
static const char attach[] = "ATTACH 'file:database?vfs=hostrace&mode=rwc' AS file;"
			     "PRAGMA file.journal_mode = OFF;"
			     "PRAGMA file.synchronous = OFF;"
			     "PRAGMA file.locking_mode = EXCLUSIVE;"
			     "PRAGMA file.cache_size = -8192;" /* KiB */
			     "BEGIN;"
			     "CREATE TABLE file.notes(about TEXT, note TEXT)";

static int file_attach(struct sql *s)
{
	sqlite3_set_authorizer(s->db, NULL, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 1);
	return sqlite3_exec(s->db, attach, NULL, NULL, NULL);
}

/* Once they have been read to their end. */
static int inputs_notes_write(struct sql *s)
{
	json_auto_t *head = inputs_head(s->in, s->query->command, NULL);

	return head ? notes_write(s, NULL, json_object_get(head, "caveats")) : SQLITE_NOMEM;
}

static int tables_copy(struct sql *s)
{
	int status = file_attach(s);

	if (status == SQLITE_OK)
		status = events_tables_copy(s);
	if (status == SQLITE_OK)
		status = notes_write(s, NULL, s->notes);
	if (status == SQLITE_OK)
		status = spans_tables_copy(s);
	if (status == SQLITE_OK)
		status = reports_tables_copy(s);
	if (status == SQLITE_OK)
		status = inputs_notes_write(s);
	if (status == SQLITE_OK)
		status = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	return status;
}

int sql_export(struct sql *s, int fd, const char *path)
{
	struct fd_vfs file;
	int status = fd_vfs_add(&file, "hostrace", fd), err = 0;

	s->err = 0;
	if (status == SQLITE_OK)
		status = tables_copy(s);
	if (status != SQLITE_OK)
		err = export_failed(s, &file, path, status);
	sqlite3_close(s->db); /* with the file */
	s->db = NULL;
	fd_vfs_remove(&file);
	return err;
}
