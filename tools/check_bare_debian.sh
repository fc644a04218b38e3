#!/bin/bash
# check_bare_debian.sh [COMMAND]: a fresh clone of the last commit in an empty Debian 12, where
# COMMAND runs as root. Without one: the demo, then the tests. Needs root and debootstrap.
# KEEP_ROOT=DIR keeps the root file system there, and uses it again without debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
command=${1:-./dev demo && ./dev test}
[ "$(id -u)" = 0 ] || { echo "check_bare_debian.sh: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "check_bare_debian.sh: needs debootstrap" >&2; exit 1; }

root=${KEEP_ROOT:-$(mktemp -d)}
mounts=()
leave() {
	local at
	for at in "${mounts[@]}"; do
		umount -R "$at" || umount -Rl "$at"
	done
	[ -n "${KEEP_ROOT:-}" ] || rm -rf --one-file-system "$root"
}
trap leave EXIT

if [ ! -x "$root/usr/bin/apt-get" ]; then
	mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' 2>/dev/null | head -1)
	debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 || {
		tail -5 "$root.log" >&2
		exit 1
	}
	rm -f "$root.log"
fi
# What a machine has and an empty root file system has not.
cp /etc/resolv.conf "$root/etc/resolv.conf"
for at in proc dev sys; do
	mount --rbind --make-rslave "/$at" "$root/$at"
	mounts=("$root/$at" "${mounts[@]}")
done

rm -rf "$root/srv/flyrail"
git -c safe.directory='*' clone -q --no-hardlinks "file://$PWD" "$root/srv/flyrail"
echo "== $(sed -n 's/^PRETTY_NAME=//p' "$root/etc/os-release"), $(chroot "$root" dpkg-query -W | wc -l) packages, commit $(git -c safe.directory='*' rev-parse --short HEAD)"
chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
	bash -c "cd /srv/flyrail; ($command); code=\$?; bazel shutdown >/dev/null 2>&1; exit \$code" </dev/null
