// SPDX-License-Identifier: GPL-2.0-or-later
/* Names for addresses in an OSv guest: of the kernel's ELF file, and of the files of its modules.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <time.h>

#include "base/error.h"
#include "fetch/osv_guest.h"

#define OSV_RINGS_BYTES_MAX (4ull << 30) /* of all vCPUs */

struct osv_names {
	struct elf_names *kernel;
	const struct osv_modules *modules;
	struct elf_names **module; /* NULL: its file was not found */
};

static struct elf_names *module_open(const struct osv_module *m, const struct osv_files *files)
{
	_cleanup_free_ char *found = m->lost ? NULL : osv_file_find(files, m->path);
	struct elf_names *names = NULL;

	if (found && elf_names_open_at(found, m->base, &names))
		names = NULL;
	return names;
}

int osv_names_open(const struct osv_files *files, const struct osv_modules *modules,
		   struct osv_names **ret)
{
	struct osv_names *n = calloc(1, sizeof(*n));
	int err = n ? elf_names_open(files->elf, &n->kernel) : fail(-ENOMEM, "out of memory");

	if (!err && !(n->module = calloc(modules->nr + 1u, sizeof(*n->module))))
		err = fail(-ENOMEM, "out of memory");
	if (err) {
		osv_names_close(n);
		return err;
	}
	n->modules = modules;
	for (unsigned int i = 0; i < modules->nr; i++)
		n->module[i] = module_open(&modules->module[i], files);
	*ret = n;
	return 0;
}

void osv_names_close(struct osv_names *n)
{
	if (!n)
		return;
	for (unsigned int i = 0; n->module && i < n->modules->nr; i++)
		elf_names_close(n->module[i]);
	free(n->module);
	elf_names_close(n->kernel);
	free(n);
}

static bool osv_name_find(struct elf_names *e, uint64_t address, enum osv_name what,
			  struct frame *ret)
{
	struct frame frame[FRAME_INLINES_MAX];
	unsigned int nr = elf_names_resolve(e, address, what == OSV_NAME_FRAME, frame);
	const char *symbol = what == OSV_NAME_INNERMOST ? NULL : elf_names_symbol(e, address);

	if (!nr)
		return false;
	*ret = frame[nr - 1];
	ret->name = symbol ? symbol : ret->name;
	if (ret->file)
		ret->file = elf_names_short_path(e, ret->file);
	return ret->name;
}

static struct elf_names *module_at(const struct osv_names *n, uint64_t address)
{
	for (unsigned int i = n->modules->nr; i--;)
		if (n->modules->module[i].base <= address)
			return n->module[i];
	return NULL;
}

bool osv_names_find(struct osv_names *n, uint64_t address, enum osv_name what, struct frame *ret)
{
	struct elf_names *module;

	if (osv_name_find(n->kernel, address, what, ret))
		return true;
	module = module_at(n, address);
	return module && osv_name_find(module, address, what, ret);
}

static unsigned int frames_find(struct elf_names *e, uint64_t address,
				struct frame ret[FRAME_INLINES_MAX])
{
	unsigned int nr = elf_names_resolve(e, address, true, ret);
	const char *symbol = nr ? elf_names_symbol(e, address) : NULL;

	for (unsigned int i = 0; i < nr; i++)
		ret[i].file = ret[i].file ? elf_names_short_path(e, ret[i].file) : NULL;
	if (symbol)
		ret[nr - 1].name = symbol;
	return nr;
}

unsigned int osv_names_frames(struct osv_names *n, uint64_t address,
			      struct frame ret[FRAME_INLINES_MAX])
{
	unsigned int nr = frames_find(n->kernel, address, ret);
	struct elf_names *module = nr ? NULL : module_at(n, address);

	return module ? frames_find(module, address, ret) : nr;
}

/*
 * The .symbols file next to a tracefile: a line for each address in its backtraces, in
 * the order in which they are met, so that the trace can be read where the guest's ELF is not.
 */

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

