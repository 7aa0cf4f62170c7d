#!/usr/bin/env bash
# Builds a bench: build.sh NAME BENCH.cpp DATA_W NDP [-GPARAMETER=VALUE ...] gives out/rtl/NAME/NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 bench=$2 width=$3 ndp=$4
shift 4
folder=out/rtl/$name
mkdir -p "$folder"
verilator --cc --exe --build -O3 --x-assign fast --x-initial fast --noassert -j 2 -Wall -Irtl/src --top-module ndp_switch \
    "-GDATA_W=$width" "-GNDP=$ndp" "$@" -CFLAGS "-std=c++17 -O2 -DDATA_W=$width -DNDP=$ndp" \
    --Mdir "$folder" -o "$name" rtl/src/*.sv "$PWD/rtl/bench/$bench" > "$folder/build.log" 2>&1 ||
    { cat "$folder/build.log" >&2; exit 1; }
