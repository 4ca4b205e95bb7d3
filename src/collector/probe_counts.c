// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the probes of a process (every file that it has mapped is searched for notes of USDT probes of the provider
 * "qemu"; functions come from the plan), and attaches one program to all their sites, file by file. The cookie of a
 * site is the number of its probe.
 *
 * With links for user probes a file takes one link. If the kernel rejects it, which it does as a whole, it is halved
 * until the sites are found that are to blame. Without such links (before Linux 6.12) each site is a perf event.
 */
#include "collector/probe_counts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fnmatch.h>
#include <sys/mman.h>

#include "base/error.h"
#include "collector/elf.h"
#include "collector/internal.h"
#include "collector/mapped.h"
#include "hostrace.skel.h" /* knows record.h's types */

enum { PERF_SITES_MAX = 4096 }; /* without links: a descriptor each */

static const char bad_place[] = "a USDT probe on a 5-byte NOP: probing it would corrupt QEMU";

struct counted_file {
	int fd;
	char path[32]; /* that opens it */
	dev_t device;
	ino_t inode;
};

struct counted_site {
	uint64_t offset, semaphore; /* in the file */
	unsigned int file, probe;
};

struct probe_counts {
	pid_t pid;
	const char *filter;
	struct plan plan; /* texts of probes are in it */
	struct counted_probe *probe;
	struct counted_site *site; /* by file */
	unsigned int nr, nr_sites, left_out, broken;
	struct counted_file file[PROBE_FILES_MAX];
	unsigned int nr_files;
	struct hostrace *skel;
	struct probe_link *link;
	unsigned int nr_links, max_links;
	const uint64_t *hits; /* mapped */
};

/* ---- what there is ---- */

static bool filter_fits(const struct probe_counts *p, const char *name, const char *event)
{
	return !p->filter || !fnmatch(p->filter, name, 0) ||
	       (event && !fnmatch(p->filter, event, 0));
}

/* NULL: it is filtered out, or there are too many. */
static struct counted_probe *probe_add(struct probe_counts *p, const char *name, const char *event)
{
	struct counted_probe *probe;

	if (!filter_fits(p, name, event))
		return NULL;
	if (p->nr == PROBE_COUNTS_MAX) {
		p->left_out++;
		return NULL;
	}
	probe = &p->probe[p->nr++];
	*probe = (struct counted_probe){.event = event};
	snprintf(probe->name, sizeof(probe->name), "%.63s", name);
	return probe;
}

static void site_add(struct probe_counts *p, struct counted_probe *probe,
		     const struct counted_site *site)
{
	probe->sites++;
	if (p->nr_sites == PROBE_SITES_MAX) {
		p->left_out++;
		snprintf(probe->reason, sizeof(probe->reason), "more than %d sites of all probes",
			 PROBE_SITES_MAX);
		return;
	}
	p->site[p->nr_sites] = *site;
	p->site[p->nr_sites++].probe = (unsigned int)(probe - p->probe);
}

/* The event that is made of this USDT probe; NULL: none. */
static const char *mark_event(const struct plan *plan, const char *mark)
{
	for (unsigned int i = 0; i < plan->nr; i++)
		for (unsigned int k = 0; k < plan->probe[i].nr_places; k++)
			if (!strcmp(plan->probe[i].place[k].mark, mark))
				return plan->probe[i].event;
	return NULL;
}

static struct counted_probe *mark_find(struct probe_counts *p, unsigned int first, const char *name)
{
	for (unsigned int i = first; i < p->nr; i++)
		if (!strcmp(p->probe[i].name, name))
			return &p->probe[i];
	return NULL;
}

static bool is_nop5(const uint8_t *code, size_t len)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	return len >= sizeof(nop5) && !memcmp(code, nop5, sizeof(nop5));
}

