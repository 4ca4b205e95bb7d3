// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that people give: of columns without their unit, of devices without their QOM path; and what is absent. */
#include <stdio.h>
#include <string.h>

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
	static const char tail[] = "/virtio-backend";
	size_t len = strlen(path);

	if (len < sizeof(tail) || strcmp(path + len - strlen(tail), tail))
		return path;
	len -= strlen(tail);
	while (len && path[len - 1] != '/')
		len--;
	snprintf(buf, size, "%.*s", (int)(strlen(path) - strlen(tail) - len), path + len);
	return buf;
}
