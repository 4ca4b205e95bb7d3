#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints a bash completion made from `hostrace --help` and each command's --help.
set -euo pipefail
hostrace=$1

commands() {
	"$hostrace" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}

echo "# bash completion for hostrace; made by doc/completion.sh, do not edit."
echo "_hostrace()"
echo "{"
cat <<'END'
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
	case $prev in
	-i|--input|-o|--output|--guest|--symbols)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--vm)
		mapfile -t COMPREPLY < <(compgen -W "$(hostrace ps -q 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1, $2 }')" -- "$cur")
		return
		;;
	--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$cur")
		return
		;;
	esac
	if [ "$COMP_CWORD" = 1 ] || [ "${COMP_WORDS[1]}" = help ]; then
END
# shellcheck disable=SC2016
printf '\t\tmapfile -t COMPREPLY < <(compgen -W "%s help --help --version" -- "$cur")\n' \
	"$(commands | tr '\n' ' ' | sed 's/ $//')"
# shellcheck disable=SC2016
printf '\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n'
commands | while read -r c; do
	printf '\t%s) words="%s" ;;\n' "$c" "$("$hostrace" "$c" --help |
		sed -n '/^Options$/,/^$/s/^ \{2,6\}\(-[a-zA-Z], \)\?\(--[a-z][a-z0-9-]*\).*/\2/p' | tr '\n' ' ')"
done
cat <<'END'
	esac
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}
complete -o filenames -F _hostrace hostrace
END
