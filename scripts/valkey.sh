#!/bin/sh
# Installs valkey-server where Debian or Ubuntu has it; Debian 12 has it in bookworm-backports. It fails on other
# systems.
set -eu
command -v valkey-server >/dev/null && exit 0
command -v apt-get >/dev/null || exit 1
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
if grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release; then
	echo "deb http://deb.debian.org/debian bookworm-backports main" | $as_root tee /etc/apt/sources.list.d/frontpage-valkey.list >/dev/null
fi
$as_root apt-get update -qq
# The package would start a service, which no test uses.
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends valkey-server
