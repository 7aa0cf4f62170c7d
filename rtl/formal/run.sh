#!/usr/bin/env bash
# Bounded model checking of the blocks: `make rtl-formal`. Wants yosys and z3. With --mutations: one mutant after the other of
# the blocks, or of the one named; each mutant must be found. With names of blocks alone: these are checked.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=out/rtl/formal
mkdir -p "$out"

# prove SOURCE BLOCK CYCLES NAME=VALUE ...: 0 if it holds, 1 if not; a design that cannot be read ends the script.
prove() {
    local source=$1 block=$2 cycles=$3
    shift 3
    local set="" pair
    for pair in "$@"; do set="$set -set ${pair%%=*} ${pair#*=}"; done
    yosys -q -p "read_verilog -sv -formal -DFORMAL -Irtl/formal $source; chparam $set $block;
        prep -top $block; memory_map; opt; async2sync; dffunmap; write_smt2 -wires $out/$block.smt2" > "$out/$block.log" 2>&1 ||
        { cat "$out/$block.log" >&2; exit 2; }
    timeout 300 yosys-smtbmc --unroll -s z3 -t "$cycles" --noprogress --dump-vcd "$out/$block.vcd" "$out/$block.smt2" > "$out/$block.log" 2>&1
}

bounds() {
    case $1 in
        input_queue) echo "14 DATA_W=512 DEPTH=4 MAX_BYTES=128 LEN_W=8 COST_W=2" ;;
        drr_arbiter) echo "10 PORTS=3 COST_W=3 QUANTUM=5 LEN_W=4" ;;
        cell_chain) echo "16 CELLS=8 MAX_CELLS=1" ;;
        output_queue) echo "9 DATA_SLOTS=2 HEADER_SLOTS=2 DESC_W=8 BYTES_AT=0 LEN_W=7 SIZE_W=9 PACKETS_W=4 FLIGHT=2" ;;
        egress) echo "10 DATA_W=64 DEPTH=4" ;;
        packet_reader) echo "10 PORTS=2 DATA_W=256 CELL_W=3 LEN_W=8 CREDITS=2" ;;
        detour) echo "9 PORTS=3 LENGTH_W=2 COUNT_W=2" ;;
        phantom_queue) echo "6 DATA_W=256 SIZE_W=7 FRACTION_W=1 LEN_W=7 COUNT_W=2" ;;
        admission) echo "6 PORTS=2 CELL_W=3 LEN_W=8 COUNT_W=8" ;;
    esac
}

check() {
    local bounds
    read -r -a bounds <<< "$(bounds "$1")"
    prove "rtl/src/$1.sv" "$1" "${bounds[@]}" || { cat "$out/$1.log" >&2; exit 1; }
    echo "$1: holds for ${bounds[0]} cycles (${bounds[*]:1})"
}

# mistake BLOCK NAME SED-EXPRESSION
mistake() {
    [ -z "$only" ] || [ "$only" = "$1" ] || return 0
    local bounds
    read -r -a bounds <<< "$(bounds "$1")"
    sed "$3" "rtl/src/$1.sv" > "$out/mutant.sv"
    if cmp -s "rtl/src/$1.sv" "$out/mutant.sv"; then
        echo "$1: $2: the source has changed, the mistake cannot be made" >&2
        exit 1
    fi
    if prove "$out/mutant.sv" "$1" "${bounds[@]}"; then
        echo "$1: $2: not found" >&2
        missed=1
    elif ! grep -q "Assert failed" "$out/$1.log"; then
        echo "$1: $2: no answer in time" >&2
        missed=1
    else
        echo "$1: $2: found"
    fi
}
missed=0 only=${2:-}

