/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the collector's own files only. */
#ifndef HOSTRACE_COLLECTOR_INTERNAL_H
#define HOSTRACE_COLLECTOR_INTERNAL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/collector.h"
#include "symbols/decoder.h"
#include "collector/unwind.h"
#include "guest_task.h"
#include "heap.h"
#include "record.h"
#include "ring.h"

enum {
	LINKS_MAX = 4096, /* of one recording */
	VCPUS_MAX = 4096, /* vCPU threads that are remembered */
};

/* One wanted event, of one VM or of the kernel, and what became of it. */
struct probe_result {
	pid_t pid; /* 0: the kernel's */
	const char *event;
	const struct probe_plan *plan; /* NULL: there is no program for it */
	char where[256];
	char reason[320];
	unsigned int attached; /* sites, of plan->nr_places */
	unsigned int id;       /* of the event */
	const char *program;   /* of a kernel event: which one it became */
	bool dropped;
	bool ended; /* the VM has */
};

struct file_id {
	uint64_t device, inode, size, mtime_ns; /* inode 0: not known */
};

struct target {
	pid_t pid;
	enum follow follow;
	bool has_kvm;
	bool ended;
	struct file_id exe;
	char *exe_open; /* path that opens the binary */
	struct plan plan;
	uint64_t global_mutex; /* QEMU's, where it is now; 0: unknown */
	struct unwinder *unwinder; /* to unwind its threads' stacks; NULL: not needed, or not possible */
	uint64_t unwinder_ns; /* drain.c: when it was opened again */
	char lock_note[160];   /* as in struct plan, or what is wrong in this process */
	struct plan plan_before; /* of the command, before it executed QEMU: results of kernel events refer to it */
};

/* A program that is to be loaded. */
struct program {
	const char *name;
	const char *instead; /* the one to load if the kernel rejects it, or NULL */
	const char *loaded;  /* which one it became; set by collector_load() */
	char error[256];     /* set by collector_load() if the kernel rejects both */
};

struct probe_link {
	struct bpf_link *link; /* or NULL and the link's own file descriptor */
	int fd;
	struct probe_result *result; /* that it belongs to */
};

enum { PLANS_AHEAD_MAX = 4 };

/* Of a QEMU that the command may start. */
struct plan_ahead {
	struct file_id exe;
	struct plan plan;
};

struct collector {
	struct hostrace *skel;
	struct target *targets; /* one per VM */
	unsigned int nr_targets, max_targets;
	bool wants[EV_LIMIT];
	bool follow; /* requested */
	struct helper decoder; /* running if VMs are followed: they are planned for when confined */
	bool whichever;
	char follow_error[320];
	struct plan_ahead ahead[PLANS_AHEAD_MAX];
	unsigned int nr_ahead;
	struct ring_buffer *changes; /* of processes; NULL: none are followed */
	collector_process *on_change; /* during collector_follow_read() */
	void *on_change_arg;
	struct program *programs;
	unsigned int nr_programs;
	struct probe_link links[LINKS_MAX];
	unsigned int nr_links;
	struct probe_result *attaching;
	bool uprobe_links; /* uprobe_links_possible() */
	struct drop_job *drops; /* links that are being removed while the recording continues */
	const struct any_events *any; /* NULL: none */
	struct probe_plan *any_plans; /* one each */
	int *any_programs; /* file descriptors, one each; -1: it shares a program */
	uint64_t dropped_ns[RING_TYPES]; /* when the event was dropped; 0: it is recorded */
	int cost_fd; /* open while the kernel counts; -1: not requested */
	bool sample_frames, sample_svm;
	bool guest_tasks, exit_reasons; /* requested */
	struct guest_kernel *kernels; /* mapped, one per target; NULL: not requested */
	struct probe_result *results;
	unsigned int nr_results;

	uint8_t *rings; /* mapped: nr_cpus times stride */
	uint64_t ring_bytes, secret, stride;
	unsigned int nr_cpus;

	uint64_t open_ns; /* before the first program was loaded */
	uint64_t start_ns, stop_ns; /* all probes were there; 0: not yet, not stopped */
	uint64_t watermark_ns, pause_ns, round_ns;
	uint64_t first_tsc, first_tsc_ns, last_tsc, last_tsc_ns, pair_due_ns;
	uint64_t nr_pairs; /* that were handed over */
	uint64_t outside; /* events of this round whose time is none of this recording */
	int64_t outside_ns; /* of the last of them, from now */
	struct collector_counts counts;
	uint64_t *lost_seen; /* nr_cpus * RING_TYPES: reported so far */
	uint64_t skipped_seen[RING_TYPES]; /* the same, of events that no program recorded */
	struct heap *heap; /* heap.c; NULL: not followed */
	struct rec_thread last_thread; /* a vCPU's name comes right before its first event */
	struct collector_vcpu vcpus[VCPUS_MAX];
	unsigned int nr_vcpus;
};

/*
 * load.c: opens the skeleton, loads these programs and maps the rings. A program that this kernel
 * rejects is replaced by its `instead`, or skipped and its error set; it fails only if none is left or the maps are
 * unavailable. 0 or -errno with the error message set.
 */
int collector_load(struct collector *c, struct program *programs, unsigned int nr,
		   uint64_t ring_bytes);
void collector_unload(struct collector *c);

/* ---- object.c: the BPF object, which has all programs and maps ---- */

/* libbpf's messages go to HOSTRACE_DEBUG=attach from now on, and object_error() has its first warning. */
void object_messages_keep(void);

/*
 * Opens it. None of its programs will be loaded, and without `maps` none of its maps made but those of its variables,
 * unless the caller sets them so. 0 or -errno with the error message set.
 */
