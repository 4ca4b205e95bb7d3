// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An OSv guest's REST server as its documentation describes it: one request from stdin, the reply (HTTP/1.0) to
 * stdout; socat gives it sockets and TLS. State is one line a tracepoint in DIR/events, "NAME ENABLED BACKTRACE
 * COUNTING COUNT"; every GET of the counters counts 100 more on each that counts, while 2 s pass.
 *
 *   osvrest DIR       also serves files of DIR, for what may go wrong on the way:
 *     /file/NAME        with ranges and an ETag
 *     /cut/N/NAME       the same, but the connection ends after N bytes of each reply
 *     /plain/NAME       no ranges, no ETag (as OSv's own)
 *     /plaincut/N/NAME  and cut
 *     /liar/NAME        a range's reply begins elsewhere
 *     /endless          never ends
 *     /away             a redirection
 * Every request's line is added to DIR/log.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

static struct event {
	char name[64];
	int enabled, backtrace, counting;
	unsigned long count;
} events[EVENTS_MAX];
static int nr_events;
static unsigned long time_ms;
static char method[8], path[1024], range[64], if_range[256];
static char *query = "";

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void reply(const char *status, const char *body)
{
	printf("HTTP/1.0 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	       status, strlen(body), body);
	exit(0);
}

static void state_load(void)
{
	FILE *f = fopen("events", "r");

	if (!f || fscanf(f, "%lu", &time_ms) != 1)
		die("events");
	while (nr_events < EVENTS_MAX &&
	       fscanf(f, "%63s %d %d %d %lu", events[nr_events].name, &events[nr_events].enabled,
		      &events[nr_events].backtrace, &events[nr_events].counting,
		      &events[nr_events].count) == 5)
		nr_events++;
	fclose(f);
}

static void state_save(void)
{
	FILE *f = fopen("events", "w");

	if (!f)
		die("events");
	fprintf(f, "%lu\n", time_ms);
	for (int i = 0; i < nr_events; i++)
		fprintf(f, "%s %d %d %d %lu\n", events[i].name, events[i].enabled,
			events[i].backtrace, events[i].counting, events[i].count);
	fclose(f);
}

/* The value of a parameter of the query, or NULL. */
static const char *parameter(const char *name)
{
	static char value[256];
	size_t len = strlen(name);

	for (const char *p = query; *p; p += strcspn(p, "&"), p += *p == '&')
		if (!strncmp(p, name, len) && p[len] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)strcspn(p + len + 1, "&"),
				 p + len + 1);
			return value;
		}
	return NULL;
}

static bool truth(const char *text)
{
	return text && (!strcasecmp(text, "true") || !strcmp(text, "1"));
}

static int event_json(const struct event *e, char *to, size_t size)
{
	return snprintf(to, size,
			"{\"name\": \"%s\", \"id\": \"%s\", \"enabled\": %s, \"backtrace\": %s}",
			e->name, e->name, e->enabled ? "true" : "false",
			e->backtrace ? "true" : "false");
}

static void need(const char *name)
{
	char text[128];

	if (parameter(name))
		return;
	snprintf(text, sizeof(text),
		 "{\"message\": \"Missing mandatory parameter '%s'\", \"code\": 400}", name);
	reply("400 Bad Request", text);
}

/* OSv's habit: a backtrace that is left out is switched off. */
static void event_switch(struct event *e)
{
	e->enabled = truth(parameter("enabled"));
	e->backtrace = truth(parameter("backtrace"));
}

static void status_all(void)
{
	static char body[EVENTS_MAX * 256] = "[";
	size_t len = 1;

	if (!strcmp(method, "POST"))
		need("enabled");
	for (int i = 0; i < nr_events; i++) {
		len += (size_t)snprintf(body + len, sizeof(body) - len, i ? "," : "");
		len += (size_t)event_json(&events[i], body + len, sizeof(body) - len);
		if (!strcmp(method, "POST"))
			event_switch(&events[i]);
	}
	snprintf(body + len, sizeof(body) - len, "]");
	state_save();
	reply("200 OK", body);
}

static struct event *event_find(const char *id)
{
	for (int i = 0; i < nr_events; i++)
		if (!strcmp(events[i].name, id))
			return &events[i];
	return NULL;
}

static void status_one(const char *id)
{
	struct event *e = event_find(id);
	char body[256];

	if (!e) {
		snprintf(body, sizeof(body), "{\"message\": \"%.64s\", \"code\": 500}", id);
		reply("500 Internal Server Error", body);
	}
	event_json(e, body, sizeof(body));
	if (!strcmp(method, "POST")) {
		need("enabled");
		event_switch(e);
	}
	state_save();
	reply("200 OK", body);
}

static void count_one(const char *id)
{
	struct event *e = event_find(id);

	if (!e)
		reply("400 Bad Request",
		      "{\"message\": \"Unknown tracepoint name\", \"code\": 400}");
	e->counting = truth(parameter("enabled"));
	e->count = 0;
	state_save();
	reply("200 OK", "\"\"");
}

static void count_all(void)
{
	static char body[EVENTS_MAX * 128] = "{\"list\": [";
	size_t len = strlen(body);
	bool first = true;

	for (int i = 0; i < nr_events; i++) {
		struct event *e = &events[i];

		if (!strcmp(method, "DELETE"))
			e->counting = 0;
		if (!e->counting)
			continue;
		e->count += 100 + 10u * (unsigned int)i;
		len += (size_t)snprintf(body + len, sizeof(body) - len,
					"%s{\"name\": \"%s\",\"count\": %lu}", first ? "" : ",",
					e->name, e->count);
		first = false;
	}
	time_ms += 2000;
	snprintf(body + len, sizeof(body) - len, "], \"time_ms\": %lu}", time_ms);
	state_save();
	reply("200 OK", strcmp(method, "DELETE") ? body : "\"\"");
}

