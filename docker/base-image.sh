#!/usr/bin/env bash
# Make sure that the image's Debian base is there: have it, pull it, or make it.
#
# Where no image registry can be reached, the base is made with debootstrap from
# the mirror that this machine's own apt uses (debootstrap's default elsewhere)
# and imported under the name that the Dockerfile asks for.
set -euo pipefail

base=${1:-debian:bookworm-slim}
suite=bookworm
pull_timeout_s=120

say() { printf 'base image: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# The address of the first apt source of this machine that has our suite.
mirror() {
    # shellcheck disable=SC2016  # apt's own placeholders
    apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Identifier: Packages' 'Component: main' \
        2>/dev/null | awk -v suite="$suite" '$1 == suite { print $2; exit }'
}

trim() {
    rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/var/log/* \
        "$1"/usr/share/man/* "$1"/usr/share/locale/* "$1"/usr/share/info/*
    # Copyright files stay: the licences ask for it.
    find "$1/usr/share/doc" -type f ! -name copyright -delete
}

if docker image inspect "$base" >/dev/null 2>&1; then
    say "$base is here"
    exit 0
fi
if timeout "$pull_timeout_s" docker pull -q "$base" >/dev/null 2>&1; then
    say "pulled $base"
    exit 0
fi

say "$base can not be pulled: making it with debootstrap"
[[ $(id -u) == 0 ]] || die "only root can run debootstrap"
"$(dirname "$0")/packages.sh" debootstrap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arguments=(--variant=minbase "$suite" "$work/root")
own_mirror=$(mirror)
if [[ -n $own_mirror ]]; then arguments+=("$own_mirror"); fi
debootstrap "${arguments[@]}" >"$work/log" 2>&1 ||
    { tail -n 15 "$work/log" >&2; die "debootstrap failed"; }
trim "$work/root"
tar -C "$work/root" -c . | docker import -c 'CMD ["bash"]' - "$base" >/dev/null
say "made $base"
