// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of addresses from a symbol table: a guest's /proc/kallsyms, a kernel's System.map, the output of nm. Each line
 * is "ADDRESS TYPE NAME", optionally followed by "[MODULE]". Such a table has no sizes: a symbol extends to the next
 * one, the last one SYMBOL_REACH bytes.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "event/event.h"
#include "symbols/symbol_map.h"

struct symbol {
	uint64_t address;
	const char *name; /* into the text */
	uint32_t order;	  /* line: the first symbol of an address gives its name */
	bool global;	  /* ... but global symbols precede local ones */
};

struct symbol_map {
	char *text;
	struct symbol *symbol; /* by address, one of each */
	size_t nr;
};

void symbol_map_close(struct symbol_map *m)
{
	if (!m)
		return;
	free(m->text);
	free(m->symbol);
	free(m);
}

/* Code only: text, weak symbols, and BPF programs, which have 't'. */
static bool is_code(char type)
{
	return strchr("tTwWvViI", type) != NULL;
}

/* Cuts the line after name and module, which become "name [module]". False: not a symbol of code. */
static bool line_parse(char *line, struct symbol *ret)
{
	char *p, *name, *end;

	ret->address = strtoull(line, &p, 16);
	if (p == line || p - line > 18 || *p++ != ' ' || !ret->address)
		return false;
	if (!*p || !is_code(*p) || p[1] != ' ')
		return false;
	ret->global = isupper((unsigned char)*p);
	name = p + 2;
	end = name + strcspn(name, " \t\r");
	if (end == name)
		return false;
	if (*end) {
		char *module = end + strspn(end, " \t\r");

		if (*module == '[') {
			*end = ' ';
			memmove(end + 1, module, strlen(module) + 1);
			end += 1 + strcspn(end + 1, "\t\r ");
		}
		*end = '\0';
	}
	text_sanitize(name);
	ret->name = name;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->global != y->global)
		return x->global ? -1 : 1;
	return order_u64(x->order, y->order);
}

static int symbol_insert(struct symbol_map *m, const struct symbol *s)
{
	if (m->nr == SYMBOL_MAP_MAX)
		return fail(-E2BIG, "more than %d symbols", SYMBOL_MAP_MAX);
	if (array_room(m->symbol, m->nr))
		return -ENOMEM;
	m->symbol[m->nr] = *s;
	m->symbol[m->nr].order = (uint32_t)m->nr;
	m->nr++;
	return 0;
}

static void sort(struct symbol_map *m)
{
	size_t to = 0;

	qsort(m->symbol, m->nr, sizeof(*m->symbol), by_address);
	for (size_t i = 0; i < m->nr; i++)
		if (!to || m->symbol[to - 1].address != m->symbol[i].address)
			m->symbol[to++] = m->symbol[i];
	m->nr = to;
}

/* Takes ownership of the text. */
static int map_from_text(char *text, const char *name, struct symbol_map **ret)
{
	_cleanup_(symbol_map_cleanup_) struct symbol_map *m = calloc(1, sizeof(*m));
	struct symbol s = {0};
	int err = 0;

	if (!m) {
		free(text);
		return fail(-ENOMEM, "out of memory");
	}
	m->text = text;
	for (char *line = text, *next; *line && !err; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (line_parse(line, &s))
			err = symbol_insert(m, &s);
	}
	if (!err && !m->nr)
		return fail_hint(fail(-EBADMSG, "%s: no code symbols found", name),
				 "lines are \"ADDRESS TYPE NAME\"; addresses that are all 0 were "
				 "hidden by kernel.kptr_restrict: read the file as root");
	if (err)
		return err;
	sort(m);
	*ret = take_ptr(m);
	return 0;
}

int symbol_map_parse(const char *text, size_t len, const char *name, struct symbol_map **ret)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	memcpy(copy, text, len);
	copy[len] = '\0';
	return map_from_text(copy, name, ret);
}

/* Files in /proc have no size. */
static int file_read(FILE *f, const char *path, char **ret)
{
	size_t len = 0, room = 1 << 20, n = 1;
	_cleanup_free_ char *text = malloc(room);

	while (text && n) {
		if (len + 1 == room) {
			char *more = room < SYMBOL_MAP_BYTES ? realloc(text, room *= 2) : NULL;

			if (!more)
				return fail(-E2BIG, "%s is too large for a symbol table", path);
			text = more;
		}
		n = fread(text + len, 1, room - 1 - len, f);
		if (!len && n >= 4 && !memcmp(text, "\177ELF", 4))
			return fail(-ENOEXEC, "%s is an ELF file", path);
		len += n;
	}
	if (!text || ferror(f))
		return fail(text ? -EIO : -ENOMEM, "cannot read %s", path);
	text[len] = '\0';
	*ret = take_ptr(text);
	return 0;
}

/* Closes the file. */
static int map_from_file(FILE *opened, const char *path, struct symbol_map **ret)
{
	_cleanup_fclose_ FILE *f = opened;
	char *text = NULL;
	int err = f ? file_read(f, path, &text) : fail(-errno, "%s: %s", path, strerror(errno));

	return err ? err : map_from_text(text, path, ret);
}

int symbol_map_open(const char *path, struct symbol_map **ret)
{
	return map_from_file(fopen(path, "re"), path, ret);
}

int symbol_map_read(int fd, const char *name, struct symbol_map **ret)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *f = own < 0 || lseek(own, 0, SEEK_SET) < 0 ? NULL : fdopen(own, "r");

	if (own >= 0 && !f)
		close(own);
	return map_from_file(f, name, ret);
}

const char *symbol_map_range(const struct symbol_map *m, uint64_t address, uint64_t *ret_start,
			     uint64_t *ret_end)
{
	size_t next = array_prefix(m->nr, i, m->symbol[i].address <= address);
	const char *name = symbol_map_find(m, address);

	if (!name)
		return NULL;
	*ret_start = m->symbol[next - 1].address;
	*ret_end = next < m->nr ? m->symbol[next].address : address + 1;
	return name;
}

const char *symbol_map_find(const struct symbol_map *m, uint64_t address)
{
	size_t lo = array_prefix(m->nr, i, m->symbol[i].address <= address);

	if (!lo || address - m->symbol[lo - 1].address >= SYMBOL_REACH)
		return NULL;
	return m->symbol[lo - 1].name;
}