int object_open(bool maps, struct hostrace **ret);

/* *ret: the loaded object. -errno without an error message: it was destroyed, and object_error() says why. */
int object_load(struct hostrace *skel, struct hostrace **ret);

/* Why the last object_load() of this thread returned err. Valid until this thread's next call. */
const char *object_error(int err);

/* What no capability can help with: -ENOTSUP with the error message set. */
int collector_kernel_check(void);

/* attach.c: decides per event and VM (fills c->results), loads what is needed, attaches it. */
int collector_attach(struct collector *c, const struct collector_options *opt);

/* links.c: drops a link; keeps one, or one's own file descriptor (fd < 0: an error, which is returned). -E2BIG. */
void collector_link_drop(struct probe_link *l);
int collector_link_keep(struct collector *c, struct bpf_link *link, int fd);

/* attach.c: decides for this VM's own probes (c->results), and attaches those that are not yet. */
void collector_attach_vm(struct collector *c, const struct target *t);

/* Writes the VM's settings where the programs find them. 0 or -errno with the error message set. */
int collector_register(struct collector *c, struct target *t);

/* any_attach.c: adds a result for each, and tells the programs about it. 0 or -errno with the error message set. */
int collector_any_plan(struct collector *c);
int collector_any_register(struct collector *c);

/* Before loading: what the kernel checks the program against. 0 or -errno. */
int collector_any_prepare(const struct collector *c, struct bpf_program *prog);
int collector_any_attach(struct collector *c, const struct probe_result *r,
			 const struct bpf_program *prog);

/* Calls that a kprobe has missed: more returned at a time than the kernel has memory for, or it ran within itself. */
uint64_t collector_any_missed(const struct collector *c, const struct probe_result *r);

/* Is it a user probe? Its hits cost a trap. */
bool collector_any_is_user(const struct collector *c, const struct probe_result *r);

/* The event's own program, if it does not share one; -1. */
int collector_any_program(const struct collector *c, const struct probe_result *r);
void collector_any_close(struct collector *c);

/* Fails if one of them could not be attached. */
int collector_any_judge(const struct collector *c);

/* Makes the record of what the program copied. */
void collector_any_complete(const struct collector *c, struct record_hdr *rec);

/* locks.c: sets t->global_mutex and lock_note. */
void collector_mutex_find(struct target *t);

/* follow.c: attaches a program that belongs to no event; it is detached at the end. */
int collector_link(struct collector *c, struct bpf_program *prog);

/* follow.c: from now on processes of the command are followed; else sets c->follow_error. */
void collector_follow(struct collector *c);
void collector_follow_close(struct collector *c);

/* cost.c: removes links of dropped events and of VMs that have ended in the background. -ENOMEM. */
int collector_links_drop(struct collector *c);

/* cost.c: what the kernel counts of the program at the i-th place of an attached event; zeros: it is not loaded. */
struct bpf_prog_info collector_program_info(const struct collector *c, const struct probe_result *r,
					    unsigned int i);

/* cost.c: is it that of an earlier place, or of an earlier event that the user names, too? */
bool collector_program_repeats(const struct collector *c, const struct probe_result *r,
			       unsigned int i);

/* cost.c: waits until all dropped programs are detached. */
void collector_drops_wait(struct collector *c);

void collector_heap_close(struct collector *c);

/* sample.c: starts a sampling clock for this program. 0 or -errno with the error message set. */
int collector_sample(struct collector *c, struct bpf_program *prog, uint64_t hz);

/* Runs the program at the end of each page fault of the host that was resolved, of get_user_pages() none. */
int collector_faults(struct collector *c, struct bpf_program *prog);

/* ---- attach.c, links.c: user probes, by the kernel's own links where it has good ones, else by perf events ---- */

/* Attaches this program at an offset of a file in one process, until the recording ends. 0 or -errno. */
int collector_uprobe(struct collector *c, struct bpf_program *prog, pid_t pid, const char *file,
		     uint64_t file_offset, bool at_return);

/* Does this kernel remove user probes without a separate grace period for each? */
bool uprobe_links_possible(void);

/* Before loading: the program will be attached by uprobe_link_sites(). */
void uprobe_link_prepare(struct bpf_program *prog);

/* Sites in one file: offsets in it, of their semaphores (0: none), and what bpf_get_attach_cookie() returns there. */
struct uprobe_sites {
	const uint64_t *offset, *semaphore, *cookie; /* the last two: NULL: none */
	uint32_t nr;
	bool at_return;
};

/* One link for all of them, of one process. Returns its file descriptor or -errno: none is attached then. */
int uprobe_link_sites(const struct bpf_program *prog, pid_t pid, const char *exe,
		      const struct uprobe_sites *sites);

/* Takes a clock pair and remembers the first and the newest, for collector_tsc_khz(). */
void collector_calibrate(struct collector *c, struct rec_clock_pair *rec);

/* Events without probe sites: the collector and its programs write them. */
static inline bool event_is_own(unsigned int id)
{
	return (id >= EV_clock_pair && id < EV_vblk_request) ||
	       (id >= EV_alloc_site && id <= EV_alloc_munmap) || id == EV_virtio_device ||
	       id == EV_virtio_kind || id == EV_probe_dropped || id == EV_blk_request ||
	       (id >= EV_mark && id <= EV_resume);
}

/* The head of a CPU's ring. */
static inline struct ring_head *ring_of(const struct collector *c, unsigned int cpu)
{
	return (struct ring_head *)(c->rings + cpu * c->stride);
}

#endif
