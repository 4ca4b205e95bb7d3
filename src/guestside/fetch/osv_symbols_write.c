// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The .symbols file beside a tracefile: a line for each address that a backtrace of it holds, in
 * the order in which they are met, so that the trace can be read where the guest's ELF is not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "guestside/fetch/osv_guest.h"
#include "guestside/osv/osv_symbols.h"

enum { ADDRESSES_MAX = 1 << 20 };

struct addresses {
	uint64_t *slot; /* open-addressed; 0: free */
	size_t mask, nr;
};

/* True: it is new. A full table lets nothing in. */
static bool address_add(struct addresses *a, uint64_t address)
{
	size_t h = (size_t)(address * 0x9e3779b97f4a7c15ull >> 24);

	while (a->slot[h & a->mask]) {
		if (a->slot[h & a->mask] == address)
			return false;
		h++;
	}
	if (!address || a->nr == ADDRESSES_MAX)
		return false;
	a->nr++;
	a->slot[h & a->mask] = address;
	return true;
}

/* As OSv's own script: paths relative to the source tree, "None" and "<?>" for what is not known. */
static void line_write(struct elf_names *names, uint64_t address, FILE *out)
{
	struct osv_frame frame[OSV_INLINES_MAX];
	char line[16] = "<?>";

	if (!elf_names_resolve(names, address, false, frame)) {
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

int osv_symbols_write(struct osv_trace *t, const char *elf, FILE *out, uint64_t *ret_nr)
{
	struct addresses seen = {.mask = 2 * ADDRESSES_MAX - 1};
	uint64_t address[OSV_FRAMES_MAX];
	struct elf_names *names = NULL;
	struct osv_sample s;
	int err = elf_names_open(elf, &names);

	seen.slot = calloc(seen.mask + 1, sizeof(*seen.slot));
	if (!err && !seen.slot)
		err = fail(-ENOMEM, "out of memory");
	osv_rewind(t);
	while (!err && osv_next(t, &s) > 0) {
		unsigned int nr = osv_backtrace(&s, address, OSV_FRAMES_MAX);

		for (unsigned int i = 0; i < nr; i++)
			if (address_add(&seen, address[i]))
				line_write(names, address[i], out);
	}
	*ret_nr = seen.nr;
	free(seen.slot);
	elf_names_close(names);
	return err;
}
