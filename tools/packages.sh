# The one list of what this project needs from Debian 12, by purpose. Sourced by ./dev.
# shellcheck shell=bash

# package | purposes | how to see on another system whether it is there
fr_package_table='
bazel-bootstrap   | build                | command bazel
gcc               | build                | command gcc
g++               | build                | command g++
libdlpack-dev     | build                | header dlpack/dlpack.h
python3           | build                | command python3
libjemalloc-dev   | test demo bench ci   | header jemalloc/jemalloc.h
libgtest-dev      | test ci              | header gtest/gtest.h
cmake             | test ci              | command cmake
make              | test ci              | command make
pkg-config        | test ci              | command pkg-config
binutils          | test ci              | command readelf
spin              | ci                   | command spin
libode-dev        | demo ci              | header ode/ode.h
libtbb-dev        | bench ci             | header tbb/task_group.h
libstarpu-dev     | bench ci             | header starpu/1.3/starpu.h
libuv1-dev        | bench ci             | header uv.h
git               | lint ci              | command git
clang-format      | lint ci              | command clang-format
clang-tidy        | lint ci              | command clang-tidy
clang             | ci                   | command clang
libclang-rt-14-dev| ci                   | any
'

# Debian 12 has DLPack 0.6, without the versioned tensor; Debian 13 has 1.0, one header.
fr_dlpack_minimum=1.0
fr_dlpack_suite=trixie

fr_fail() {
	echo "dev: $*" >&2
	exit 1
}

# fr_packages_for PURPOSE: its packages, and those of "build", one a line.
fr_packages_for() {
	local package purposes rest
	while IFS='|' read -r package purposes rest; do
		case " $purposes " in
		*" build "* | *" $1 "*) echo "${package// /}" ;;
		esac
	done <<<"$fr_package_table"
}

fr_is_debian_12() {
	[ -r /etc/os-release ] && (. /etc/os-release && [ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ]) &&
		command -v dpkg-query apt-get >/dev/null
}

fr_missing_packages() {
	local wanted package status version installed=' '
	wanted=$(fr_packages_for "$1")
	while read -r package status version; do
		[ "$status" = installed ] || continue
		[ "$package" = libdlpack-dev ] && dpkg --compare-versions "$version" lt "$fr_dlpack_minimum" && continue
		installed+="$package "
	done < <(echo "$wanted" | xargs dpkg-query -W -f='${Package} ${db:Status-Status} ${Version}\n' 2>/dev/null)
	for package in $wanted; do
		[[ $installed == *" $package "* ]] || echo "$package"
	done
}

# Elsewhere nothing is installed: say what is missing, by the names that Debian gives it.
fr_check_other_system() {
	local package purposes probe missing='' kind what
	while IFS='|' read -r package purposes probe; do
		case " $purposes " in *" build "* | *" $1 "*) ;; *) continue ;; esac
		read -r kind what <<<"$probe"
		case $kind in
		command) command -v "$what" >/dev/null || missing+=" ${package// /} ($what)" ;;
		header) [ -e "/usr/include/$what" ] || missing+=" ${package// /} (/usr/include/$what)" ;;
		esac
	done <<<"$fr_package_table"
	if [ -n "$missing" ]; then
		fr_fail "this is not Debian 12, so nothing is installed for you; missing (Debian's names):$missing"
	fi
}

fr_apt() {
	local as_root=()
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

fr_install_dlpack() {
	local as_root=() state uri options
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	uri=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' | head -1)
	[ -n "$uri" ] || uri=http://deb.debian.org/debian
	state=$(mktemp -d)
	chmod 755 "$state"
	mkdir -p "$state"/{lists/partial,cache/archives/partial,parts}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $fr_dlpack_suite main" >"$state/sources.list"
	# A state of its own: nothing in /etc/apt changes and nothing else comes from that suite.
	options=(-o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache"
		-o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts="$state/parts"
		-o Dir::Etc::PreferencesParts="$state/parts" -o Dir::Etc::Preferences=/dev/null
		-o APT::Sandbox::User="$(id -un)")
	if ! { apt-get "${options[@]}" -qq update && (cd "$state" && apt-get "${options[@]}" -qq download libdlpack-dev); } >"$state/log" 2>&1; then
		tail -3 "$state/log" >&2
		rm -rf "$state"
		fr_fail "cannot get libdlpack-dev $fr_dlpack_minimum from $uri $fr_dlpack_suite"
	fi
	"${as_root[@]}" dpkg -i "$state"/libdlpack-dev_*.deb >"$state/log" 2>&1 || {
		tail -3 "$state/log" >&2
		rm -rf "$state"
		fr_fail "cannot install libdlpack-dev $fr_dlpack_minimum"
	}
	rm -rf "$state"
}

# fr_ensure_packages PURPOSE: installs what is missing, says what, and returns at once when nothing is.
fr_ensure_packages() {
	local missing plain dlpack log
	if ! fr_is_debian_12; then
		fr_check_other_system "$1"
		return
	fi
	missing=$(fr_missing_packages "$1" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		fr_fail "missing packages, and neither root nor sudo to install them: $missing"
	fi
	echo "dev: installing for '$1': $missing"
	plain=$(tr ' ' '\n' <<<"$missing" | grep -vx libdlpack-dev | tr '\n' ' ') || true
	log=$(mktemp)
	fr_apt -qq update >"$log" 2>&1 || {
		tail -3 "$log" >&2
		fr_fail "apt-get update failed, so these cannot be had: $missing"
	}
	if [ -n "${plain// /}" ]; then
		# shellcheck disable=SC2086
		fr_apt install -y -qq --no-install-recommends $plain >"$log" 2>&1 </dev/null || {
			tail -3 "$log" >&2
			fr_fail "apt-get install failed for: $plain"
		}
	fi
	rm -f "$log"
	case " $missing " in *" libdlpack-dev "*) fr_install_dlpack ;; esac
	missing=$(fr_missing_packages "$1" | tr '\n' ' ')
	[ -z "$missing" ] || fr_fail "still missing after the installation: $missing"
}
