/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `hostrace guest ACTION`: what all actions share. An action is a function in one of guest_*.c and
 * a row of the table in guest.c.
 */
#ifndef HOSTRACE_GUEST_COMMAND_H
#define HOSTRACE_GUEST_COMMAND_H

#include <stdio.h>

#include <jansson.h>

#include "base/options.h"
#include "fetch/rest.h"
#include "vm/kvm_state.h"

/* Without an effect where nothing is asked from a REST server; --timeout is for others, too. */
#define REST_OPTIONS "url cert key cacert no-verify unix-socket"

struct guest_given {
	/* REST */
	const char *url;
	struct http_options http;
	bool backtrace, no_backtrace, convert;
	uint64_t interval_ns, count, max_bytes, retries;

	/* memory */
	const char *remote, *exe, *vm, *qmp, *dump, *thread;
	struct text_list modules;
	bool symbols, debug, no_location, raw, stacks, timers;

	struct kvm_state kvm; /* of the host, once it was read; stays until the process ends */

	bool terse; /* print the texts of OSv's own tool */
};
extern struct guest_given guest_given;

/* argv are the words after the action's name. Returns the exit status. */
int guest_download(int argc, char **argv);
int guest_control(int argc, char **argv);
int guest_sampler(int argc, char **argv);

int guest_extract(int argc, char **argv);
int guest_threads(int argc, char **argv);
int guest_virtio(int argc, char **argv);
int guest_leaks(int argc, char **argv);
int guest_symbols(int argc, char **argv);
int guest_ps(int argc, char **argv);
int guest_modules(int argc, char **argv);
int guest_dmesg(int argc, char **argv);
int guest_runqueue(int argc, char **argv);
int guest_callouts(int argc, char **argv);
int guest_heap(int argc, char **argv);
int guest_memory(int argc, char **argv);
int guest_mmap(int argc, char **argv);
int guest_pagetable(int argc, char **argv);
int guest_percpu(int argc, char **argv);
int guest_syms(int argc, char **argv);
int guest_zfs(int argc, char **argv);
int guest_osv_dmesg(int argc, char **argv); /* by its memory */
int guest_control_dmesg(void);		    /* by its REST server */
int guest_rest_dmesg(const char *text);
int guest_interrupts(int argc, char **argv);
int guest_clock(int argc, char **argv);
int guest_linux_virtio(int argc, char **argv);

/* What extract, threads, virtio and leaks share: 0, or -errno with the error message set. */
struct osv_guest_options;
struct osv_pause;
int guest_memory_options(struct osv_guest_options *ret);
void guest_pause_text(const struct osv_pause *p, char *ret, size_t size);
/* What was left out, and for how long the guest was stopped, as notes. Returns EXIT_FINE. */
int guest_pause_print(const struct osv_pause *p);
json_t *guest_address_json(uint64_t address); /* "0x.." */
/* Adds to a list of texts what was left out. */
void guest_lost_caveats(const struct osv_pause *p, json_t *caveats);

/*
 * Prints the answer: {"hostrace":{...},"inputs":[],"clock":{},"caveats":[..],KEY:VALUE}; key is
 * "rows" or "result". Takes ownership of value and caveats (may be NULL). Returns the exit status.
 */
int guest_json_print(const char *action, const char *key, json_t *value, json_t *caveats);

/* The same to a file, which stays open. */
int guest_json_write(FILE *out, const char *action, const char *key, json_t *value,
		     json_t *caveats);

/* control's `freq`: words are tracepoints. */
struct rest;
int guest_freq(const struct rest *r, int argc, char **argv);

#endif
