# Sourced, from the root of the repository, by scripts that need Node, a browser and curl:
# finds or installs them.
# Debian 12 has Node 18, which is too old for the tools; npm has newer ones.
. scripts/install.sh
install_missing curl:curl npm:"nodejs npm"
# CHROMIUM selects another browser.
[ -n "${CHROMIUM-}" ] || install_missing chromium:"chromium fonts-liberation"
CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export CHROMIUM
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	node_package=node-linux-$(node -p process.arch)
	node_folder=$(pwd)/web/.node
	[ -d "$node_folder/node_modules/$node_package" ] || npm install --silent --prefix "$node_folder" "$node_package@22.23.3"
	PATH=$node_folder/node_modules/$node_package/bin:$PATH
	export PATH
fi
