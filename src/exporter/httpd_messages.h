/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between hostrace and hostrace-httpd (base/helper.h has their frame): the server knows nothing of VMs,
 * and hostrace reads nothing that comes from the network.
 *
 *	hostrace         hostrace-httpd
 *	HTTPD_CERT       ->              the certificate, with its chain, and the key as PEM; both make it use TLS
 *	HTTPD_KEY        ->
 *	HTTPD_USERS      ->              lines USER:HASH; without them everyone may read the pages
 *	HTTPD_HOST       ->              a further name that a Host header may have; may be repeated
 *	HTTPD_TOKEN      ->              it serves what `hostrace view` answers: /TOKEN/PATH; other paths are status 403
 *	HTTPD_LISTEN     ->              "127.0.0.1:9972", "[::1]:9972", "unix:/run/x.sock"; port 0: any
 *	                                 Other hosts cannot reach it, unless it has all of the former.
 *	HTTPD_LISTEN_INSECURE ->         the same with any address
 *	          <-     HTTPD_READY     the address, with its port: from now on it serves, confined
 *	          <-     HTTPD_FAILED    the error message, instead
 *	          <-     HTTPD_WANTED    a page is asked for; one byte: enum metric_format
 *	          <-     HTTPD_ASKED     with a token, instead: PATH, then names and values of its parameters, each with
 *	                                 its NUL
 *	          <-     HTTPD_POSTED    the same of POST, whose body is ignored
 *	HTTPD_HEAD       ->              the answer's status, two bytes, and its content type, with its NUL
 *	HTTPD_PART       ->              bytes of it, at most HELPER_MESSAGE_MAX at a time
 *	HTTPD_END        ->
 */
#ifndef HOSTRACE_HTTPD_MESSAGES_H
#define HOSTRACE_HTTPD_MESSAGES_H

enum {
	HTTPD_CERT = 1,
	HTTPD_KEY,
	HTTPD_USERS,
	HTTPD_HOST,
	HTTPD_TOKEN,
	HTTPD_LISTEN,
	HTTPD_LISTEN_INSECURE,
	HTTPD_READY,
	HTTPD_FAILED,
	HTTPD_WANTED,
	HTTPD_ASKED,
	HTTPD_POSTED,
	HTTPD_HEAD,
	HTTPD_PART,
	HTTPD_END,
};

enum { HTTPD_PAGE_MAX = 256 << 20 }; /* bytes */

#endif
