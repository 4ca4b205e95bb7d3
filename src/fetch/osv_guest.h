/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An OSv guest's memory, read by the layouts of its own ELF file: through the gdb stub, while the guest is stopped;
 * through its process, while it runs; or in a dump. The DWARF is searched before the guest is stopped.
 *
 * Nothing is printed while the guest is stopped: a write to a terminal may block (^S) or stop this process.
 *
 * All data from the guest is checked: counts have limits, pointers are only followed
 * into the guest, texts are sanitized.
 */
#ifndef HOSTRACE_OSV_GUEST_H
#define HOSTRACE_OSV_GUEST_H

#include "base/options.h"
#include "fetch/gdb.h"
#include "fetch/layout.h"
#include "fetch/guest_dump.h"
#include "readers/osv/raw.h"
#include "symbols/symbols.h"
#include "vm/kvm_state.h"

struct osv_live {
	const struct memory *memory; /* of the process, or of the dump */
	struct memory process;
	struct guest_dump dump;
	struct guest_ram ram;
	struct guest_space space;
	uint64_t page, at; /* the newest translation: the guest's page, and where the process has it */
};

/* Which VM. Without qmp and kvm, the guest's own variables have to lead to its page tables. */
struct osv_live_vm {
	pid_t pid; /* 0: none */
	uint64_t start; /* proc_start() */
	uint64_t ram_bytes;
	const char *qmp; /* its monitor's socket, or NULL */
	const struct kvm_vm *kvm; /* borrowed, also while the guest is read; or NULL */
	char unknown[240];	  /* why neither is there; "": one is */
};

/*
 * Objects of the guest that were left out, as they cannot be read or have impossible contents. A guest that wrote over
 * one of them, or any other damage, must not keep the rest from being shown.
 */
enum { OSV_LOST_KINDS_MAX = 6, OSV_LOST_NAMED = 4 };
struct osv_lost {
	struct {
		const char *what; /* "thread" */
		uint64_t nr, address[OSV_LOST_NAMED];
		char why[160]; /* of the first */
	} kind[OSV_LOST_KINDS_MAX];
	unsigned int nr;
	char end[200]; /* "", or why a list was left before its end */
};

/* How a guest was read. */
struct osv_pause {
	bool live; /* not by the stub: while it ran, or in a dump */
	bool dump;
	uint64_t cut_bytes; /* of the dump: missing at the file's end */
	struct gdb_stopped stopped; /* by us: 0 if live, and if it was paused before, and stays paused */
	enum gdb_before before;
	struct osv_lost lost;
};

enum {
	OSV_CPUS_MAX = 4096,
	OSV_THREADS_MAX = 65536,
	OSV_DRIVERS_MAX = 4096,
	OSV_QUEUES_MAX = 64, /* of one driver: virtio_driver::max_virtqueues_nr */
	OSV_ALLOCATIONS_MAX = 4 << 20,
	OSV_FRAMES_MAX = 32, /* of an allocation, and of a sample's backtrace */
	OSV_STACK_MAX = 128, /* of a thread */
	OSV_TIMERS_MAX = 8,  /* of a thread */
	OSV_MODULES_MAX = 1024,
};

/* The files of the host that a guest's code is from. */
struct osv_files {
	const char *elf; /* the kernel; manifests are in its folder */
	const struct text_list
		*modules; /* of modules: FILE, by its base name, or GUESTPATH=FILE; NULL: none */
};

struct osv_guest {
	struct layout *layout;
	struct gdb *gdb; /* NULL: live */
	struct osv_live live;
	struct osv_files files;
	struct osv_lost lost;
};

struct osv_guest_options {
	const char *elf, *remote; /* NULL: build/release/loader.elf, localhost:1234 */
	bool debug;		  /* build/debug/loader.elf */
	const struct text_list *modules; /* as in osv_files */
	bool no_location;	  /* threads: skip code locations, which need most of the reads */
	bool timers;		  /* threads: also their timers */
	uint64_t timeout_ns;
	const char *qmp;	  /* its monitor's socket, to see that it runs afterwards; or NULL */

	/* At most one of them; without, it is the gdb stub, which stops the guest. */
	struct osv_live_vm vm; /* whose process is read; pid 0: none */
	const char *dump;      /* a file (guest_dump.h), or NULL */
};

/* Opens the ELF file; the guest is not contacted yet. */
int osv_guest_open(const struct osv_guest_options *opt, struct osv_guest *ret);
/* Stops the guest, or begins to read it while it runs. -ENOENT: the ELF file is not that of its kernel. */
int osv_guest_stop(const struct osv_guest_options *opt, struct osv_guest *g);
/*
 * The guest is in the state it had before, or -errno. `err`: what failed meanwhile, with its error message; then that
 * is returned, and its error message is extended if the guest may still be stopped, or was paused before and runs.
 */
