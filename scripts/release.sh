#!/bin/bash
# Builds a release into dist/ without publishing it: archives with the program, its manual page, completions and notices for
# Linux, macOS and Windows, SBOMs, checksums. Checks deploy/goreleaser.yaml first, and the result at the end.
# ONE_PROCESSOR=1 builds for one processor of each system only. Builds goreleaser on first use, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v2.15.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/frontpage/goreleaser-$version-$(go env GOVERSION)
if [ ! -x "$folder/goreleaser" ]; then
	echo "building goreleaser $version, which takes a few minutes" >&2
	# Not optimized: that halves the time.
	GOBIN=$folder go install -gcflags='all=-N -l' "github.com/goreleaser/goreleaser/v2@$version"
fi
(cd tests/deploy && go build -o "$folder/" github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod)
export PATH=$folder:$PATH

# What is committed is built, as from a fresh clone.
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone --quiet . "$clone"
(cd "$clone" && goreleaser check deploy/goreleaser.yaml && goreleaser release --config deploy/goreleaser.yaml --snapshot --skip publish)
rm -rf dist
mv "$clone/dist" dist

cd dist
sha256sum --quiet --check SHA256SUMS
archives=0
for archive in *.tar.gz *.zip; do
	case $archive in
	*.zip) content=$(python3 -m zipfile -l "$archive") ;;
	*) content=$(tar -tzf "$archive") ;;
	esac
	for file in frontpage frontpage.1.gz completions/frontpage.bash completions/frontpage.zsh completions/frontpage.fish LICENSE NOTICES.md deploy/frontpage.service; do
		[[ $content == *"/$file"* ]] || { echo "$archive lacks $file" >&2; exit 1; }
	done
	archives=$((archives + 1))
done
boms=$(grep -l '"name": "github.com/redis/go-redis/v9"' ./*.cdx.json | wc -l)
if [ "$archives" -lt 3 ] || [ "$boms" != "$archives" ]; then
	echo "$archives archives and $boms SBOMs were built" >&2
	exit 1
fi
built=$(tar -xzOf ./*_"$(go env GOHOSTOS)_$(go env GOHOSTARCH)".tar.gz --wildcards '*/frontpage' >"$clone/built" && chmod +x "$clone/built" && "$clone/built" version)
[[ $built == *"commit $(git -C "$clone" rev-parse HEAD)"* ]] || { echo "the program does not know its commit: $built" >&2; exit 1; }
notices=$(tar -xzOf ./*_"$(go env GOHOSTOS)_$(go env GOHOSTARCH)".tar.gz --wildcards '*/NOTICES.md')
modules=$(go version -m ./*/frontpage ./*/frontpage.exe | awk '$1 == "dep" { print "## " $2 " " $3 }' | sort -u)
missing=$(grep -vxFf <(grep '^## ' <<<"$notices") <<<"$modules" || true)
if [ -z "$modules" ] || [ -n "$missing" ] || [[ $notices != *"## preact "*"## graphiql "* ]]; then
	echo "NOTICES.md lacks modules of the programs, or packages of the pages: $missing" >&2
	exit 1
fi
du -h -- *.tar.gz *.zip
