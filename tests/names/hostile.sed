# Names in hostrace's text form, for tests/run-cases.sh --names: threads, guest tasks, devices, functions, and what the
# metadata have, get ESC, U+202E and BEL.
/^#/s/"(name|host|kernel|cmdline|command|comm|path|machine|where|reason|how|note|uuid)":[ ]?"([^"\\]*)"/"\1":"\2\\u001b[1m\\u202e\\u0007\\u009b"/g
/^[0-9]/s/ ((prev_|next_|waker_|guest_)?comm)=("[^"]{0,6}|[^" ]{1,6})([^" ][^" ]*|[^"]*")?/ \1="\3EVIL"/g
/^[0-9]/s/="+/="/g
/^[0-9]/s/ (path|stack)=("([^"]{1,80})[^"]*"|([^ "]{1,80})[^ ]*)/ \1="\3\4EVIL"/g
/^[0-9]/s/EVIL/\x1b[1m\xe2\x80\xae\x07/g
