// SPDX-License-Identifier: GPL-2.0-or-later
/* Losses without a place, and notes, as a converted recording keeps them in its metadata. */
#include <string.h>

#include "tracefile/tracefile.h"

json_t *meta_losses_make(const struct trace_info *info, uint64_t placed)
{
	json_t *meta = json_object();

	if (info->lost > placed)
		json_object_set_new(meta, "lost_unplaced",
				    json_integer((json_int_t)(info->lost - placed)));
	if (json_array_size(info->caveats))
		json_object_set(meta, "notes", info->caveats);
	return meta;
}

void meta_losses_read(struct trace_info *info, uint64_t *taken)
{
	json_int_t unplaced = json_integer_value(json_object_get(info->meta, "lost_unplaced"));
	json_t *note;
	size_t i;

	if (unplaced > 0) {
		info->lost += (uint64_t)unplaced - *taken;
		*taken = (uint64_t)unplaced;
	}
	json_array_foreach (json_object_get(info->meta, "notes"), i, note) {
		char text[512];

		if (!json_is_string(note) || i == META_NOTES_MAX)
			break;
		snprintf(text, sizeof(text), "%s", json_string_value(note));
		text_sanitize(text);
		trace_info_caveat(info, "%s", text);
	}
}

