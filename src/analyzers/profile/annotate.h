/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of each instruction of one function, as `perf annotate` shows them: of guest code by the instruction
 * pointers that host_profile.h counts, of the host's by the innermost address of each call chain. A function may be
 * there several times: in the guest and in the host's kernel, in several files of the VMM.
 */
#ifndef HOSTRACE_ANNOTATE_H
#define HOSTRACE_ANNOTATE_H

#include "analyzers/profile/code_maps.h"
#include "base/helper.h"
#include "symbols/code_function.h"

enum {
	ANNOTATE_ADDRESSES_MAX = 1 << 18, /* distinct ones, of the guest and of the host */
	ANNOTATE_FUNCTIONS_MAX = 64,	  /* of one name */
	ANNOTATE_HOTTEST = 5,
};

struct annotate_options {
	const char *symbol; /* without a module's name, or a C++ function's arguments, too */
	struct symbols_options symbols; /* names of the guest's code; with map and elf, elf has the code */
	struct helper *decoder; /* symbols/decoder.h, running; pid 0: code is not decoded */
	int kcore; /* /proc/kcore; 0: not open */
};

struct annotate_function {
	struct code_function at;
	bool guest;
	uint64_t samples;
	const char *no_code; /* why there are no instructions; NULL: there are */
};

struct annotate_row {
	const struct annotate_function *function;
	uint64_t address, samples; /* address: as the code is linked, of the kernel as it runs */
	uint64_t offset;	   /* in the function */
	const char *instruction;   /* NULL: not known */
	const char *file;	   /* NULL: not known */
	int line;
};

struct annotate;

/* `opt` is borrowed. 0 or -errno with the error message set. */
int annotate_new(const struct annotate_options *opt, const struct reader *r, struct annotate **ret);
void annotate_free(struct annotate *a);

/* A sample of guest code; of the host's, by its call chain. `maps` may be NULL. 0 or -errno. */
int annotate_guest(struct annotate *a, uint64_t rip);
int annotate_host(struct annotate *a, const struct event *ev, struct code_maps *maps);

/* After the last sample: finds the function, and decodes it. -ENODATA: no sample is in it. The error message is set. */
int annotate_end(struct annotate *a, struct code_maps *maps);

/*
 * What annotate_end() found, valid as long as `a`: functions by number, that with most samples first, NULL beyond the
 * last; their instructions in the same order.
 */
const struct annotate_function *annotate_found(const struct annotate *a, size_t i);
size_t annotate_rows(const struct annotate *a, const struct annotate_row **ret);

uint64_t annotate_samples(const struct annotate *a); /* all, of whatever code */
uint64_t annotate_unknown(const struct annotate *a); /* of them in code without symbols */
uint64_t annotate_refused(const struct annotate *a); /* beyond the limit of addresses: not counted */

#endif