static void mark_add(struct probe_counts *p, const struct elf_file *elf,
		     const struct usdt_mark *mark, struct counted_probe *probe)
{
	struct counted_site site = {.file = p->nr_files - 1};
	size_t len;
	const uint8_t *code = elf_file_bytes(elf, mark->address, &len);

	if (!code || !elf_file_offset(elf, mark->address, &site.offset) ||
	    (mark->semaphore && !elf_file_offset(elf, mark->semaphore, &site.semaphore))) {
		probe->sites++;
		snprintf(probe->reason, sizeof(probe->reason), "it points outside the file");
	} else if (is_nop5(code, len)) {
		probe->sites++;
		snprintf(probe->reason, sizeof(probe->reason), "%s", bad_place);
	} else {
		site_add(p, probe, &site);
	}
}

static void marks_add(struct probe_counts *p, const struct elf_file *elf,
		      const struct usdt_marks *marks, const char *file)
{
	unsigned int first = p->nr;

	p->broken += marks->broken;
	for (unsigned int i = 0; i < marks->nr; i++) {
		const struct usdt_mark *mark = &marks->mark[i];
		struct counted_probe *probe;

		if (strcmp(mark->provider, "qemu"))
			continue;
		probe = mark_find(p, first, mark->name);
		if (!probe)
			probe = probe_add(p, mark->name, mark_event(&p->plan, mark->name));
		if (!probe)
			continue;
		probe->usdt = true;
		snprintf(probe->file, sizeof(probe->file), "%.63s", file);
		mark_add(p, elf, mark, probe);
	}
}

/* A function is in several plans if it stands for several events, or is probed at its return, too. */
static bool function_known(const struct probe_counts *p, unsigned int first,
			   const struct counted_site *site)
{
	for (unsigned int i = first; i < p->nr_sites; i++)
		if (p->site[i].offset == site->offset)
			return true;
	return false;
}

static void functions_add(struct probe_counts *p, const char *file)
{
	unsigned int first = p->nr_sites;

	for (unsigned int i = 0; i < p->plan.nr; i++) {
		const struct probe_plan *plan = &p->plan.probe[i];
		struct counted_probe *probe;

		if (plan->how == PROBE_ABSENT) {
			probe = probe_add(p, "", plan->event);
			if (probe)
				snprintf(probe->reason, sizeof(probe->reason), "%.159s",
					 plan->reason);
			continue;
		}
		for (unsigned int k = 0; plan->how == PROBE_FUNCTION && k < plan->nr_places; k++) {
			struct counted_site site = {.file = p->nr_files - 1,
						    .offset = plan->place[k].file_offset};

			if (function_known(p, first, &site))
				continue;
			probe = probe_add(p, plan->place[k].function, plan->event);
			if (!probe)
				continue;
			snprintf(probe->file, sizeof(probe->file), "%.63s", file);
			site_add(p, probe, &site);
		}
	}
}

static int file_search(struct probe_counts *p, const char *name, bool is_exe)
{
	struct counted_file *file = &p->file[p->nr_files - 1];
	unsigned int sites = p->nr_sites, probes = p->nr;
	_cleanup_elf_file_ struct elf_file *elf = NULL;
	struct usdt_marks marks = {0};
	int err = elf_file_open(file->path, &elf);

	if (!err)
		err = usdt_read(elf, &marks);
	if (!err)
		marks_add(p, elf, &marks, name);
	usdt_free(&marks);
	if (err == -ENOMEM)
		return err;
	if (is_exe)
		functions_add(p, name);
	if (is_exe || p->nr_sites != sites || p->nr != probes)
		return 0;
	close(file->fd); /* a library without such probes */
	p->nr_files--;
	return 0;
}

