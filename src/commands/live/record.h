/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of `hostrace record`. What goes into a file next to the collector's own events (a guest's trace, samples,
 * what it all costs) is a struct record_part: one file, its lines in record_parts.c.
 */
#ifndef HOSTRACE_RECORD_COMMAND_H
#define HOSTRACE_RECORD_COMMAND_H

#include "base/options.h"
#include "collector/account.h"
#include "collector/collector.h"
#include "commands/common/stuck_run.h"
#include "commands/live/guest_watch.h"
#include "confine/confine.h"
#include "event/event.h"
#include "tracefile/tracefile.h"

struct record_options {
	struct text_list vms;
	const char *output, *events, *analyzers, *filter;
	bool exact;
	bool all, zstd, host;
	struct record_sync {
		const char *when;
		bool at_end;
		uint64_t every_ns;
	} sync;
	uint64_t duration_ns, buffer_bytes, ring_bytes;
	int stream; /* of --output -: standard output, whose number is standard error's now; 0: a file */
};

extern struct record_options record_opt;

/* Length of --output without ".hrt": names of companion files begin with it. */
int record_output_stem(void);

extern const struct option_row record_own_options[];

enum stop {
	GO_ON,
	STOP_SIGNAL,
	STOP_DURATION,
	STOP_VM,
	STOP_COMMAND,
	STOP_ERROR,
	STOP_READER,
	STOP_CONDITION,
};

/* ---- record_events.c: which events ---- */

/*
 * Sets or clears wants[] by a comma-separated list of sets (default, kvm, ..., all),
 * event names and globs; those with a ':' are tracepoints of the kernel, in `any` (NULL: impossible). A leading '-'
 * excludes. -EINVAL with the error message set if an item fits
 * nothing.
 */
int events_choose(const char *list, bool wants[EV_LIMIT], struct any_events *any);

/* Adds the probes of the global mutex. -EINVAL with the error message set: nothing here needs them. */
int events_choose_exact(bool wants[EV_LIMIT]);

/* Adds what these analyzers or reports (comma-separated) look at. -EINVAL with the error message set. */
int events_choose_for(const char *list, bool wants[EV_LIMIT]);

/*
 * The command that shows what was recorded: for the first one of such a list, "blame"; where list is NULL, by how many
 * there are of each event. Returns buf.
 */
const char *events_next_print(const char *list, const uint64_t count[EV_LIMIT], char *buf,
			      size_t size);

/* --host: also in threads of no VM. -EINVAL with the error message set: there are no such events. */
int events_host(struct any_events *any, bool host);

struct recording;

/* Declares the file's own types, before any other: their ids are the numbers in the records. */
int events_announce(struct recording *r);

/* Adds what every file needs. */
void events_explain(bool wants[EV_LIMIT]);

/* ---- record_launch.c: the command behind "--" ---- */

struct launch {
	pid_t pid; /* 0: none */
	int gate;  /* pipe that keeps it from running */
	int status;
	bool ended;
};

/* Forks; the child waits at the gate. -ENOENT, ... with the error message set. */
int launch_start(char **argv, struct launch *ret);

/* Lets it run. */
int launch_go(struct launch *c);

/* Has it ended? Then its status is known. Does not wait. */
bool launch_poll(struct launch *c);

/* Ends it if it still waits at the gate, else leaves it alone. */
void launch_close(struct launch *c);

/* ---- what is said (record_tell.c) ---- */

struct recording;

/* That it records, what, and until when. Scripts wait for this line: from now on events are recorded. */
void record_tell_start(const struct recording *r);

/* Events, losses, the file, why it ended, what to do next. */
void record_tell_end(struct recording *r);

/* How the command after -- ended, or that it goes on. */
void record_tell_command(const struct launch *c);

/* What is known of the child before it runs: the VM that it may become. Free with vm_free(). */
int launch_vm(const struct launch *c, char **argv, struct vm *ret);

