// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector's side of bpf/heap.bpf.c. Finds each allocator's functions in the files that a VM has mapped: those of
 * the C library in the first file of its executable, a replacement (jemalloc, tcmalloc, mimalloc) and libc that defines
 * them, so that what the program calls is probed. Where code is, is passed to BPF, which tells stacks apart by it.
 *
 * Sites are counted in memory that is mapped here. Once a second those that have changed become events (alloc_site),
 * with counts since the begin, so that a lost one changes nothing that a later one does not repair.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "collector/elf.h"
#include "collector/internal.h"
#include "collector/mapped.h"
#include "hostrace.skel.h" /* knows record.h's types */

enum { SNAPSHOT_MS = 1000, FILES_MAX = 8 };

struct heap_function_def {
	const char *name, *program, *program_return; /* the last: NULL: none */
};

/* clang-format off */
static const struct heap_function_def functions[HEAP_NR] = {
#define PRIMITIVE(name) "ret_heap_" #name
#define ENTRY(name)	NULL
#define HEAP_FUNCTION(name, role, family) [HEAP_##name] = {#name, "fn_heap_" #name, role(name)},
	HEAP_FUNCTIONS(HEAP_FUNCTION)
#undef PRIMITIVE
#undef ENTRY
#undef HEAP_FUNCTION
};
/* clang-format on */

/* Of these families: whose function the program calls. */
static const struct {
	const char *prefix;
	bool replaces; /* libc's */
} libraries[] = {
	{"libjemalloc.so", true}, {"libtcmalloc", true}, {"libmimalloc.so", true},
	{"libc.so", false},	  {"libc-2.", false},	 {"libglib-2.0.so", false},
};

struct heap_file {
	int fd;
	char path[32], name[64];
	unsigned int rank; /* lower ones come first */
	struct elf_file *elf;
};

struct heap_target {
	pid_t pid;
	bool found[HEAP_NR];
	char where[HEAP_NR][40]; /* the file */
	char note[192];
	struct heap_vm seen;
};

struct heap {
	struct heap_target *target;
	unsigned int nr;
	const struct heap_site *sites; /* mapped, as the others */
	const struct heap_mismatch *mismatches;
	const struct heap_vm *vms;
	size_t vms_bytes;
	struct {
		uint64_t allocs, frees;
	} * seen; /* of each site */
	uint64_t *seen_mismatches;
	uint64_t due_ns;
};

/* ---- files ---- */

static unsigned int file_rank(const char *name, bool is_exe)
{
	if (is_exe)
		return 0;
	for (unsigned int i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(name, libraries[i].prefix, strlen(libraries[i].prefix)))
			return i + 1;
	return UINT32_MAX;
}

static void code_add(struct heap_code *code, const struct mapping *m, bool is_exe,
		     unsigned int *left)
{
	uint64_t bytes = m->to - m->from, end = code->libraries + code->libraries_bytes;

	if (is_exe) {
		if (!code->exe)
			code->exe = m->from;
		code->exe_bytes = m->to - code->exe;
		return;
	}
	if (code->nr == HEAP_LIBRARIES) {
		++*left;
		return;
	}
	code->library[code->nr].from = m->from;
	code->library[code->nr++].bytes = bytes;
	if (code->nr == 1 || m->from < code->libraries)
		code->libraries = m->from;
	if (code->nr == 1 || m->to > end)
		end = m->to;
	code->libraries_bytes = end - code->libraries;
}

static void file_add(pid_t pid, struct heap_file files[FILES_MAX], unsigned int *nr,
		     const struct mapping *m, const char *name, unsigned int rank)
{
	struct heap_file f = {.rank = rank};
	unsigned int at = *nr;

	if (*nr == FILES_MAX)
		return;
	f.fd = mapping_open(pid, m);
	if (f.fd < 0)
		return;
	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
	snprintf(f.name, sizeof(f.name), "%.63s", name);
	if (elf_file_open(f.path, &f.elf)) {
		close(f.fd);
		return;
	}
	for (; at && files[at - 1].rank > rank; at--)
		files[at] = files[at - 1];
	files[at] = f;
	++*nr;
}

