#!/usr/bin/env bash
# Fuzzes each target for SECONDS: scripts/fuzz.sh [SECONDS [TARGET...]]. Coverage is LLVM's, as cargo-fuzz asks
# for it; that is not needed here. What was found new stays in out/fuzz; an input that breaks a target is named.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
targets=("$@")
if [ "${#targets[@]}" -eq 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi
host=$(rustc -vV | sed -n 's/^host: //p')
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Cdebug-assertions -Ccodegen-units=1"
bins=()
for target in "${targets[@]}"; do bins+=(--bin "$target"); done
RUSTFLAGS="$coverage" cargo +nightly build --quiet --release --locked --manifest-path fuzz/Cargo.toml \
    --target "$host" --target-dir fuzz/target/coverage "${bins[@]}"
for target in "${targets[@]}"; do
    mkdir -p "out/fuzz/$target"
    seeds=()
    case $target in
    header | parse_frame | core | notification) seeds+=("fuzz/corpus/$target") ;;
    scenario)
        mkdir -p out/fuzz/scenarios
        for file in examples/*.toml experiments/*/*/scenario.toml; do
            cp "$file" "out/fuzz/scenarios/$(echo "$file" | tr / -)"
        done
        seeds+=(out/fuzz/scenarios)
        ;;
    *) seeds+=(fuzz/corpus/formats crates/sim/distributions) ;;
    esac
    echo "$target: $seconds s"
    # An input that takes 10 s, or 1 GB, is a fault as well.
    "fuzz/target/coverage/$host/release/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
        -max_len=8192 -print_final_stats=1 -verbosity=0 -artifact_prefix="out/fuzz/$target-" \
        "out/fuzz/$target" "${seeds[@]}" 2>&1 | grep -E "panicked|ERROR|SUMMARY|Test unit|number_of_executed|peak_rss" ||
        true
    if compgen -G "out/fuzz/$target-*" >/dev/null; then
        echo "$target: a fault; the input is $(ls out/fuzz/"$target"-*)" >&2
        exit 1
    fi
done
