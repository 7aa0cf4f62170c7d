#!/usr/bin/env bash
# What holds the RTL: `make rtl`. Wants verilator, g++ and the expanded vectors in out/vectors.
set -euo pipefail
cd "$(dirname "$0")/.."
for width in 64 128 256 512; do
    for ndp in 0 1; do
        verilator --lint-only -Wall -Irtl/src --top-module ndp_switch "-GDATA_W=$width" "-GNDP=$ndp" rtl/src/*.sv
    done
done
echo "verilator -Wall: clean at four widths, NDP on and off"

# Queues of 1125 headers, and eight packets of 9 KB at each port.
room=(-GCELLS=16384 -GDATA_SLOTS=1024 -GHEADER_SLOTS=2048)
mapfile -t two_queues < <(ls out/vectors/*.hex | grep -v '\.drop-tail\.')
for width in 64 256 512; do
    rtl/build.sh "vectors$width" vectors.cpp "$width" 1 "${room[@]}"
    "out/rtl/vectors$width/vectors$width" "${two_queues[@]}"
    "out/rtl/vectors$width/vectors$width" --jitter 20170821 "${two_queues[@]}"
done
rtl/build.sh plain vectors.cpp 256 0 "${room[@]}"
out/rtl/plain/plain --jitter 20170821 out/vectors/*.drop-tail.hex
