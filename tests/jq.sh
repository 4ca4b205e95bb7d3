#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# jq for test cases: newer versions print a number with the digits that it was read with, 1.6 prints its value. With this
# 25.000 is 25 in all of them: the program gets the values. @JQ@ is the program itself.
left=$# given=
while [ "$left" -gt 0 ]; do
	arg=$1
	shift
	left=$((left - 1))
	case $given$arg in
	--arg | --argjson | --slurpfile | --rawfile)
		set -- "$@" "$arg" "$1"
		shift
		left=$((left - 2))
		arg=$1
		shift
		;;
	-f | --from-file) given=program ;;
	-* | program*) ;;
	*)
		arg="walk(if type == \"number\" then . + 0 else . end) | ($arg)"
		given=program
		;;
	esac
	set -- "$@" "$arg"
done
exec @JQ@ "$@"
