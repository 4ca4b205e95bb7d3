#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Generates tapset/inside.stp from probes/inside.def: an alias for each event of QEMU internals, with the event's
# fields as variables.
#
#   inside.sh            rewrite it
#   inside.sh --check    report whether it is up to date; exit status 1 if not
#
# Events that tapset/hostrace.stp defines itself, with what its scripts need, are skipped: an alias that is defined
# twice fires twice. Where the arguments differ between releases an alias has no variables: SystemTap does not know the
# release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Kind, then columns between "~"; and of each event the names of its fields ("V~field" lines after "D~event").
rows() {
	{
		cat <<-'END'
			#define TEXT(...) #__VA_ARGS__
			#define GROUP(name, doc) @G~name~doc
			#define INSIDE(event, since, loss) @P~event
			#define BY_MARK(event, name, which, since, before, args, lack, ...) @M~name~which~since~before~TEXT(__VA_ARGS__)
			#define BY_ENTRY(event, function, which, since, before, nr, prototype, ...) @F~function~which~since~before~TEXT(__VA_ARGS__)
			#define BY_RETURN(event, function, which, since, before, prototype, ...) @T~function~which~since~before~TEXT(__VA_ARGS__)
			#define NO_FUNCTION(event, why)
			#define INSIDE_END(event) @E
			#define RELEASE(major, minor) major.minor
			#define EVENT(id, name, doc) @D~name
			#define FIELD(type, name, fmt, doc) @V~name
			#define END(name)
		END
		cat ../bpf/events_inside.def
		cat ../probes/inside.def
	} | ${CC:-gcc} -E -P -x c - | tr '@' '\n' | sed 's/" *"//g'
}

