#!/usr/bin/env bash
# A transport in a crate outside the workspace: written, built on what the workspace has built, tested, and run beside
# NDP in one comparison.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
place=out/outside

rm -rf "$place"
mkdir -p "$place"
cargo run --quiet --locked --bin trimline -- new transport paced --path "$place/paced"
cd "$place/paced"
# What the workspace has not downloaded this needs not either.
export CARGO_TARGET_DIR="$root/target"
# The hundred random networks of a user would be half of the time of all this.
TRIMLINE_SEEDS=20 cargo test --offline --quiet
cargo fmt --check
export TRIMLINE_PYTHON="$root/.venv/bin/python"
table=$(cargo run --offline --quiet -- compare scenario.toml --transports paced,ndp --out ../compare)
printf '%s\n' "$table"
for name in paced ndp; do
    grep --quiet --word-regexp "$name" <<<"$table" || { echo "no column of $name" >&2; exit 1; }
    test -s "../compare/$name/seed-1/flows.csv" || { echo "no run of $name" >&2; exit 1; }
done
# So are columns of its own.
cargo run --offline --quiet -- run scenario.toml --out ../series --set transport.paced={} \
    --set 'output.series={every="20us",flows=[[1,0]]}' >../table
columns=$(head -1 ../series/seed-1/flow_series.csv)
case ",$columns," in
*,outstanding_packets,*) ;;
*) echo "no column outstanding_packets of paced: $columns" >&2; exit 1 ;;
esac
# Parameters from outside are parameters like any others.
if cargo run --offline --quiet -- run scenario.toml --set transport.paced.rat=1Gbps 2>../message; then
    echo "a wrong key was accepted" >&2
    exit 1
fi
grep --quiet "nearest: rate" ../message
