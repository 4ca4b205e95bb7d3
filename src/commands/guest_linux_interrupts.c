// SPDX-License-Identifier: GPL-2.0-or-later
/* guest interrupts: a Linux guest's /proc/interrupts, from its memory. */
#include <inttypes.h>

#include "base/json_text.h"
#include "commands/common/guest.h"
#include "commands/guest_linux.h"
#include "vm/linux/lists.h"

static json_t *row_json(const struct linux_interrupts *i, const struct linux_interrupt *r)
{
	json_t *counts = json_object(), *row;
	uint64_t total = 0;
	char cpu[16];

	for (size_t n = 0; n < (r->single ? 1 : i->cpus.nr); n++) {
		uint32_t count = i->count[r->count + n];

		total += count;
		snprintf(cpu, sizeof(cpu), "%u", i->cpus.cpu[n]);
		if (!r->single)
			json_object_set_new(counts, cpu, json_integer(count));
	}
	row = json_pack("{s:s,s:I,s:o,s:s?}", "label", r->label, "total", (json_int_t)total,
			"counts", r->single ? json_null() : counts, "text",
			*r->text ? r->text : NULL);
	if (r->single)
		json_decref(counts);
	if (r->irq >= 0) {
		json_object_set_new(row, "chip", json_string(r->chip));
		json_object_set_new(row, "hwirq",
				    r->has_hwirq ? json_u64(r->hwirq)
						 : json_null());
		json_object_set_new(row, "flow", *r->flow ? json_string(r->flow) : json_null());
		json_object_set_new(row, "actions", json_string(r->actions));
	}
	return row;
}

static void row_text(FILE *out, const struct linux_interrupts *i, const struct linux_interrupt *r,
		     int width)
{
	fprintf(out, "%*s:", width, r->label);
	for (size_t n = 0; n < (r->single ? 1 : i->cpus.nr); n++)
		fprintf(out, " %10u", i->count[r->count + n]);
	if (r->irq >= 0) {
		fprintf(out, "  %8s", r->chip);
		if (r->has_hwirq)
			fprintf(out, " %*" PRIu64, width, r->hwirq);
		else
			fprintf(out, " %*s", width, "");
		if (*r->flow)
			fprintf(out, "-%-8s", r->flow);
		if (*r->actions)
			fprintf(out, "  %s", r->actions);
	} else if (*r->text) {
		fprintf(out, "   %s", r->text);
	}
	fputc('\n', out);
}

static int interrupts_print(struct linux_list *l)
{
	struct linux_interrupts interrupts;
	int err = linux_interrupts_read(l->g, l->types, &interrupts), width = 3, printed = 0;

	for (size_t i = 0; i < interrupts.nr; i++) {
		int len = (int)strlen(interrupts.row[i].label);

		width = len > width ? len : width;
	}
	if (!l->json) {
		fprintf(l->file, "%*s", width + 8, "");
		for (size_t i = 0; i < interrupts.cpus.nr; i++)
			fprintf(l->file, "CPU%-8u", interrupts.cpus.cpu[i]);
		fputc('\n', l->file);
	}
	for (size_t i = 0; i < interrupts.nr && !printed; i++) {
		if (!l->json)
			row_text(l->out, &interrupts, &interrupts.row[i], width);
		printed = linux_row_end(l,
					l->json ? row_json(&interrupts, &interrupts.row[i]) : NULL);
	}
	linux_interrupts_deinit(&interrupts);
	return printed ? printed : err;
}

int guest_interrupts(int argc, char **argv)
{
	return guest_linux_list("interrupts", argc, argv, true, interrupts_print);
}
