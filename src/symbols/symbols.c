// SPDX-License-Identifier: GPL-2.0-or-later
/* Names from the first source that was requested, and else from the trace itself. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "symbols/code_function.h"
#include "symbols/frame_cache.h"
#include "symbols/module_names.h"
#include "symbols/symbol_map.h"
#include "symbols/symbols.h"

/*
 * Names for the addresses in lists and tables, from a guest's /proc/kallsyms, a System.map, the output of nm, or an
 * ELF file. (Profiles, which also show inlined functions and lines, use
 * symbols/symbols.h.)
 */

struct addresses {
	struct symbol_map *map; /* or */
	struct elf_names *elf;
	uint64_t asked, named;
};

static struct addresses *addresses_new(void)
{
	struct addresses *a = calloc(1, sizeof(*a));

	if (!a)
		fail(-ENOMEM, "out of memory");
	return a;
}

int addresses_open(const char *path, struct addresses **ret)
{
	_cleanup_(addresses_cleanup_) struct addresses *a = addresses_new();
	int err = a ? symbol_map_open(path, &a->map) : -ENOMEM;

	if (err == -ENOEXEC) /* not a symbol table: try it as an ELF file */
		err = elf_names_open(path, &a->elf);
	if (!err)
		*ret = take_ptr(a);
	return err;
}

int addresses_parse(const char *text, size_t len, const char *name, struct addresses **ret)
{
	_cleanup_(addresses_cleanup_) struct addresses *a = addresses_new();
	int err = a ? symbol_map_parse(text, len, name, &a->map) : -ENOMEM;

	if (!err)
		*ret = take_ptr(a);
	return err;
}

void addresses_close(struct addresses *a)
{
	if (!a)
		return;
	symbol_map_close(a->map);
	elf_names_close(a->elf);
	free(a);
}

const char *addresses_name(struct addresses *a, uint64_t address)
{
	struct frame frame[FRAME_INLINES_MAX];
	const char *name = a->map ? symbol_map_find(a->map, address)
			   : elf_names_resolve(a->elf, address, false, frame) ? frame[0].name
									       : NULL;

	a->asked++;
	a->named += name != NULL;
	return name;
}

uint64_t addresses_without_name(const struct addresses *a)
{
	return a->named ? 0 : a->asked;
}

enum { FILE_SYMBOLS_MAX = 4 << 20 };

struct file_symbol {
	uint64_t address;
	char *name, *file;
	int line;
	size_t nr; /* position in the file: of several with one address the last one is used */
};

struct symbols {
	struct symbols_options opt;
	struct sample_resolve resolve;
	struct sample_trace *trace;
	struct file_symbol *by_file; /* sorted by address */
	size_t nr_by_file;
	struct elf_names *elf;
	struct frame_cache cache; /* of frames from the ELF file */
	struct symbol_map *map;
	struct module_names *modules; /* NULL: none */
};

/* ---- the .symbols file: "0xADDR FILE LINE NAME", LINE "<?>" if unknown; FILE may hold blanks then
 * ---- */

static bool parse_line(char *line, struct file_symbol *ret)
{
	char *rest, *unknown;

	line[strcspn(line, "\n")] = 0;
	ret->address = strtoull(line, &rest, 16);
	if (rest == line || *rest++ != ' ')
		return false;
	ret->line = 0;
	unknown = strstr(rest, " <?> ");
	if (unknown) {
		*unknown = 0;
		ret->file = rest;
		ret->name = unknown + 5;
		return true;
	}
	ret->file = rest;
	rest = strchr(rest, ' ');
	if (!rest)
		return false;
	*rest++ = 0;
	ret->line = (int)strtol(rest, &rest, 10);
	if (*rest != ' ')
		return false;
	ret->name = rest + 1;
	return true;
}

ORDER_BY(by_address, struct file_symbol, address, nr)

static int file_symbol_add(struct symbols *s, const struct file_symbol *parsed)
{
	size_t nr = s->nr_by_file;

	if (nr == FILE_SYMBOLS_MAX)
		return fail(-E2BIG, "more than %d symbols", FILE_SYMBOLS_MAX);
	if (array_room(s->by_file, nr))
		return -ENOMEM;
	struct file_symbol *f = &s->by_file[s->nr_by_file++];

	*f = *parsed;
	f->nr = nr;
	f->name = strdup(parsed->name);
	f->file = strcmp(parsed->file, "None") ? strdup(parsed->file) : NULL;
	return f->name ? 0 : fail(-ENOMEM, "out of memory");
}

