// SPDX-License-Identifier: GPL-2.0-or-later
/* The Accept and the Host header of a scraper. */
#include <netinet/in.h>

#include "exporter/format.h"
#include "exporter/hosts.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sockaddr_in6 local = {.sin6_family = AF_INET6};
	const struct hosts hosts = {.name = {"node1.example"}, .nr = 1};
	char *text = calloc(1, size + 1);

	memcpy(text, data, size);
	if (metric_format_negotiate(text) >= METRIC_FORMATS)
		abort();
	if (hosts_has(&hosts, text, (const struct sockaddr *)&local) && !strpbrk(text, "1lL:"))
		abort(); /* "[::]", "[::1]", "127...", localhost, the name */
	free(text);
	return 0;
}
