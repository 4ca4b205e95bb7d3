/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of QEMU's log with trace events, or of what other programs print of these events. */
#ifndef HOSTRACE_QEMU_LINE_H
#define HOSTRACE_QEMU_LINE_H

#include "readers/qemu/qemu_events.h"
#include "readers/text/log_head.h"
#include "readers/text/paste.h"

enum qemu_form {
	QEMU_NO_EVENT,
	QEMU_LOG,     /* 32416@1795357760.223839:virtqueue_pop vq 0x7f332a89e010 ... */
	QEMU_LOG_ISO, /* 2026-11-22T10:29:20.223839Z virtqueue_pop vq ...; any date of log_head.h */
	QEMU_LOG_MONO, /* [  123.456789] host qemu-kvm[4217]: virtqueue_pop vq ... */
	QEMU_LOG_BARE, /* virtqueue_pop vq 0x7f332a89e010 elem 0x55b3842a08c0 in_num 2 out_num 1 */
	QEMU_LOG_STAP, /* 32416@1795357760223839123 virtqueue_pop vq ... */
	QEMU_SIMPLETRACE_PY, /* virtqueue_pop 12.345 pid=32416 vq=0x7f332a89e010 ... */
	QEMU_FORMS,
};

struct qemu_line {
	enum qemu_form form;
	struct qemu_head head; /* simpletrace.py: the time since the line before; bare: no time */
	struct text_slice name, args;
	struct text_slice
		source; /* "host qemu-kvm[4217]" of a log that has several programs; empty: none */
	struct log_time time; /* of QEMU_LOG_ISO, _MONO */
	bool loose;	      /* any text may look so: only an event that is known proves it */
};

/*
 * Parses the line from s to its newline at end, after which may be read what lines.h demands. Any words can be a bare
 * event; one that becomes an event of ours has at least one argument.
 */
enum qemu_form qemu_line_parse(struct qemu_line *l, const char *s, const char *end);

/* False of a bare event that might be some other text. */
bool qemu_line_is_likely(const struct qemu_line *l);

/* Does an event that becomes one of ours lack its last argument? */
bool qemu_line_is_cut(const struct qemu_line *l);

/* Are there several records in the line? */
bool qemu_line_has_more(const char *s, const char *end);

/* The form of an event with its time that begins within the line, as where lines were joined and broken elsewhere. */
enum qemu_form qemu_line_form_within(const char *s, const char *end);

/* Do these bytes, the beginning of a file, contain such lines? `whole`: they are all of the file. */
bool qemu_text_probe(const char *head, size_t len, bool whole);

extern const struct paste_grammar qemu_paste_grammar;

#endif
