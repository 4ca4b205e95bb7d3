// SPDX-License-Identifier: GPL-2.0-or-later
/* The task and the event of a line (text_line.c), in the forms of ftrace and of perf. */
#include <ctype.h>
#include <string.h>

#include "readers/text/lines.h"
#include "readers/ftrace/kernel_events.h"
#include "readers/text/text_line.h"

enum { NAME_MAX = 64, TID_DIGITS_MAX = 10 };

bool text_tid_parse(const char **s, uint32_t *ret)
{
	const char *begin = *s;
	uint64_t value = text_decimal(s);

	*ret = (uint32_t)value;
	return *s - begin <= TID_DIGITS_MAX && value <= UINT32_MAX;
}

/* ---- the event: its name and text ---- */

/* "schedule <-do_idle": the function tracer has no event name. */
static bool function_parse(struct text_line *l, const char *s, const char *end)
{
	static const char function[] = "function";
	const char *blank = memchr(s, ' ', (size_t)(end - s));

	if (!blank || end - blank < 4 || blank[1] != '<' || blank[2] != '-')
		return false;
	l->name = text_slice_of(function, function + sizeof(function) - 1);
	l->text = text_slice_of(s, text_trim_end(s, end));
	return true;
}

/* The kernel's trace systems, as perf script prints them before an event's name. */
static bool is_system(struct text_slice name)
{
	static const char systems[] = " kvm kvmmmu sched irq irq_vectors syscalls raw_syscalls "
				      "timer block power workqueue net skb napi "
				      "tcp udp sock qdisc vhost virtio nvme scsi libata ext4 xfs "
				      "btrfs jbd2 writeback filemap kmem "
				      "vmscan compaction migrate huge_memory thp mmap mmap_lock "
				      "exceptions signal task cgroup lock iommu "
				      "intel_iommu msr rcu ipi cpuhp tlb x86_fpu nmi mce ras oom "
				      "swiotlb dma_fence context_tracking "
				      "clk regmap thermal hyperv xen vfio io_uring tap tun bridge "
				      "csd notifier printk osnoise ftrace ";
	const char *found = systems;

	while (name.len && (found = memmem(found, strlen(found), name.at, name.len)))
		if (found[-1] == ' ' && found[name.len] == ' ')
			return true;
		else
			found += name.len;
	return false;
}

/* "kvm_entry: vcpu 0"; after the difference to the event before if it is printed: "(+12)  kvm_entry: vcpu 0". */
bool text_ftrace_event_parse(struct text_line *l, const char *s, const char *end)
{
	static const char stack[] = "<stack trace>";
	const char *p;

	s = text_skip_blanks(s);
	if (s[0] == '(' && s[1] == '+') {
		p = memchr(s, ')', (size_t)(end - s));
		s = p ? text_skip_blanks(p + 1) : s;
	}
	for (p = s; isalnum((unsigned char)*p) || *p == '_';)
		p++;
	l->system = text_slice_of(s, s);
	if (!strncmp(s, "sys_", 4) && (*p == '(' || !strncmp(p, " -> 0x", 6))) {
		l->name = text_slice_of(s, p); /* "sys_ioctl(fd: 1a, cmd: ae80, arg: 0)", "sys_ioctl -> 0x0" */
		l->text = text_slice_of(p + (*p == ' '), text_trim_end(p, end));
		return l->name.len < NAME_MAX;
	}
	if (*p != ':') {
		l->name = text_slice_of(s, s + sizeof(stack) - 1);
		l->text = text_slice_of(end, end);
		return !strncmp(s, stack, sizeof(stack) - 1) || function_parse(l, s, end);
	}
	if (p + 1 < end && p[1] != ' ' && p[1] != '\t' && !isdigit((unsigned char)p[1]))
		return false; /* "kvm:kvm_ex": a line of perf that was cut */
	l->name = text_slice_of(s, p);
	p = text_skip_blanks(p + 1);
	l->text = text_slice_of(p, text_trim_end(p, end));
	return l->name.len && l->name.len < NAME_MAX && !is_system(l->name);
}

/* "PERF_RECORD_FORK(2:2):(0:0)", "PERF_RECORD_LOST lost 12": perf script --show-task-events, --show-lost-events, ... */
static bool record_parse(struct text_line *l, const char *s, const char *end)
{
	const char *p = s + strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	l->name = text_slice_of(s, p);
	l->system = text_slice_of(s, s);
	l->text = text_slice_of(text_skip_blanks(p), end);
	return text_is_record(l);
}

