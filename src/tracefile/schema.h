/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event types as JSON, in the schema chunks of a trace file and in the text twin's "# type" lines:
 *   {"id":5,"name":"kvm_pio","size":40,"doc":"...","fields":[{"name":"port","kind":"uint","offset":24,"size":4,
 *    "fmt":"hex","doc":"..."}]}
 */
#ifndef HOSTRACE_TRACEFILE_SCHEMA_H
#define HOSTRACE_TRACEFILE_SCHEMA_H

#include <jansson.h>

#include "event/event.h"

/*
 * A name as it may stand in a schema and in a line of text: control bytes, broken UTF-8 and what would split a line
 * (space, '=', '"') are replaced. Returns buf, or name itself where nothing had to be.
 */
const char *schema_name(const char *name, char buf[EVENT_NAME_MAX]);

/* New reference; `id` is skipped if it is 0. NULL: out of memory. */
json_t *schema_from_type(const struct event_type *type, uint16_t id);

/* Registers the type declared by one such object. -EINVAL with an error message that starts with `where`. */
int schema_to_type(const json_t *json, const char *where, const struct event_type **ret,
		   uint16_t *ret_id);

#endif
