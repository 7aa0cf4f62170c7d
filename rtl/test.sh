#!/usr/bin/env bash
# What holds the RTL: `make rtl`, and with --all `make rtl-all`, at the other widths too. Wants verilator, g++ and the
# expanded vectors in out/vectors.
set -euo pipefail
cd "$(dirname "$0")/.."
vectors=(64 256) stress=(256) phantom=(64)
if [ "${1:-}" = --all ]; then vectors=(64 128 256 512) stress=(64 256 512) phantom=(64 128 256 512); fi
# Benches that run for seconds: what counts is how long they are compiled.
export OPTIMISE=-O1
for width in 64 128 256 512; do
    for ndp in 0 1; do
        verilator --lint-only -Wall -Irtl/src --top-module ndp_switch "-GDATA_W=$width" "-GNDP=$ndp" rtl/src/*.sv
    done
done
for width in 64 128 256 512; do verilator --lint-only -Wall --top-module phantom_queue "-GDATA_W=$width" rtl/src/phantom_queue.sv; done
for ports in 2 3 8 64; do verilator --lint-only -Wall --top-module detour "-GPORTS=$ports" rtl/src/detour.sv; done
verilator --lint-only -Wall --top-module pacer rtl/src/pacer.sv
echo "verilator -Wall: clean at four widths, NDP on and off; detour, phantom queue, pacer"

# Queues of 1125 headers, and eight packets of 9 KB at each port.
room=(CELLS=16384 DATA_SLOTS=1024 HEADER_SLOTS=2048)
mapfile -t two_queues < <(ls out/vectors/*.hex | grep -v '\.drop-tail\.')
for width in "${vectors[@]}"; do
    bench=out/rtl/vectors$width/vectors$width
    rtl/build.sh "vectors$width" vectors.cpp "DATA_W=$width" "${room[@]}"
    "$bench" "${two_queues[@]}"
    "$bench" --jitter 20170821 "${two_queues[@]}"
done
out/rtl/vectors256/vectors256 --register "${two_queues[@]}"
rtl/build.sh plain vectors.cpp NDP=0 "${room[@]}"
out/rtl/plain/plain --jitter 20170821 out/vectors/*.drop-tail.hex

# OPF's decision, HULL's phantom queue and pacer, which stand alone.
TOP=detour rtl/build.sh detour detour.cpp
out/rtl/detour/detour out/vectors/*.detour
out/rtl/detour/detour --register 50000
for width in "${phantom[@]}"; do
    TOP=phantom_queue rtl/build.sh "phantom$width" phantom_queue.cpp "DATA_W=$width"
    "out/rtl/phantom$width/phantom$width" out/vectors/*.phantom
done
TOP=pacer rtl/build.sh pacer pacer.cpp
out/rtl/pacer/pacer out/vectors/*.pacer
out/rtl/pacer/pacer --register 2000

for width in "${stress[@]}"; do
    name=stress$width
    rtl/build.sh "$name" stress.cpp "DATA_W=$width" CELLS=2048 MAX_BYTES=1600
    "out/rtl/$name/$name" 1 200
done
