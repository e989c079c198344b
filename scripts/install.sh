# Sourced, from the root of the repository, by the scripts that run tests. install_missing
# installs the programs that are missing, where apt is available. Each argument is a program,
# a colon, and the Debian packages that contain it.
install_missing() {
	missing=
	for need in "$@"; do
		command -v "${need%%:*}" >/dev/null || missing="$missing ${need#*:}"
	done
	[ -n "$missing" ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "missing packages:$missing: install them and try again" >&2
		exit 1
	fi
	as_root=
	[ "$(id -u)" = 0 ] || as_root=sudo
	$as_root apt-get update -qq
	# shellcheck disable=SC2086 # one word for each package
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing
}
