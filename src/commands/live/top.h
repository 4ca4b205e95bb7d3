/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of `hostrace top`: the VMs that it watches, and its screen. */
#ifndef HOSTRACE_COMMANDS_TOP_H
#define HOSTRACE_COMMANDS_TOP_H

#include "collector/stat.h"
#include "views/top/frame.h"

/* ---- the VMs: top_vms.c ---- */

struct top_watched {
	struct vm vm;
	struct stat_vm at;
	int pidfd;
	uint64_t since_ns;
	uint64_t number; /* of top_vms.begun; another one if its counters began anew */
};

struct top_vms {
	struct stat *stat;
	struct vm_scope scope; /* of all, if none was selected */
	bool only; /* one VM was selected */
	struct top_watched *vm;
	unsigned int nr, max;
	unsigned int refused; /* VMs for which there was no capacity */
	uint64_t begun;	      /* VMs so far */

	/* May be NULL: this VM's counters are about to be given up. */
	void (*leaves)(void *arg, const struct top_watched *w);
	void *arg;
};

/* `selected`: --vm, or NULL for all VMs, also those that start later. tasks: --guest-tasks, of those that run now. */
int top_vms_open(struct top_vms *t, const char *selected, bool tasks);

/* All VMs; their accesses to pages of MMIO are counted, too. */
int top_vms_open_with_pages(struct top_vms *t);

/* All VMs; only their exits are counted, without details (struct stat_request). */
int top_vms_open_counters(struct top_vms *t);
void top_vms_close(struct top_vms *t);

/* Finds VMs that started, and removes those that ended. Not if one was selected. The model may be NULL. */
int top_vms_look(struct top_vms *t, struct top_model *m);

/* Finds VMs that have not run yet, too, by a look at all processes (ms). Errors with the error message set. */
int top_vms_scan(struct top_vms *t);

bool top_vm_has_ended(const struct top_watched *w);

/* Reads all of them. */
int top_vms_read(struct top_vms *t, struct top_model *m);

enum { TOP_NOTE_BYTES = 384 };

/* Adds a part of the note; NULL or "": nothing. */
void top_note_add(char *buf, size_t size, const char *text);

/* What is not counted, or NULL. Returns buf. */
const char *top_vms_note(const struct top_vms *t, char *buf, size_t size);

/* ---- what costs the VMs time: top_causes.c ---- */

struct top_causes;

/* Of these VMs. Errors with the error message set; to be closed then, too. */
int top_causes_open(const struct top_vms *vms, struct top_causes **ret);
void top_causes_close(struct top_causes *c);

/* After top_vms_look(): VMs that began and ended. 0 or -ENOMEM with the error message set. */
int top_causes_follow(struct top_causes *c, const struct top_vms *vms);

/* After top_vms_read(): sets the causes of the VMs' nodes. */
void top_causes_read(struct top_causes *c, const struct top_vms *vms, struct top_model *m);

/* ---- virtqueues: top_queues.c ---- */

struct top_queues;

/* Probes QEMU's virtqueues of these VMs. NULL for the others: no queues are watched. */
int top_queues_open(const struct top_vms *vms, struct top_queues **ret);
void top_queues_close(struct top_queues *t);

/* After top_vms_read(). */
int top_queues_read(struct top_queues *t, struct top_model *m);

/* Events that were lost: requests whose end may be among them are not counted. */
uint64_t top_queues_lost(const struct top_queues *t);

/* ---- guest tasks: top_tasks.c ---- */

struct top_tasks;

/* Finds the tasks of the guests of these VMs; waits a second for them. NULL for the others: none are counted. */
int top_tasks_open(const struct top_vms *vms, struct top_tasks **ret);
void top_tasks_close(struct top_tasks *t);

/* Takes in what has become known. */
void top_tasks_look(struct top_tasks *t, const struct top_vms *vms);

/* Whose tasks are not counted, and why; NULL: all are. Returns buf, which has TOP_NOTE_BYTES. */
const char *top_tasks_note(const struct top_tasks *t, char *buf, size_t size);
/* The same of one VM. */
const char *top_tasks_why(const struct top_tasks *t, uint64_t pid, char *buf, size_t size);

/* ---- the screen: top_screen.c ---- */

struct top_screen;

/* Takes the terminal. -errno with the error message set. */
int top_screen_open(struct top_screen **ret);
void top_screen_close(struct top_screen *s);

void top_screen_size(const struct top_screen *s, unsigned int *ret_width, unsigned int *ret_height);
void top_screen_draw(struct top_screen *s, const struct top_frame *f);

/* A character, enum top_key, or 0: none was typed. */
int top_screen_key(struct top_screen *s);

/* After SIGWINCH. */
void top_screen_resize(struct top_screen *s);

/* After SIGTSTP: gives the terminal back, and stops this process until it is continued. */
void top_screen_stop(struct top_screen *s);

#endif
