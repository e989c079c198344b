# Sourced, from this folder, by the scripts that run tests: installs programs that are
# missing, where there is apt. Each argument is the program and the Debian packages it is in.
install_missing() {
	missing=
	for need in "$@"; do
		command -v "${need%%:*}" >/dev/null || missing="$missing ${need#*:}"
	done
	[ -n "$missing" ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "the tests need$missing: install that and run this again" >&2
		exit 1
	fi
	as_root=
	[ "$(id -u)" = 0 ] || as_root=sudo
	$as_root apt-get update -qq
	# shellcheck disable=SC2086 # one word for each package
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing
}
