/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_INPUT_LOSSES_H
#define HOSTRACE_INPUT_LOSSES_H

#include "event/losses.h"
#include "input/input_set.h"

/*
 * What our own recordings in the set say of the events that they lost, within the time window. `set` was read to its
 * end, and stays as it is; only recordings with losses are read again, and of them only the reports of losses. Other
 * formats do not store the type. *ret is empty if nothing can be read again. -errno with the error message set if a
 * recording cannot be read again.
 */
int input_losses(const struct input_set *set, struct loss_sums *ret);

#endif
