// SPDX-License-Identifier: GPL-2.0-or-later
/* Labels as columns of tables. */
#include <string.h>

#include "event/region_names.h"
#include "event/well_known.h"
#include "symbols/symbols.h"
#include "views/view.h"

static enum column_kind kind_of(const struct label *l)
{
	static const char *const texts[] = {"reason",	 "userspace_reason", "isa",   "dir",
					    "mmio_type", "block_type",	     "event", "text",
					    "none",	 "vm",		     "guest-task", "level"};

	if (!strcmp(l->name, "device"))
		return COL_PATH;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(l->fmt, texts[i]))
			return COL_TEXT;
	if (!strcmp(l->name, "port"))
		return COL_PORT;
	if (!strcmp(l->fmt, "hex") || !strcmp(l->fmt, "addr") || !strcmp(l->fmt, "frame"))
		return COL_HEX;
	return COL_COUNT;
}

void label_columns(const struct folding *f, struct table *t)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);

	for (unsigned int i = 0; i < nr; i++)
		table_column(t, l[i].name, strcmp(l[i].name, "vm") ? l[i].name : "VM",
			     kind_of(&l[i]), 0);
}

void label_cells_other(const struct folding *f, struct cell *row)
{
	unsigned int nr;

	pairing_labels(f->pairing, &nr);
	for (unsigned int i = 0; i < nr; i++)
		row[i].text = i ? "-" : "(other)";
}

void label_cells(const struct folding *f, struct table *t, struct cell *row, const uint64_t *label)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);
	char buf[256];

	for (unsigned int i = 0; i < nr; i++) {
		row[i].number = label[i];
		if (!strcmp(l[i].fmt, "none"))
			continue;
		if (label_is_unknown(&l[i], label[i])) {
			row[i] = (struct cell){.text = kind_of(&l[i]) == COL_TEXT ? NULL : "-"};
			continue;
		}
		if (kind_of(&l[i]) == COL_TEXT || kind_of(&l[i]) == COL_PATH)
			row[i].text = table_text(
				t, pairing_label_text(f->pairing, i, label[i], buf, sizeof(buf)));
		else if (!strcmp(l[i].name, "vcpu") && label[i] == RECORD_NO_VCPU)
			row[i].text = "-";
		else if (!strcmp(l[i].name, "rip") && !label[i])
			row[i].text = "-"; /* no exit contained it */
	}
}

int label_table(const struct folding *f, const struct report *r, struct table *t, const char *sort)
{
	if (f->drop_vm)
		table_drop_constant(t, "vm");
	return report_table(r, t, sort);
}

/* Other addresses are not of devices. */
static bool is_mmio(const struct folding *f)
{
	return !strcmp(f->analyzer->name, "mmio") || !strcmp(f->analyzer->name, "exit-mmio");
}

int label_with_names(const struct folding *f)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);

	for (unsigned int i = 0; f->symbols && i < nr; i++)
		if (!strcmp(l[i].name, "rip"))
			return (int)i;
	for (unsigned int i = 0; i < nr; i++)
		if (!strcmp(l[i].name, "port") || !strcmp(l[i].name, "msr") ||
		    (!strcmp(l[i].name, "addr") && is_mmio(f)))
			return (int)i;
	return -1;
}

void label_name_column(const struct folding *f, int which, struct table *t)
{
	unsigned int nr;

	if (strcmp(pairing_labels(f->pairing, &nr)[which].name, "rip"))
		table_column(t, NULL, "what", COL_TEXT, 1);
	else
		table_column(t, "symbol", "symbol", COL_TEXT, 0);
}

/* By QEMU's name of the region, if it was recorded, else by a well-known one. */
static const char *device_name(const struct folding *f, const struct label *l, uint64_t value)
{
	bool port = !strcmp(l->name, "port"), mmio = !strcmp(l->name, "addr");
	const char *name = l->page	  ? region_name_page(f->regions, 0, value)
			   : port || mmio ? region_name(f->regions, 0, port, value)
					  : NULL;

	if (!name || !*name)
		name = well_known_name(mmio ? "mmio" : l->name, value);
	return name ? name : "";
}

const char *label_name(const struct folding *f, int which, struct table *t, const uint64_t *label)
{
	unsigned int nr;
	const struct label *l = &pairing_labels(f->pairing, &nr)[which];
	const char *name;

	if (strcmp(l->name, "rip"))
		return label_is_unknown(l, label[which]) ? "" : device_name(f, l, label[which]);
	name = addresses_name(f->symbols, label[which]);
	return name ? table_text(t, name) : NULL;
}
