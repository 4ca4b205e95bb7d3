# SPDX-License-Identifier: GPL-2.0-or-later
# Lists mutants of C sources: FILE <tab> LINE <tab> OPERATOR <tab> FUNCTION <tab> the line as changed. One change each:
#
#   compare    < to <=, == to !=, and so on        constant   0 to 1, n to n + 1
#   negate     if (x) to if (!(x))                 logic      && to ||
#   arithmetic + to -, * to /, & to |, << to >>    step       ++ to --, += to -=
#   delete     a statement of one line             swap       two neighbouring arguments
#   result     true to false, -errno to 0
#
# Relies on the style that .clang-format enforces: blanks around binary operators, a function's braces in column 0.
# Lines of strings, of the preprocessor and with file operations that would damage the machine are left alone.

function emit(operator, text) {
	if (text != $0)
		print FILENAME "\t" FNR "\t" operator "\t" name "\t" text
}

# Replaces every occurrence of FROM in turn.
function each(operator, from, to,    at, found) {
	at = 1
	while ((found = index(substr($0, at), from)) > 0) {
		at += found - 1
		emit(operator, substr($0, 1, at - 1) to substr($0, at + length(from)))
		at += length(from)
	}
}

function constants(    at, rest, before, digits) {
	at = 1
	while (match(substr($0, at), /[0-9]+/)) {
		before = at + RSTART > 2 ? substr($0, at + RSTART - 2, 1) : ""
		digits = substr($0, at + RSTART - 1, RLENGTH)
		rest = substr($0, at + RSTART - 1 + RLENGTH)
		if (before !~ /[A-Za-z0-9_."%]/ && rest !~ /^[A-Za-z_.]/)
			emit("constant", substr($0, 1, at + RSTART - 2) (digits + 1) rest)
		at += RSTART - 1 + RLENGTH
	}
}

# The condition, if its parentheses close on this line.
function negate(    start, depth, i, c) {
	if (!match($0, /^\t+(\} else )?(if|while) \(/))
		return
	start = RLENGTH
	for (i = start; i <= length($0); i++) {
		c = substr($0, i, 1)
		depth += (c == "(") - (c == ")")
		if (!depth) {
			emit("negate", substr($0, 1, start) "!(" substr($0, start + 1, i - start - 1) ")" substr($0, i))
			return
		}
	}
}

# A call, an assignment or a jump; not a declaration. Not what only gives memory back: `make check SAN=1` looks for leaks.
function remove(    indent) {
	if ($0 ~ /^\t+([a-z_0-9]+_)?(free|deinit)\(.*\);$/)
		return
	match($0, /^\t+/)
	indent = substr($0, 1, RLENGTH)
	if ($0 ~ /^\t+[a-z_0-9]+\(.*\);$/ || $0 ~ /^\t+[*(]*[a-z_0-9]+[^ ]* [-+|&*\/<>]*= .*;$/ ||
	    $0 ~ /^\t+(break|continue|goto [a-z_]+);$/ || $0 ~ /^\t+[^ ]*(\+\+|--);$/)
		emit("delete", indent ";")
}

function swap(    at, pair, parts) {
	at = 1
	while (match(substr($0, at), /[(,] ?[&a-z_0-9>.*-]+, [&a-z_0-9>.*-]+[,)]/)) {
		pair = substr($0, at + RSTART - 1, RLENGTH)
		split(substr(pair, 2, length(pair) - 2), parts, ", ?")
		sub(/^ /, "", parts[1])
		emit("swap", substr($0, 1, at + RSTART - 2) substr(pair, 1, 1) parts[2] ", " parts[1] \
			substr($0, at + RSTART - 2 + RLENGTH))
		at += RSTART
	}
}

FNR == 1 { inside = comment = 0; name = "" }
/^[a-z].*[a-z_0-9]\(/ {
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
}
/^\{/ { inside = 1; next }
/^\}/ { inside = 0; next }
/\/\*/ && !/\*\// { comment = 1 }
comment { if (/\*\//) comment = 0; next }
!inside || /^\t*(\/\/|\/\*|\*|#|case |default:)/ || /"/ || /[\t !(](kill|unlink|unlinkat|rename|ftruncate|fork)\(/ { next }
{
	each("compare", " < ", " <= "); each("compare", " <= ", " < ")
	each("compare", " > ", " >= "); each("compare", " >= ", " > ")
	each("compare", " == ", " != "); each("compare", " != ", " == ")
	each("logic", " && ", " || "); each("logic", " || ", " && ")
	each("arithmetic", " + ", " - "); each("arithmetic", " - ", " + ")
	each("arithmetic", " * ", " / "); each("arithmetic", " / ", " * ")
	each("arithmetic", " & ", " | "); each("arithmetic", " | ", " & ")
	each("arithmetic", " << ", " >> "); each("arithmetic", " >> ", " << ")
	each("step", "++", "--"); each("step", " += ", " -= "); each("step", " -= ", " += ")
	each("result", "true", "false"); each("result", "false", "true")
	each("negate", "(!", "("); each("result", "return -E", "return 0 * E")
	constants()
	negate()
	remove()
	swap()
}