/* Opens it, unless it was searched before: a file is mapped in several pieces. 0: it is the newest of p->file. */
static int file_open(struct probe_counts *p, const struct mapping *m, ino_t *last)
{
	struct counted_file *file = &p->file[p->nr_files];

	if (m->inode == *last || !m->inode)
		return -EEXIST;
	for (unsigned int i = 0; i < p->nr_files; i++)
		if (p->file[i].inode == m->inode)
			return -EEXIST;
	*last = m->inode;
	if (p->nr_files == PROBE_FILES_MAX) {
		p->left_out++;
		return -E2BIG;
	}
	file->fd = mapping_open(p->pid, m);
	if (file->fd < 0)
		return -ENOENT;
	file->inode = m->inode;
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	p->nr_files++;
	return 0;
}

/* The executable is the first file. */
static int files_search(struct probe_counts *p, const struct vm *vm)
{
	_cleanup_fclose_ FILE *maps = mappings_open(p->pid);
	const char *exe = strrchr(vm->exe, '/') ? strrchr(vm->exe, '/') + 1 : vm->exe;
	struct mapping m;
	ino_t last = 0;
	int err = 0;

	if (!maps)
		return fail(-errno, "cannot read the mappings of process %d: %s", (int)p->pid,
			    strerror(errno));
	while (!err && mapping_next(maps, &m)) {
		const char *name = strrchr(m.path, '/');

		if (m.path[0] != '/' || !m.code || file_open(p, &m, &last))
			continue;
		name = name ? name + 1 : m.path;
		err = file_search(p, name, !strncmp(name, exe, strlen(exe)));
	}
	return err;
}

/* ---- attaching ---- */

static int link_add(struct probe_counts *p, struct bpf_link *link, int fd)
{
	if (!link && fd < 0)
		return fd;
	if (p->nr_links == p->max_links) {
		unsigned int max = p->max_links ? 2 * p->max_links : 16;
		struct probe_link *more = reallocarray(p->link, max, sizeof(*more));

		if (!more) {
			collector_link_drop(&(struct probe_link){.link = link, .fd = fd});
			return -ENOMEM;
		}
		p->link = more;
		p->max_links = max;
	}
	p->link[p->nr_links++] = (struct probe_link){.link = link, .fd = fd};
	return 0;
}

static int perf_attach(struct probe_counts *p, const struct counted_site *site)
{
	struct bpf_link *link;

	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = site->semaphore,
		    .bpf_cookie = site->probe);
	if (p->nr_links == PERF_SITES_MAX)
		return -E2BIG;
	link = bpf_program__attach_uprobe_opts(p->skel->progs.count_probe, p->pid,
					       p->file[site->file].path, site->offset, &opts);
	return link_add(p, link, link ? 0 : -errno);
}

/* Sites of one file. */
static int sites_link(struct probe_counts *p, unsigned int first, unsigned int nr)
{
	_cleanup_free_ uint64_t *words = calloc(nr, 3 * sizeof(*words));
	struct uprobe_sites sites = {
		.offset = words, .semaphore = words + nr, .cookie = words + 2 * nr, .nr = nr};
	int fd;

	if (!words)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr; i++) {
		words[i] = p->site[first + i].offset;
		words[nr + i] = p->site[first + i].semaphore;
		words[2 * nr + i] = p->site[first + i].probe;
	}
	fd = uprobe_link_sites(p->skel->progs.count_probe, p->pid,
			       p->file[p->site[first].file].path, &sites);
	return link_add(p, NULL, fd);
}

static void site_done(struct probe_counts *p, const struct counted_site *site, int err)
{
	struct counted_probe *probe = &p->probe[site->probe];

	probe->attached += !err;
	if (err)
		snprintf(probe->reason, sizeof(probe->reason), "%s",
			 err == -E2BIG ? "too many probes for a kernel without links for them"
				       : strerror(-err));
}

/* Halves what the kernel rejects; depth: log2 of the sites. */
static void sites_attach(struct probe_counts *p, bool links, unsigned int first, unsigned int nr)
{
	int err = links	    ? sites_link(p, first, nr)
		  : nr == 1 ? perf_attach(p, &p->site[first])
			    : -EAGAIN;

	if (err && nr > 1) {
		sites_attach(p, links, first, nr / 2);
		sites_attach(p, links, first + nr / 2, nr - nr / 2);
		return;
	}
	for (unsigned int i = 0; i < nr; i++)
		site_done(p, &p->site[first + i], err);
}

