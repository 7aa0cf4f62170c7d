#!/usr/bin/env bash
# Bounded model checking of the blocks: `make rtl-formal`. Wants yosys and z3.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=out/rtl/formal
mkdir -p "$out"

# check BLOCK CYCLES NAME=VALUE ...
check() {
    local block=$1 cycles=$2
    shift 2
    local set="" pair
    for pair in "$@"; do set="$set -set ${pair%%=*} ${pair#*=}"; done
    yosys -q -p "read_verilog -sv -formal -DFORMAL -Irtl/formal rtl/src/$block.sv; chparam $set $block;
        prep -top $block; memory_map; opt; async2sync; dffunmap; write_smt2 -wires $out/$block.smt2" > "$out/$block.log" 2>&1 ||
        { cat "$out/$block.log" >&2; exit 1; }
    if ! timeout 60 yosys-smtbmc --unroll -s z3 -t "$cycles" --noprogress --dump-vcd "$out/$block.vcd" "$out/$block.smt2" > "$out/$block.log" 2>&1; then
        cat "$out/$block.log" >&2
        exit 1
    fi
    echo "$block: holds for $cycles cycles ($*)"
}

check input_queue 12 DATA_W=64 DEPTH=8 MAX_BYTES=24 LEN_W=8
check drr_arbiter 10 PORTS=3 COST_W=3 QUANTUM=5 LEN_W=4
check cell_chain 16 CELLS=8 MAX_CELLS=1
check output_queue 8 DATA_SLOTS=4 HEADER_SLOTS=4 DESC_W=3
check egress 10 DATA_W=64 DEPTH=4
check packet_reader 10 PORTS=2 DATA_W=256 CELL_W=3 LEN_W=8
check admission 4 PORTS=2 CELL_W=3 LEN_W=8 COUNT_W=8