int osv_guest_resume(const struct osv_guest_options *opt, struct osv_guest *g, int err,
		     struct osv_pause *ret);
/*
 * For a failure after the guest was read and resumed: extends the error message if it runs now and may have been paused
 * before. Returns err.
 */
int osv_pause_fail(const struct osv_pause *p, int err);
void osv_guest_close(struct osv_guest *g);

/*
 * Common to all readers of a guest: opens the ELF file, calls `find` to look up the layout, stops the guest, calls
 * `read`, and resumes the guest. Both get `walk`, which contains g, and return 0 or -errno with the
 * error message set, as this does. g is open afterwards, also on failure: osv_guest_close().
 */
int osv_guest_visit(const struct osv_guest_options *opt, struct osv_guest *g,
		    int (*find)(void *walk), int (*read)(void *walk), void *walk,
		    struct osv_pause *ret_pause);

/* ---- reading ---- */

int osv_guest_read(struct osv_guest *g, uint64_t address, void *ret, size_t len);

/* Of its physical memory. */
int osv_guest_physical(struct osv_guest *g, uint64_t address, void *ret, size_t len);

/* Registers of its vCPUs, to be freed; none of a guest that runs, and of its process's core dump. */
int osv_guest_vcpus(struct osv_guest *g, struct gdb_vcpu **ret, unsigned int *ret_nr);

int osv_guest_u64(struct osv_guest *g, uint64_t address, uint64_t *ret);
int osv_guest_u16(struct osv_guest *g, uint64_t address, uint16_t *ret);
/* A C string of at most size - 1 bytes; a longer one is cut. */
int osv_guest_text(struct osv_guest *g, uint64_t address, char *ret, size_t size);
/* Members of an object, in any order; *to gets them. What is far from each other is read
 * separately. */
struct osv_member {
	uint32_t offset, len;
	void *to;
};
int osv_guest_members(struct osv_guest *g, uint64_t object, struct osv_member *m, size_t nr);

/* The pointers of a std::vector<T *> at this address; *ret is allocated. */
int osv_guest_vector(struct osv_guest *g, uint64_t address, unsigned int max, uint64_t **ret,
		     unsigned int *ret_nr);

/*
 * For the object at this address, `err` of reading it: 0 if it is left out, and noted with the error message; -errno
 * if nothing more can be read.
 */
int osv_guest_lose(struct osv_guest *g, const char *what, uint64_t address, int err);
/* "2 threads cannot be read: 0x..., 0x... (...)"; kind: below lost->nr. */
void osv_lost_text(const struct osv_lost *lost, unsigned int kind, char *ret, size_t size);

/* ---- modules ---- */

/* A shared object that the guest has loaded: elf::program::s_objs. */
struct osv_module {
	char path[256];	       /* in the guest's file system */
	uint64_t base, object; /* object: the address of its elf::object */
	bool lost;	       /* not readable: no path, and the base is 0 if it is not, either */
};

struct osv_modules {
	struct osv_module *module; /* by base; free() */
	unsigned int nr;	   /* 0 also where this build of OSv has no such list */
	unsigned int nr_lost;	   /* of these */
	char error[160];	   /* "", or why the list itself could not be read */
};

struct osv_modules_layout {
	uint64_t list;	     /* address; 0: no such list */
	uint32_t base, path; /* of elf::object */
};
void osv_modules_find(struct layout *l, struct osv_modules_layout *ret);
/* Only names depend on them: what cannot be read is counted. -ENOMEM. */
int osv_modules_read(struct osv_guest *g, const struct osv_modules_layout *at,
		     struct osv_modules *ret);

/* The files that these options name. */
struct osv_files osv_files_of(const struct osv_guest_options *opt);
/* The host's file of a path in the guest, to be freed, or NULL: a given one, else by the manifests. */
char *osv_file_in_image(const struct osv_files *f, const char *path);
/* The same, else by its base name in and below the kernel's folder: not while the guest is stopped. */
char *osv_file_find(const struct osv_files *f, const char *path);

/* ---- the rings ---- */

struct osv_extracted {
	struct sample_trace *trace; /* sample_trace_close() */
	struct osv_modules modules;
	struct osv_raw_counts counts;
	unsigned int nr_cpus, nr_empty; /* without a buffer: nothing was traced there yet */
	uint64_t bytes;

	struct osv_ring *ring; /* the rings as they were in the guest; their bytes are in mem */
	unsigned int nr_rings;
	void *mem;
	uint64_t mem_bytes;
};

