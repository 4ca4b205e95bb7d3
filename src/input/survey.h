/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the inputs hold, whatever the options select: for the explanation of a report that is empty. One pass over all
 * inputs without filters and, if there are filters, one with all of them.
 */
#ifndef HOSTRACE_SURVEY_H
#define HOSTRACE_SURVEY_H

#include "base/cleanup.h"
#include "input/input_set.h"

enum { SURVEY_REASONS_MAX = 64, SURVEY_TIDS_MAX = 64, SURVEY_VCPUS = 1 << 16 };

/* Filters that are judged alone; --vm is not, as it is an error if it matches nothing. */
enum survey_filter {
	SURVEY_TIME,
	SURVEY_VCPU,
	SURVEY_TID,
	SURVEY_EVENT,
	SURVEY_REASON,
	SURVEY_FILTERS
};

struct survey_reason {
	char name[64];
	uint64_t count;
};

/* Events that only name others (threads, devices, losses) are not counted. */
struct survey {
	uint64_t nr, start_ns, end_ns;		/* start_ns, end_ns: first and last event; 0 if nr is 0 */
	uint64_t nr_naming;			/* events that are not counted */
	uint64_t matches[SURVEY_FILTERS];	/* events that pass this filter, whatever the others */
	uint64_t *counts;			/* by registry index: all events */
	uint64_t *selected;			/* the same of those that pass all filters */
	struct survey_reason reason[SURVEY_REASONS_MAX]; /* of kvm_exit, else of kvm_userspace_exit */
	unsigned int nr_reasons;
	uint32_t tid[SURVEY_TIDS_MAX];
	unsigned int nr_tids; /* up to the limit */
	bool *vcpu;	      /* SURVEY_VCPUS */
	json_t *probes;	      /* of a recording of ours, doc/format.md; NULL: none */
};

/*
 * Reads the inputs of `set`, which stays as it is. -errno: an input cannot be read again (a pipe), or memory is short;
 * the error message is set.
 */
int survey_make(const struct input_set *set, struct survey **ret);
void survey_free(struct survey *s);
DEFINE_CLEANUP(survey, struct survey *, survey_free);

/*
 * Events of these names (comma-separated globs), with or without the part before a colon ("guest:", a system of
 * ftrace); selected: that pass all filters.
 */
uint64_t survey_count(const struct survey *s, const char *names, bool selected);

#endif
