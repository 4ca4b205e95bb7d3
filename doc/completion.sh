#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints a completion for a shell, generated from `hostrace --help`, each command's --help and bpf/events.def.
#
#   doc/completion.sh HOSTRACE bash|zsh|fish
set -euo pipefail
hostrace=$1
shell=$2
traces='hrt dat data trace tracefile txt log guest' # names of trace files

commands() { # "NAME<TAB>SUMMARY"
	"$hostrace" --help | sed -n 's/^  \([a-z][a-z-]*\)  *\(.*\)$/\1\t\2/p'
}

options() { # COMMAND: "SHORT<TAB>--LONG<TAB>ARGUMENT<TAB>HELP" for each, "-" for what is missing
	"$hostrace" "$1" --help | sed -n '/^Options$/,/^$/p' | awk '
		match($0, /^(  -[a-zA-Z], |      )--[a-z][a-z0-9-]*/) {
			head = substr($0, 1, RLENGTH)
			rest = substr($0, RLENGTH + 1)
			short = match(head, /-[a-zA-Z],/) ? substr(head, RSTART, 2) : "-"
			sub(/^.*--/, "--", head)
			argument = rest ~ /^ [^ ]/ ? rest : "-"
			sub(/^ /, "", argument)
			sub(/ .*$/, "", argument)
			sub(/^ ?[^ ]* +/, "", rest)
			sub(/[;:(,]? *$/, "", rest)
			printf "%s\t%s\t%s\t%s\n", short, head, argument, rest == "" ? head : rest
		}'
}

analyzers() {
	"$hostrace" summary --help | sed -n '/^Analyzers:/,/^$/p' | tr -d '\n' | sed 's/^Analyzers: *//; s/,\? *or pair:.*//; s/,/ /g; s/  */ /g'
}

events() {
	sed -n 's/^EVENT([0-9]*, *\([a-z0-9_]*\).*/\1/p' "$(dirname "$0")/../bpf/events.def" | tr '\n' ' ' | sed 's/ $//'
}

option_help() { # COMMAND --LONG: its argument and help as one line
	"$hostrace" "$1" --help | sed -n '/^Options$/,/^$/p' |
		awk -v o="$2" '/^ +(-.,? )?--/ { on = $0 ~ "(^| )" o " " } on { printf "%s ", $0 }'
}

# REPORTs of record --for, and each analyzer.
recorded() {
	echo "$(option_help record --for | sed 's/.*need: //; s/ or an .*//' | tr -s ', ' ' ')$(analyzers)"
}

by_keys() { # COMMAND: of the keys that exist, those that its help names; exits' fields for views
	local key text keys=
	text=$(option_help "$1" --by | tr -s ' ')
	[[ $text != *"fields of the event"* ]] || text+="reason rip port"
	text=${text/fields of the event/} text=${text/per event loop and function/} # no keys
	text=${text/the guest\'s function/} text=${text/exit reason;/}
	[[ $1 != timeline ]] || text+="vm vcpu tid reason guest-task"
	for key in vm vcpu pid tid cpu guest-task level reason cause symbol rip port queue stage request task event handler \
		stack function; do
		[[ ! $text =~ (^|[^a-z-])$key([^a-z-]|$) ]] || keys+=" $key"
	done
	echo "${keys# }"
}

# What may follow an option, by the name of the option or of its argument: a word for each of the shells below.
kind() { # --LONG ARGUMENT
	case $1:$2 in
	--input:* | --guest:FILE) echo traces ;;
	--vm:*) echo vms ;;
	--event:* | --events:*) echo events ;;
	--color:*) echo colors ;;
	--format:*) echo formats ;;
	--for:*) echo recorded ;;
	--by:*) echo keys ;;
	*:FILE | *:DIR | *:MAP) echo files ;;
	*:-) echo none ;;
	*) echo other ;;
	esac
}

formats='text json jsonl csv svg html folded flame pprof perfetto chrome pcap pcapng'
exports='text json jsonl csv ctf trace.dat perfetto chrome svg html folded pprof pcap pcapng'
colors='auto always never'
views='summary|count|histogram|heatmap|list-spans|timeline'
# shellcheck disable=SC2016
vms='hostrace ps -q 2>/dev/null | awk '\''$1 ~ /^[0-9]+$/ { print $1; print $2 }'\'

bash_completion() {
	echo "_hostrace()"
	echo "{"
	cat <<END
	local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words= arguments=
	_hostrace_words() { mapfile -t COMPREPLY < <(compgen -W "\$1" -- "\$cur"); }
	_hostrace_list() { # the last element of "A,B,C"
		local before=\${cur%"\${cur##*,}"}
		mapfile -t COMPREPLY < <(compgen -P "\$before" -W "\$1" -- "\${cur##*,}")
	}
	_hostrace_traces() {
		local f
		COMPREPLY=()
		while read -r f; do
			case \$f in *.${traces// /|*.}) COMPREPLY+=("\$f") ;; *) [ -d "\$f" ] && COMPREPLY+=("\$f") ;; esac
		done < <(compgen -f -- "\$cur")
	}
	case \$prev in
	-i|--input|--guest) _hostrace_traces; return ;;
	-o|--output|--symbols) mapfile -t COMPREPLY < <(compgen -f -- "\$cur"); return ;;
	--vm) _hostrace_list "\$($vms)"; return ;;
	-e|--event|--events) _hostrace_list "$(events)"; return ;;
	-f|--format) _hostrace_words "$formats"; return ;;
	--for) _hostrace_list "$(recorded)"; return ;;
	--by)
		case \${COMP_WORDS[1]} in