if [ "${1:-}" = --mutations ]; then
    mistake input_queue "stores beyond its memory" "s/(!full && !slots_full)/!slots_full/"
    mistake input_queue "keeps what was bad" "s/write_reg <= start_reg;/write_reg <= write_reg;/"
    mistake input_queue "commits what was bad" "s/beat_last_reg \&\& !bad;/beat_last_reg;/"
    mistake drr_arbiter "loses a cycle" "s/wire free = !grant_valid || grant_ready;/wire free = !grant_valid;/"
    mistake drr_arbiter "forgets to charge" "s/assign rest_next\[p\] = credit_reg\[p\] + ADDED - price/assign rest_next[p] = credit_reg[p] + ADDED/"
    mistake drr_arbiter "does not look ahead" "s/assign enough_here\[p\] = next_valid\[p\] \&\& both/assign enough_here[p] = next_valid[p] \&\& price/"
    mistake drr_arbiter "takes from one, grants another" "s/grant_port <= chosen;/grant_port <= turn_reg;/"
    mistake cell_chain "loses cells that come late" "s/assign left_ready = initialised_reg \&\& !back;/assign left_ready = initialised_reg;/"
    mistake cell_chain "gives a cell twice" "s/wire \[CELL_W-1:0\] head_now = take ? head_next : head_reg;/wire [CELL_W-1:0] head_now = (take \&\& !back) ? head_next : head_reg;/"
    mistake output_queue "admits one packet too many" "s/one_fits = more_one_reg/one_fits = 1'b1/"
    mistake output_queue "overwrites the wrong slot" "s/data_slot = swaps ? data_tail_reg/data_slot = swaps ? data_write_reg/"
    mistake output_queue "releases twice" "s/wire release_data = released_reg \&\& released_data_reg;/wire release_data = released_reg;/"
    mistake output_queue "swaps what is starting" "s/wire held = .*/wire held = 1'b0;/"
    mistake output_queue "shows what was there before" "s/(data_written_reg \&\& !data_many) ? last_data/1'b0 ? last_data/"
    mistake output_queue "forgets what has joined" "s/data_push ? two_fit/data_push ? one_fits/"
    mistake egress "changes a beat that waits" "s/wire out_free = !m_axis_tvalid || m_axis_tready;/wire out_free = 1'b1;/"
    mistake egress "loses a cycle" "s/wire load = !empty \&\& (!work_valid_reg || move);/wire load = !empty \&\& !work_valid_reg;/"
    mistake packet_reader "reads without room" "s/active_reg \& credit_ok_reg \&/active_reg \&/"
    mistake packet_reader "loses cells" "s/ \& ~({PORTS{left_second_reg}} \& last_reg)//"
    mistake packet_reader "waits between packets" "s/(~active_reg | near_reg)/~active_reg/"
    mistake packet_reader "reads a beat too many" "s/left_reg\[q\] <= TWO_BEATS/left_reg[q] < TWO_BEATS/"
    mistake admission "loses a tail that finds no room" "s/else if (joins \&\& !kept)/else if (joins \&\& !kept \&\& !tail_goes)/"
    mistake admission "frees the cell that it keeps" "s/frees_first = cut_second;/frees_first = cut_first;/;s/frees_cells = tail_goes ? .*/frees_cells = cut_cells;/"
    mistake admission "pushes a header where there is no room" "s/tail_room\[port\] ? one(port)/1'b1 ? one(port)/"
    mistake detour "detours at the threshold" "s/> cfg_threshold;/>= cfg_threshold;/"
    mistake detour "detours once too often" "s/left\[7:0\] < cfg_limit/left[7:0] <= cfg_limit/"
    mistake detour "takes a TTL above the hosts' for a young packet" "s/wire below = !left\[8\] \&\& /wire below = /"
    mistake detour "sends a packet back by its input" "s/ \& ~own \& ~from;/ \& ~own;/"
    mistake detour "draws its own port" "s/ \& ~own \& ~from;/ \& ~from;/"
    mistake detour "chooses the longer queue" "s/second_length_reg < first_length_reg/first_length_reg < second_length_reg/"
    mistake detour "detours where there is no candidate" "s/hot \&\& count != 0;/hot;/"
    mistake detour "draws a place too many" "s/first_product\[16 +: PORT_W\]/first_product[15 +: PORT_W]/"
    mistake phantom_queue "marks at the threshold" "s/level > {cfg_threshold/level >= {cfg_threshold/"
    mistake phantom_queue "compares what the packet leaves" "s/wire above_now = level >/wire above_now = level + fills[FILL_W-1:0] >/"
    mistake phantom_queue "falls below zero" "s/(moved\[FILL_W+1\] \&\& !stays_inside)/1'b0/"
    mistake phantom_queue "forgets the ticks of a packet" "s/fills - {2'b00, drains_next}/fills - (first ? {2'b00, drains_next} : 1'b0)/"
    mistake phantom_queue "takes a packet for empty before it ends" "s/moved\[FILL_W+1\] \&\& !stays_inside/moved[FILL_W+1]/"
    mistake phantom_queue "marks what has no ECN" "s/(ecn\[1\] ^ ecn\[0\])/!(ecn[1] \&\& ecn[0])/"
    mistake phantom_queue "drops the carry" "s/sum\[15:0\] + {15'd0, sum\[16\]}/sum[15:0]/"
    mistake phantom_queue "changes a beat that waits" "s/wire free = .*/wire free = 1'b1;/"
    mistake phantom_queue "does not count the check sequence" "s/(first ? FCS :/(1'b0 ? FCS :/"
    exit "$missed"
elif [ $# -gt 0 ]; then
    for block in "$@"; do check "$block"; done
else
    for block in input_queue drr_arbiter cell_chain output_queue egress packet_reader admission detour phantom_queue; do check "$block"; done
fi
