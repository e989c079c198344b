# Sourced, from the root of the repository, by scripts that need Node, a browser and curl:
# finds or installs them.
# Debian 12 has Node 18, which is too old for the tools; npm has newer ones.
. scripts/install.sh
install_missing curl:curl npm:"nodejs npm"
# CHROMIUM selects another browser. On Debian it is Chromium without windows, which takes a third of the time.
browser=chromium
! grep -q '^ID=debian$' /etc/os-release 2>/dev/null || browser=chromium-headless-shell
[ -n "${CHROMIUM-}" ] || install_missing $browser:"$browser fonts-liberation"
CHROMIUM=${CHROMIUM:-$(command -v $browser)}
export CHROMIUM
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	node_package=node-linux-$(node -p process.arch)
	node_folder=$(pwd)/web/.node
	[ -d "$node_folder/node_modules/$node_package" ] || npm install --silent --prefix "$node_folder" "$node_package@22.23.3"
	PATH=$node_folder/node_modules/$node_package/bin:$PATH
	export PATH
fi