/* Absolute path of the program that execvp() would run, in buf. -ENOENT. */
int program_path(const char *name, char *buf, size_t size);

/* ---- record.c: one recording ---- */

/* Of a VM, or of the command that may start one. */
struct vm_watch {
	int pidfd; /* -1: it has ended */
	bool is_qemu; /* executes QEMU, so that it is, or is going to be, a VM */
	bool is_vm; /* it has been seen as one: /proc describes it completely */
	bool has_run;  /* a vCPU of it */
	bool forked;   /* by a QEMU with -daemonize */
	bool pending;  /* forked a moment ago, and still to be attached to */
	bool replaced; /* it forked the VM (-daemonize) and is none */
	bool given_back; /* it has ended, and with it what the collector held for it */
	bool told; /* startup notes printed */
	uint64_t begin_ns, attached_ns; /* a VM that the command started: since when, its probes since when */
};

/* See record_follow.c. */
struct follow_state {
	bool started, active;
	unsigned int vcpus_seen;  /* vCPU threads of the collector that were looked at */
	unsigned int before;	  /* VMs that ran when the recording started ... */
	pid_t *vms_before;	  /* ... their process ids */
	bool waiting_told, pending;
};

struct guest_source;
struct flight;	    /* record_trigger.c */
struct stop_on;	    /* record_stop_on.c */
struct record_control;
struct record_stop; /* record_stop.c */
struct vcpu_runs;   /* record_silence.c */

/* A guest's own trace, and the file that it goes to. */
struct recorded_guest {
	struct guest_source *source;
	char *path;
};

/* The child that saves the symbols of the guest's kernel, and what it reports. */
struct recorded_symbols {
	pid_t pid; /* 0: none */
	int report;
	char *path, text[256];
	size_t len;
};

struct recording {
	struct vm *vms;
	unsigned int nr_vms;
	struct launch launch;
	char **argv; /* the command, or NULL */
	struct collector *collector;
	struct trace_writer *writer;
	json_t *vms_json; /* as known now */
	struct vm_watch *watch; /* one per VM */
	struct follow_state follow;
	int signals; /* signalfd */
	struct record_stop *stopping; /* NULL: not open */
	uint64_t start_ns, progress_ns;
	uint64_t shown_ns, shown_events; /* of the last line of progress */
	struct cost_account cost;
	struct recorded_guest guest[OPTION_LIST_MAX]; /* of --guest */
	unsigned int nr_guests;
	bool guests_stopped;
	struct recorded_symbols symbols;
	struct stuck_run stuck;
	json_t *stuck_kept; /* its answer, or why there is none; NULL: not yet, or it was not asked */
	struct guest_watch *tasks; /* of --guest-tasks, one per VM */
	unsigned int nr_tasks;
	unsigned int dumps;
	uint64_t dumps_failed; /* could not be written, or their report */
	struct trace_written written;
	unsigned int vms_shortened; /* whose words are too long for the metadata: vm_rows_fit() */
	int file_err; /* the file is not as it should be */
	struct vcpu_runs *runs; /* of vCPUs of VMs that have no event; NULL: none is left */
	struct flight *flight; /* of --trigger, else NULL */
	struct record_control *control; /* of hostrace mark */
	bool pauses; /* SIGUSR2 has come */
	struct stop_on *stop_on; /* of --stop-on, else NULL */
	enum stop stop;
	bool vms_ended; /* or the command has, when the recording ended, whatever ended it */
	struct any_events any; /* of --events */
	struct confinement confinement;
	struct confine_paths *paths; /* of the confinement */
};

/* ---- record_parts.c: what else goes in ---- */

/*
 * Every hook may be absent. Where one returns an error, the error message is set and the recording ends. If it had
 * begun, stop() is called; close() is called in any case, also if start() failed or was never called.
 */
