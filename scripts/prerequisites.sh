#!/usr/bin/env bash
# Says what is missing to build Trimline, and the command that brings it. Installs nothing.
set -u
missing=0

need() {
    printf 'missing: %s\n  bring it with: %s\n' "$1" "$2" >&2
    missing=1
}

apt() {
    printf 'sudo apt-get update && sudo apt-get install --yes %s' "$1"
}

rust="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$HOME/.cargo/env\""
command -v curl >/dev/null 2>&1 || rust="$(apt curl) && $rust"

root=$(cd "$(dirname "$0")/.." && pwd)
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")

command -v git >/dev/null 2>&1 || need git "$(apt git)"
command -v make >/dev/null 2>&1 || need make "$(apt make)"
command -v cc >/dev/null 2>&1 || need 'cc, with which Rust links' "$(apt build-essential)"
if ! command -v cargo >/dev/null 2>&1; then
    need cargo "$rust"
else
    found=$(cargo --version | sed -n 's/^cargo \([0-9.]*\).*/\1/p')
    oldest=$(printf '%s\n%s\n' "$found" "$wanted" | sort -V | head -n 1)
    # Debian 12 packages Rust 1.63.
    [ "$oldest" = "$wanted" ] || need "Rust $wanted or newer (cargo is $found)" "$rust"
fi
if ! command -v python3 >/dev/null 2>&1; then
    need python3 "$(apt 'python3 python3-venv')"
else
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        need 'Python 3.11 or newer' "$(apt 'python3 python3-venv')"
    # Debian splits pip's bundle off: the module venv is there, and fails without it.
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 ||
        need 'venv of python3' "$(apt python3-venv)"
fi
exit "$missing"
