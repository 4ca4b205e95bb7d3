// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a text is said to lack once it was read: records that were joined, cut or dropped, lines that were skipped,
 * events that are out of order or missing. Each is counted, and the first has its line.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "readers/text/paste_clean.h"
#include "readers/text/tracetext.h"

int tracetext_error(const struct tracetext *t)
{
	int err = t->lines.err;

	return err && !t->lines.source ? fail(err, "%s: %s", t->reader.info.file, strerror(-err))
				       : err;
}

static void skipped_report(struct tracetext *t, const struct text_skipped *s, const char *what)
{
	struct trace_info *info = &t->reader.info;

	if (s->nr == 1)
		trace_info_caveat(info, "%s: line %" PRIu64 " was skipped: %s", info->file,
				  s->first_line, what);
	else if (s->nr)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " lines were skipped, the first is line %" PRIu64
				  ": %s",
				  info->file, s->nr, s->first_line, what);
}

static void parts_report(struct tracetext *t)
{
	struct trace_info *info = &t->reader.info;
	char name[2][TEXT_PART_NAME_MAX];

	if (!t->other_part.nr || (t->guest && t->parts.nr == 2))
		return;
	for (int i = 0; i < 2; i++) {
		memcpy(name[i], t->parts.name[i], sizeof(name[i]));
		text_sanitize(name[i]);
	}
	trace_info_caveat(info,
			  "%s: trace-cmd's report of %u files: %s is read as the host's trace, %s "
			  "with --guest; %" PRIu64 " lines of other files were skipped",
			  info->file, t->parts.nr, name[0], name[1], t->other_part.nr);
}

static void pasted_report(struct tracetext *t)
{
	const struct paste_counts *counts = paste_counts_of(&t->lines);
	struct trace_info *info = &t->reader.info;

	if (t->has_cpu_tids)
		trace_info_caveat(info,
				  "%s: KVM's events have no threads: those of each CPU count as "
				  "one thread; exits of vCPUs that move meanwhile are wrong",
				  info->file);
	if (t->has_vcpu_tids)
		trace_info_caveat(info,
				  "%s: KVM's events have no thread ids: those of each vCPU count "
				  "as one thread, so that VMs are not told apart",
				  info->file);
	if (t->vcpus.unknown && t->vcpus.several)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " exits have no thread, no CPU and no vCPU: which "
				  "entries end them is unknown",
				  info->file, t->vcpus.unknown);
	if (counts->joined)
		trace_info_caveat(info, "%s: %" PRIu64 " records were joined from several lines",
				  info->file, counts->joined);
	if (counts->width && (counts->cut || counts->open))
		trace_info_caveat(info, "%s: the lines are cut at column %zu", info->file,
				  counts->width);
	if (counts->cut)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " records were dropped, the first is line %" PRIu64
				  ": their ends are missing",
				  info->file, counts->cut, counts->first_cut);
	if (counts->glued)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " lines were dropped, the first is line %" PRIu64
				  ": several records are in one line, and where they begin is not "
				  "certain",
				  info->file, counts->glued, counts->first_glued);
	if (counts->open && !counts->width)
		trace_info_caveat(info,
				  "%s: line %" PRIu64
				  " %s may be cut: its last value is not recorded",
				  info->file, counts->first_open,
				  !t->lines.open_from ? "has no newline, and"
						      : "is shorter than others, or the first line "
							"is cut, so it");
	else if (counts->open)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " records, the first is line %" PRIu64
				  ", end at that column: their last values are not recorded",
				  info->file, counts->open, counts->first_open);
}

void tracetext_report(struct tracetext *t)
{
	struct trace_info *info = &t->reader.info;

	if (t->head.skip)
		trace_info_caveat(info, "%s: line 1 was skipped: its beginning is missing",
				  info->file);
	pasted_report(t);
	parts_report(t);
	if (t->foreign_arch && !t->guest)
		trace_info_caveat(info,
				  "%s: KVM's events of %s are kept as text: only those of x86 and "
				  "arm64 are read",
				  info->file, t->foreign_arch);
	if (t->sampled && !t->guest)
		trace_info_caveat(info,
				  "%s: tracepoints were sampled (perf record -F or -c): durations "
				  "between them are not known",
				  info->file);
	if (info->late)
		trace_info_caveat(info, "%s: %" PRIu64 " events are out of order", info->file,
				  info->late);
	if (t->back_line && t->steps.back > t->steps.nr / 2)
		trace_info_caveat(info,
				  "%s: most times are before that of the line above: the text is "
				  "in reverse order (tac, journalctl -r), and has no latencies; "
				  "turn it round: tac FILE",
				  info->file);
	else if (t->back_line)
		trace_info_caveat(info,
				  "%s: a CPU's times go back at line %" PRIu64
				  ": two recordings, one twice, or lines that were sorted count "
				  "as one",
				  info->file, t->back_line);
	if (t->uncounted)
		trace_info_caveat(info,
				  "%s: an unknown number of events is missing in %" PRIu64
				  " places; each place counts as one lost event",
				  info->file, t->uncounted);
	if (t->left_out.nr)
		trace_info_caveat(
			info,
			"%s: events may be left out in %" PRIu64
			" places, the first is before line %" PRIu64
			": blank lines, lines that are no events, or dropped records are there, "
			"and what spans them is not measured",
			info->file, t->left_out.nr, t->left_out.first_line);
	if (t->wrapped.nr)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " records were dropped, the first is line %" PRIu64
				  ": they are not in one line",
				  info->file, t->wrapped.nr, t->wrapped.first_line);
	skipped_report(t, &t->unknown, "not recognized");
	skipped_report(t, &t->other_unit,
		       t->other.timeless ? "no timestamp"
					 : "their timestamps have another unit");
	if (t->chains_cut)
		trace_info_caveat(info,
				  "%s: frames beyond the first %d bytes of a call chain are "
				  "missing (such call chains: %" PRIu64 ")",
				  info->file, CALL_CHAIN_TEXT_MAX, t->chains_cut);
}

/* The option of tracefs that makes such lines; NULL: unknown. */
static const char *option_of(const char *line)
{
	unsigned int tid, cpu, n = 0;
	unsigned long long time;

	if (sscanf(line, "%8x %8x %16llx type: %n", &tid, &cpu, &time, &n) == 3 && n > 32)
		return "hex";
	if (sscanf(line, "%u %u %llu %n", &tid, &cpu, &time, &n) == 3 &&
	    !strncmp(line + n, "type: ", 6))
		return "raw";
	return strstr(line, "ms (+") && strstr(line, "ms): ") ? "verbose" : NULL;
}

int tracetext_check(const struct tracetext *t)
{
	const struct trace_info *info = &t->reader.info;
	const char *option;

	const struct text_skipped *skipped = t->unknown.nr ? &t->unknown : &t->wrapped;

	if (info->nr_events > (t->guest ? 0 : t->nr_holes) || !skipped->nr)
		return 0;
	fail(-EINVAL, "%s: no event in %" PRIu64 " lines, the first is line %" PRIu64, info->file,
	     skipped->nr, skipped->first_line);
	option = option_of(t->unknown_line);
	if (!option)
		return fail_hint(-EINVAL,
				 "supported: text of tracefs, trace-cmd report and perf script");
	return fail_hint(-EINVAL,
			 "tracefs's options/%s %s; turn it off: echo 0 > "
			 "/sys/kernel/tracing/options/%s",
			 option,
			 *option == 'v' ? "with latency-format prints lines that are not supported"
					: "prints no names of events",
			 option);
}