/* The process's code, and its files that may have allocators, in the order of their ranks. */
static int files_find(const struct target *t, struct heap_file files[FILES_MAX], unsigned int *nr,
		      struct heap_code *code, struct heap_target *target)
{
	_cleanup_fclose_ FILE *maps = mappings_open(t->pid);
	char exe[PATH_MAX] = "";
	unsigned int left = 0;
	struct mapping m;

	if (!maps)
		return fail(-errno, "cannot read the mappings of process %d: %s", (int)t->pid,
			    strerror(errno));
	if (readlink(t->exe_open, exe, sizeof(exe) - 1) < 0)
		return fail(-errno, "%s: %s", t->exe_open, strerror(errno));
	while (mapping_next(maps, &m)) {
		const char *slash = strrchr(m.path, '/'), *name = slash ? slash + 1 : m.path;
		bool is_exe = !strcmp(m.path, exe);
		unsigned int rank = file_rank(name, is_exe);

		if (!m.code || m.path[0] != '/')
			continue;
		code_add(code, &m, is_exe, &left);
		if (rank != UINT32_MAX)
			file_add(t->pid, files, nr, &m, name, rank);
	}
	if (left)
		snprintf(target->note, sizeof(target->note),
			 "stacks are not told apart by the code of %u of its libraries", left);
	return 0;
}

static void files_close(struct heap_file *files, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		elf_file_close(files[i].elf);
		close(files[i].fd);
	}
}

/* ---- attaching ---- */

static int function_attach(struct collector *c, const struct target *t, struct heap_target *target,
			   const struct heap_file *f, unsigned int function)
{
	const struct heap_function_def *def = &functions[function];
	struct elf_symbol symbol;
	uint64_t offset;
	int err;

	if (!elf_file_symbol(f->elf, def->name, &symbol) ||
	    !elf_file_offset(f->elf, symbol.address, &offset))
		return -ENOENT;
	err = def->program_return ? collector_uprobe(c,
						     bpf_object__find_program_by_name(
							     c->skel->obj, def->program_return),
						     t->pid, f->path, offset, true)
				  : 0;
	if (!err)
		err = collector_uprobe(c,
				       bpf_object__find_program_by_name(c->skel->obj, def->program),
				       t->pid, f->path, offset, false);
	if (err)
		return fail(err, "cannot probe %s() of %s: %s", def->name, f->name, strerror(-err));
	target->found[function] = true;
	snprintf(target->where[function], sizeof(target->where[function]), "%.39s", f->name);
	return 0;
}

/* Frees before allocations: a block that is seen to be allocated is also seen to be freed. */
static int functions_attach(struct collector *c, const struct target *t, struct heap_target *target,
			    const struct heap_file *files, unsigned int nr)
{
	static const uint8_t first[] = {HEAP_munmap, HEAP_qemu_vfree, HEAP_g_free, HEAP_free};
	int err = 0;

	for (unsigned int i = 0; i < sizeof(first) + HEAP_NR - 1 && !err; i++) {
		unsigned int function = i < sizeof(first) ? first[i] : i - sizeof(first) + 1;

		for (unsigned int k = 0; k < nr && !err && !target->found[function]; k++) {
			err = function_attach(c, t, target, &files[k], function);
			err = err == -ENOENT ? 0 : err;
		}
	}
	if (!err && (!target->found[HEAP_malloc] || !target->found[HEAP_free]))
		snprintf(target->note, sizeof(target->note),
			 "no malloc() and free() were found: linked statically, or another "
			 "allocator");
	return err;
}

static int target_start(struct collector *c, const struct target *t, struct heap_target *target)
{
	struct heap_file files[FILES_MAX];
	struct heap_code code = {0};
	uint32_t pid = (uint32_t)t->pid;
	unsigned int nr = 0;
	int err;

	target->pid = t->pid;
	err = files_find(t, files, &nr, &code, target);
	if (!err && bpf_map_update_elem(bpf_map__fd(c->skel->maps.heap_code), &pid, &code, BPF_ANY))
		err = fail(-errno, "cannot register the code of process %u: %s", pid,
			   strerror(errno));
	if (!err)
		err = functions_attach(c, t, target, files, nr);
	files_close(files, nr);
	return err;
}

