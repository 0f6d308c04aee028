#!/usr/bin/env bash
# Install what is named and what this machine lacks: with apt, and only as root.
#
#   docker/packages.sh jdk maven              what the embedded HBase needs
#   docker/packages.sh jdk maven engine       what the image needs; `engine` is Docker's
#
# Names: make venv jdk maven engine debootstrap. Anybody else is told what to install.
set -euo pipefail

say() { printf 'packages: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

works() { "$@" >/dev/null 2>&1; }

has_jdk() { [[ $("${JAVA_HOME:+$JAVA_HOME/bin/}javac" -version 2>&1) =~ ^javac\ (17|18|19|20|21)($|[^0-9]) ]]; }

# A release of Debian or Ubuntu has one of these, or both.
jdk_package() {
    local version
    for version in 17 21; do
        if [[ $(LC_ALL=C apt-cache policy "openjdk-$version-jdk-headless") == *"Candidate: "[0-9]* ]]; then
            echo "openjdk-$version-jdk-headless"
            return
        fi
    done
    die "apt has neither openjdk-17-jdk-headless nor openjdk-21-jdk-headless: install a JDK 17 to 21"
}

# The packages that a name stands for and that are missing, a line each.
missing_of() {
    case $1 in
    make) works make --version || echo make ;;
    venv) works python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' ||
        echo python3-venv ;;
    jdk) has_jdk || echo jdk ;;
    maven) works mvn --version || echo maven ;;
    engine)
        { works docker --version && works dockerd --version; } || echo docker.io
        # Without iptables dockerd refuses to make its bridge network.
        works iptables --version || echo iptables
        ;;
    debootstrap) works debootstrap --version || echo debootstrap ;;
    *) die "unknown name '$1': make, venv, jdk, maven, engine or debootstrap" ;;
    esac
}

missing=()
for name in "$@"; do
    packages=$(missing_of "$name")
    mapfile -t -O "${#missing[@]}" missing < <(printf '%s' "$packages")
done
((${#missing[@]})) || exit 0
listed=${missing[*]/#jdk/openjdk-17-jdk-headless (or 21)}
[[ $(id -u) == 0 ]] ||
    die "missing: $listed; install these packages, or run this as root, which installs them"
command -v apt-get >/dev/null || die "missing: $listed; there is no apt-get here: install these"

apt-get update -qq
for place in "${!missing[@]}"; do
    if [[ ${missing[place]} == jdk ]]; then missing[place]=$(jdk_package); fi
done
say "installing ${missing[*]} (once; a minute or two)"
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
# Newer releases ship Docker's client apart from its engine.
if [[ " ${missing[*]} " == *" docker.io "* ]] && ! works docker --version; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq docker-cli >/dev/null
fi
