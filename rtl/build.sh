#!/usr/bin/env bash
# Builds a bench: build.sh NAME BENCH.cpp [PARAMETER=VALUE ...] gives out/rtl/NAME/NAME. Parameters of the switch, which the
# bench knows as macros. What nothing sets is random.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 bench=$2
shift 2
folder=out/rtl/$name
mkdir -p "$folder"
parameters=() macros="" optimise=${OPTIMISE:--O2}
for pair in DATA_W=256 NDP=1 "$@"; do
    macros=$(sed "s/ -D${pair%%=*}=[0-9]*//" <<< "$macros")" -D$pair"
done
for macro in $macros; do parameters+=("-G${macro#-D}"); done
verilator --cc --exe --build -O3 --x-assign unique --x-initial unique --noassert -j 2 -Wall ${WARNINGS:-} -Irtl/src --top-module ndp_switch \
    "${parameters[@]}" -CFLAGS "-std=c++20 $macros" \
    -MAKEFLAGS "OPT_FAST=$optimise OPT_SLOW=$optimise OPT_GLOBAL=$optimise" \
    --Mdir "$folder" -o "$name" rtl/src/*.sv "$PWD/rtl/bench/$bench" > "$folder/build.log" 2>&1 ||
    { cat "$folder/build.log" >&2; exit 1; }