int osv_symbols_write(const struct osv_extracted *x, const struct osv_files *files, FILE *out,
		      uint64_t *ret_nr)
{
	struct hash_table seen = HASH_TABLE(struct seen_address, 1, ADDRESSES_MAX);
	uint64_t address[OSV_FRAMES_MAX];
	bool first;
	struct osv_names *names = NULL;
	struct sample sample;
	int err = osv_names_open(files, &x->modules, &names);

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

/*
 * The rings of all vCPUs, as `osv trace save` finds them: sched::cpus is a vector of vCPUs, each
 * has a base of its own variables, percpu_trace_buffer is there. A sample names its tracepoint by
 * address; what that is called is at that address, and is read while the guest still stands.
 */

enum { PIECE = 64 << 10, SETTLE_NS = 10000000 };

struct places {
	uint64_t cpus, trace_buffer; /* addresses; the second is to be added to a vCPU's base */
	uint32_t percpu_base;
	uint32_t base, base_size, last, size; /* trace_buf */
	uint32_t name, format, signature;     /* tracepoint_base */
	struct osv_modules_layout modules;
};

struct extract {
	struct osv_guest g;
	struct places at;
	const struct osv_guest_options *opt;
	struct osv_extracted *ret;
	struct osv_ring *ring;
	uint64_t *address; /* of each ring in the guest */
	uint64_t *last_at; /* of each ring's write offset */
	unsigned int nr;
	uint8_t *mem;
	uint64_t total;
};

static int places_find(void *walk)
{
	struct extract *x = walk;
	struct layout *l = x->g.layout;
	struct places *at = &x->at;
	const struct layout_member members[] = {
		{"sched::cpu", "percpu_base", &at->percpu_base, NULL},
		{"trace_buf", "_base", &at->base, &at->base_size},
		{"trace_buf", "_last", &at->last, NULL},
		{"trace_buf", "_size", &at->size, NULL},
		{"tracepoint_base", "name", &at->name, NULL},
		{"tracepoint_base", "format", &at->format, NULL},
		{"tracepoint_base", "sig", &at->signature, NULL},
	};
	int err = layout_symbol(l, "_ZN5sched4cpusE", &at->cpus);

	if (!err && layout_symbol(l, "percpu_trace_buffer", &at->trace_buffer))
		err = layout_symbol(l, "_ZL19percpu_trace_buffer", &at->trace_buffer);
	if (!err)
		err = layout_members(l, members, sizeof(members) / sizeof(*members));
	if (!err)
		osv_modules_find(l, &at->modules);
	return err;
}

/* ---- where the rings are ---- */

/* The buffer is a unique_ptr whose deleter, unless it is an empty class, precedes the pointer. */
static int ring_find(struct extract *x, uint64_t cpu)
{
	struct osv_guest *g = &x->g;
	uint64_t base, buf, mem;
	struct osv_ring ring = {0};
	int err = osv_guest_u64(g, cpu + x->at.percpu_base, &base);

	buf = base + x->at.trace_buffer;
	if (!err)
		err = osv_guest_u64(g, buf + x->at.base + (x->at.base_size == 16 ? 8 : 0), &mem);
	if (!err)
		err = osv_guest_u64(g, buf + x->at.last, &ring.last);
	if (!err)
		err = osv_guest_u64(g, buf + x->at.size, &ring.size);
	if (err)
		return err;
	if (!mem || !ring.size) {
		x->ret->nr_empty++;
		return 0;
	}
	if (ring.size % OSV_RING_PAGE || ring.size > OSV_RING_BYTES_MAX)
		return fail(-EBADMSG, "invalid trace buffer size %" PRIu64, ring.size);
	x->total += ring.size;
	x->address[x->nr] = mem;
	x->last_at[x->nr] = buf + x->at.last;
	x->ring[x->nr++] = ring;
	return x->total > OSV_RINGS_BYTES_MAX
		       ? fail(-E2BIG, "the guest's trace buffers exceed %llu GiB",
			      OSV_RINGS_BYTES_MAX >> 30)
		       : 0;
}

static int rings_find(struct extract *x)
{
	uint64_t *cpu = NULL;
	unsigned int nr = 0;
	int err = osv_guest_vector(&x->g, x->at.cpus, OSV_CPUS_MAX, &cpu, &nr);

	x->ring = calloc(nr + 1u, sizeof(*x->ring));
	x->address = calloc(nr + 1u, sizeof(*x->address));
	x->last_at = calloc(nr + 1u, sizeof(*x->last_at));
	if (!err && (!x->ring || !x->address || !x->last_at))
		err = fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr && !err; i++) {
		err = ring_find(x, cpu[i]);
		if (err)
			err = osv_guest_lose(&x->g, "vCPU", cpu[i], err);
	}
	x->ret->nr_cpus = nr;
	free(cpu);
	return err;
}

/* ---- copying ---- */

/* What was never written need not be read: the copy is zero there, as the guest's memory is. */
static uint64_t used_bytes(const struct osv_ring *r)
{
	uint64_t pages = (r->last + OSV_RING_PAGE - 1) / OSV_RING_PAGE;

	return r->last < r->size ? pages * OSV_RING_PAGE : r->size;
}

static int ring_copy(struct extract *x, unsigned int i, uint8_t *to)
{
	uint64_t len = used_bytes(&x->ring[i]);
	int err = 0;

	for (uint64_t at = 0; at < len && !err; at += PIECE) {
		size_t piece = len - at < PIECE ? len - at : PIECE;

		err = osv_guest_read(&x->g, x->address[i] + at, to + at, piece);
	}
	if (err)
		memset(to, 0, len);
	return err;
}

/* Those after it take its place. */
static void ring_drop(struct extract *x, unsigned int i)
{
	x->ret->bytes -= used_bytes(&x->ring[i]);
	x->nr--;
	memmove(&x->ring[i], &x->ring[i + 1], (x->nr - i) * sizeof(*x->ring));
	memmove(&x->address[i], &x->address[i + 1], (x->nr - i) * sizeof(*x->address));
	memmove(&x->last_at[i], &x->last_at[i + 1], (x->nr - i) * sizeof(*x->last_at));
}

