// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples are counted by address. At the end addresses of the host and of the guest are sorted, each with the function
 * that its symbols name; those of the wanted name are decoded.
 *
 * The code of a file is read from that file, which code_maps.c has checked to be the recorded one; the kernel's from
 * /proc/kcore, since the kernel changes its code when it starts (alternatives, static calls): only if the kernel is the
 * recorded one, as its symbols prove. The guest's is that of the ELF file that the user gives.
 */
#include "analyzers/profile/annotate.h"

#include <errno.h>
#include <inttypes.h>

#include "analyzers/profile/call_chains.h"
#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "symbols/decoder.h"
#include "symbols/running_kernel.h"

struct hot_address {
	uint64_t address, hits;
};

struct sampled {
	uint64_t address, hits;
	bool guest;
	struct annotate_function *function; /* NULL: another one */
};

struct hot_name {
	const char *name;
	uint64_t hits;
};

enum { NAMED_MAX = 16 }; /* functions of a file with the wanted name */

/* A symbol table may have several names for an address, of which samples have one. */
struct named_code {
	struct elf_names *elf; /* NULL: of none yet */
	uint64_t address[NAMED_MAX];
	size_t nr;
};

struct annotate {
	const struct annotate_options *opt;
	struct sample_trace trace; /* has no samples */
	struct symbols *symbols;
	struct elf_names *code; /* of the guest, where its names are a map's; NULL: none */
	struct backtraces *stacks;
	struct hash_table guest, host;
	uint64_t samples, unknown;
	struct sampled *sampled;
	size_t nr_sampled;
	struct annotate_function function[ANNOTATE_FUNCTIONS_MAX];
	struct annotate_function *order[ANNOTATE_FUNCTIONS_MAX]; /* by samples */
	size_t nr_functions;
	struct hot_name hottest[ANNOTATE_HOTTEST];
	struct named_code named;
	struct annotate_row *row;
	size_t nr_rows;
};

/* ---- samples ---- */

static unsigned int resolve_nothing(struct sample_trace *t, uint64_t address,
				    const struct sample_resolve *how, struct frame *ret)
{
	(void)t;
	(void)address;
	(void)how;
	(void)ret;
	return 0;
}

static const struct sample_ops no_samples = {.resolve = resolve_nothing,
					     .close = sample_trace_deinit};

int annotate_new(const struct annotate_options *opt, const struct reader *r, struct annotate **ret)
{
	struct annotate *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return fail(-ENOMEM, "out of memory");
	a->opt = opt;
	a->guest = HASH_TABLE(struct hot_address, 1, ANNOTATE_ADDRESSES_MAX);
	a->host = HASH_TABLE(struct hot_address, 1, ANNOTATE_ADDRESSES_MAX);
	err = sample_trace_init(&a->trace, r->info.file, r->info.kind, &no_samples);
	if (!err)
		err = backtraces_open(&a->stacks);
	if (!err)
		err = symbols_open(&a->trace, &opt->symbols, &a->symbols);
	if (!err && opt->symbols.map && opt->symbols.elf)
		err = elf_names_open(opt->symbols.elf, &a->code);
	if (err)
		annotate_free(a);
	else
		*ret = a;
	return err;
}

void annotate_free(struct annotate *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->nr_rows; i++)
		free((char *)a->row[i].instruction);
	free(a->row);
	free(a->sampled);
	symbols_close(a->symbols);
	elf_names_close(a->code);
	backtraces_close(a->stacks);
	sample_trace_deinit(&a->trace);
	hash_deinit(&a->guest);
	hash_deinit(&a->host);
	free(a);
}

static int address_count(struct annotate *a, struct hash_table *t, uint64_t address)
{
	struct hot_address *x = hash_add_u64(t, address, NULL);

	a->samples++;
	if (x)
		x->hits++;
	return 0;
}

int annotate_guest(struct annotate *a, uint64_t rip)
{
	return address_count(a, &a->guest, rip);
}

int annotate_host(struct annotate *a, const struct event *ev, struct code_maps *maps)
{
	uint64_t address[CALL_CHAINS_FRAMES_MAX];
	unsigned int nr = call_chain_frames(ev, a->stacks, maps, address);

	return address_count(a, &a->host, nr ? address[0] - 1 : 0);
}

/* ---- functions ---- */

static int sampled_add(struct annotate *a, const struct hash_table *t, bool guest)
{
	const struct hot_address *x;
	int err = 0;

	for (uint32_t at = 0; !err && (x = hash_next(t, &at));)
		err = array_add(a->sampled, a->nr_sampled,
				((struct sampled){x->address, x->hits, guest, NULL}));
	return err;
}

static int by_side_and_address(const void *a, const void *b)
{
	const struct sampled *x = a, *y = b;

	return order_u64(x->guest, y->guest) ?: order_u64(x->address, y->address);
}

