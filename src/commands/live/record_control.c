// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace mark, at the recorder's side: notes, pause and resume. SIGUSR2 pauses and resumes, too.
 *
 * The collector goes on during a pause, so that what its programs keep (who waits for what, and since when) stays
 * right; records of that time are dropped and counted, but not those that name others. No report may measure a span
 * over a pause: its begin and its end are gaps of all CPUs, at which everything becomes unknown (model/losses.h).
 */
#include "commands/live/record_control.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "event/event.h"
#include "event/reader.h"

enum {
	PAUSES_MAX = 64, /* whose records may still come: none is older than the watermark */
	CONTROL_BACKLOG = 8,
	ANSWERS_MAX = 8, /* connections in a round */
	MESSAGE_MS = 100, /* for the message of a connection */
};

struct pause {
	uint64_t from_ns, to_ns; /* to_ns UINT64_MAX: still */
};

struct record_control {
	int fd; /* -1: there is no socket */
	uid_t user;
	struct pause pause[PAUSES_MAX];
	unsigned int nr; /* the last one may be going on */
	uint64_t pauses, paused_ns, dropped; /* of the whole recording */
	uint64_t dropped_of[RING_TYPES]; /* by type */
	uint64_t marks;
};

socklen_t control_address(pid_t recorder, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	int len = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, CONTROL_NAME "%d",
			   (int)recorder);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

bool control_peer_is_trusted(int fd, uid_t user)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (!peer.uid || peer.uid == user);
}

/* ---- pauses ---- */

static struct pause *pause_now(struct record_control *c)
{
	struct pause *last = c->nr ? &c->pause[c->nr - 1] : NULL;

	return last && last->to_ns == UINT64_MAX ? last : NULL;
}

bool record_control_drops(struct recording *r, const struct record_hdr *rec)
{
	struct record_control *c = r->control;

	for (unsigned int i = 0; c && i < c->nr; i++) {
		struct pause *p = &c->pause[i];
		const struct event_type *type;

		if (rec->time < p->from_ns || rec->time >= p->to_ns)
			continue;
		type = event_type_ours(rec->type);
		if (type && trim_is_naming(type))
			return false;
		c->dropped++;
		c->dropped_of[rec->type < RING_TYPES ? rec->type : 0]++;
		return true;
	}
	return false;
}

static struct record_hdr header(unsigned int type, size_t size, uint64_t now)
{
	return (struct record_hdr){.time = now,
				   .type = (uint16_t)type,
				   .size = (uint16_t)size,
				   .cpu = RECORD_CPU_UNKNOWN,
				   .vcpu = RECORD_NO_VCPU};
}

static int gap_put(struct recording *r, uint64_t now)
{
	struct rec_gap gap = {.hdr = header(EV_gap, sizeof(gap), now),
			      .until = now,
			      .gap_cpu = RECORD_CPU_UNKNOWN};

	return record_put(r, &gap.hdr);
}

static int pause_begin(struct recording *r, uint64_t now)
{
	struct record_control *c = r->control;
	struct rec_pause rec = {.hdr = header(EV_pause, sizeof(rec), now)};
	int err = record_put(r, &rec.hdr);

	if (!err)
		err = gap_put(r, now);
	c->pause[c->nr++] = (struct pause){.from_ns = now, .to_ns = UINT64_MAX};
	c->pauses++;
	command_note("paused at %.6f s", (double)(now - r->start_ns) / 1e9);
	return err;
}

static int pause_end(struct recording *r, uint64_t now)
{
	struct record_control *c = r->control;
	struct pause *p = pause_now(c);
	uint64_t ns = now - p->from_ns;
	struct rec_resume rec = {.hdr = header(EV_resume, sizeof(rec), now),
				 .paused_ns = ns};
	int err = gap_put(r, now);

	p->to_ns = now;
	c->paused_ns += ns;
	command_note("resumed at %.6f s, after a pause of %.6f s",
		     (double)(now - r->start_ns) / 1e9, (double)ns / 1e9);
	return err ? err : record_put(r, &rec.hdr);
}

/* Pauses of which no record comes any more are forgotten. */
static void pauses_trim(struct record_control *c, uint64_t watermark_ns)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < c->nr; i++)
		if (c->pause[i].to_ns > watermark_ns)
			c->pause[kept++] = c->pause[i];
	c->nr = kept;
}

/* ---- messages ---- */

struct answer {
	char text[CONTROL_BYTES];
};

static void answer_set(struct answer *a, const struct recording *r, const char *word, uint64_t now)
{
	snprintf(a->text, sizeof(a->text), "ok %s at %.6f s of the recording to %.150s", word,
		 (double)(now - r->start_ns) / 1e9, record_opt.output);
}

