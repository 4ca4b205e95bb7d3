// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "exporter/hosts.h"

static const struct sockaddr_un unix_socket = {.sun_family = AF_UNIX};

static struct sockaddr_in four(const char *address)
{
	struct sockaddr_in at = {.sin_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
	return at;
}

static struct sockaddr_in6 six(const char *address)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6};

	assert_int_equal(inet_pton(AF_INET6, address, &at.sin6_addr), 1);
	return at;
}

static void headers(void **state)
{
	static const struct {
		const char *header;
		bool want;
	} cases[] = {
		{"localhost", true},
		{"LOCALHOST:9972", true},
		{"localhost.", true},
		{"localhost.:80", true},
		{"127.0.0.1", true},
		{"127.8.9.10:1", true},
		{"[::1]", true},
		{"[::1]:9972", true},
		{"10.0.0.7:80", true}, /* the connection's own */
		{"node1.example", true},
		{"Node1.Example:443", true},
		{"10.0.0.8", false},
		{"evil.example", false},
		{"localhost.evil.example", false},
		{"node1.example.evil", false},
		{"", false},
		{".", false},
		{":80", false},
		{"localhost:", true}, /* RFC 3986 permits an empty port */
		{"localhost:80:80", false},
		{"localhost:http", false},
		{"localhost evil.example", false},
		{"localhost, evil.example", false},
		{"user@localhost", false},
		{"localhost/x", false},
		{"[::1", false},
		{"[::1]x", false},
		{"[]", false},
		{"::1", false},
		{"[::2]", false},
	};
	const struct sockaddr_in local = four("10.0.0.7");
	struct hosts h = {0};

	(void)state;
	assert_int_equal(hosts_add(&h, "node1.example"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (hosts_has(&h, cases[i].header, (const struct sockaddr *)&local) !=
		    cases[i].want)
			fail_msg("'%s': not %d", cases[i].header, cases[i].want);
	assert_true(hosts_has(&h, "any.example", (const struct sockaddr *)&unix_socket));
	free(h.name[0]);
}

static void own_address_of_ipv6(void **state)
{
	const struct sockaddr_in6 local = six("2001:db8::7");
	struct hosts h = {0};

	(void)state;
	assert_true(hosts_has(&h, "[2001:db8::7]:80", (const struct sockaddr *)&local));
	assert_true(hosts_has(&h, "[2001:DB8:0::7]", (const struct sockaddr *)&local));
	assert_false(hosts_has(&h, "[2001:db8::8]", (const struct sockaddr *)&local));
	assert_false(hosts_has(&h, "10.0.0.7", (const struct sockaddr *)&local));
}

static void long_headers(void **state)
{
	const struct sockaddr_in local = four("10.0.0.7");
	char header[1024];
	struct hosts h = {0};

	(void)state;
	for (size_t len = 250; len < sizeof(header); len++) {
		memset(header, 'a', len);
		header[len] = '\0';
		assert_false(hosts_has(&h, header, (const struct sockaddr *)&local));
	}
}

static void names(void **state)
{
	static const char *const wrong[] = {"", "a b", "a/b", "user@a", "a\tb"};
	char name[300] = "";
	struct hosts h = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(hosts_add(&h, wrong[i]), -EINVAL);
	memset(name, 'a', 256);
	assert_int_equal(hosts_add(&h, name), -EINVAL);
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		assert_int_equal(hosts_add(&h, "a"), 0);
	assert_int_equal(hosts_add(&h, "a"), -E2BIG);
	for (unsigned int i = 0; i < h.nr; i++)
		free(h.name[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),
		cmocka_unit_test(own_address_of_ipv6),
		cmocka_unit_test(long_headers),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