/* "vcpu_enter_guest" of "vcpu_enter_guest [kvm]", "foo" of "foo(int)". */
static bool is_wanted(const char *name, const char *symbol)
{
	size_t len = strlen(symbol);

	return !strncmp(name, symbol, len) &&
	       (!name[len] || name[len] == '(' || !strncmp(name + len, " [", 2));
}

static bool function_find(struct annotate *a, struct code_maps *maps, const struct sampled *s,
			  struct code_function *ret)
{
	if (s->guest)
		return symbols_function(a->symbols, s->address, ret);
	return maps && code_maps_function(maps, s->address, ret);
}

/* Also by another name of the same address, which it gets, and by one that is not demangled. */
static bool function_is_wanted(struct annotate *a, struct code_function *at)
{
	struct named_code *n = &a->named;

	if (is_wanted(at->name, a->opt->symbol))
		return true;
	if (at->elf && n->elf != at->elf) { /* functions are in order of their files */
		n->elf = at->elf;
		n->nr = elf_names_addresses(at->elf, a->opt->symbol, n->address, NAMED_MAX);
	}
	if (!at->elf || !array_any(n->nr, i, n->address[i] == at->elf_start))
		return false;
	at->name = a->opt->symbol;
	return true;
}

/* The names with most samples, for the error message. */
static void hottest_note(struct annotate *a, const char *name, uint64_t hits)
{
	struct hot_name here = {name, hits};

	for (size_t i = 0; i < ANNOTATE_HOTTEST; i++) {
		struct hot_name *h = &a->hottest[i];

		if (here.hits > h->hits) {
			struct hot_name less = *h;

			*h = here;
			here = less;
		}
	}
}

/* Those in the function of the first one; `end`: after the last of its side. Returns their number. */
static size_t function_fill(struct annotate *a, size_t from, const struct code_function *at,
			    struct annotate_function *f)
{
	const bool guest = a->sampled[from].guest;
	uint64_t hits = 0;
	size_t i = from;

	for (; i < a->nr_sampled && a->sampled[i].guest == guest &&
	       a->sampled[i].address - at->start < at->size;
	     i++) {
		a->sampled[i].function = f;
		hits += a->sampled[i].hits;
	}
	if (f)
		f->samples = hits;
	hottest_note(a, at->name, hits);
	return i - from;
}

static void functions_find(struct annotate *a, struct code_maps *maps)
{
	struct code_function at;

	for (size_t i = 0; i < a->nr_sampled;) {
		struct annotate_function *f = NULL;

		if (!function_find(a, maps, &a->sampled[i], &at)) {
			a->unknown += a->sampled[i++].hits;
			continue;
		}
		if (function_is_wanted(a, &at) && a->nr_functions < ANNOTATE_FUNCTIONS_MAX) {
			f = &a->function[a->nr_functions++];
			*f = (struct annotate_function){.at = at, .guest = a->sampled[i].guest};
		}
		i += function_fill(a, i, &at, f);
	}
}

static int function_missing(const struct annotate *a, const struct code_maps *maps)
{
	char names[512] = "", files[CODE_MAPS_MISSING_BYTES];

	for (size_t i = 0; i < ANNOTATE_HOTTEST && a->hottest[i].hits; i++) {
		size_t len = strlen(names);

		snprintf(names + len, sizeof(names) - len, "%s%.80s", len ? ", " : "",
			 a->hottest[i].name);
	}
	fail(-ENODATA, "no sample is in '%s' (of %" PRIu64 " samples, %" PRIu64 " have no symbol)",
	     a->opt->symbol, a->samples, a->unknown);
	if (maps && code_maps_missing(maps, files))
		fail_hint(-ENODATA, "code without names: %s", files);
	return *names ? fail_hint(-ENODATA, "functions with most samples: %s", names)
		      : fail_hint(-ENODATA, "--symbols FILE or -e ELF names the guest's code");
}

/* ---- code ---- */

/* Where a map names the guest's code, the ELF file has it at another address, as the kernel chooses its own. */
static void guest_code_find(struct annotate *a, struct code_function *at)
{
	struct code_function found;

	if (at->elf || !a->code || !elf_names_function_named(a->code, a->opt->symbol, &found))
		return;
	at->elf = a->code;
	at->elf_start = found.start;
	at->size = found.size < at->size ? found.size : at->size;
}

/* The bytes of the function that could be read. */
static size_t code_read(struct annotate *a, struct annotate_function *f, uint8_t *ret, size_t size)
{
	size_t len;

	if (f->guest)
		guest_code_find(a, &f->at);
	if (!f->at.elf && f->guest) {
		f->no_code = "-e ELF has the guest's code, as a vmlinux";
		return 0;
	}
	if (f->at.elf && !elf_names_is_x86(f->at.elf)) {
		f->no_code = "only code for x86-64 is decoded";
		return 0;
	}
	len = f->at.elf ? elf_names_code(f->at.elf, f->at.elf_start, ret, size)
			: running_kernel_code(a->opt->kcore, f->at.start, ret, size);
	if (!len)
		f->no_code =
			f->at.elf ? "the file does not contain the code"
				  : "/proc/kcore cannot be read (root can, if the kernel has it)";
	return len;
}

