// SPDX-License-Identifier: GPL-2.0-or-later
/* Call trees of profiles, and their stacks folded. */
#include <inttypes.h>

#include "output/folded.h"
#include "output/samples/calltree_print.h"
#include "output/samples/samples_output.h"

void call_trees_print(const struct calltree *tree, bool grouped, struct row_sink *sink)
{
	uint64_t hits = 0;

	for (unsigned int i = 0; i < calltree_nr_roots(tree); i++) {
		uint32_t root = calltree_root_at(tree, i);
		const char *title = calltree_title(tree, root);
		json_t *o = sink->json ? calltree_json(tree, root) : NULL;

		if (grouped && o)
			json_object_set_new(o, "group", text_json(title));
		if (o)
			row_sink_add(sink, o);
		if (grouped && !sink->json)
			fprintf(sink->out, "\n=== %s ===\n\n", title);
		if (!sink->json)
			calltree_print(tree, root, sink->out);
		hits += calltree_root_hits(tree, root);
	}
	sink->shown = hits > 0;
}

void call_trees_fold(const struct calltree *tree, bool grouped, bool times, FILE *out)
{
	for (unsigned int i = 0; i < calltree_nr_roots(tree); i++) {
		uint32_t root = calltree_root_at(tree, i);

		calltree_fold(tree, root, grouped ? calltree_title(tree, root) : NULL, times, out);
	}
}

static json_t *stack_json(const struct flame *f, const struct flame_stack *k)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < k->nr; i++)
		json_array_append_new(list, text_json(flame_frame(f, k->frames[i])));
	return json_pack("{s:o, s:I}", "stack", list, "hits", (json_int_t)k->hits);
}

void flame_print(const struct flame *f, uint64_t min_hits, struct row_sink *sink)
{
	for (uint32_t i = 0; i < flame_nr_stacks(f); i++) {
		const struct flame_stack k = flame_stack(f, i);

		if (k.hits < min_hits)
			continue;
		if (row_sink_refuses(sink))
			return;
		if (sink->json) {
			row_sink_add(sink, stack_json(f, &k));
			continue;
		}
		for (unsigned int n = 0; n < k.nr; n++) {
			if (n)
				fputc(';', sink->out);
			folded_frame_put(flame_frame(f, k.frames[n]), sink->out);
		}
		fprintf(sink->out, " %" PRIu64 "\n", k.hits);
		sink->nr++;
	}
}
