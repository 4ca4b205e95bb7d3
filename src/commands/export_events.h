/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats of `export` that other tools read: the events that `hostrace list` shows, each with all its fields. */
#ifndef HOSTRACE_COMMANDS_EXPORT_EVENTS_H
#define HOSTRACE_COMMANDS_EXPORT_EVENTS_H

#include "base/new_file.h"
#include "fetch/http.h"
#include "input/input_set.h"

struct export_ctf {
	struct new_file stream, metadata;
	char *made; /* the resolved path of a directory that was not there before; NULL: it was */
};

/*
 * Makes the directory, or takes one that is empty or has nothing but an earlier CTF trace of ours, which is replaced.
 * -errno with the error message set.
 */
int export_ctf_open(const char *directory, struct export_ctf *to);
int export_ctf_write(const struct input_set *in, struct export_ctf *to);

/* As new_file_close(). After an error a directory that was made is removed. */
int export_ctf_close(struct export_ctf *to, int err);

/* -EINVAL if the events are of several machines. */
int export_tracedat_write(const struct input_set *in, FILE *out);

/* A database of SQLite with the tables of hostrace sql: to->file, which is new and a regular file. */
int export_sqlite_write(struct input_set *in, const struct new_file *to);

/* What the options give, and the server. */
struct export_clickhouse {
	const char *url, *database;
	struct http_options http;
	bool create, schema;
	uint64_t chunk_rows; /* 0: the default */
	struct clickhouse *server; /* NULL: not open */
};

/* Prints the definitions of the tables. */
void export_clickhouse_schema(FILE *f);

/* Are the options valid? 0 or -EINVAL with the error message set. */
int export_clickhouse_check(struct export_clickhouse *to);

/* Connects, which starts a helper: to be called before command_confine(). */
int export_clickhouse_open(struct export_clickhouse *to);
void export_clickhouse_close(struct export_clickhouse *to);

/* Sends the events to the server, or writes them to `file` if that is not NULL. */
int export_clickhouse_write(struct export_clickhouse *to, const struct input_set *in, FILE *file);

#endif
