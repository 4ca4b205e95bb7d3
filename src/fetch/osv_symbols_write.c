// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The .symbols file next to a tracefile: a line for each address in its backtraces, in
 * the order in which they are met, so that the trace can be read where the guest's ELF is not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "fetch/osv_guest.h"
#include "symbols/symbols.h"

enum { ADDRESSES_MAX = 1 << 20 };

/* The sources of symbols: the kernel, then the modules by their base. */
struct sources {
	struct elf_names *kernel;
	const struct osv_module *module;
	struct elf_names **names; /* of each module; NULL: its file was not found */
	unsigned int nr;
};

struct seen_address {
	uint64_t address;
};

/* ---- modules' files ---- */

static struct elf_names *module_open(const struct osv_module *m, const char *elf)
{
	_cleanup_free_ char *found = m->lost ? NULL : osv_file_find(elf, m->path);
	struct elf_names *names = NULL;

	if (found && elf_names_open_at(found, m->base, &names))
		names = NULL;
	return names;
}

static int sources_open(struct sources *s, const struct osv_extracted *x, const char *elf)
{
	int err = elf_names_open(elf, &s->kernel);

	if (err)
		return err;
	s->module = x->module;
	s->names = calloc(x->nr_modules + 1u, sizeof(*s->names));
	if (!s->names)
		return fail(-ENOMEM, "out of memory");
	s->nr = x->nr_modules;
	for (unsigned int i = 0; i < s->nr; i++)
		s->names[i] = module_open(&x->module[i], elf);
	return 0;
}

static void sources_close(struct sources *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		elf_names_close(s->names[i]);
	free(s->names);
	elf_names_close(s->kernel);
}

static bool resolve(const struct sources *s, uint64_t address, struct frame *ret)
{
	if (elf_names_resolve(s->kernel, address, false, ret))
		return true;
	for (unsigned int i = s->nr; i--;)
		if (s->module[i].base <= address)
			return s->names[i] && elf_names_resolve(s->names[i], address, false, ret);
	return false;
}

/* ---- lines ---- */

/* As OSv's own script: paths relative to the source tree, "None" and "<?>" for what is unknown. */
static void line_write(const struct sources *s, uint64_t address, FILE *out)
{
	struct frame frame[FRAME_INLINES_MAX];
	char line[16] = "<?>";

	if (!resolve(s, address, frame)) {
		fprintf(out, "0x%" PRIx64 " None <?> No symbol matches 0x%" PRIx64 ".\n", address,
			address);
		return;
	}
	const char *file = frame[0].file ? frame[0].file : "None";

	if (frame[0].file && frame[0].line)
		snprintf(line, sizeof(line), "%d", frame[0].line);
	for (const char *up; (up = strstr(file, "../"));)
		file = up + 3;
	fprintf(out, "0x%" PRIx64 " %s %s %s\n", address, file, line, frame[0].name);
}

int osv_symbols_write(const struct osv_extracted *x, const char *elf, FILE *out, uint64_t *ret_nr)
{
	struct hash_table seen = HASH_TABLE(struct seen_address, 1, ADDRESSES_MAX);
	uint64_t address[OSV_FRAMES_MAX];
	bool first;
	struct sources s = {0};
	struct sample sample;
	int err = sources_open(&s, x, elf);

	sample_rewind(x->trace);
	while (!err && sample_next(x->trace, &sample) > 0) {
		unsigned int nr = sample_backtrace(&sample, address, OSV_FRAMES_MAX);

		for (unsigned int i = 0; i < nr; i++)
			if (hash_add_u64(&seen, address[i], &first) && first)
				line_write(&s, address[i], out);
	}
	if (!err && seen.refused)
		err = fail(-E2BIG, "backtraces hold more than %d different addresses",
			   ADDRESSES_MAX);
	*ret_nr = seen.nr;
	hash_deinit(&seen);
	sources_close(&s);
	return err;
}
