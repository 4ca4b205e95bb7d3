#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints doc/events.md, generated from bpf/events.def and src/event/extra_fields.def. The preprocessor turns each entry into a line.
set -eu
cd "$(dirname "$0")/.."

cat <<'END'
<!-- Generated from bpf/events.def and src/event/extra_fields.def by `make docs`. -->
# Events

Events that `hostrace record` writes and `hostrace list` prints. Every event also has a time (host `CLOCK_MONOTONIC`, ns), host CPU, the VM's pid,
the thread and the vCPU. Formats: `dec` is decimal, `hex` and `addr` are hexadecimal; values of other formats are printed by name (`reason` by the host's ISA).
END
{
	cat <<-'END'
	#define EVENT(id, name, doc) @E name id doc
	#define FIELD(type, name, fmt, doc) @F name type fmt doc
	#define TEXT(len, name, doc) @T name len doc
	#define PAD(bytes)
	#define END(name)
	END
	cat bpf/events.def
	cat <<-'END'
	#define EXTRAS(name) @X name
	#define EXTRA(type, name, fmt, doc) @F name type fmt doc
	#define EXTRAS_END(name)
	END
	cat src/event/extra_fields.def
} | ${CC:-gcc} -E -P -Ibpf -x c - | tr '@' '\n' | awk '
	function unquoted(from,   i, text) {
		for (i = from; i <= NF; i++)
			text = text (i > from ? " " : "") $i
		gsub(/" *"/, "", text)
		gsub(/^ *"|" *$/, "", text)
		gsub(/\|/, "\\|", text)
		return text
	}
	$1 == "E" { printf "\n## %s (%s)\n\n%s\n", $2, $3, unquoted(4); rows = 0 }
	$1 == "X" {
		if (!extras++)
			printf "\n## Other recordings\n\nFields that hostrace does not record, and that others have.\n"
		printf "\n### %s\n", $2; rows = 0
	}
	$1 == "F" || $1 == "T" {
		if (!rows++)
			printf "\n| field | type | format | meaning |\n|---|---|---|---|\n"
	}
	$1 == "F" { printf "| `%s` | %s | %s | %s |\n", $2, $3, $4, unquoted(5) }
	$1 == "T" { printf "| `%s` | text[%s] | text | %s |\n", $2, $3, unquoted(4) }'
