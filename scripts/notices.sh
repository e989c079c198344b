#!/bin/bash
# Writes the copyright notices and licences of all that the programs of a release contain into FOLDER/NOTICES.md: of Go, of
# the Go modules, and of the packages of the pages. scripts/notices.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p "$1"
exec >"$1/NOTICES.md"

# texts NAME FOLDER... writes the texts in these folders. It fails without one.
texts() {
	local name=$1 files
	shift
	mapfile -t files < <(find "$@" -maxdepth 1 -type f ! -name '*.go' \
		\( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \) | sort -u)
	[ ${#files[@]} -gt 0 ] || { echo "scripts/notices.sh: $name has no licence" >&2; exit 1; }
	echo "## $name"
	awk 'FNR == 1 { print "" } { print "    " $0 }' "${files[@]}"
	echo
}

echo "# Go"
echo
texts "$(go env GOVERSION)" "$(go env GOROOT)"

# A package may have a licence of its own beside that of its module.
format='{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{"\n"}}{{.Path}} {{.Version}}{{"\t"}}{{$.Dir}}{{end}}{{end}}'
modules=$(for system in linux darwin windows; do
	CGO_ENABLED=0 GOOS=$system GOARCH='' go list -deps -f "$format" .
done | grep . | sort -u)
cut -f 1 <<<"$modules" | uniq | while read -r module; do
	mapfile -t folders < <(awk -F '\t' -v module="$module" '$1 == module { print $2 }' <<<"$modules")
	texts "$module" "${folders[@]}"
done

for page in site graphiql; do
	echo "# JavaScript of the $page"
	echo
	tail -n +2 "site/web/dist/$page/licenses.md"
done
