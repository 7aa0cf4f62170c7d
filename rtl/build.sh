#!/usr/bin/env bash
# Builds a bench: build.sh NAME BENCH.cpp [PARAMETER=VALUE ...] gives out/rtl/NAME/NAME. Parameters of the switch, which the
# bench knows as macros; with TOP=BLOCK those of that block alone. What nothing sets is random.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 bench=$2
shift 2
folder=out/rtl/$name
mkdir -p "$folder"
parameters=() macros="" optimise=${OPTIMISE:--O2} top=${TOP:-ndp_switch}
if [ "$top" = ndp_switch ]; then
    set -- DATA_W=256 NDP=1 "$@"
    sources=(rtl/src/*.sv)
else
    sources=("rtl/src/$top.sv")
fi
for pair in "$@"; do
    macros=$(sed "s/ -D${pair%%=*}=[0-9]*//" <<< "$macros")" -D$pair"
done
for macro in $macros; do parameters+=("-G${macro#-D}"); done
# Verilator's own sources are the same for each bench: compiled once for a version and an optimisation.
version=$(verilator --version)
runtime=${RUNTIME:-out/rtl/runtime}/${version//[^A-Za-z0-9.]/_}$optimise
mkdir -p "$runtime"
{
    verilator --cc --exe -O3 --x-assign unique --x-initial unique --noassert -Wall ${WARNINGS:-} -Irtl/src --top-module "$top" \
        "${parameters[@]}" -CFLAGS "-std=c++20 $macros" --Mdir "$folder" -o "$name" "${sources[@]}" "$PWD/rtl/bench/$bench" &&
        find "$runtime" -name '*.o' -exec cp {} "$folder" \; &&
        make -C "$folder" -f "V$top.mk" -j 2 "OPT_FAST=$optimise" "OPT_SLOW=$optimise" "OPT_GLOBAL=$optimise" &&
        cp "$folder"/verilated*.o "$runtime"
} > "$folder/build.log" 2>&1 || { cat "$folder/build.log" >&2; exit 1; }
