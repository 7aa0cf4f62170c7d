#!/usr/bin/env bash
# What is too long for every change: scripts/nightly.sh [K/N] runs part K of N of it, all of it without. The jobs are
# cut into pieces of at most 20 minutes on two cores, so 16 parts are of about that size. Each job prints its time.
set -euo pipefail
cd "$(dirname "$0")/.."

mutations=12
networks=6

# 100,000 random networks on both engines: each job has two processes with a share of the seeds.
random_networks() {
    local each=$((100000 / (2 * networks))) first
    first=$((2 * ($1 - 1) * each))
    cargo test --quiet --locked --package trimline-sim --test runs --no-run
    local status=0 other
    TRIMLINE_SEEDS=$first..$((first + each)) \
        cargo test --quiet --locked --package trimline-sim --test runs -- every_flow_completes &
    other=$!
    TRIMLINE_SEEDS=$((first + each))..$((first + 2 * each)) \
        cargo test --quiet --locked --package trimline-sim --test runs -- every_flow_completes || status=$?
    wait "$other" || status=$?
    return "$status"
}

jobs=()
for k in $(seq "$mutations"); do jobs+=("cargo xtask mutations --part $k/$mutations"); done
for k in $(seq "$networks"); do jobs+=("random_networks $k"); done
jobs+=("env TRIMLINE_TROUBLE=1 cargo test --quiet --locked --package trimline-sim --test runs -- every_profile")
jobs+=("env TRIMLINE_FORGERIES=0..1000000 cargo test --quiet --locked --package trimline-stack --test hostile -- after_any_forgery")
jobs+=("make hashes" "make checked" "make fuzz" "make miri" "make data-races" "make soak" "make rtl-all" "make rtl-mutations"
    "make rtl-icarus-all" "make rtl-resources" "make rtl-formal-mutations" "make large-result" "make packages")

part=${1:-1/1}
if ! [[ $part =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || [ "${BASH_REMATCH[1]}" -gt "${BASH_REMATCH[2]}" ]; then
    echo "usage: scripts/nightly.sh [K/N], K from 1 to N" >&2
    exit 2
fi
k=${BASH_REMATCH[1]} n=${BASH_REMATCH[2]} status=0
for place in "${!jobs[@]}"; do
    [ $((place % n + 1)) -eq "$k" ] || continue
    job=${jobs[$place]} start=$SECONDS result=passed
    printf '%s ...\n' "$job"
    # The name of a function or a command with its arguments.
    $job || { result=FAILED status=1; }
    printf '%s: %s, %d s\n' "$job" "$result" $((SECONDS - start))
done
exit "$status"
