#!/bin/bash
# Installs Debian packages that are missing: deploy/install-packages.sh LIST...
#
# A LIST is a file with one package a line. Nothing is touched when all are there, so that a user
# without root can build and test on a machine that is ready. Services that come with the packages
# are neither started now nor at the next boot: the tests start what they need themselves.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@")
missing=()
while read -r package; do
    if ! dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q ' installed$'; then
        missing+=("$package")
    fi
done < <(sort -u <<<"$wanted")

if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "missing Debian packages; as root: apt-get install ${missing[*]}" >&2
    exit 1
fi

echo "installing: ${missing[*]}"
policy=/usr/sbin/policy-rc.d
before=$(mktemp)
cleanup() {
    rm -f "$before"
    if [ -n "${own_policy:-}" ]; then
        rm -f "$policy"
    fi
}
trap cleanup EXIT

# Debian's own way to install without starting: a policy that refuses, for as long as apt runs.
own_policy=
if [ ! -e "$policy" ]; then
    own_policy=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

dpkg-query -W -f '${Package}\n' | sort >"$before"
apt-get -qq -o DPkg::Lock::Timeout=300 update
apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "${missing[@]}" </dev/null

# Enabled by their maintainer scripts, and wanted by nobody here.
if command -v systemctl >/dev/null; then
    for package in $(dpkg-query -W -f '${Package}\n' | sort | comm -13 "$before" -); do
        case $package in
        containerd | prometheus | prometheus-alertmanager | prometheus-node-exporter)
            systemctl disable --quiet "$package.service"
            ;;
        esac
    done
fi