static void files_attach(struct probe_counts *p, bool links)
{
	unsigned int next;

	for (unsigned int first = 0; first < p->nr_sites; first = next) {
		next = first + 1;
		while (next < p->nr_sites && p->site[next].file == p->site[first].file)
			next++;
		sites_attach(p, links, first, next - first);
	}
}

static int counts_load(struct probe_counts *p, bool links)
{
	struct hostrace *skel;
	size_t bytes = p->nr * sizeof(*p->hits);
	int err;

	object_messages_keep();
	err = object_open(false, &skel);
	if (err)
		return err;
	bpf_map__set_autocreate(skel->maps.probe_hits, true);
	bpf_map__set_max_entries(skel->maps.probe_hits, p->nr);
	bpf_program__set_autoload(skel->progs.count_probe, true);
	if (links)
		uprobe_link_prepare(skel->progs.count_probe);
	err = object_load(skel, &p->skel);
	if (err)
		return fail(err, "the kernel rejected the BPF program: %s", object_error(err));
	p->hits = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(skel->maps.probe_hits), 0);
	if (p->hits != MAP_FAILED)
		return 0;
	p->hits = NULL;
	return fail(-errno, "cannot map the counters: %s", strerror(errno));
}

static int counts_start(struct probe_counts *p, const struct vm *vm)
{
	bool links = uprobe_links_possible();
	int err = plan_make(vm->exe_open, &p->plan);

	if (!err)
		err = files_search(p, vm);
	if (!err && !p->nr)
		err = fail(-ENOENT, "process %d has no probe%s%s", (int)p->pid,
			   p->filter ? " named " : "", p->filter ? p->filter : "");
	if (!err)
		err = counts_load(p, links);
	if (!err)
		files_attach(p, links);
	return err;
}

int probe_counts_open(const struct vm *vm, const char *filter, struct probe_counts **ret)
{
	struct probe_counts *p;
	int err = privileges_check();

	if (!err)
		err = collector_kernel_check();
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (p) {
		p->probe = calloc(PROBE_COUNTS_MAX, sizeof(*p->probe));
		p->site = calloc(PROBE_SITES_MAX, sizeof(*p->site));
		p->pid = vm->pid;
		p->filter = filter;
	}
	err = p && p->probe && p->site ? counts_start(p, vm) : fail(-ENOMEM, "out of memory");
	if (err)
		probe_counts_close(p);
	else
		*ret = p;
	return err;
}

unsigned int probe_counts_nr(const struct probe_counts *p)
{
	return p->nr;
}

const struct counted_probe *probe_counts_probe(const struct probe_counts *p, unsigned int i)
{
	return &p->probe[i];
}

uint64_t probe_counts_hits(const struct probe_counts *p, unsigned int i)
{
	return __atomic_load_n(&p->hits[i], __ATOMIC_RELAXED);
}

unsigned int probe_counts_left_out(const struct probe_counts *p)
{
	return p->left_out;
}

unsigned int probe_counts_broken(const struct probe_counts *p)
{
	return p->broken;
}

void probe_counts_stop(struct probe_counts *p)
{
	for (unsigned int i = 0; i < p->nr_links; i++)
		collector_link_drop(&p->link[i]);
	p->nr_links = 0;
}

void probe_counts_close(struct probe_counts *p)
{
	if (!p)
		return;
	probe_counts_stop(p);
	if (p->hits)
		munmap((void *)p->hits, p->nr * sizeof(*p->hits));
	hostrace__destroy(p->skel);
	for (unsigned int i = 0; i < p->nr_files; i++)
		close(p->file[i].fd);
	plan_free(&p->plan);
	free(p->link);
	free(p->site);
	free(p->probe);
	free(p);
}
