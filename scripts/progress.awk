# Reads what go test -json prints: shows the result of each package when it is known, how many tests of a long package have
# passed so far, and the output of tests and packages that fail.

function field(name) {
	if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
	return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
}

function plain(text) {
	gsub(/\\\\/, "\001", text)
	gsub(/\\n/, "\n", text)
	gsub(/\\t/, "\t", text)
	gsub(/\\"/, "\"", text)
	gsub(/\\u003c/, "<", text)
	gsub(/\\u003e/, ">", text)
	gsub(/\\u0026/, "\\&", text)
	gsub(/\001/, "\\\\", text)
	return text
}

!/^\{/ { print; fflush(); next }

{
	action = field("Action")
	package = field("Package")
	test = field("Test")
	isTest = test != "" && test !~ /\//
	sub(/\/.*/, "", test)
}

action == "build-output" { printf "%s", plain(field("Output")); fflush() }

action == "output" {
	text = plain(field("Output"))
	if (test == "" && text ~ /^ok /) printf "%s", text
	else if (text !~ /^=== |^PASS$/) kept[package, test] = kept[package, test] text
	fflush()
}

isTest && (action == "pass" || action == "skip") {
	delete kept[package, test]
	if (++passed[package] % 50 == 0) print "   " passed[package] " tests of " package " have passed"
	fflush()
}

action == "fail" { # of a test, and of its package at last
	if (isTest || test == "") printf "%s", kept[package, test]
	if (isTest || test == "") delete kept[package, test]
	fflush()
}