made() {
	cat <<-'END'
		# SPDX-License-Identifier: GPL-2.0-or-later
		#
		# Generated from probes/inside.def by stap/inside.sh; do not edit. QEMU internals: requests of devices and of the
		# block layer, coroutines, event loops, locks, KVM_RUN, regions, memory. Variables are the fields of doc/events.md.
		#
		# probe hostrace.block_begin { began[cookie] = gettimeofday_ns() }
		#
		# hostrace.EVENT uses QEMU's marks if the executable has them, else the functions that replace them. If it has
		# neither (many have no function; doctor --probes prints the reason), the script does not compile, unless the probe
		# is optional ("?").
	END
	rows | awk -F '~' -v own="$(sed -n 's/^probe hostrace\.\([a-z_]*\) =.*/ \1 /p' tapset/hostrace.stp | tr -d '\n')" '
	function trimmed(s) {
		gsub(/^[ "]+|[ "]+$/, "", s)
		return s
	}
	# The expression of the table in SystemTap syntax.
	function worded(s, mark) {
		s = mark ? gensub_args(s, "$arg", "") : gensub_args(s, "pointer_arg(", ")")
		gsub(/AT64\(/, "user_uint64(", s)
		gsub(/AT8\(/, "user_uint8(", s)
		gsub(/RESULT/, "returnval()", s)
		gsub(/U32\(/, "hostrace_u32(", s)
		gsub(/S32\(/, "hostrace_s32(", s)
		gsub(/U8\(/, "hostrace_u8(", s)
		return s
	}
	function gensub_args(s, before, after,   n) {
		for (n = 1; n <= 7; n++)
			gsub("A" n, before n after, s)
		return s
	}
	# "new|old" as process points: of stap -x PID, else of the program on the path.
	function points(kind, names,   nr, i, name, out) {
		nr = split(names, name, "|")
		for (i = 1; i <= nr; i++)
			out = out (out ? " !,\n\t" : "") "process." where(kind, trimmed(name[i]))
		for (i = 1; i <= nr; i++)
			out = out " !,\n\tprocess(\"qemu-system-x86_64\")." where(kind, trimmed(name[i]))
		return out
	}
	function where(kind, name) {
		return (kind == "M" ? "mark" : "function") "(\"" name "\")" (kind == "T" ? ".return" : "")
	}
	# Top-level commas only.
	function values(s, out,   n, depth, i, c, one) {
		n = depth = 0
		one = ""
		for (i = 1; i <= length(s); i++) {
			c = substr(s, i, 1)
			if (c == "(") depth++
			if (c == ")") depth--
			if (c == "," && !depth) {
				out[++n] = trimmed(one)
				one = ""
			} else {
				one = one c
			}
		}
		if (trimmed(one) != "")
			out[++n] = trimmed(one)
		return n
	}
	function body(kind, text,   v, n, i, out) {
		n = values(text, v)
		for (i = 1; i <= n; i++)
			if (v[i] ~ /AT(64|8)\(/)
				out = out "\ttry {\n\t\t" field[event, i] " = " worded(v[i], kind == "M") \
					"\n\t} catch {\n\t\t" field[event, i] " = 0\n\t}\n"
			else
				out = out "\t" field[event, i] " = " worded(v[i], kind == "M") "\n"
		return out
	}
	function head(alias, list) {
		printf "\nprobe %s =\n\t%s\n{\n\tif (target() && pid() != target())\n\t\tnext\n", alias, list
	}
	# One kind of rows (marks, or functions and returns) as an alias; its name, "" if there are none.
	function kind_made(want_marks,   i, nr, versioned, list, first, part) {
		for (i = 1; i <= nr_rows; i++)
			if ((kind[i] == "M") == want_marks) {
				nr++
				first = first ? first : i
				versioned = versioned || before_of[i] != "0"
			}
		if (!nr)
			return ""
		if (versioned) {
			for (i = 1; i <= nr_rows; i++)
				if ((kind[i] == "M") == want_marks && index(list, "\"" name_of[i] "\"") == 0)
					list = list (list ? " !,\n\t" : "") points(kind[i], name_of[i])
			part = "hostrace." event (want_marks ? ".mark" : ".function")
			head(part, list)
			print "\tname = \"" event "\"\n}"
			return part
		}
		for (i = 1; i <= nr_rows; i++)
			if ((kind[i] == "M") == want_marks) {
				part = "hostrace." event (want_marks ? ".mark" : ".function") (nr > 1 ? "." which[i] : "")
				head(part, points(kind[i], name_of[i]))
				printf "\tname = \"%s\"\n%s}\n", event, body(kind[i], text_of[i])
				list = list (list ? ", " : "") part
			}
		if (nr == 1)
			return part
		part = "hostrace." event (want_marks ? ".mark" : ".function") ".all"
		printf "\nprobe %s =\n\t%s\n{\n}\n", part, list
		return part
	}
	$1 == "D" { event = trimmed($2); nr_fields = 0 }
	$1 == "V" { field[event, ++nr_fields] = trimmed($2) }
	$1 == "G" { printf "\n# ---- %s ----\n", trimmed($3) }
	$1 == "P" { event = trimmed($2); nr_rows = 0 }
	$1 ~ /^[MFT]$/ {
		kind[++nr_rows] = $1
		name_of[nr_rows] = trimmed($2)
		which[nr_rows] = trimmed($3)
		since[nr_rows] = trimmed($4)
		before_of[nr_rows] = trimmed($5)
		text_of[nr_rows] = trimmed($6)
	}
	$1 ~ /^E/ && nr_rows && index(own, " " event " ") {
		print "\n# hostrace." event " is defined in hostrace.stp."
		nr_rows = 0
	}
	$1 ~ /^E/ && nr_rows {
		marks = kind_made(1)
		functions = kind_made(0)
		printf "\nprobe hostrace.%s =\n\t%s\n{\n}\n", event, marks && functions ? marks " !, " functions : marks functions
		nr_rows = 0
	}'
	cat <<-'END'

		function hostrace_u8:long(x:long)
		{
			return x & 0xff
		}

		function hostrace_u32:long(x:long)
		{
			return x & 0xffffffff
		}

		function hostrace_s32:long(x:long)
		{
			return ((x & 0xffffffff) ^ 0x80000000) - 0x80000000
		}
	END
}

if [ "${1:-}" = --check ]; then
	made | cmp -s - tapset/inside.stp || { echo "stap/tapset/inside.stp is not as stap/inside.sh makes it"; exit 1; }
else
	made >tapset/inside.stp.new
	mv tapset/inside.stp.new tapset/inside.stp
fi