/* ---- memory ---- */

static int map_memory(const struct bpf_map *map, size_t bytes, const void **ret)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return fail(-errno, "cannot map the counts of the heap: %s", strerror(errno));
	*ret = at;
	return 0;
}

static int memory_start(struct collector *c, struct heap *h)
{
	int err;

	h->vms_bytes = c->max_targets * sizeof(*h->vms);
	h->target = calloc(c->nr_targets, sizeof(*h->target));
	h->seen = calloc(HEAP_SITES, sizeof(*h->seen));
	h->seen_mismatches = calloc(HEAP_MISMATCHES, sizeof(*h->seen_mismatches));
	if (!h->target || !h->seen || !h->seen_mismatches)
		return fail(-ENOMEM, "out of memory");
	err = map_memory(c->skel->maps.heap_sites, HEAP_SITES * sizeof(*h->sites),
			 (const void **)&h->sites);
	if (!err)
		err = map_memory(c->skel->maps.heap_mismatches,
				 HEAP_MISMATCHES * sizeof(*h->mismatches),
				 (const void **)&h->mismatches);
	if (!err)
		err = map_memory(c->skel->maps.heap_vms, h->vms_bytes, (const void **)&h->vms);
	return err;
}

void collector_heap_close(struct collector *c)
{
	struct heap *h = c->heap;

	if (!h)
		return;
	if (h->sites)
		munmap((void *)h->sites, HEAP_SITES * sizeof(*h->sites));
	if (h->mismatches)
		munmap((void *)h->mismatches, HEAP_MISMATCHES * sizeof(*h->mismatches));
	if (h->vms)
		munmap((void *)h->vms, h->vms_bytes);
	free(h->seen_mismatches);
	free(h->seen);
	free(h->target);
	free(h);
	c->heap = NULL;
}

int collector_heap_start(struct collector *c)
{
	unsigned int followed = 0;
	int err;

	if (!c->wants[EV_alloc_site])
		return 0;
	for (unsigned int i = 0; i < c->nr_programs; i++)
		if (strstr(c->programs[i].name, "_heap_") && *c->programs[i].error)
			return fail(-ENOTSUP, "%s: %s", c->programs[i].name, c->programs[i].error);
	c->heap = calloc(1, sizeof(*c->heap));
	if (!c->heap)
		return fail(-ENOMEM, "out of memory");
	err = memory_start(c, c->heap);
	for (unsigned int i = 0; i < c->nr_targets && !err; i++) {
		err = target_start(c, &c->targets[i], &c->heap->target[i]);
		c->heap->nr++;
		followed += c->heap->target[i].found[HEAP_malloc];
	}
	if (!err && !followed)
		err = fail(-ENOTSUP, "the heap cannot be followed: %s", c->heap->target[0].note);
	return err;
}

/* ---- events ---- */

static struct record_hdr heap_header(const struct collector *c, unsigned int type, size_t size,
				     uint32_t pid)
{
	uint64_t now = monotonic_ns();

	return (struct record_hdr){.time = c->stop_ns && now > c->stop_ns ? c->stop_ns : now,
				   .pid = pid,
				   .tid = pid,
				   .type = (uint16_t)type,
				   .size = (uint16_t)size,
				   .vcpu = RECORD_NO_VCPU};
}

#define HEADER(c, name, pid) heap_header(c, EV_##name, sizeof(struct rec_##name), pid)

static const char *function_name(unsigned int function)
{
	return function < HEAP_NR && functions[function].name ? functions[function].name : "?";
}