struct record_part {
	/* Before anything is opened: looks at the options, asks the collector for more. -EINVAL: wrong usage. */
	int (*choose)(struct collector_options *c);
	/* The VMs are known, nothing is attached or open yet. */
	int (*begin)(struct recording *r);
	/* Probes are attached, the file is open, the command not yet let go, privileges not yet dropped. */
	int (*start)(struct recording *r);
	/* After each round of the collector, a few times a second. */
	int (*round)(struct recording *r, uint64_t now_ns);
	/* Events no longer come; the file can still be written. */
	int (*stop)(struct recording *r);
	/* Adds keys to the file's metadata: as it is opened (final false) and at its end. */
	void (*meta)(struct recording *r, json_t *meta, bool final);
	/* Lines under the summary (command_note). */
	void (*summary)(struct recording *r);
	void (*close)(struct recording *r);
};

/* Each in record_NAME.c. */
extern const struct record_part record_control_part, record_cost_part, record_exits_part,
	record_guest_part, record_heap_part, record_limits_part, record_regions_part,
	record_sample_part, record_silence_part, record_stop_on_part, record_stuck_part,
	record_symbols_part, record_tasks_part, record_trigger_part;
extern const struct option_row record_cost_options[], record_exits_options[],
	record_guest_options[], record_regions_options[], record_sample_options[],
	record_stop_on_options[],
	record_stuck_options[], record_symbols_options[], record_trigger_options[],
	record_tasks_options[], record_wait_options[];

/* --trigger is given: dumps are all that is kept. */
bool record_has_triggers(void);

/* For record --trigger: a record, and the end of a round. 0 or -errno with the error message set.
 */
int record_trigger_record(struct recording *r, const struct record_hdr *rec);
int record_trigger_round(struct recording *r, uint64_t watermark_ns);

/* Adds a record, of the collector or of our own: 0 or -errno with the error message set. */
int record_put(struct recording *r, const struct record_hdr *rec);

/* record_control.c: is the recording paused at the record's time, so that it is not added? It is counted then. */
bool record_control_drops(struct recording *r, const struct record_hdr *rec);
uint64_t record_control_dropped(const struct recording *r, unsigned int type);

/* No record before this time comes any more. */
void record_control_drained(struct recording *r, uint64_t watermark_ns);

/* Readable when `hostrace mark` asks for something; -1: never. */
int record_control_fd(const struct recording *r);

/* Likewise for record --stop-on. */
int record_stop_on_record(struct recording *r, const struct record_hdr *rec);
int record_stop_on_round(struct recording *r, uint64_t watermark_ns);

/* record_silence.c: the VM of this record has one. Cheap. */
void record_silence_record(struct recording *r, const struct record_hdr *rec);

/* SIGUSR1: a dump of all that is there. */
void record_trigger_signal(struct recording *r);
void record_trigger_summary(struct recording *r);

/* Is a dump of the VM's end wanted? */
bool record_trigger_at_end(const struct recording *r);

/* The dumps that it writes. */
int record_trigger_paths(const struct recording *r, struct confine_paths *paths);

/* What --guest still has to find or to connect to. */
bool record_guest_pending(const struct recording *r);

/* The files that --guest writes, and those of its sources that are opened to be written. */
int record_guest_paths(const struct recording *r, struct confine_paths *paths);

/* ---- record_stop.c: signals that end it ---- */

/* Blocks SIGUSR1, SIGUSR2 and SIGCHLD, and returns a signalfd for them. */
int record_signals_open(void);

/*
 * Until now ^C ends the program at once: nothing has been written. From now on a thread counts SIGINT, SIGTERM and
 * SIGHUP, and ends the program by the third. -errno with the error message set.
 */
int record_stop_open(struct recording *r);

/* The set-up is over: from now on a signal no longer interrupts what waits (stop_pending()). */
void record_stop_ready(struct recording *r);

/* Becomes readable with the first of them. */
int record_stop_fd(const struct recording *r);

