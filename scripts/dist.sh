#!/usr/bin/env bash
# Builds what is distributed into out/dist: wheels, archives of static binaries, SHA256SUMS.
#   scripts/dist.sh            all of it
#   scripts/dist.sh TARGET...  that of some targets of `all`, such as x86_64-unknown-linux-musl
#   scripts/dist.sh --check    x86-64's wheel and archive twice, in two folders: their bytes must be equal
set -euo pipefail
cd "$(dirname "$0")/.."
all=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
    x86_64-apple-darwin aarch64-apple-darwin)

if [ "${1:-}" = --check ]; then
    [ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "commit first: copies are of HEAD" >&2; exit 2; }
    for copy in first second-copy; do
        rm -rf "out/check/$copy"
        git clone --quiet . "out/check/$copy"
        "out/check/$copy/scripts/dist.sh" x86_64-unknown-linux-musl x86_64-unknown-linux-gnu
    done
    diff out/check/first/out/dist/SHA256SUMS out/check/second-copy/out/dist/SHA256SUMS
    cat out/check/first/out/dist/SHA256SUMS
    exit
fi

make --no-print-directory out/dist/venv/installed
export PATH=$PWD/out/dist/venv/bin:$PATH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
# No path of this machine, and nothing of its time.
RUSTFLAGS="--remap-path-prefix=$PWD=/trimline --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
RUSTFLAGS+=" --remap-path-prefix=$(rustc --print sysroot)=/rust"
export SOURCE_DATE_EPOCH RUSTFLAGS TRIMLINE_CHECKOUT=/trimline CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=symbols
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)

# An archive with both programs, completions and man pages.
binaries() {
    local name=trimline-$version-$1 programs=target/$1/release
    cargo zigbuild --quiet --release --locked --package trimline-cli --bins --target "$1"
    rm -rf "out/dist/$name"
    mkdir -p "out/dist/$name"
    cp "$programs/trimline" "$programs/trimline-switch" LICENSE-* README.md "out/dist/$name"
    target/x86_64-unknown-linux-musl/release/trimline completions "out/dist/$name/completions-and-man-pages"
    tar -C out/dist --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        -c "$name" | gzip --no-name --best >"out/dist/$name.tar.gz"
    rm -r "out/dist/$name"
}

wheel() {
    maturin build --quiet --release --zig --target "$1" --compatibility "$2" --auditwheel check --out out/dist
}

for target in "${@:-${all[@]}}"; do
    rustup --quiet target add "$target"
    case $target in
    *-musl)
        binaries "$target"
        wheel "$target" musllinux_1_2
        ;;
    *-gnu) wheel "$target" manylinux_2_28 ;;
    *-darwin) wheel "$target" pypi ;;
    esac
done
cd out/dist
sha256sum -- *.whl *.tar.gz >SHA256SUMS
