// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbols/frame_cache.h"
#include "symbols/osv_symbols.h"
#include "symbols/symbol_map.h"

enum { FILE_SYMBOLS_MAX = 4 << 20, CACHE_SLOTS = 1 << 16 };

struct file_symbol {
	uint64_t address;
	char *name, *file;
	int line;
	size_t nr; /* place in the file: of several of one address the last one counts */
};

struct made_name {
	struct made_name *next;
	char text[];
};

struct osv_symbols {
	struct osv_symbols_options opt;
	const struct osv_trace *trace;
	struct file_symbol *by_file; /* sorted by address */
	size_t nr_by_file;
	struct elf_names *elf;
	struct frame_cache cache; /* of what the ELF file said */
	struct symbol_map *map;
	struct osv_symbol
		*tables[3]; /* of a dump: symbols, segments, modules, each sorted by address */
	unsigned int nr_tables[3];
	struct made_name *made; /* names built here: "app.so+0x12 (0x...)" */
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

static int by_address(const void *a, const void *b)
{
	const struct file_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int file_symbol_add(struct osv_symbols *s, const struct file_symbol *parsed)
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

static int read_symbols_file(struct osv_symbols *s)
{
	char path[4096];
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	unsigned long nr = 0;

	snprintf(path, sizeof(path), "%s.symbols", s->trace->file);
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (!f)
		return fail(-errno, "%s: %s (-S reads it; -e ELF or -x do without)", path,
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

static unsigned int resolve_by_file(struct osv_symbols *s, uint64_t address, struct osv_frame *ret)
{
	size_t lo = 0, hi = s->nr_by_file;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->by_file[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || s->by_file[lo - 1].address != address)
		return 0;
	const struct file_symbol *f = &s->by_file[lo - 1];

	*ret = (struct osv_frame){address, f->name, f->file, f->line};
	return 1;
}

/* ---- a dump's own tables ---- */

static int by_start(const void *a, const void *b)
{
	const struct osv_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int sort_tables(struct osv_symbols *s)
{
	const struct osv_trace *t = s->trace;
	const struct osv_symbol *from[3] = {t->symbols, t->segments, t->modules};
	const unsigned int nr[3] = {t->nr_symbols, t->nr_segments, t->nr_modules};

	for (int i = 0; i < 3; i++) {
		s->tables[i] = calloc(nr[i] + 1u, sizeof(**s->tables));
		if (!s->tables[i])
			return fail(-ENOMEM, "out of memory");
		if (nr[i]) {
			memcpy(s->tables[i], from[i], nr[i] * sizeof(**s->tables));
			qsort(s->tables[i], nr[i], sizeof(**s->tables), by_start);
		}
		s->nr_tables[i] = nr[i];
	}
	return 0;
}

/*
 * The last symbol that begins at or before the address. The original's search takes the one that
 * begins before it, and never the first of a table.
 */
static const struct osv_symbol *table_find(const struct osv_symbols *s, int table, uint64_t address)
{
	unsigned int lo = 0, hi = s->nr_tables[table];

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;
		uint64_t start = s->tables[table][mid].address;

		if (s->opt.compat ? start < address : start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < (s->opt.compat ? 2u : 1u))
		return NULL;
	const struct osv_symbol *f = &s->tables[table][lo - 1];

	return address - f->address < f->size ? f : NULL;
}

static const char *make_name(struct osv_symbols *s, const struct osv_symbol *f, uint64_t address)
{
	size_t size = strlen(f->name) + 64;
	struct made_name *m = malloc(sizeof(*m) + size);

	if (!m)
		return f->name;
	snprintf(m->text, size, "%s+0x%" PRIx64 " (0x%06" PRIx64 ")", f->name, address - f->address,
		 address);
	m->next = s->made;
	s->made = m;
	return m->text;
}

static unsigned int resolve_by_tables(struct osv_symbols *s, uint64_t address,
				      struct osv_frame *ret)
{
	for (int i = 0; i < 3; i++) {
		const struct osv_symbol *f = s->trace->is_dump ? table_find(s, i, address) : NULL;

		if (!f)
			continue;
		*ret = (struct osv_frame){address, make_name(s, f, address),
					  f->file, 0};
		return 1;
	}
	return 0;
}

static unsigned int resolve_by_map(struct osv_symbols *s, uint64_t address, struct osv_frame *ret)
{
	const char *name = symbol_map_find(s->map, address);

	*ret = (struct osv_frame){.address = address, .name = name};
	return name != NULL;
}

/* A file that is not known is "??", as addr2line writes it. */
static unsigned int resolve_by_elf(struct osv_symbols *s, uint64_t address, struct osv_frame *ret)
{
	unsigned int nr;

	if (frame_cache_get(&s->cache, address, ret, &nr))
		return nr;
	nr = elf_names_resolve(s->elf, address, !s->opt.no_inlines, ret);
	for (unsigned int i = 0; i < nr; i++)
		if (!ret[i].file)
			ret[i].file = "??";
	frame_cache_put(&s->cache, address, ret, nr);
	return nr;
}

/* ---- all together ---- */

int osv_symbols_open(const struct osv_trace *t, const struct osv_symbols_options *opt,
		     struct osv_symbols **ret)
{
	_cleanup_(osv_symbols_cleanup_) struct osv_symbols *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->opt = *opt;
	s->trace = t;
	if (!opt->none && opt->use_file)
		err = read_symbols_file(s);
	else if (!opt->none && opt->map)
		err = symbol_map_open(opt->map, &s->map);
	else if (!opt->none && (opt->elf || !t->source))
		err = elf_names_open(opt->elf ? opt->elf : "build/release/loader.elf", &s->elf);
	if (err == -ENOEXEC) /* no table of symbols: an ELF file? */
		err = elf_names_open(opt->map, &s->elf);
	if (!err)
		err = sort_tables(s);
	if (err)
		return err;
	*ret = take_ptr(s);
	return 0;
}

void osv_symbols_close(struct osv_symbols *s)
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
	for (int i = 0; i < 3; i++)
		free(s->tables[i]);
	while (s->made) {
		struct made_name *m = s->made;

		s->made = m->next;
		free(m);
	}
	free(s);
}

unsigned int osv_symbols_resolve(struct osv_symbols *s, uint64_t address,
				 struct osv_frame ret[OSV_INLINES_MAX])
{
	unsigned int nr = 0;

	if (s->opt.none)
		nr = 0;
	else if (s->opt.use_file)
		nr = resolve_by_file(s, address, ret);
	else if (s->map)
		nr = resolve_by_map(s, address, ret);
	else if (s->elf)
		nr = resolve_by_elf(s, address, ret);
	if (!nr && s->trace->source)
		nr = s->trace->source->resolve(s->trace->source_arg, address, s->opt.none, ret);
	if (!nr && !s->opt.none && !s->opt.use_file)
		nr = resolve_by_tables(s, address, ret);
	if (!nr) {
		ret[0] = (struct osv_frame){.address = address};
		nr = 1;
	}
	return nr;
}
