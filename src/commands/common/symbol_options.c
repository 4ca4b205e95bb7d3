// SPDX-License-Identifier: GPL-2.0-or-later
/* The storage and rows of --symbols and its kind, and the symbols that they, or files next to the input, name. */
#include <inttypes.h>
#include <limits.h>

#include "commands/common/command.h"
#include "commands/common/compat_option.h"
#include "commands/common/input.h"
#include "commands/common/symbol_options.h"
#include "trigger/watch.h"

static struct {
	bool debug, none, no_inlines, line, address, file, symbols_file;
	const char *elf, *map;
	char saved[PATH_MAX]; /* by `record`, next to the input */
	struct text_list modules;
} symbols;

/* clang-format off */
const struct option_row profile_symbol_options[] = {
	{'d', "debug",            OPT_FLAG, &symbols.debug,        NULL,   "read symbols from build/debug/loader.elf"},
	{'e', "exe",              OPT_TEXT, &symbols.elf,          "FILE", "read symbols from this ELF file (default for OSv traces: build/release/loader.elf)"},
	{0,   "symbols",          OPT_TEXT, &symbols.map,          "FILE", "read symbols from a guest's kallsyms, System.map or ELF file"},
	{0,   "module",           OPT_LIST, &symbols.modules,      "FILE", "the file of a module of an OSv guest, by its base name; GUESTPATH=FILE: by its path; FILE@0xBASE: loaded there; repeatable"},
	{'x', "no-resolve",       OPT_FLAG, &symbols.none,         NULL,   "print addresses instead of names"},
	{0,   "no-inlined-by",    OPT_FLAG, &symbols.no_inlines,   NULL,   "do not show inlined functions"},
	{'L', "show-line-number", OPT_FLAG, &symbols.line,         NULL,   "show line numbers"},
	{'A', "show-address",     OPT_FLAG, &symbols.address,      NULL,   "show addresses with names"},
	{'F', "show-file-name",   OPT_FLAG, &symbols.file,         NULL,   "show file names"},
	{'S', "use-symbols-file", OPT_FLAG, &symbols.symbols_file, NULL,   "read symbols from FILE.symbols in the folder of an OSv trace"},
	{0,   "symfs",            OPT_TEXT, &input_given.code.root, "DIR", "look below DIR for the files whose code a host's call chains name (default: system folders)"},
	{0},
};
/* clang-format on */

const struct option_row symbols_options[] = {
	{0, "symbols", OPT_TEXT, &symbols.map, "FILE",
	 "read symbols from a guest's kallsyms, System.map or ELF file"},
	{'x', "no-resolve", OPT_FLAG, &symbols.none, NULL, "print addresses instead of names"},
	{0},
};

enum { TIME_DIGITS = 8 };

/*
 * record --trigger writes vm-exit-latency-20261122T231500.123Z.hrt for vm.hrt: the length of "vm", 0: that is no such
 * name. A VM's name may contain '-', too: what is before the time must be the name of a trigger.
 */
static size_t dump_stem(const char *input, size_t len)
{
	char name[PATH_MAX], *time = NULL;

	snprintf(name, sizeof(name), "%.*s", (int)len, input);
	for (char *at = strchr(name, '-'); at; at = strchr(at + 1, '-'))
		if (strspn(at + 1, "0123456789") == TIME_DIGITS && at[1 + TIME_DIGITS] == 'T' &&
		    !strchr(at, '/'))
			time = at;
	if (!time)
		return 0;
	*time = '\0';
	for (char *at = strchr(name, '-'); at; at = strchr(at + 1, '-'))
		if (trigger_is_name(at + 1) || !strcmp(at + 1, "signal"))
			return (size_t)(at - name);
	return 0;
}

static bool saved_find(const char *input, size_t len)
{
	snprintf(symbols.saved, sizeof(symbols.saved), "%.*s.guest.kallsyms", (int)len, input);
	return len && !access(symbols.saved, R_OK);
}

/*
 * --symbols, or the file that `record --guest-symbols` saved with the only input: vm.guest.kallsyms for vm.hrt, and
 * for dumps of its triggers. NULL: neither.
 */
static const char *map_given(void)
{
	const char *input = input_given.files.nr ? input_given.files.item[0] : INPUT_DEFAULT;
	size_t len = strlen(input);

	if (symbols.map || symbols.elf || symbols.debug || symbols.symbols_file ||
	    input_given.files.nr > 1)
		return symbols.map;
	if (len > 4 && !strcmp(input + len - 4, ".hrt"))
		len -= 4;
	return saved_find(input, len) || saved_find(input, dump_stem(input, len)) ? symbols.saved
										  : NULL;
}

struct symbols_options symbols_given(void)
{
	return (struct symbols_options){
		.none = symbols.none,
		.use_file = symbols.symbols_file,
		.no_inlines = symbols.no_inlines,
		.compat = compat_given,
		.map = map_given(),
		.modules = &symbols.modules,
		.elf = symbols.elf     ? symbols.elf
		       : symbols.debug ? "build/debug/loader.elf"
				       : NULL,
	};
}

struct frames_options frames_given(void)
{
	return (struct frames_options){
		.symbols = symbols_given(),
		.show_line = symbols.line,
		.show_file = symbols.file,
		.show_address = symbols.address,
		.compat = compat_given,
	};
}

const char *profile_symbol_option_given(void)
{
	return symbols.debug	      ? "--debug"
	       : symbols.no_inlines   ? "--no-inlined-by"
	       : symbols.line	      ? "--show-line-number"
	       : symbols.address      ? "--show-address"
	       : symbols.file	      ? "--show-file-name"
	       : symbols.modules.nr   ? "--module"
	       : symbols.symbols_file ? "--use-symbols-file"
				      : NULL;
}

const char *symbols_option_given(void)
{
	return symbols.map ? "--symbols" : symbols.none ? "--no-resolve" : NULL;
}

int addresses_given(struct addresses **ret)
{
	const char *map = map_given(), *path = map ? map : symbols.elf;

	return path && !symbols.none ? addresses_open(path, ret) : 0;
}

void addresses_unused_note(const struct addresses *a)
{
	uint64_t nr = a ? addresses_without_name(a) : 0;
	const char *map = map_given();

	if (nr)
		command_note("%s has names for 0 of %" PRIu64 " addresses: it is of another kernel "
			     "or program, or was read before the guest was started again",
			     map ? map : symbols.elf, nr);
}
