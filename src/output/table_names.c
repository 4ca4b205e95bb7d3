// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that people give: of columns without their unit, of devices without their QOM path; and what is absent. */
#include <stdio.h>
#include <string.h>

#include "event/virtio_names.h"
#include "output/table.h"

const char cell_absent[] = "-";

/* "total" means total_ns. */
bool table_key_is(const struct column *c, const char *key)
{
	size_t len = strlen(key);

	return c->key && len && !strncmp(c->key, key, len) &&
	       (!c->key[len] || !strcmp(c->key + len, "_ns"));
}

const char *path_print(const char *path, char *buf, size_t size)
{
	return virtio_device_name(path, "", buf, size);
}

const char *path_cell_print(const struct cell *cell, char *buf, size_t size)
{
	return virtio_device_name(cell->text, virtio_kind_name((unsigned int)cell->number), buf,
				  size);
}
