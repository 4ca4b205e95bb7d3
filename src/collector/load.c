// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loading. All programs are one BPF object, which the kernel accepts completely or not at all; so
 * that one tracepoint with other arguments does not cost us the rest, a rejected object is tried
 * again program by program and what the kernel rejects is skipped.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/log.h"
#include "collector/internal.h"
#include "hostrace.skel.h" /* knows record.h's types */

/* libbpf's own probe relies on the text of an error message, which newer kernels have changed. */
bool feature_tracing(void)
{
	const struct bpf_insn return_0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int id = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP), fd;

	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = id > 0 ? (__u32)id : 0);
	if (id <= 0)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", return_0, 2, &opts);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

bool feature_task_storage(void)
{
	return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
}

struct messages {
	char warning[256]; /* libbpf's first one since the last load */
	char error[384];
};

/* libbpf's callback has no argument for a context, so the messages belong to the thread, as errno does. */
static struct messages *messages(void)
{
	static _Thread_local struct messages messages;

	return &messages;
}

static int message_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *line = NULL;
	char *kept = messages()->warning;
	size_t len;

	if (level == LIBBPF_DEBUG && !debug_on("libbpf"))
		return 0;
	if (vasprintf(&line, fmt, ap) < 0) {
		line = NULL;
		return 0;
	}
	len = strlen(line);
	while (len && line[len - 1] == '\n')
		line[--len] = '\0';
	if (level == LIBBPF_WARN && !*kept)
		snprintf(kept, sizeof(messages()->warning), "%.255s", line);
	debug("attach", "%s", line);
	return 0;
}

void object_messages_keep(void)
{
	libbpf_set_print(message_print);
}

int object_open(bool maps, struct hostrace **ret)
{
	struct hostrace *skel = hostrace__open();
	struct bpf_program *prog;
	struct bpf_map *map;

	if (!skel)
		return fail(-errno, "cannot open the BPF object: %s", strerror(errno));
	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(prog, false);
	bpf_object__for_each_map(map, skel->obj) if (!maps && !bpf_map__is_internal(map))
		bpf_map__set_autocreate(map, false);
	*ret = skel;
	return 0;
}

int object_load(struct hostrace *skel, struct hostrace **ret)
{
	int err;

	messages()->warning[0] = '\0';
	err = hostrace__load(skel);
	if (err)
		hostrace__destroy(skel);
	else
		*ret = skel;
	return err;
}

const char *object_error(int err)
{
	struct messages *m = messages();

	snprintf(m->error, sizeof(m->error), "%.120s%s%.255s", strerror(-err),
		 *m->warning ? "; " : "", m->warning);
	return m->error;
}

enum {
	RING_BYTES_MIN = 1 << 18,
	RING_BYTES_DEFAULT = 8 << 20,
	RING_TOTAL_DEFAULT = 64 << 20, /* of all CPUs, unless the user requests more */
};

#define RING_BYTES_MAX (1ull << 28)

/* Kernels differ in how large an array's value may be; the oldest allow 4 MiB. */
static bool map_possible(uint64_t value_bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, (uint32_t)value_bytes, 1, &opts);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static uint64_t ring_size(unsigned int nr_cpus, uint64_t wanted)
{
	uint64_t most = wanted ? wanted : RING_TOTAL_DEFAULT / nr_cpus;
	uint64_t size = RING_BYTES_MIN;

	if (!wanted && most > RING_BYTES_DEFAULT)
		most = RING_BYTES_DEFAULT;
	while (size < most && size < RING_BYTES_MAX)
		size *= 2;
	while (size > RING_BYTES_MIN && !map_possible(RING_HEAD_BYTES + size + RING_SPILL_BYTES))
		size /= 2;
	return size;
}

static void heap_maps_omit(struct hostrace *skel)
{
	struct bpf_map *const maps[] = {skel->maps.heap_threads,    skel->maps.heap_live,
					skel->maps.heap_code,	    skel->maps.heap_sites,
					skel->maps.heap_mismatches, skel->maps.heap_vms};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		bpf_map__set_autocreate(maps[i], false);
}

static int skel_open(struct collector *c, struct hostrace **ret)
{
	struct hostrace *skel;
	int err = object_open(true, &skel);

	if (err)
		return err;
	bpf_map__set_autocreate(skel->maps.stat_vcpus, false);
	bpf_map__set_autocreate(skel->maps.stat_threads, false);
	bpf_map__set_autocreate(skel->maps.stat_cpus, false);
	bpf_map__set_autocreate(skel->maps.probe_hits, false);
	bpf_map__set_autocreate(skel->maps.any_events, c->any);
	skel->rodata->any_host = c->any && c->any->host;
	if (c->wants[EV_alloc_site])
		bpf_map__set_max_entries(skel->maps.heap_vms, c->max_targets);
	else
		heap_maps_omit(skel);
	skel->rodata->ring_mask = c->ring_bytes - 1;
	skel->rodata->ring_secret = c->secret;
	skel->rodata->blk_requests = c->wants[EV_blk_request];
	skel->rodata->sample_frames = c->sample_frames;
	skel->rodata->sample_stacks = c->wants[EV_host_stack];
	skel->rodata->guest_tasks = c->guest_tasks;
	if (c->guest_tasks)
		bpf_map__set_max_entries(skel->maps.guest_kernels, c->max_targets);
	skel->rodata->sample_svm = c->sample_svm;
	skel->rodata->only_pid = c->nr_targets == 1 && !c->follow ? (uint32_t)c->targets[0].pid : 0;
	if (c->follow)
		bpf_map__set_max_entries(skel->maps.vms, FOLLOWED_MAX);
	else
		bpf_map__set_autocreate(skel->maps.process_changes, false);
	bpf_map__set_max_entries(skel->maps.rings, c->nr_cpus);
	bpf_map__set_value_size(skel->maps.rings, (uint32_t)c->stride);
	*ret = skel;
	return 0;
}