/* Copies the rings. */
int osv_extract(const struct osv_guest_options *opt, struct osv_extracted *ret,
		struct osv_pause *ret_pause);
/* Also after a failure. */
void osv_extracted_deinit(struct osv_extracted *x);

/* "0xADDRESS FILE LINE NAME" for each address of the samples' backtraces: symbols.h reads it. */
int osv_symbols_write(const struct osv_extracted *x, const struct osv_files *files, FILE *out,
		      uint64_t *ret_nr);

/* ---- threads ---- */

enum osv_stack_state {
	OSV_STACK_COMPLETE,   /* up to where the thread began */
	OSV_STACK_INCOMPLETE, /* code without .eh_frame, or memory that cannot be read */
	OSV_STACK_TRUNCATED,  /* more frames than OSV_STACK_MAX */
	OSV_STACK_RUNNING,    /* on a vCPU whose registers are not known */
};
const char *osv_stack_state_name(enum osv_stack_state state);

struct osv_timer {
	int64_t time_ns; /* since the guest's boot */
	bool expired;
};

struct osv_thread {
	uint64_t address, cpu_address;
	uint32_t id;
	int32_t cpu;	 /* -1: none yet */
	int32_t acpi_id; /* of that vCPU, which is what OSv's own command prints; cpu in a build
			    without */
	int32_t vcpu;	 /* that runs it, of the gdb stub or the dump; -1: none, or not known */
	char name[17], status[32];
	float vruntime;
	int64_t cpu_time_ns;
	uint64_t frame[OSV_STACK_MAX]; /* rip, then return addresses less 1 */
	unsigned int nr_frames;
	enum osv_stack_state stack;
	struct osv_timer timer[OSV_TIMERS_MAX];
	unsigned int nr_timers, more_timers; /* more: that there are besides */
};
/* Both results are to be freed. Without locations, there are no modules. */
int osv_threads(const struct osv_guest_options *opt, struct osv_thread **ret, unsigned int *ret_nr,
		struct osv_modules *ret_modules, struct osv_pause *ret_pause);

/* ---- virtqueues, as the guest's driver sees them ---- */

struct osv_queue {
	char driver[64]; /* "virtio::net" */
	uint64_t driver_address, address;
	uint16_t index, size;
	uint16_t avail, avail_event;	      /* offered by the guest; consumed by the device */
	uint16_t used, used_event;	      /* given back by the device; awaited by the guest */
	uint16_t free, used_seen, used_freed; /* the driver's own counters */
	bool no_notify;			      /* the device wants no kicks */
};
int osv_queues(const struct osv_guest_options *opt, struct osv_queue **ret, unsigned int *ret_nr,
	       struct osv_pause *ret_pause);

/* ---- allocations alive ---- */

struct osv_leak {
	uint64_t bytes, count, size_min, size_max, birth_min, birth_max, birth_sum;
	uint64_t frame[OSV_FRAMES_MAX]; /* innermost first */
	unsigned int nr_frames;
};
struct osv_leaks {
	struct osv_leak *leak; /* most bytes first */
	size_t nr;
	uint64_t allocations, seq;
	bool enabled;
	struct osv_modules modules;
};
int osv_leaks(const struct osv_guest_options *opt, struct osv_leaks *ret,
	      struct osv_pause *ret_pause);
/* memory::tracker_enabled */
int osv_leaks_switch(const struct osv_guest_options *opt, bool on, struct osv_pause *ret_pause);

struct osv_names;

/* 0, or -errno with the error message set. The modules are borrowed; the files of some may be
 * missing. */
int osv_names_open(const struct osv_files *files, const struct osv_modules *modules,
		   struct osv_names **ret);
void osv_names_close(struct osv_names *n);
DEFINE_CLEANUP(osv_names, struct osv_names *, osv_names_close);

enum osv_name {
	OSV_NAME_INNERMOST, /* the innermost function, which may be inlined */
	OSV_NAME_FRAME,	 /* the function whose code it is, at the call of what is inlined there: as
			    gdb's frames */
	OSV_NAME_SYMBOL, /* the function whose code it is, at the innermost line: as gdb's "info
			    symbol" and "info line" */
};

/* The file's path is relative to the source tree where it is in it. False: nothing is known of the
 * address. */
bool osv_names_find(struct osv_names *n, uint64_t address, enum osv_name what, struct frame *ret);

/* All frames of an address, innermost first: what is inlined there, then the function whose code it is. 0: unknown. */
unsigned int osv_names_frames(struct osv_names *n, uint64_t address,
			      struct frame ret[FRAME_INLINES_MAX]);

#endif