static int rings_copy(struct extract *x)
{
	uint8_t *to;
	int err = 0;

	x->mem = mmap(NULL, x->total + OSV_RING_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->mem == MAP_FAILED) {
		x->mem = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < x->nr; i++)
		x->ret->bytes += used_bytes(&x->ring[i]);
	to = x->mem;
	for (unsigned int i = 0; i < x->nr && !err;) {
		err = ring_copy(x, i, to);
		if (err) {
			err = osv_guest_lose(&x->g, "trace buffer", x->address[i], err);
			ring_drop(x, i);
			continue;
		}
		x->ring[i].mem = to;
		to += x->ring[i++].size;
	}
	return err;
}

/* ---- of a guest that runs ---- */

/* Writers that were at work at the offset that was read are done a moment later. */
static void writers_await(void)
{
	nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
}

/*
 * What was overwritten while it was copied: the pages from the old write offset, the oldest ones,
 * to the new one. They count as never written.
 */
static int overwritten_drop(struct extract *x, unsigned int i)
{
	struct osv_ring *r = &x->ring[i];
	uint8_t *mem = x->mem + (r->mem - x->mem);
	uint64_t now, page = (r->last + OSV_RING_PAGE - 1) / OSV_RING_PAGE;
	int err = osv_guest_u64(&x->g, x->last_at[i], &now);

	if (err)
		return err;
	if (now < r->last || now - r->last >= r->size)
		return fail(-EAGAIN,
			    "vCPU %u overwrites its trace buffer faster than it can be read; stop "
			    "the guest with --remote",
			    i);
	for (; page <= now / OSV_RING_PAGE && now > r->last; page++)
		memset(mem + page * OSV_RING_PAGE % r->size, 0, OSV_RING_PAGE);
	return 0;
}

static int rings_copy_live(struct extract *x)
{
	int err;

	writers_await();
	err = rings_copy(x);
	for (unsigned int i = 0; i < x->nr && !err; i++)
		err = overwritten_drop(x, i);
	return err;
}

/* ---- tracepoints ---- */

static char *text_at(struct osv_guest *g, uint64_t address)
{
	char text[OSV_RING_TEXT_MAX];
	uint64_t at;

	return osv_guest_u64(g, address, &at) || osv_guest_text(g, at, text, sizeof(text))
		       ? NULL
		       : strdup(text);
}

static int tracepoint_read(void *ctx, uint64_t key, struct osv_raw_tracepoint *ret)
{
	struct extract *x = ctx;

	ret->name = text_at(&x->g, key + x->at.name);
	ret->signature = ret->name ? text_at(&x->g, key + x->at.signature) : NULL;
	ret->format = ret->signature ? text_at(&x->g, key + x->at.format) : NULL;
	if (ret->format)
		return 0;
	free(ret->name);
	free(ret->signature);
	return -ENOENT;
}

/* All that there were are lost. */
static int rings_lost(struct extract *x)
{
	char text[400];

	if (x->nr || !x->g.lost.nr)
		return 0;
	osv_lost_text(&x->g.lost, 0, text, sizeof(text));
	return fail(-EFAULT, "no trace buffer of the guest can be read: %s", text);
}

static int rings_read(void *walk)
{
	struct extract *x = walk;
	int err = rings_find(x);

	if (!err)
		err = rings_lost(x);
	if (!err && !x->nr)
		err = fail_hint(fail(-ENODATA, "no vCPU of the guest has a trace buffer: tracing "
					       "was never enabled in it"),
				"boot the guest with --trace=NAME, or hostrace guest control "
				"enable NAME");
	if (!err)
		err = osv_modules_read(&x->g, &x->at.modules, &x->ret->modules);
	if (!err)
		err = x->opt->vm.pid ? rings_copy_live(x) : rings_copy(x);
	if (!err)
		err = rings_lost(x);
	if (!err)
		err = osv_raw_open(x->opt->dump	    ? x->opt->dump
				   : x->opt->remote ? x->opt->remote
						    : GDB_DEFAULT,
				   x->ring, x->nr, tracepoint_read, x, &x->ret->trace,
				   &x->ret->counts);
	return err;
}

int osv_extract(const struct osv_guest_options *opt, struct osv_extracted *ret,
		struct osv_pause *ret_pause)
{
	struct extract x = {.opt = opt, .ret = ret};
	int err;

	*ret = (struct osv_extracted){0};
	err = osv_guest_visit(opt, &x.g, places_find, rings_read, &x, ret_pause);
	osv_guest_close(&x.g);
	ret->ring = x.ring;
	ret->nr_rings = x.nr;
	ret->mem = x.mem;
	ret->mem_bytes = x.total + OSV_RING_PAGE;
	free(x.address);
	free(x.last_at);
	return err;
}

void osv_extracted_deinit(struct osv_extracted *x)
{
	sample_trace_close(x->trace);
	free(x->modules.module);
	free(x->ring);
	if (x->mem)
		munmap(x->mem, x->mem_bytes);
}