static bool is_uprobe(const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);

	return !strcmp(section, "uprobe") || !strcmp(section, "uretprobe");
}

/* Loads the object with these programs; those with an error are skipped. */
static int skel_load(struct collector *c, struct program *programs, unsigned int nr,
		     struct hostrace **ret)
{
	struct hostrace *skel;
	int err = skel_open(c, &skel);

	if (err)
		return err;
	for (unsigned int i = 0; i < nr; i++) {
		struct bpf_program *prog =
			bpf_object__find_program_by_name(skel->obj, programs[i].loaded);

		if (!prog && !*programs[i].error)
			snprintf(programs[i].error, sizeof(programs[i].error),
				 "the BPF object has no program %s", programs[i].loaded);
		if (!prog || *programs[i].error)
			continue;
		bpf_program__set_autoload(prog, true);
		if (c->uprobe_links && is_uprobe(prog))
			uprobe_link_prepare(prog);
		collector_any_prepare(c, prog);
	}
	return object_load(skel, ret);
}

static int program_try(struct collector *c, struct program *program)
{
	struct hostrace *skel;
	int err = skel_load(c, program, 1, &skel);

	if (!err)
		hostrace__destroy(skel);
	return err;
}

/* Tries each program alone, and its alternative. */
static void programs_try(struct collector *c, struct program *programs, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct program *p = &programs[i];
		int err = *p->error ? 0 : program_try(c, p);

		if (err && p->instead) {
			debug("attach", "the kernel rejected %s (%s); trying %s", p->name,
			      object_error(err), p->instead);
			p->loaded = p->instead;
			err = program_try(c, p);
		}
		if (err)
			snprintf(p->error, sizeof(p->error),
				 "the kernel rejected the BPF program: %.200s", object_error(err));
	}
}

static int kernels_map(struct collector *c)
{
	if (!c->guest_tasks)
		return 0;
	c->kernels = mmap(NULL, c->max_targets * sizeof(*c->kernels), PROT_READ | PROT_WRITE,
			  MAP_SHARED, bpf_map__fd(c->skel->maps.guest_kernels), 0);
	if (c->kernels != MAP_FAILED)
		return 0;
	c->kernels = NULL;
	return fail(-errno, "cannot map the table of guest kernels: %s", strerror(errno));
}

static int rings_map(struct collector *c)
{
	size_t bytes = c->stride * c->nr_cpus;

	c->rings = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(c->skel->maps.rings), 0);
	if (c->rings == MAP_FAILED) {
		c->rings = NULL;
		return fail(-errno, "cannot map %zu bytes of ring buffers: %s", bytes,
			    strerror(errno));
	}
	c->lost_seen = calloc((size_t)c->nr_cpus * RING_TYPES, sizeof(*c->lost_seen));
	return c->lost_seen ? 0 : fail(-ENOMEM, "out of memory");
}

int collector_load(struct collector *c, struct program *programs, unsigned int nr,
		   uint64_t ring_bytes)
{
	unsigned int left = 0;
	int err;

	object_messages_keep();
	c->nr_cpus = (unsigned int)libbpf_num_possible_cpus();
	c->ring_bytes = ring_size(c->nr_cpus, ring_bytes);
	c->stride = RING_HEAD_BYTES + c->ring_bytes + RING_SPILL_BYTES;
	if (getrandom(&c->secret, sizeof(c->secret), 0) != sizeof(c->secret))
		return fail(-errno, "getrandom: %s", strerror(errno));
	c->uprobe_links = uprobe_links_possible();
	for (unsigned int i = 0; i < nr; i++)
		programs[i].loaded = programs[i].name;
	err = skel_load(c, programs, nr, &c->skel);
	if (err) {
		programs_try(c, programs, nr);
		err = skel_load(c, programs, nr, &c->skel);
	}
	if (err)
		return fail(err, "cannot load the BPF object: %s", object_error(err));
	for (unsigned int i = 0; i < nr; i++)
		left += !*programs[i].error;
	if (!left)
		return fail(-ENOTSUP, "the kernel rejected every BPF program: %s",
			    nr ? programs[0].error : "no program was requested");
	err = rings_map(c);
	return err ? err : kernels_map(c);
}

void collector_unload(struct collector *c)
{
	if (c->rings)
		munmap(c->rings, c->stride * c->nr_cpus);
	if (c->kernels)
		munmap(c->kernels, c->max_targets * sizeof(*c->kernels));
	hostrace__destroy(c->skel);
	free(c->lost_seen);
	c->rings = NULL;
	c->kernels = NULL;
	c->skel = NULL;
	c->lost_seen = NULL;
}
