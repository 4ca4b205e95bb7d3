// SPDX-License-Identifier: GPL-2.0-or-later
/* Collects the paths of inputs, outputs and symbol files from the options, and confines the process to them, once. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "analyzers/profile/code_maps.h"
#include "base/user_rights.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/symbol_options.h"
#include "confine/confine.h"
#include "readers/osv/osv.h"
#include "symbols/module_names.h"

static bool done, starts_programs, sends, terminal, reads_code;

void command_confine_starts_programs(void)
{
	starts_programs = true;
}

void command_confine_sends(void)
{
	sends = true;
}

void command_confine_terminal(void)
{
	terminal = true;
}

void command_confine_reads_code(void)
{
	reads_code = true;
}

/* Separate debug information of an ELF file may be in its folder's .debug. */
static int elf_add(struct confine_paths *p, const char *elf)
{
	const char *slash = strrchr(elf, '/');
	char debug[PATH_MAX];
	int err = confine_paths_read(p, elf);

	snprintf(debug, sizeof(debug), "%.*s.debug", slash ? (int)(slash + 1 - elf) : 0, elf);
	return err ? err : confine_paths_read(p, debug);
}

/* What names a host's own code. Whether there is any is known once the inputs are read. */
static int code_add(struct confine_paths *p)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC),
	    err = confine_paths_read(p, "/sys/kernel/notes");

	input_given.code.kallsyms = fd > 0 ? fd : 0;
	if (!err && input_given.code.root)
		return confine_paths_read(p, input_given.code.root);
	for (size_t i = 0; code_maps_folders[i] && !err; i++)
		err = confine_paths_read(p, code_maps_folders[i]);
	return err;
}

static bool names_code(void)
{
	for (const struct option_row *const *t = command_now->options; *t; t++)
		if (*t == profile_symbol_options)
			return true;
	return reads_code;
}

static int symbols_add(struct confine_paths *p)
{
	const struct symbols_options given = symbols_given();
	const char *const files[] = {given.map, given.elf, OSV_DEFAULT_ELF};
	char module[PATH_MAX];
	int err = names_code() ? code_add(p) : 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !err; i++)
		err = files[i] ? elf_add(p, files[i]) : 0;
	for (unsigned int i = 0; i < given.modules->nr && !err; i++)
		err = elf_add(p, module_file(given.modules->item[i], module, sizeof(module)));
	return err;
}

static int inputs_add(struct confine_paths *p)
{
	static const char *const defaults[] = {INPUT_DEFAULT, "tracefile", "buffers"};
	int err = 0;

	for (unsigned int i = 0; i < input_given.files.nr && !err; i++)
		err = confine_paths_read(p, input_given.files.item[i]);
	for (unsigned int i = 0; i < input_given.guests.nr && !err; i++)
		err = confine_paths_read(p, input_given.guests.item[i]);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults) && !err; i++)
		err = input_given.files.nr ? 0 : confine_paths_read(p, defaults[i]);
	return err;
}

int command_confine(const char *output)
{
	return command_confine_two(output, NULL, NULL);
}

/* Another program's process, or one that is confined: what a confined command opens before. */
static int captured_open(void)
{
	if (names_code() && !input_given.code.kallsyms) {
		int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

		input_given.code.kallsyms = fd > 0 ? fd : 0;
	}
	return 0;
}

int command_confine_two(const char *output, const char *other, const char *made)
{
	_cleanup_confine_paths_ struct confine_paths *p = done ? NULL : confine_paths_new();
	struct confinement c = {.phase = starts_programs ? CONFINE_EXECUTE : CONFINE_READ,
				.sends = sends,
				.terminal = terminal,
				.paths = p};
	int err;

	if (common.capture)
		return captured_open();
	if (done)
		return 0;
	user_rights_only();
	if (!p)
		return -ENOMEM;
	err = confine_paths_temporary(p);
	if (!err)
		err = inputs_add(p);
	if (!err)
		err = symbols_add(p);
	if (!err && output)
		err = confine_paths_write(p, output, false);
	if (!err && other)
		err = confine_paths_write(p, other, false);
	if (!err && made)
		err = confine_paths_made(p, made);
	done = true;
	return err ? err : confine(&c);
}
