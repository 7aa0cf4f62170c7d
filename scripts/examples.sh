#!/usr/bin/env bash
# Runs every Rust example that is one file, as built in target/debug, and compares its last line with the last indented
# line of its head. The soak is a folder: it takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
for source in crates/*/examples/*.rs; do
    name=$(basename "$source" .rs)
    expected=$(sed -n 's|^//!     ||p' "$source" | tail -n 1)
    printed=$("target/debug/examples/$name" | tail -n 1)
    if [ "$printed" != "$expected" ]; then
        printf '%s: the last line is `%s`, and not `%s`\n' "$source" "$printed" "$expected" >&2
        exit 1
    fi
done
