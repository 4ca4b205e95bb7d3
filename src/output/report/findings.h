/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The summary in sentences: what cost the VM the most time, from the sections of the page (page.h). Requests that a
 * device did not return come first; then what is largest as a share of the recording's time:
 *
 *	sched, blame	time of a vCPU without a CPU, waiting for QEMU's global mutex, in a device, ...
 *	exits		where blame knows nothing: the reason with the longest total, without halts
 *	virtio		time that a queue's requests took beyond their median
 */
#ifndef HOSTRACE_REPORT_FINDINGS_H
#define HOSTRACE_REPORT_FINDINGS_H

#include <jansson.h>

enum { FINDINGS_MAX = 8 };

/*
 * [{"kind", "section", "text", "share", "more", "more_share"}], the largest first, one of each kind: `more` others (of
 * other vCPUs, of other queues) are not larger than more_share. New reference.
 */
json_t *findings_make(const json_t *sections);

/* What has to be known before reading the figures: lost events, unreliable guest timestamps. [text]. New reference. */
json_t *page_notes_make(const json_t *sections);

/* "hostrace-demo, 7.45 s on vm". New reference. */
json_t *page_title_make(const json_t *sections);

#endif
