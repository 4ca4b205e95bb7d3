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
#include "fetch/osv_names.h"

enum { ADDRESSES_MAX = 1 << 20 };

struct seen_address {
	uint64_t address;
};

/* ---- lines ---- */

/* As OSv's own script: "None" and "<?>" for what is unknown. */
static void line_write(struct osv_names *names, uint64_t address, FILE *out)
{
	struct frame frame;
	char line[16] = "<?>";

	if (!osv_names_find(names, address, OSV_NAME_INNERMOST, &frame)) {
		fprintf(out, "0x%" PRIx64 " None <?> No symbol matches 0x%" PRIx64 ".\n", address,
			address);
		return;
	}
	if (frame.file && frame.line)
		snprintf(line, sizeof(line), "%d", frame.line);
	fprintf(out, "0x%" PRIx64 " %s %s %s\n", address, frame.file ? frame.file : "None", line,
		frame.name);
}

int osv_symbols_write(const struct osv_extracted *x, const char *elf, FILE *out, uint64_t *ret_nr)
{
	struct hash_table seen = HASH_TABLE(struct seen_address, 1, ADDRESSES_MAX);
	uint64_t address[OSV_FRAMES_MAX];
	bool first;
	struct osv_names *names = NULL;
	struct sample sample;
	int err = osv_names_open(elf, &x->modules, &names);

	sample_rewind(x->trace);
	while (!err && sample_next(x->trace, &sample) > 0) {
		unsigned int nr = sample_backtrace(&sample, address, OSV_FRAMES_MAX);

		for (unsigned int i = 0; i < nr; i++)
			if (hash_add_u64(&seen, address[i], &first) && first)
				line_write(names, address[i], out);
	}
	if (!err && seen.refused)
		err = fail(-E2BIG, "backtraces hold more than %d different addresses",
			   ADDRESSES_MAX);
	*ret_nr = seen.nr;
	hash_deinit(&seen);
	osv_names_close(names);
	return err;
}