/* ---- rows ---- */

struct row_maker {
	struct annotate *a;
	const struct annotate_function *function;
	const struct sampled *next; /* of the function, or beyond */
};

static bool next_is(const struct row_maker *m)
{
	const struct annotate *a = m->a;

	return m->next < a->sampled + a->nr_sampled && m->next->function == m->function;
}

static int row_add(struct row_maker *m, uint64_t offset, uint64_t samples, char *instruction)
{
	const struct code_function *at = &m->function->at;
	struct frame frame[FRAME_INLINES_MAX];
	struct annotate_row row = {
		.function = m->function,
		.offset = offset,
		.address = (at->elf ? at->elf_start : at->start) + offset,
		.samples = samples,
		.instruction = instruction,
	};
	int err;

	if (at->elf && elf_names_resolve(at->elf, row.address, false, frame) && frame[0].line) {
		row.file = elf_names_short_path(at->elf, frame[0].file);
		row.line = frame[0].line;
	}
	err = array_add(m->a->row, m->a->nr_rows, row);
	if (err)
		free(instruction);
	return err;
}

/* Samples of addresses before the offset: where code is not known, or a sample is within an instruction. */
static int rows_until(struct row_maker *m, uint64_t offset)
{
	int err = 0;

	for (; !err && next_is(m) && m->next->address - m->function->at.start < offset; m->next++)
		err = row_add(m, m->next->address - m->function->at.start, m->next->hits, NULL);
	return err;
}

static int instruction_add(void *arg, size_t offset, const char *text)
{
	struct row_maker *m = arg;
	uint64_t samples = 0;
	char *copy = strdup(text);
	int err = copy ? rows_until(m, offset) : fail(-ENOMEM, "out of memory");

	if (err) {
		free(copy);
		return err;
	}
	if (next_is(m) && m->next->address - m->function->at.start == offset)
		samples = m->next++->hits;
	return row_add(m, offset, samples, copy);
}

static int function_decode(struct annotate *a, struct annotate_function *f)
{
	size_t room = f->at.size < CODE_FUNCTION_MAX ? f->at.size : CODE_FUNCTION_MAX;
	_cleanup_free_ uint8_t *code = malloc(room + !room);
	struct row_maker m = {.a = a, .function = f, .next = a->sampled};
	size_t len = code ? code_read(a, f, code, room) : 0;
	int err = code ? 0 : fail(-ENOMEM, "out of memory");

	while (!next_is(&m))
		m.next++;
	if (!err && len && !a->opt->decoder->pid)
		f->no_code = "hostrace-decode, which decodes it, could not be started";
	else if (!err && len)
		err = decoder_lines(a->opt->decoder, code, len,
				    f->at.elf ? f->at.elf_start : f->at.start, instruction_add, &m);
	return err ? err : rows_until(&m, UINT64_MAX);
}

static int by_samples(const void *a, const void *b)
{
	const struct annotate_function *const *x = a, *const *y = b;

	return order_u64((*y)->samples, (*x)->samples) ?: order_u64(*x < *y, *y < *x);
}

int annotate_end(struct annotate *a, struct code_maps *maps)
{
	int err = sampled_add(a, &a->host, false);

	if (!err)
		err = sampled_add(a, &a->guest, true);
	if (err)
		return err;
	if (a->nr_sampled)
		qsort(a->sampled, a->nr_sampled, sizeof(*a->sampled), by_side_and_address);
	functions_find(a, maps);
	if (!a->nr_functions)
		return function_missing(a, maps);
	for (size_t i = 0; i < a->nr_functions; i++)
		a->order[i] = &a->function[i];
	qsort(a->order, a->nr_functions, sizeof(*a->order), by_samples);
	for (size_t i = 0; i < a->nr_functions && !err; i++)
		err = function_decode(a, a->order[i]);
	return err;
}

const struct annotate_function *annotate_found(const struct annotate *a, size_t i)
{
	return i < a->nr_functions ? a->order[i] : NULL;
}

size_t annotate_rows(const struct annotate *a, const struct annotate_row **ret)
{
	*ret = a->row;
	return a->nr_rows;
}

uint64_t annotate_samples(const struct annotate *a)
{
	return a->samples;
}

uint64_t annotate_unknown(const struct annotate *a)
{
	return a->unknown;
}

uint64_t annotate_refused(const struct annotate *a)
{
	return a->guest.refused + a->host.refused;
}
