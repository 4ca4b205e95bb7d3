// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel prints "prev_comm=sh prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=dd next_pid=2 next_prio=120"
 * (include/trace/events/sched.h), trace-cmd's plugin "sh:1 [120] S ==> dd:2 [120]". Names may contain anything.
 */

#include "event/records.h"
#include "readers/ftrace/kernel_events.h"
#include "readers/text/tracetext.h"

/* sched_switch and sched_wakeup from text; for text_kvm.c. */

/* A word " pid=" may begin the text, which is after a blank. */
static const char *sched_find(struct text_slice text, const char *what)
{
	size_t len = strlen(what);

	if (*what == ' ' && text.len >= len && !memcmp(text.at, what + 1, len - 1))
		return text.at - 1;
	return memmem(text.at, text.len, what, strlen(what));
}

static void comm_copy(char *to, size_t size, const char *from, const char *end)
{
	size_t len = end > from ? (size_t)(end - from) : 0;

	memcpy(to, from, len < size ? len : size - 1);
}

/* The number of a thread; false: it is none. */
static bool tid_parse(const char *p, uint32_t *ret)
{
	const char *begin = p;
	uint64_t value = text_number(&p);

	*ret = (uint32_t)value;
	return p > begin && text_number_ends(p) && value <= UINT32_MAX;
}

/* "KEYcomm=NAME KEYpid=NUMBER"; false: it is not so. */
static bool task_by_key(struct text_slice text, const char *comm_key, const char *pid_key,
			char *comm, size_t size, uint32_t *ret_tid)
{
	const char *from = sched_find(text, comm_key), *pid = sched_find(text, pid_key),
		   *end = text.at + text.len;

	if (!from || !pid)
		return false;
	from += strlen(comm_key);
	if (pid > from)
		end = pid;
	else /* the names come last */
		end = memmem(from, (size_t)(end - from), " next_comm=", 11) ?: end;
	comm_copy(comm, size, from, end);
	return tid_parse(pid + strlen(pid_key), ret_tid);
}

/* "NAME:NUMBER [PRIORITY]..." from s on; false: it is not so. */
static bool task_of_plugin(const char *s, const char *end, char *comm, size_t size,
			   uint32_t *ret_tid)
{
	const char *priority = memmem(s, (size_t)(end - s), " [", 2), *colon;

	if (!priority)
		return false;
	for (colon = priority; colon > s && *colon != ':'; colon--)
		;
	if (*colon != ':')
		return false;
	comm_copy(comm, size, s, colon);
	return tid_parse(colon + 1, ret_tid);
}

/*
 * The letters of task states. Kernels print those of the reported state, "R+" for a preempted one,
 * which is 0 as is a running task; before 4.14 those of the task's own state: "x" (TASK_DEAD),
 * "D|K" (killable), "D|N" (idle). trace-cmd's older plugins have a letter for each bit, some with
 * the meaning that it had then: 'W' is I. A number is printed raw. False: none of these.
 */
static bool state_parse(const char *p, uint64_t *ret)
{
	static const char letters[] = "SDTtXZPIxWNKRn+|";
	static const uint16_t bits[] = {1,    2,    4,	   8, 0x10, 0x10, 0x40, 0x80,
					0x10, 0x80, 0x100, 0, 0,    0,	  0,	0};
	const char *begin = p;
	uint64_t reported = 0;

	if (text_is_digit(*p)) {
		*ret = ftrace_task_state(text_number(&p));
		return true;
	}
	for (; *p != ' ' && *p != '\n'; p++) {
		const char *letter = strchr(letters, *p);

		if (!letter || !*letter)
			return false;
		reported |= bits[letter - letters];
	}
	if (reported & 0xf && reported & 0x80)
		reported &= 0xf; /* "DW": killable, of an older kernel */
	*ret = ftrace_task_state(reported == 0x102 ? 0x80 : reported & 0xff);
	return p > begin;
}

uint64_t text_sched_switch(struct text_slice text, uint8_t *record)
{
	struct rec_sched_switch *rec = (void *)record;
	const char *end = text.at + text.len, *arrow = sched_find(text, " ==> "), *state;
	bool prev = task_by_key(text, "prev_comm=", " prev_pid=", rec->prev_comm,
				sizeof(rec->prev_comm), &rec->prev_tid),
	     next = task_by_key(text, "next_comm=", " next_pid=", rec->next_comm,
				sizeof(rec->next_comm), &rec->next_tid),
	     known;

	state = sched_find(text, " prev_state=");
	if (state) {
		state += strlen(" prev_state=");
	} else if (arrow && !prev && !next) {
		while (arrow && !(prev = task_of_plugin(text.at, arrow, rec->prev_comm,
							sizeof(rec->prev_comm), &rec->prev_tid)))
			arrow = memmem(arrow + 1, (size_t)(end - arrow - 1), " ==> ", 5);
		if (!arrow) /* " ==> " is a name's */
			return 0;
		next = task_of_plugin(arrow + strlen(" ==> "), end, rec->next_comm,
				      sizeof(rec->next_comm), &rec->next_tid);
		for (state = arrow; state > text.at && state[-1] != ' '; state--)
			;
	}
	known = state && state_parse(state, &rec->prev_state);
	return (known ? RECORD_BIT(sched_switch, prev_state) : 0) |
	       (prev ? RECORD_BIT(sched_switch, prev_tid) | RECORD_BIT(sched_switch, prev_comm)
		     : 0) |
	       (next ? RECORD_BIT(sched_switch, next_tid) | RECORD_BIT(sched_switch, next_comm)
		     : 0);
}

uint64_t text_sched_wakeup(struct text_slice text, uint8_t *record)
{
	struct rec_sched_wakeup *rec = (void *)record;
	const char *cpu = sched_find(text, " target_cpu=");
	bool task =
		task_by_key(text, "comm=", " pid=", rec->comm, sizeof(rec->comm), &rec->wake_tid) ||
		task_of_plugin(text.at, text.at + text.len, rec->comm, sizeof(rec->comm),
			       &rec->wake_tid);

	if (!cpu)
		cpu = sched_find(text, "CPU:");
	if (cpu) {
		cpu += strcspn(cpu, "=:") + 1;
		rec->target_cpu = (uint32_t)text_number(&cpu);
		cpu = text_number_ends(cpu) ? cpu : NULL;
	}
	return (task ? RECORD_BIT(sched_wakeup, wake_tid) | RECORD_BIT(sched_wakeup, comm) : 0) |
	       (cpu ? RECORD_BIT(sched_wakeup, target_cpu) : 0);
}