static int read_symbols_file(struct symbols *s)
{
	char path[4096];
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	unsigned long nr = 0;

	snprintf(path, sizeof(path), "%s.symbols", s->trace->file);
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (!f)
		return fail(-errno, "%s: %s (required by -S; use -e ELF or -x instead)", path,
			    strerror(errno));
	while (getline(&line, &size, f) > 0) {
		struct file_symbol parsed;

		nr++;
		if (!parse_line(line, &parsed))
			return fail(-EBADMSG, "%s: line %lu: not \"0xADDRESS FILE LINE NAME\"",
				    path, nr);
		int err = file_symbol_add(s, &parsed);

		if (err)
			return err;
	}
	if (s->nr_by_file)
		qsort(s->by_file, s->nr_by_file, sizeof(*s->by_file), by_address);
	return 0;
}

static unsigned int resolve_by_file(struct symbols *s, uint64_t address, struct frame *ret)
{
	size_t lo = array_prefix(s->nr_by_file, i, s->by_file[i].address <= address);

	if (!lo || s->by_file[lo - 1].address != address)
		return 0;
	const struct file_symbol *f = &s->by_file[lo - 1];

	*ret = (struct frame){address, f->name, f->file, f->line, NULL};
	return 1;
}

static unsigned int resolve_by_map(struct symbols *s, uint64_t address, struct frame *ret)
{
	const char *name = symbol_map_find(s->map, address);

	*ret = (struct frame){.address = address, .name = name};
	return name != NULL;
}

/* An unknown file is "??", as printed by addr2line. */
static unsigned int resolve_by_elf(struct symbols *s, uint64_t address, struct frame *ret)
{
	unsigned int nr = 0;

	if (frame_cache_get(&s->cache, address, ret, &nr))
		return nr;
	if (s->elf)
		nr = elf_names_resolve(s->elf, address, !s->opt.no_inlines, ret);
	if (!nr && s->modules)
		nr = module_names_resolve(s->modules, address, !s->opt.no_inlines, ret);
	for (unsigned int i = 0; i < nr; i++)
		if (!ret[i].file)
			ret[i].file = "??";
	frame_cache_put(&s->cache, address, ret, nr);
	return nr;
}

/* The default file need not exist for a trace that has names, as a dump of OSv's REST server, or with --module. */
static int elf_open(struct symbols *s, const struct symbols_options *opt)
{
	bool needed = opt->elf || opt->compat ||
		      !(s->trace->has_names || (opt->modules && opt->modules->nr));
	int err = elf_names_open(opt->elf ? opt->elf : s->trace->default_elf, &s->elf);

	return err == -ENOENT && !needed ? 0 : err;
}

/* ---- all together ---- */

int symbols_open(struct sample_trace *t, const struct symbols_options *opt, struct symbols **ret)
{
	_cleanup_(symbols_cleanup_) struct symbols *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->opt = *opt;
	s->resolve = (struct sample_resolve){opt->none, opt->use_file, opt->compat,
					   opt->no_inlines};
	s->trace = t;
	frame_cache_init(&s->cache);
	if (!opt->none && opt->use_file)
		err = read_symbols_file(s);
	else if (!opt->none && opt->map)
		err = symbol_map_open(opt->map, &s->map);
	else if (!opt->none && (opt->elf || t->default_elf))
		err = elf_open(s, opt);
	if (err == -ENOEXEC) /* not a symbol table: try it as an ELF file */
		err = elf_names_open(opt->map, &s->elf);
	if (!err && !opt->none && opt->modules && opt->modules->nr)
		err = module_names_open(t, opt->modules, &s->modules);
	if (err)
		return err;
	*ret = take_ptr(s);
	return 0;
}

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr_by_file; i++) {
		free(s->by_file[i].name);
		free(s->by_file[i].file);
	}
	free(s->by_file);
	elf_names_close(s->elf);
	frame_cache_deinit(&s->cache);
	symbol_map_close(s->map);
	module_names_close(s->modules);
	free(s);
}

unsigned int symbols_resolve(struct symbols *s, uint64_t address,
			     struct frame ret[FRAME_INLINES_MAX])
{
	unsigned int nr = 0;

	if (s->opt.none)
		nr = 0;
	else if (s->opt.use_file)
		nr = resolve_by_file(s, address, ret);
	else if (s->map)
		nr = resolve_by_map(s, address, ret);
	if (!nr && !s->opt.none && (s->elf || s->modules))
		nr = resolve_by_elf(s, address, ret);
	if (!nr)
		nr = s->trace->ops->resolve(s->trace, address, &s->resolve, ret);
	if (!nr) {
		ret[0] = (struct frame){.address = address};
		nr = 1;
	}
	return nr;
}

bool symbols_function(struct symbols *s, uint64_t address, struct code_function *ret)
{
	struct elf_names *elf = s->elf;

	if (s->opt.none)
		return false;
	*ret = (struct code_function){0};
	if (s->map) {
		ret->name = symbol_map_range(s->map, address, &ret->start, &ret->size);
		ret->size -= ret->start;
		return ret->name != NULL;
	}
	if (elf && elf_names_function(elf, address, ret))
		return true;
	elf = s->modules ? module_names_elf(s->modules, address) : NULL;
	return elf && elf_names_function(elf, address, ret);
}
