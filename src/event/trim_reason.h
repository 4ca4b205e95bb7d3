/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --reason GLOB: exits of these reasons, and the events of their thread until the next VM-entry. The reason is only in
 * the event that begins an exit, so whether the next event of that thread is requested depends on the previous ones:
 *
 *   kvm_exit (io)  kvm_pio  kvm_userspace_exit (io) ... kvm_run  kvm_entry  kvm_exit (hlt) ...
 *   '----------------------- requested by --reason io --------------------'
 *
 * A return to the VMM has reasons of its own (KVM_EXIT_*), and lasts until kvm_run; with the exit that led to it it is
 * selected if the reason has no name among those of exits.
 */
#ifndef HOSTRACE_TRIM_REASON_H
#define HOSTRACE_TRIM_REASON_H

#include "event/event.h"

struct trim_reason;

/*
 * globs: comma-separated, in either case, and with the names of other ISAs (exit_reason_synonyms()). NULL if memory is
 * short. NULL may be freed.
 */
struct trim_reason *trim_reason_new(const char *globs);
void trim_reason_free(struct trim_reason *f);

/*
 * Does the list have a reason that only returns to the VMM have (KVM_EXIT_MMIO, or MMIO)? Then it selects the exits
 * that led to them. As that is known only later, all events that trim_reason_wants() names must be looked at before, in
 * time order, by source as they will be in the events that are filtered.
 */
bool trim_reason_looks_ahead(const struct trim_reason *f);
void trim_reason_look(struct trim_reason *f, uint16_t source, const struct event *ev);

/* Is the event requested? To be called once for each event, in time order. */
bool trim_reason_passes(struct trim_reason *f, const struct event *ev);

/* Number of threads that could not be followed: of their exits only the first event passed. */
uint64_t trim_reason_unfollowed(const struct trim_reason *f);

/* Must this event be read for the filter to work, even if it is not wanted? */
bool trim_reason_wants(const char *event);

#endif
