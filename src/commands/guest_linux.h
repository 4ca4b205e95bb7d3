/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the actions of `hostrace guest` for Linux guests share. */
#ifndef HOSTRACE_GUEST_LINUX_H
#define HOSTRACE_GUEST_LINUX_H

#include <jansson.h>

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

/* For finding the kernel. All RAM takes 1 to 4 minutes for 512 GiB; what is in it may be made to cost time. */
#define GUEST_LINUX_FIND_NS (600ull * 1000000000)

/*
 * Opens the memory of the VM of --vm, and confines the process. -errno with the error message set; *ret is the
 * caller's, also on failure.
 */
int guest_linux_open(const char *action, struct linux_guest *ret);

enum {
	GUEST_LINUX_BYTES_MAX =
		256 << 20, /* of rows that are printed; usual are 20 MiB of symbols, else 1 MiB */
};

struct linux_list {
	const char *action;
	struct linux_guest *g;
	const struct btf_types *types; /* NULL: the action does not need them */
	bool json;
	bool found;	/* the exit status is 3 */
	json_t *result; /* of guest_linux_answer(), with -f json; owned */
	FILE *out;	/* text of a row, until linux_row_end() */

	FILE *file;
	char *text; /* what is in out */
	size_t len;
	uint64_t nr, bytes; /* of rows in the file */
};

/* Given action, json and file; linux_rows_end() is needed also on failure. */
int linux_rows_begin(struct linux_list *l);

/*
 * Writes what was printed to l->out, or with -f json the row (stolen; NULL: out of memory). -E2BIG with the error
 * message set: the list would be longer than GUEST_LINUX_BYTES_MAX, and ends before this row.
 */
int linux_row_end(struct linux_list *l, json_t *row);

/* head: what follows the rows with -f json (stolen); NULL: nothing. */
void linux_rows_end(struct linux_list *l, json_t *head);

/*
 * An action that prints a list; argv: what follows the action. by_types: print() reads it by the guest's BTF. What it
 * wrote is kept also if it returns an error, but for -ESRCH. Returns the exit status.
 */
int guest_linux_list(const char *action, int argc, char **argv, bool by_types,
		     int (*print)(struct linux_list *l));

/* The same of one that prints no rows: to l->file, or sets l->result. */
int guest_linux_answer(const char *action, int argc, char **argv,
		       int (*print)(struct linux_list *l));

#endif
