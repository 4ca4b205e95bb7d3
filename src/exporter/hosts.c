// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses a Host header and compares it with the names that are allowed, and with the address that was connected to. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "exporter/hosts.h"

enum { NAME_MAX_BYTES = 255 };

int hosts_add(struct hosts *h, const char *name)
{
	if (!*name || strlen(name) > NAME_MAX_BYTES || strpbrk(name, " \t/@"))
		return fail(-EINVAL, "invalid host '%.64s' (expected a name or an address)", name);
	if (h->nr == HOSTS_MAX)
		return fail(-E2BIG, "more than %d hosts", HOSTS_MAX);
	h->name[h->nr] = strdup(name);
	return h->name[h->nr++] ? 0 : fail(-ENOMEM, "out of memory");
}

/* The name of "NAME:PORT", "NAME." and "[::1]:PORT". False: it is neither. */
static bool name_of(const char *header, char *name, size_t size)
{
	const char *end = *header == '[' ? strchr(header, ']') : header + strcspn(header, ":");
	size_t len;

	if (!end)
		return false;
	header += *header == '[';
	len = (size_t)(end - header);
	end += *end == ']';
	if (!len || len >= size || (*end && *end != ':') ||
	    (*end && strspn(end + 1, "0123456789") != strlen(end + 1)))
		return false;
	memcpy(name, header, len);
	name[len - (name[len - 1] == '.')] = '\0';
	return *name;
}

static bool is_loopback_or(const char *name, const struct sockaddr *local)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, name, &four) == 1) {
		const struct sockaddr_in *at = (const void *)local;

		return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET ||
		       (at->sin_family == AF_INET && at->sin_addr.s_addr == four.s_addr);
	}
	if (inet_pton(AF_INET6, name, &six) == 1) {
		const struct sockaddr_in6 *at = (const void *)local;

		return IN6_IS_ADDR_LOOPBACK(&six) ||
		       (at->sin6_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&at->sin6_addr, &six));
	}
	return !strcasecmp(name, "localhost");
}

bool hosts_has(const struct hosts *h, const char *header, const struct sockaddr *local)
{
	char name[NAME_MAX_BYTES + 2];

	if (local->sa_family == AF_UNIX)
		return true;
	if (!name_of(header, name, sizeof(name)))
		return false;
	for (unsigned int i = 0; i < h->nr; i++)
		if (!strcasecmp(name, h->name[i]))
			return true;
	return is_loopback_or(name, local);
}