static int mark_put(struct recording *r, const char *text, uint64_t now)
{
	struct rec_mark rec = {.hdr = header(EV_mark, sizeof(rec), now)};

	snprintf(rec.text, sizeof(rec.text), "%.*s", MARK_BYTES, text);
	r->control->marks++;
	return record_put(r, &rec.hdr);
}

static int pause_set(struct recording *r, bool on, uint64_t now, struct answer *a)
{
	struct record_control *c = r->control;
	bool is_paused = pause_now(c);

	if (on == is_paused) {
		snprintf(a->text, sizeof(a->text), "no the recording is %s",
			 on ? "paused already" : "not paused");
		return 0;
	}
	if (on && c->nr == PAUSES_MAX) {
		snprintf(a->text, sizeof(a->text), "no more than %d pauses in a moment",
			 PAUSES_MAX);
		return 0;
	}
	answer_set(a, r, on ? "paused" : "resumed", now);
	return on ? pause_begin(r, now) : pause_end(r, now);
}

static int message_do(struct recording *r, const char *text, struct answer *a)
{
	uint64_t now = monotonic_ns();

	if (!strncmp(text, "mark ", 5)) {
		answer_set(a, r, "marked", now);
		return mark_put(r, text + 5, now);
	}
	if (!strcmp(text, "pause") || !strcmp(text, "resume"))
		return pause_set(r, *text == 'p', now, a);
	snprintf(a->text, sizeof(a->text), "no such message");
	return 0;
}

static int connection_answer(struct recording *r, int fd)
{
	struct answer a = {""};
	char text[CONTROL_BYTES];
	ssize_t n = -1;
	int err;

	if (control_peer_is_trusted(fd, r->control->user) &&
	    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, MESSAGE_MS) > 0)
		n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	if (n <= 0)
		return 0;
	text[n] = 0;
	err = message_do(r, text, &a);
	if (send(fd, a.text, strlen(a.text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err; /* who asked has gone */
	return err;
}

uint64_t record_control_dropped(const struct recording *r, unsigned int type)
{
	return r->control ? r->control->dropped_of[type] : 0;
}

int record_control_fd(const struct recording *r)
{
	return r->control ? r->control->fd : -1;
}

static int record_control_round(struct recording *r, uint64_t now_ns)
{
	struct answer a;
	int err = 0;

	if (r->pauses) {
		r->pauses = false;
		err = pause_set(r, !pause_now(r->control), monotonic_ns(), &a);
	}
	(void)now_ns;
	for (int i = 0; i < ANSWERS_MAX && !err && r->control->fd >= 0; i++) {
		int fd = accept4(r->control->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			break;
		err = connection_answer(r, fd);
		close(fd);
	}
	return err;
}

void record_control_drained(struct recording *r, uint64_t watermark_ns)
{
	if (r->control)
		pauses_trim(r->control, watermark_ns);
}

/* ---- the part ---- */

/* A recording without the socket is one all the same. */
static void socket_open(struct record_control *c)
{
	struct sockaddr_un address;
	socklen_t len = control_address(getpid(), &address);

	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return;
	if (!bind(c->fd, (const struct sockaddr *)&address, len) && !listen(c->fd, CONTROL_BACKLOG))
		return;
	command_note("'hostrace mark' will not reach this recording: %s", strerror(errno));
	close(c->fd);
	c->fd = -1;
}

static int record_control_start(struct recording *r)
{
	r->control = calloc(1, sizeof(*r->control));
	if (!r->control)
		return fail(-ENOMEM, "out of memory");
	r->control->user = file_owner();
	socket_open(r->control);
	return 0;
}

static void record_control_meta(struct recording *r, json_t *meta, bool final)
{
	const struct record_control *c = r->control;
	uint64_t open_ns;

	if (!final || !c || !c->pauses)
		return;
	open_ns = pause_now((struct record_control *)c)
			  ? monotonic_ns() - c->pause[c->nr - 1].from_ns
			  : 0;
	json_object_set_new(meta, "paused",
			    json_pack("{s:I,s:I,s:I}", "count", (json_int_t)c->pauses, "ns",
				      (json_int_t)(c->paused_ns + open_ns), "events",
				      (json_int_t)c->dropped));
}

static void record_control_summary(struct recording *r)
{
	const struct record_control *c = r->control;

	if (c && c->marks)
		command_note("marks: %" PRIu64, c->marks);
	if (c && c->pauses)
		command_note("paused %" PRIu64 " time%s; %" PRIu64
			     " events of these times are not in the recording",
			     c->pauses, c->pauses == 1 ? "" : "s", c->dropped);
}

static void record_control_close(struct recording *r)
{
	if (r->control && r->control->fd >= 0)
		close(r->control->fd);
	free(r->control);
}

const struct record_part record_control_part = {
	.start = record_control_start,
	.round = record_control_round,
	.meta = record_control_meta,
	.summary = record_control_summary,
	.close = record_control_close,
};
