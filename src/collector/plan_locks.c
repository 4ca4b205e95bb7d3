// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where QEMU's global mutex is, without symbols of variables: the functions that lock, unlock and
 * wait are exported, and each of them passes the mutex's address to another function. So the only
 * variable whose address it loads into the argument's register is the mutex; texts that it passes
 * are not writable.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/decode.h"
#include "collector/plan_internal.h"

enum { VARIABLES_MAX = 32 };

static const struct lock_function {
	const char *name;
	unsigned int arg; /* that the mutex is passed in */
} functions[] = {
	{"bql_lock_impl", 1}, /* these since QEMU 9.0 */
	{"bql_unlock", 1},
	{"qemu_cond_wait_bql", 2},
	{"qemu_mutex_lock_iothread_impl", 1},
	{"qemu_mutex_unlock_iothread", 1},
	{"qemu_cond_wait_iothread", 2},
};

enum { NR_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* The only writable variable that the function passes; 0 if there is none, or several. */
static uint64_t variable_passed(const struct elf_file *elf, const struct lock_function *f)
{
	uint64_t at[VARIABLES_MAX], found = 0;
	struct elf_symbol symbol;
	const uint8_t *code;
	unsigned int nr = 0;
	size_t len;

	if (!elf_file_symbol(elf, f->name, &symbol) || !symbol.size)
		return 0;
	code = elf_file_bytes(elf, symbol.address, &len);
	if (code)
		nr = decode_variables(code, symbol.size < len ? symbol.size : len, symbol.address,
				      f->arg, at, VARIABLES_MAX);
	for (unsigned int i = 0; i < nr; i++) {
		if (!elf_file_writable(elf, at[i]) || at[i] == found)
			continue;
		if (found)
			return 0;
		found = at[i];
	}
	return found;
}

void plan_locks(const struct elf_file *elf, struct plan *plan)
{
	unsigned int agree = 0;

	plan->entry = elf_file_entry(elf);
	for (unsigned int i = 0; i < NR_FUNCTIONS; i++) {
		uint64_t at = variable_passed(elf, &functions[i]);

		if (!at)
			continue;
		if (plan->global_mutex && at != plan->global_mutex) {
			plan->global_mutex = 0;
			snprintf(plan->lock_note, sizeof(plan->lock_note),
				 "global mutex: not found: %s() passes another variable than the "
				 "functions before it",
				 functions[i].name);
			return;
		}
		plan->global_mutex = at;
		agree++;
	}
	if (agree)
		snprintf(plan->lock_note, sizeof(plan->lock_note),
			 "global mutex: at 0x%" PRIx64 " of the executable, as %u of its functions "
			 "show",
			 plan->global_mutex, agree);
	else
		snprintf(plan->lock_note, sizeof(plan->lock_note),
			 "global mutex: not found: this QEMU does not export the functions that "
			 "lock it");
}