END
	commands | while IFS=$'\t' read -r name _; do
		[ -z "$(option_help "$name" --by)" ] || echo "		$name) _hostrace_list \"$(by_keys "$name")\" ;;"
	done
	cat <<END
		esac
		return ;;
	--color) _hostrace_words "$colors"; return ;;
	esac
	if [ "\$COMP_CWORD" = 1 ] || [ "\${COMP_WORDS[1]}" = help ]; then
		_hostrace_words "$(commands | cut -f 1 | tr '\n' ' ')help --help --version"
		return
	fi
	case \${COMP_WORDS[1]} in
END
	commands | while IFS=$'\t' read -r name _; do
		echo "	$name) words=\"$(options "$name" | cut -f 2 | tr '\n' ' ')\" ;;"
	done
	cat <<END
	esac
	case \${COMP_WORDS[1]} in
	$views) [ "\$COMP_CWORD" = 2 ] && arguments="$(analyzers)" ;;
	export) [ "\$COMP_CWORD" = 2 ] && arguments="$exports" ;;
	esac
	case \$cur in
	-*) _hostrace_words "\$words" ;;
	*) if [ -n "\$arguments" ]; then _hostrace_words "\$arguments"; else _hostrace_traces; fi ;;
	esac
}
complete -o filenames -F _hostrace hostrace
END
}

zsh_quote() { # for _arguments within single quotes
	sed "s/'/'\\\\''/g; s/[]:[]/\\\\&/g"
}

zsh_action() { # KIND ARGUMENT COMMAND
	case $1 in
	traces) echo ":trace:_hostrace_traces" ;;
	files) echo ":file:_files" ;;
	vms) echo ":VM:_hostrace_vms" ;;
	events) echo ":event:_hostrace_events" ;;
	colors) echo ":when:($colors)" ;;
	formats) echo ":format:($formats)" ;;
	recorded) echo ":report:_values -s , report $(recorded)" ;;
	keys) echo ":key:_values -s , key $(by_keys "$3")" ;;
	other) echo ":$(zsh_quote <<<"$2"): " ;;
	none) ;;
	esac
}

zsh_completion() {
	cat <<END
_hostrace_vms() { compadd -- \${(f)"\$($vms)"} }
_hostrace_events() { compadd $(events) }
_hostrace_analyzers() { compadd $(analyzers) }
_hostrace_traces() { _files -g "*.(${traces// /|})(-.)" }
_hostrace() {
	local -a commands
	commands=(
END
	commands | while IFS=$'\t' read -r name summary; do
		echo "		'$name:$(zsh_quote <<<"$summary")'"
	done
	cat <<'END'
	)
	if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
		_describe command commands
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
END
	commands | while IFS=$'\t' read -r name _; do
		printf '\t%s) _arguments -s' "$name"
		options "$name" | while IFS=$'\t' read -r short long argument help; do
			action=$(zsh_action "$(kind "$long" "$argument")" "$argument" "$name")
			text="[$(zsh_quote <<<"$help")]$action"
			[ "$short" = - ] || printf " \\\\\n\t\t'%s%s'" "*$short" "$text"
			printf " \\\\\n\t\t'%s%s'" "*$long" "$text"
		done
		case $name in
		export) printf " \\\\\n\t\t'1:format:(%s)'" "$exports" ;;
		*) [[ $name =~ ^($views)$ ]] && printf " \\\\\n\t\t'1:analyzer:(%s)'" "$(analyzers)" ;;
		esac
		printf " \\\\\n\t\t'*%s' ;;\n" "$(zsh_action traces -)"
	done
	printf '\tesac\n}\n_hostrace "$@"\n'
}

fish_quote() {
	sed "s/['\\\\]/\\\\&/g"
}

fish_action() { # KIND COMMAND
	case $1 in
	traces) echo " -r -k -a '(__hostrace_traces)'" ;;
	files) echo " -r -F" ;;
	vms) echo " -x -a '(__hostrace_vms)'" ;;
	events) echo " -x -a '(__hostrace_events)'" ;;
	colors) echo " -x -a '$colors'" ;;
	formats) echo " -x -a '$formats'" ;;
	recorded) echo " -x -a '$(recorded)'" ;;
	keys) echo " -x -a '$(by_keys "$2")'" ;;
	other) echo " -x" ;;
	none) ;;
	esac
}

fish_completion() {
	cat <<END
function __hostrace_vms; $vms; end
function __hostrace_traces; __fish_complete_suffix .${traces// / .}; end
function __hostrace_events; string split ' ' '$(events)'; end
function __hostrace_analyzers; string split ' ' '$(analyzers)'; end
complete -c hostrace -f
END
	commands | while IFS=$'\t' read -r name summary; do
		echo "complete -c hostrace -n __fish_use_subcommand -a $name -d '$(fish_quote <<<"$summary")'"
		seen="complete -c hostrace -n '__fish_seen_subcommand_from $name'"
		echo "$seen -k -a '(__hostrace_traces)'"
		case $name in
		export) echo "$seen -a '$exports'" ;;
		*) ! [[ $name =~ ^($views)$ ]] || echo "$seen -a '(__hostrace_analyzers)'" ;;
		esac
		options "$name" | while IFS=$'\t' read -r short long argument help; do
			[ "$short" = - ] && short= || short=" -s ${short#-}"
			echo "$seen$short -l ${long#--}$(fish_action "$(kind "$long" "$argument")" "$name") -d '$(fish_quote <<<"$help")'"
		done
	done
}

[ "$shell" != zsh ] || echo "#compdef hostrace"
echo "# $shell completion for hostrace; generated by doc/completion.sh, do not edit."
"${shell}_completion"
