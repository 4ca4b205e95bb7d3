/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The virtqueues of a running VM as a report: `hostrace virtio --state`. */
#ifndef HOSTRACE_OUTPUT_VIRTQ_LIST_H
#define HOSTRACE_OUTPUT_VIRTQ_LIST_H

#include "output/table.h"
#include "vm/virtq_state.h"

/* Adds what limits these figures. */
void virtq_list_caveats(const struct virtq_list *list, pid_t pid, json_t *caveats);

extern const struct table_def virtq_states_table, virtq_list_def;

/* An array of objects; new reference. */
json_t *virtq_list_json(const struct virtq_list *list, pid_t pid);

/* Columns and rows. qmp: with a column for the monitor; unused: with queues that no driver has set
 * up. */
int virtq_list_table(const struct virtq_list *list, bool qmp, bool unused, struct table *t);

#endif
