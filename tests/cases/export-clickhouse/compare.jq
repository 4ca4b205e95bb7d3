# [rows of list, rows of the file]: are they the same? A value of list is the file's text, number or hexadecimal number.
def same($listed; $has): $listed == (if $has[1] != "" then $has[1] elif ($listed | type) == "string" then $has[2] else $has[0] end);
.[0] as $list | .[1] as $file |
[range([$list, $file | length] | max) |
	$list[.] as $a | $file[.] as $b |
	select(($a | del(.fields) | .cpu //= -1 | .vcpu //= -1) != ($b | del(.fields, .chunk, .vm)) or
		($a.fields | keys) != ($b.fields | keys) or
		any($a.fields | keys[]; same($a.fields[.]; $b.fields[.]) | not)) |
	[$a, $b]] | if . == [] then "rows: the same" else .[0] end
