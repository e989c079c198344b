#!/bin/bash
# Checks the files in deploy/ by the programs that read them, and runs what runs without Docker and without a cluster:
# the unit under a systemd of its own, the commands of docs/online.md in a clean Debian, the image with a read-only root file
# system, beside the Redis of the compose file.
# It needs root, by sudo if necessary, and installs what is missing where apt is available.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh
install_missing buildah:buildah systemd-analyze:systemd systemd-nspawn:systemd-container setpriv:util-linux unshare:util-linux debootstrap:debootstrap \
	promtool:prometheus redis-server:redis-server mandoc:mandoc zsh:zsh fish:fish git:git nginx:nginx caddy:caddy curl:curl python3:python3 update-ca-certificates:ca-certificates
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

folder=$(mktemp -d)
running=()
tear_down() {
	[ ${#running[@]} = 0 ] || "${as_root[@]}" kill "${running[@]}" 2>/dev/null || true
	wait
	"${as_root[@]}" rm -rf "$folder"
}
trap tear_down EXIT
fail() {
	echo "scripts/deploy.sh: $1" >&2
	shift
	[ $# = 0 ] || cat "$@" >&2
	exit 1
}
# boot SECONDS OPTION... boots a systemd with these options of systemd-nspawn.
boot() {
	local seconds=$1
	shift
	# nspawn needs a tmpfs there, which a mount namespace hides from other programs.
	# shellcheck disable=SC2016 # the inner shell expands "$@"
	timeout -k 5 "$seconds" "${as_root[@]}" unshare --mount bash -c 'mkdir -p /run/systemd/nspawn && mount -t tmpfs tmpfs /run/systemd/nspawn &&
		exec systemd-nspawn --quiet --register=no --keep-unit --boot --console=pipe "$@"' boot "$@" </dev/null >"$folder/console" 2>&1
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# What is committed is built, as from a fresh clone.
git clone --quiet . "$folder/clone"
mkdir "$folder/bin" "$folder/etc" "$folder/out"
(cd "$folder/clone" && CGO_ENABLED=0 go build -buildvcs=auto -trimpath -ldflags='-s -w' -o "$folder/bin/frontpage" .)
frontpage=$folder/bin/frontpage

echo "manual page, completions"
"$frontpage" manual >"$folder/frontpage.1"
mandoc -T lint -W warning "$folder/frontpage.1"
# shellcheck disable=SC2016 # these shells expand what is in quotes
for shell in bash zsh fish; do
	"$frontpage" completion "$shell" >"$folder/completion"
	"$shell" -n "$folder/completion"
	case $shell in
	bash) found=$(bash -c '. "$0"; COMP_WORDS=(frontpage import --sh) COMP_CWORD=2; _frontpage; echo "${COMPREPLY[@]}"' "$folder/completion") ;;
	fish) found=$(fish -c 'source $argv[1]; complete -C "frontpage import --sh"' "$folder/completion") ;;
	*) continue ;;
	esac
	[[ $found == *--shift-to-now* && $found == *--shared-answers* ]] || fail "$shell completes import --sh as: $found"
done

echo "compose file, Kubernetes manifests"
(cd tests/deploy && go build -o "$folder/check" .)
"$folder/check" deploy/compose.yaml deploy/kubernetes/base deploy/kubernetes/redis
promtool check config --syntax-only deploy/prometheus/compose.yml

echo "systemd unit"
security=$(systemd-analyze security --offline=true --threshold=20 deploy/frontpage.service) || fail "the unit is too exposed: $security"
echo "${security##*$'\n'}"
port=$(free_port)
printf '%s\n' "FRONTPAGE_ADDR=127.0.0.1:$port" FRONTPAGE_OIDC_ISSUER=http://127.0.0.1:1 FRONTPAGE_OIDC_CLIENT_ID=frontpage >"$folder/etc/frontpage.env"
(umask 077 && echo secret >"$folder/etc/oidc_client_secret")
# The probe runs in the container beside the unit, and ends the container.
cat >"$folder/bin/probe" <<END
#!/bin/sh
until /usr/local/bin/frontpage health --ready --addr 127.0.0.1:$port || [ "\$(systemctl is-failed frontpage)" = failed ]; do
	sleep 0.2
done >/out/health 2>&1
systemctl show frontpage -P ActiveState >/out/state
stat -c %a /var/lib/private/frontpage/redis.sock >>/out/state
systemctl stop frontpage
systemctl show frontpage -P Result >>/out/state
journalctl -o cat --no-pager -u frontpage >/out/log
systemctl --force --force exit 0
END
chmod +x "$folder/bin/probe"
cat >"$folder/probe.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/usr/local/bin/probe
END
boot 120 --volatile=yes --directory=/ --bind-ro="$folder/bin:/usr/local/bin" --bind-ro="$folder/etc:/etc/frontpage" --bind="$folder/out:/out" \
	--bind-ro="$PWD/deploy/frontpage.service:/run/systemd/system/frontpage.service" \
	--bind-ro="$folder/probe.service:/run/systemd/system/probe.service" \
	systemd.unit=basic.target systemd.wants=frontpage.service systemd.wants=probe.service ||
	fail "systemd did not run the unit" "$folder/console" "$folder"/out/*
[ "$(tr '\n' ' ' <"$folder/out/state")" = "active 700 success " ] || fail "the unit did not run or stop" "$folder"/out/*
grep -q "private Redis" "$folder/out/log" || fail "the unit has another store" "$folder/out/log"
grep -q "users sign in with the site" "$folder/out/log" || fail "the unit has no sign-in" "$folder/out/log"
! grep -E 'level=(WARN|ERROR)' "$folder/out/log" | grep -v "the OIDC provider cannot be reached" || fail "the log of the unit has warnings"

echo "docs/online.md in a clean Debian"
# The machine for the backups is the same one, the provider is that of the tests, and the certificate is Caddy's own.
debian=$folder/debian
"${as_root[@]}" debootstrap --variant=minbase --include=systemd-sysv,dbus,ca-certificates,sudo,iproute2,openssh-server \
	bookworm "$debian" http://deb.debian.org/debian >"$folder/out/debootstrap" 2>&1 || fail "debootstrap failed" "$folder/out/debootstrap"
mkdir "$folder/online"
cp -r "$folder/clone/deploy" "$frontpage" "$folder/online"
(cd tests/oidc && CGO_ENABLED=0 go build -o "$folder/online/oidc" .)
{
	echo "set -eux"
	awk '/^## With compose/ { exit } /^```/ { block = $0 == "```sh"; next } block' "$folder/clone/docs/online.md" |
		sed -e 's#https://login.example.org/realms/site#http://127.0.0.1:9998#' -e 's/^news.example.org {$/{\n\tlocal_certs\n}\n&/'
} >"$folder/online/steps"
packages=$(sed -n 's/^sudo apt-get install //p' "$folder/online/steps" | tr '\n' ' ')
cat >"$folder/online/probe" <<'END'
#!/bin/bash
exec >/out/online 2>&1
systemctl is-system-running --wait
ip link set lo up
useradd --create-home --shell /bin/sh backups
install -d -o backups /home/backups/.ssh
systemctl start ssh
systemd-run --quiet sh -c 'tail -f /dev/null | /site/oidc 127.0.0.1:9998'
cd /site && echo secret | tee secret >mail_password
bash steps && echo "all commands have run"
journalctl -o cat --no-pager -u frontpage >/out/log
journalctl --no-pager >/out/journal
systemctl --force --force exit 0
END
cat >"$folder/online/prepare" <<END
set -eu
apt-get update -qq
apt-get install -qq --yes --download-only --no-install-recommends $packages
echo 'APT { Get { Assume-Yes "true"; Download "false"; }; Install-Recommends "false"; };' >/etc/apt/apt.conf.d/offline
echo 127.0.0.1 localhost news.example.org mail.example.org backup.example.org "\$(uname -n)" >/etc/hosts
echo insecure >/root/.curlrc
printf '#!/bin/sh\ncat "\$2" >>/home/backups/.ssh/authorized_keys && ssh-keyscan backup.example.org >>/root/.ssh/known_hosts\n' >/usr/local/bin/ssh-copy-id
printf '[Service]\nEnvironment=HOME=/root DEBIAN_FRONTEND=noninteractive\nExecStart=/bin/bash /site/probe\n' >/etc/systemd/system/probe.service
chmod +x /usr/local/bin/ssh-copy-id
END
"${as_root[@]}" cp /etc/resolv.conf "$debian/etc/resolv.conf"
"${as_root[@]}" mv "$folder/online" "$debian/site"
"${as_root[@]}" chroot "$debian" sh /site/prepare >"$folder/out/prepare" 2>&1 || fail "packages for docs/online.md cannot be loaded" "$folder/out/prepare"
boot 300 --private-network --directory="$debian" --bind="$folder/out:/out" systemd.wants=probe.service ||
	fail "the commands of docs/online.md did not end" "$folder/console" "$folder"/out/online
for line in 'all commands have run' ready https://news.example.org/ 'http://127.0.0.1:9998/auth?.*' '{"data":{"viewer":null}}.*' 'checked 0 articles, .* 0 violations'; do
	grep -qx -- "$line" "$folder/out/online" || fail "the commands of docs/online.md do not print $line" "$folder/out/online" "$folder/out/journal"
done
! grep -E 'level=(WARN|ERROR)' "$folder/out/log" || fail "the log of the site of docs/online.md has warnings"
"${as_root[@]}" rm -rf "$debian"

echo "image"
buildah=("${as_root[@]}" buildah --storage-driver vfs --root "$folder/image/storage" --runroot "$folder/image/run")
# A stand-in for the image of Go, which needs a registry: this machine's programs, modules and cache.
container=$("${buildah[@]}" from scratch)
root=$("${buildah[@]}" mount "$container")
for link in bin lib lib64 sbin; do "${as_root[@]}" ln -s "usr/$link" "$root/$link"; done
"${as_root[@]}" install -d -m 1777 "$root/tmp"
"${as_root[@]}" install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
"${as_root[@]}" cp -a /etc/alternatives "$root/etc/" # where awk is
"${buildah[@]}" config --env "PATH=$(go env GOROOT)/bin:/usr/bin" --env GOMODCACHE=/host/modules --env GOCACHE=/host/cache \
	--env GOTOOLCHAIN=local --env "GOPROXY=$(go env GOPROXY)" "$container"
version=$(sed -n 's/^ARG GO=//p' deploy/Dockerfile)
"${buildah[@]}" commit --quiet "$container" "docker.io/library/golang:$version" >/dev/null
"${buildah[@]}" build --quiet --format docker --isolation chroot --pull-never --tag frontpage --build-arg VERSION=v1.2.3 \
	--volume /usr:/usr:ro --volume "$(go env GOMODCACHE):/host/modules" --volume "$(go env GOCACHE):/host/cache" \
	-f "$folder/clone/deploy/Dockerfile" "$folder/clone" >"$folder/out/build" 2>&1 || fail "the image does not build" "$folder/out/build"
container=$("${buildah[@]}" from --pull-never frontpage)
config=$("${buildah[@]}" inspect --format '{{.Docker.Config.User}} {{.Docker.Config.Entrypoint}} {{.Docker.Config.Healthcheck.Test}} {{index .Docker.Config.Labels "org.opencontainers.image.version"}}' "$container")
[ "$config" = "65532:65532 [/frontpage] [CMD /frontpage health] v1.2.3" ] || fail "the image is configured as: $config"
root=$("${buildah[@]}" mount "$container")
files=$(cd "$root" && "${as_root[@]}" find . -type f | sort | tr '\n' ' ')
[ "$files" = "./etc/ssl/certs/ca-certificates.crt ./frontpage ./licenses/LICENSE ./licenses/NOTICES.md " ] || fail "the image contains: $files"
echo "$(du -sh "$root" | cut -f1): $files"

redis_port=$(free_port)
command=$(sed -n 's/^    command: \(redis-server .*\)/\1/p' deploy/compose.yaml)
sh -c "cd '$folder' && exec $command --port $redis_port --bind 127.0.0.1" >"$folder/out/redis" &
running+=($!)
until redis-cli -p "$redis_port" ping >"$folder/out/ping" 2>&1; do sleep 0.1; done
# As in a container: a user without rights, and nothing to write to.
# shellcheck disable=SC2016 # the inner shell expands these
contained=("${as_root[@]}" unshare --mount bash -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" &&
	exec setpriv --no-new-privs --bounding-set=-all,+setuid,+setgid,+sys_chroot chroot --userspec=65532:65532 --groups= "$0" "$@"' "$root")

# serve starts the server of the image on a free port, with the variables that are its arguments.
serve() {
	port=$(free_port)
	set -- "PATH=$PATH" "FRONTPAGE_ADDR=:$port" FRONTPAGE_PUBLIC_URL=https://frontpage.example.org "FRONTPAGE_JWT_SECRET=$(head -c 32 /dev/urandom | base64)" "$@"
	env -i "$@" "${contained[@]}" /frontpage 2>"$folder/out/log" &
	server=$!
	running+=("$server")
	for _ in $(seq 200); do
		if env -i "$@" "${contained[@]}" /frontpage health --ready >"$folder/out/health" 2>&1; then return; fi
		sleep 0.1
	done
	fail "the server in the image is not ready" "$folder/out/health" "$folder/out/log"
}
serve "REDIS_URL=redis://127.0.0.1:$redis_port" FRONTPAGE_DEMO_ARTICLES=true
grep -q "commit=$(git -C "$folder/clone" rev-parse HEAD) " "$folder/out/log" || fail "the image does not know its commit" "$folder/out/log"
! grep -E 'level=(WARN|ERROR)' "$folder/out/log" || fail "the log of the server in the image has warnings"

# through NAME COMMAND... checks that a page, a WebSocket and an event stream get through a proxy to a server, and that
# the server learns of the client's address: it warns, because it does not trust this proxy.
through() {
	local name=$1 url=http://127.0.0.1:$proxy_port/query
	shift
	"$@" >"$folder/out/$name" 2>&1 &
	running+=($!)
	for _ in $(seq 100); do
		! curl -sf "http://127.0.0.1:$proxy_port/readyz" >/dev/null || break
		sleep 0.1
	done
	curl -sS "$url" -H 'Content-Type: application/json' -d '{"query":"{ articles(order: SCORE, page: 1) { id } }"}' >"$folder/out/reply" 2>&1 || true
	grep -q '"article:' "$folder/out/reply" || fail "no page by $name" "$folder/out/reply" "$folder/out/$name"
	status=$(curl -s -m 2 -o /dev/null -w '%{http_code}' --http1.1 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
		-H 'Sec-WebSocket-Key: c3VjaCBhIGxvbmcga2V5IQ==' -H 'Sec-WebSocket-Protocol: graphql-transport-ws' "$url" || true)
	[ "$status" = 101 ] || fail "a WebSocket by $name: status $status" "$folder/out/$name"
	stream=$(curl -sN -m 2 -H 'Accept: text/event-stream' -G --data-urlencode 'query=subscription { articlePosted { node { id } } }' "$url" | tr '\n' ' ' || true)
	[[ $stream == :* ]] || fail "an event stream by $name begins with: $stream" "$folder/out/$name"
	grep -q 'X-Forwarded-For' "$folder/out/log" || fail "$name does not send X-Forwarded-For" "$folder/out/log"
	echo "$name: page, WebSocket, event stream, X-Forwarded-For"
	"${as_root[@]}" kill "$server"
}

echo "proxies"
proxy_port=$(free_port)
{
	echo "daemon off; pid $folder/nginx.pid; error_log stderr; events {} http { access_log off;"
	for path in client_body proxy fastcgi uwsgi scgi; do echo "${path}_temp_path $folder/$path;"; done
	sed -e "s/listen 443 ssl;/listen 127.0.0.1:$proxy_port;/; /ssl_certificate/d; s/127.0.0.1:808[12]/127.0.0.1:$port/" deploy/nginx.conf
	echo "}"
} >"$folder/nginx.conf"
through nginx "$(command -v nginx || echo /usr/sbin/nginx)" -e stderr -c "$folder/nginx.conf"
serve "REDIS_URL=redis://127.0.0.1:$redis_port"
proxy_port=$(free_port)
{
	echo "{"; echo "	admin off"; echo "}"
	sed -e "s/^frontpage.example.org/http:\/\/127.0.0.1:$proxy_port/; s/127.0.0.1:808[12]/127.0.0.1:$port/g; s/127.0.0.1:$port 127.0.0.1:$port/127.0.0.1:$port/" deploy/Caddyfile
} >"$folder/Caddyfile"
through caddy env HOME="$folder" caddy run --adapter caddyfile --config "$folder/Caddyfile"