static void sampler(void)
{
	const char *freq = parameter("freq");
	FILE *f;

	need("freq");
	if (atol(freq) > 100000)
		reply("400 Bad Request",
		      "{\"message\": \"Frequency too large. Maximum is 100000\", \"code\": 400}");
	f = fopen("sampler", "w");
	if (!f)
		die("sampler");
	fprintf(f, "%s\n", freq);
	fclose(f);
	if (atol(freq) == 11) /* what other servers might say */
		reply("200 OK", "<html>Welcome</html>");
	if (atol(freq) == 12)
		reply("200 OK", "{\"message\": \"hello\"}");
	reply("200 OK", atol(freq) ? "\"Sampler started successfully\""
				   : "\"Sampler stopped successfully\"");
}

/* ---- files ---- */

static void send_file(const char *name, bool ranges, long cut, bool liar)
{
	static char bytes[1 << 16];
	struct stat st;
	FILE *f = strchr(name, '/') ? NULL : fopen(name, "r");
	long from = 0;
	char etag[64];

	if (!f || fstat(fileno(f), &st))
		reply("404 Not Found", "{\"message\": \"Not found\", \"code\": 404}");
	snprintf(etag, sizeof(etag), "\"%lx-%lx\"", (long)st.st_ino, (long)st.st_size);
	if (ranges && *range && (!*if_range || !strcmp(if_range, etag)))
		from = atol(range);
	if (from >= st.st_size && from) {
		printf("HTTP/1.0 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n");
		exit(0);
	}
	printf("HTTP/1.0 %s\r\n", from ? "206 Partial Content" : "200 OK");
	if (liar && from)
		from--;
	if (from)
		printf("Content-Range: bytes %ld-%ld/%ld\r\n", from, (long)st.st_size - 1,
		       (long)st.st_size);
	if (ranges)
		printf("Accept-Ranges: bytes\r\nETag: %s\r\n", etag);
	printf("Content-Type: text/plain\r\nContent-Length: %ld\r\n\r\n", (long)st.st_size - from);
	fseek(f, from, SEEK_SET);
	for (size_t n; (n = fread(bytes, 1, sizeof(bytes), f)) > 0 && cut != 0;) {
		if (cut > 0 && n > (size_t)cut)
			n = (size_t)cut;
		cut -= cut > 0 ? (long)n : 0;
		fwrite(bytes, 1, n, stdout);
	}
	exit(0);
}

static void send_endless(void)
{
	static const char bytes[4096];

	printf("HTTP/1.0 200 OK\r\n\r\n");
	while (fwrite(bytes, 1, sizeof(bytes), stdout) == sizeof(bytes))
		;
	exit(0);
}

static void files(void)
{
	char name[256];
	long cut;

	if (sscanf(path, "/cut/%ld/%255s", &cut, name) == 2)
		send_file(name, true, cut, false);
	if (sscanf(path, "/plaincut/%ld/%255s", &cut, name) == 2)
		send_file(name, false, cut, false);
	if (sscanf(path, "/file/%255s", name) == 1)
		send_file(name, true, -1, false);
	if (sscanf(path, "/plain/%255s", name) == 1)
		send_file(name, false, -1, false);
	if (sscanf(path, "/liar/%255s", name) == 1)
		send_file(name, true, *range ? -1 : 1000, true);
	if (!strcmp(path, "/endless"))
		send_endless();
	if (!strcmp(path, "/away")) {
		printf("HTTP/1.0 302 Found\r\nLocation: /file/dump\r\nContent-Length: 0\r\n\r\n");
		exit(0);
	}
	reply("404 Not Found", "{\"message\": \"Not found\", \"code\": 404}");
}

static void request_read(void)
{
	char line[2048];
	FILE *log = fopen("log", "a");

	if (!fgets(line, sizeof(line), stdin) || sscanf(line, "%7s %1023s", method, path) != 2)
		exit(1);
	while (fgets(line, sizeof(line), stdin) && *line != '\r' && *line != '\n') {
		line[strcspn(line, "\r\n")] = 0;
		if (!strncasecmp(line, "Range: bytes=", 13))
			snprintf(range, sizeof(range), "%.63s", line + 13);
		if (!strncasecmp(line, "If-Range: ", 10))
			snprintf(if_range, sizeof(if_range), "%.255s", line + 10);
	}
	fprintf(log, "%s %s %s\n", method, path, range);
	fclose(log);
	if (strchr(path, '?')) {
		query = strchr(path, '?');
		*query++ = 0;
	}
}

int main(int argc, char **argv)
{
	int lock;

	if (argc != 2 || chdir(argv[1]))
		die("osvrest DIR");
	request_read();
	if (!strcmp(path, "/os/dmesg"))
		reply("200 OK", "\"OSv v0.57.0\\neth0: \\u001b[31m192.168.122.15\"");
	if (strncmp(path, "/trace/", 7))
		files();
	lock = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* until we end */
	if (lock < 0 || flock(lock, LOCK_EX))
		die("lock");
	state_load();
	if (!strcmp(path, "/trace/buffers"))
		send_file("dump", false, -1, false);
	else if (!strcmp(path, "/trace/status"))
		status_all();
	else if (!strncmp(path, "/trace/event/", 13))
		status_one(path + 13);
	else if (!strncmp(path, "/trace/count/", 13))
		count_one(path + 13);
	else if (!strcmp(path, "/trace/count"))
		count_all();
	else if (!strcmp(path, "/trace/sampler"))
		sampler();
	reply("404 Not Found", "{\"message\": \"Not found\", \"code\": 404}");
	return 0;
}
