#!/bin/bash
# Writes the manual page and the completions for bash, zsh and fish into a folder: scripts/manual.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
mkdir -p "$folder/completions"
program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
# Built as a release is, so that Go compiles the packages once.
CGO_ENABLED=0 GOOS='' GOARCH='' go build -buildvcs=auto -trimpath -ldflags='-s -w' -o "$program/frontpage" .
"$program/frontpage" manual | gzip -9n >"$folder/frontpage.1.gz"
for shell in bash zsh fish; do
	"$program/frontpage" completion "$shell" >"$folder/completions/frontpage.$shell"
done
