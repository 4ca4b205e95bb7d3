/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hostrace virtio --state`: the virtqueues of a running VM, see vm/virtq_state.h. */
#ifndef HOSTRACE_VIRTIO_STATE_H
#define HOSTRACE_VIRTIO_STATE_H

/* vm: pid or name, NULL: the only one; qmp: the monitor's socket, or NULL. Returns the exit status. */
int virtio_state_run(const char *vm, const char *qmp);

#endif
