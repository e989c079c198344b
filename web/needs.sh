# Sourced by scripts that need Node, a browser and curl: finds or installs them.
# Debian 12 has Node 18, which is too old for the tools; npm has newer ones.
missing=
command -v curl >/dev/null || missing=curl
command -v npm >/dev/null || missing="$missing nodejs npm"
[ -n "${CHROMIUM-}" ] || command -v chromium >/dev/null || missing="$missing chromium fonts-liberation"
if [ -n "$missing" ]; then
	if ! command -v apt-get >/dev/null; then
		echo "these tests need $missing: install that, or name your browser in CHROMIUM, and run this again" >&2
		exit 1
	fi
	as_root=
	[ "$(id -u)" = 0 ] || as_root=sudo
	$as_root apt-get update -qq
	# shellcheck disable=SC2086 # one word for each package
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing
fi
CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export CHROMIUM
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	node_package=node-linux-$(node -p process.arch)
	node_folder=$(pwd)/web/.node
	[ -d "$node_folder/node_modules/$node_package" ] || npm install --silent --prefix "$node_folder" "$node_package@22.23.3"
	PATH=$node_folder/node_modules/$node_package/bin:$PATH
	export PATH
fi