/* "      kvm:kvm_exit: vcpu 0"; a sample has its period first: "  250000 cycles:P:  ffffffff8120 schedule+0x1" */
bool text_perf_event_parse(struct text_line *l, const char *s, const char *end)
{
	const char *p, *colon;

	s = text_skip_blanks(s);
	p = s;
	l->period = text_decimal(&p);
	if (p > s && *p == ' ')
		s = text_skip_blanks(p);
	else
		l->period = 0;
	p = memchr(s, ' ', (size_t)(end - s));
	p = p ? p : end;
	if (p[-1] != ':' && record_parse(l, s, end))
		return true;
	if (p - s < 2 || p - s >= 2 * NAME_MAX || p[-1] != ':' || memchr(s, '(', (size_t)(p - s)))
		return false;
	colon = memchr(s, ':', (size_t)(p - 1 - s));
	l->system = colon ? text_slice_of(s, colon) : text_slice_of(s, s);
	l->name = text_slice_of(colon ? colon + 1 : s, p - 1);
	p = text_skip_blanks(p);
	l->text = text_slice_of(p, text_trim_end(p, end));
	return l->name.len && (l->system.len || !is_system(l->name));
}

/* ---- the task: what is before the CPU or the time ---- */

/* "(    140)" or "(-------)", printed with the option record-tgid. Returns the end of what is before it. */
static const char *tgid_parse(struct text_line *l, const char *s, const char *end)
{
	const char *p = text_digits_before(s, end - 1);

	if (p < end - 1 && !text_tid_parse(&(const char *){p}, &l->tgid))
		return end;
	while (p > s && (p[-1] == ' ' || p[-1] == '-'))
		p--;
	return p > s && p[-1] == '(' ? text_trim_end(s, p - 1) : end;
}

/* ":-1    -1", ":-1    -1/-1": perf knows no thread. */
static bool is_no_thread(const char *s, const char *tid, const char *end)
{
	return end - tid == 1 && *tid == '1' && tid > s && tid[-1] == '-' &&
	       (tid == s + 1 || tid[-2] == ' ' || tid[-2] == '/');
}

/* "comm-123", "comm 123", "comm 120/123". False: none of these. */
bool text_task_parse(struct text_line *l, const char *s, const char *end)
{
	const char *tid;

	end = text_trim_end(s, end);
	l->tgid = l->tid = 0;
	l->comm = text_slice_of(s, s);
	l->layout = TEXT_PERF;
	if (s == end)
		return true; /* perf script -F cpu,time,event,trace */
	if (end[-1] == ')')
		end = tgid_parse(l, s, end);
	tid = text_digits_before(s, end);
	if (tid == end)
		return false;
	if (is_no_thread(s, tid, end)) {
		for (end = tid - 1; end > s && end[-1] != ' ';)
			end--;
		l->comm = text_slice_of(s, text_trim_end(s, end));
		return true;
	}
	if (!text_tid_parse(&(const char *){tid}, &l->tid))
		return false;
	if (l->tid == 1 && tid > s && tid[-1] == '-' && (tid - 1 == s || tid[-2] == ' ')) {
		l->tid = 0; /* perf: ":-1    -1", the thread has ended */
	} else if (tid > s && tid[-1] == '-') {
		l->layout = TEXT_FTRACE;
		l->comm = text_slice_of(s, tid - 1);
	} else if (tid > s && tid[-1] == '/') {
		const char *pid = text_digits_before(s, tid - 1);

		if (pid == tid - 1 || (pid > s && pid[-1] != ' ') ||
		    !text_tid_parse(&(const char *){pid}, &l->tgid))
			return false;
		l->comm = text_slice_of(s, text_trim_end(s, pid));
	} else if (tid == s || tid[-1] == ' ') {
		l->comm = text_slice_of(s, text_trim_end(s, tid));
	} else {
		return false;
	}
	if (l->comm.len == 5 && !memcmp(l->comm.at, "<...>", 5))
		l->comm.len = 0; /* the kernel has forgotten it */
	return true;
}

bool text_is_known_name(const char *s, const char *end)
{
	static const char *const begins[] = {"kvm_",	   "sched_",   "irq_",	   "virtio_",
					     "vhost_",	   "hrtimer_", "softirq_", "block_",
					     "sys_enter_", "sys_exit_"};
	const char *colon = memchr(s, ':', (size_t)(end - s)), *name = colon ? colon + 1 : s;

	for (const char *p = name; p < end; p++)
		if (!islower((unsigned char)*p) && !text_is_digit(*p) && *p != '_')
			return false;
	if (colon && name < end && is_system(text_slice_of(s, colon)))
		return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if ((size_t)(end - name) > strlen(begins[i]) &&
		    !memcmp(name, begins[i], strlen(begins[i])))
			return true;
	return kernel_text_find(name, (size_t)(end - name)) != NULL;
}
