# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# Says its time on the second serial port when asked, and changes it: "time", "ahead SECONDS", "source NAME", "end".
stty -F /dev/ttyS1 raw -echo
sources=/sys/devices/system/clocksource/clocksource0
echo "l2: clock sources $(cat $sources/available_clocksource)"
exec 3<>/dev/ttyS1
echo "l2: working"
while read -r what value <&3 && [ "$what" != end ]; do
	case $what in
	ahead) date -s "@$(($(date +%s) + value))" >/dev/null ;;
	source) echo "$value" >$sources/current_clocksource ;;
	esac
	adjtimex | sed -n 's/.*time.tv_sec: *//p; s/.*time.tv_usec: *//p' | xargs >&3
done
