# Sourced, from the root of the repository, by scripts that need Node, a browser and curl:
# finds or installs them.
# Debian 12 has Node 18, which is too old for the tools; npm has newer ones.
. scripts/install.sh
install_missing curl:curl npm:"nodejs npm"
# CHROMIUM selects another browser. On Debian it is Chromium without windows, which takes a third of the time. The few tests
# of the back/forward cache need WINDOWED_CHROMIUM.
WINDOWED_CHROMIUM=${WINDOWED_CHROMIUM:-${CHROMIUM-}}
browser=chromium
! grep -q '^ID=debian$' /etc/os-release 2>/dev/null || browser=chromium-headless-shell
[ -n "${CHROMIUM-}" ] || install_missing $browser:"$browser fonts-liberation"
[ -n "$WINDOWED_CHROMIUM" ] || install_missing chromium:chromium
CHROMIUM=${CHROMIUM:-$(command -v $browser)}
WINDOWED_CHROMIUM=${WINDOWED_CHROMIUM:-$(command -v chromium)}
export CHROMIUM WINDOWED_CHROMIUM
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	node_package=node-linux-$(node -p process.arch)
	node_folder=$(pwd)/site/web/.node
	[ -d "$node_folder/node_modules/$node_package" ] || npm install --silent --prefix "$node_folder" "$node_package@22.23.3"
	PATH=$node_folder/node_modules/$node_package/bin:$PATH
	export PATH
fi
