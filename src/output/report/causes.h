/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes a guest slow, each with a stable id, and what usually cures it; doc/causes.md has a section for each.
 * Causes of one kind are seen in the same events: a recording without these says nothing of them.
 */
#ifndef HOSTRACE_REPORT_CAUSES_H
#define HOSTRACE_REPORT_CAUSES_H

#include <stddef.h>

/* When a recording answers whether there is a cause of the kind. */
enum cause_source {
	SOURCE_PROBES, /* with one of the events, or if its probe was set and never hit */
	SOURCE_VCPUS,  /* with one of the events, if it knows which threads are vCPUs */
	SOURCE_EXITS,  /* with one of the events, and exits whose duration is known */
	SOURCE_SLEEPS, /* the same; of an emulated VM, which has none, as SOURCE_VCPUS */
};

struct cause_kind {
	const char *id;	     /* "cpu" */
	const char *what;    /* "waiting for a CPU" */
	enum cause_source source;
	const char *events;  /* comma-separated */
	const char *record;  /* the analyzer: hostrace record --for RECORD */
};

/* Ends with id NULL. */
extern const struct cause_kind cause_kinds[];

struct cause {
	const char *id;	  /* "cpu-quota" */
	const char *kind; /* of struct cause_kind; "": of none */
	const char *what; /* "a CPU quota" */
	const char *cure; /* a sentence without its full stop; NULL: it is no fault */
};

/* Ends with id NULL. */
extern const struct cause causes[];

/* NULL: there is none. */
const struct cause *cause_find(const char *id);

#endif
