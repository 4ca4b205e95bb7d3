// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace export sqlite: the tables of hostrace sql as a database file. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/export_events.h"
#include "sql/sql.h"

int export_sqlite_write(struct input_set *in, const struct new_file *to)
{
	const struct query query = {
		.command = "export", .input = &input_given, .inputs = input_make};
	_cleanup_(sql_cleanup_) struct sql *s = NULL;
	int err = sql_open(&query, in, SQL_MEMORY_DEFAULT, &s);

	return err ? err : sql_export(s, fileno(to->file), to->path);
}