static int sites_report(struct collector *c, struct heap *h, collector_sink *sink, void *arg)
{
	int err = 0;

	for (unsigned int i = 0; i < HEAP_SITES && !err; i++) {
		const struct heap_site *s = &h->sites[i];
		struct rec_alloc_site rec;

		if (!s->pid || (s->allocs == h->seen[i].allocs && s->frees == h->seen[i].frees))
			continue;
		rec = (struct rec_alloc_site){.hdr = HEADER(c, alloc_site, s->pid), .site = s->key};
		/* First the frees: those that are counted are of allocations that are, too. */
		rec.frees = __atomic_load_n(&s->frees, __ATOMIC_ACQUIRE);
		rec.freed_bytes = __atomic_load_n(&s->freed_bytes, __ATOMIC_ACQUIRE);
		rec.allocs = __atomic_load_n(&s->allocs, __ATOMIC_ACQUIRE);
		rec.bytes = __atomic_load_n(&s->bytes, __ATOMIC_ACQUIRE);
		snprintf(rec.function, sizeof(rec.function), "%s", function_name(s->function));
		h->seen[i].allocs = rec.allocs;
		h->seen[i].frees = rec.frees;
		c->counts.events++;
		c->counts.by_type[EV_alloc_site]++;
		err = sink(arg, &rec.hdr);
	}
	return err;
}

static int mismatches_report(struct collector *c, struct heap *h, collector_sink *sink, void *arg)
{
	int err = 0;

	for (unsigned int i = 0; i < HEAP_MISMATCHES && !err; i++) {
		const struct heap_mismatch *m = &h->mismatches[i];
		struct rec_alloc_mismatch rec;

		if (!m->count || m->count == h->seen_mismatches[i])
			continue;
		rec = (struct rec_alloc_mismatch){.hdr = HEADER(c, alloc_mismatch, m->pid),
						  .site = m->site,
						  .free_site = m->free_site,
						  .count = m->count,
						  .bytes = m->bytes};
		snprintf(rec.allocated, sizeof(rec.allocated), "%s", function_name(m->allocated));
		snprintf(rec.freed, sizeof(rec.freed), "%s", function_name(m->freed));
		h->seen_mismatches[i] = rec.count;
		c->counts.events++;
		c->counts.by_type[EV_alloc_mismatch]++;
		err = sink(arg, &rec.hdr);
	}
	return err;
}

static int totals_report(struct collector *c, struct heap *h, bool last, collector_sink *sink,
			 void *arg)
{
	int err = 0;

	for (unsigned int i = 0; i < h->nr && !err; i++) {
		struct heap_vm now = h->vms[i];
		struct rec_alloc_totals rec = {
			.hdr = HEADER(c, alloc_totals, (uint32_t)h->target[i].pid),
			.allocs = now.allocs,
			.bytes = now.bytes,
			.frees = now.frees,
			.freed_bytes = now.freed_bytes,
			.unknown = now.unknown,
			.not_followed = now.not_followed,
			.not_sited = now.not_sited,
			.unfinished = now.unfinished,
			.replaced = now.replaced,
			.failed = now.failed,
			.mismatches = now.mismatches,
		};

		if (!last && !memcmp(&now, &h->target[i].seen, sizeof(now)))
			continue;
		h->target[i].seen = now;
		c->counts.events++;
		c->counts.by_type[EV_alloc_totals]++;
		err = sink(arg, &rec.hdr);
	}
	return err;
}

int collector_heap_round(struct collector *c, bool last, collector_sink *sink, void *arg)
{
	struct heap *h = c->heap;
	uint64_t now = monotonic_ns();
	int err;

	if (!h || (now < h->due_ns && !last))
		return 0;
	h->due_ns = now + SNAPSHOT_MS * NS_PER_MS;
	err = sites_report(c, h, sink, arg);
	if (!err)
		err = mismatches_report(c, h, sink, arg);
	return err ? err : totals_report(c, h, last, sink, arg);
}

json_t *collector_heap(const struct collector *c)
{
	json_t *all = c->heap ? json_array() : NULL;

	for (unsigned int i = 0; c->heap && i < c->heap->nr; i++) {
		const struct heap_target *t = &c->heap->target[i];
		json_t *list = json_array();

		for (unsigned int k = 1; k < HEAP_NR; k++)
			if (t->found[k])
				json_array_append_new(
					list,
					json_sprintf("%s in %s", functions[k].name, t->where[k]));
		json_array_append_new(all, json_pack("{s:i,s:o,s:s}", "pid", (int)t->pid,
						     "functions", list, "note", t->note));
	}
	return all;
}