/* Without the thread in between, for what is done to all threads of a process or to none. */
void record_stop_pause(struct recording *r);
int record_stop_watch(struct recording *r);

/* The file has its index and is closed. */
void record_stop_complete(struct recording *r);

/* The collector is about to be closed: it is no longer the thread's. */
void record_stop_detached(struct recording *r);
void record_stop_close(struct recording *r);

/* ---- record_stream.c ---- */

/* Is the output "-"? Then sets record_opt.stream. -EINVAL, ... with the error message set. */
int record_stream_open(void);

/* ---- record_wait.c: a VM that is restarted ---- */

/* --wait is given. */
bool record_waits(void);

/* -EINVAL with the error message set: the other options do not permit --wait. */
int record_wait_check(const struct recording *r);

/* Calls once() in a child for each run of the VM, from its start to its end. Returns the exit status. */
int record_wait(struct recording *r, int (*once)(struct recording *r));

/* NULL-terminated: the option tables of record itself and of all parts. */
extern const struct option_row *const record_option_tables[];

/* Each calls that hook of all parts. */
int parts_choose(struct collector_options *c);
int parts_begin(struct recording *r);
int parts_start(struct recording *r);
int parts_round(struct recording *r, uint64_t now_ns);
int parts_stop(struct recording *r);
void parts_meta(struct recording *r, json_t *meta, bool final);
void parts_summary(struct recording *r);
void parts_close(struct recording *r);

/* ---- record_meta.c: the file's metadata ---- */

/* Both: the caller owns the object. The second knows the vCPU threads known from events. */
json_t *record_meta_begin(struct recording *r);
json_t *record_meta_end(struct recording *r);

/* Array of vm_json(). The caller owns it. */
json_t *record_vms_describe(struct recording *r);

extern const char *const record_stop_words[];

/* ---- record_vms.c: which VMs, and whether they live ---- */

/* VMs that ended before the recording began: another process may have their pid by now. */
void record_vms_ignore_ended(struct recording *r);

/* r->vms by --vm (one or several), --all or the command. -ESRCH, -EINVAL, ... with the error message set. */
int record_vms_choose(struct recording *r);

int record_vms_watch(struct recording *r);

/* Adds an entry for this VM, which the recording then owns. The new index or -errno with the error message set. */
int record_vms_append(struct recording *r, struct vm *vm);

/* Describes those that have become VMs since, for the file's metadata. */
void record_vms_refresh(struct recording *r);

/* Is this one a VM, as far as is known? The command is taken for one until another is found. */
bool record_vm_counts(const struct recording *r, unsigned int i);

/* Gives back what the collector holds for VMs that have ended; called about once a second. */
void record_vms_give_back(struct recording *r);

/* Has it ended, so that its pid may be another process's? */
bool record_vm_ended(const struct recording *r, unsigned int i);

/* VMs that are still running. */
unsigned int record_vms_running(struct recording *r);

/* ---- record_follow.c: a command that starts the VMs ---- */

/* Before the child is released; reports what may be missed. */
int record_follow_start(struct recording *r);

/* Looks at what the command's processes did, and attaches probes to its VMs. */
void record_follow_round(struct recording *r);

/* Looks for VMs that a daemon (libvirt's) started for the command; called about once a second. */
void record_follow_look(struct recording *r);

/* Does the recording end, now that the command has, or has not? */
bool record_follow_ended(struct recording *r);

/* The last round: what is known of a VM now is all that will be; says of which ones little is. */
void record_follow_last(struct recording *r);

/* -ESRCH with the error message set if there was no VM at all. */
int record_follow_stop(struct recording *r);

/* ---- record_confine.c: what the recorder may still do ---- */

/* Probes are attached and files are open: gives up what the rest of the recording does not need (confine/confine.h). */
int record_confine(struct recording *r);

/* Gives up more as soon as nothing is to be attached or found any more. Called every round; cheap. */
int record_confine_more(struct recording *r);

void record_confine_close(struct recording *r);

#endif
