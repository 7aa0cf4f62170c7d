#!/usr/bin/env bash
# Makes mutants of the RTL, one at a time, and says which vector finds each: half a minute each. Fails when one is found by
# none. mutations.sh [FIRST [LAST]] makes these alone, counted from 1.
set -euo pipefail
cd "$(dirname "$0")/.."
first=${1:-1} last=${2:-99} number=0
folder=out/rtl/mutation
export RUNTIME=$PWD/out/rtl/runtime
mapfile -t vectors < <(ls "$PWD"/out/vectors/*.hex | grep -v '\.drop-tail\.')

# changed NAME FILE SED-EXPRESSION: a copy of the sources with the mistake; 1 if another mutant is wanted.
changed() {
    number=$((number + 1))
    [ "$number" -ge "$first" ] && [ "$number" -le "$last" ] || return 1
    rm -rf "$folder"
    mkdir -p "$folder"
    cp -r rtl "$folder/rtl"
    sed -i "$3" "$folder/rtl/src/$2"
    if cmp -s "rtl/src/$2" "$folder/rtl/src/$2"; then
        echo "$1: $2 has changed, the mutant cannot be made" >&2
        exit 1
    fi
}

# found NAME ARGUMENT..: says which vector finds the mutant.
found() {
    local name=$1 by
    shift
    if timeout 120 "$folder/out/rtl/mutant/mutant" "$@" > "$folder/log" 2>&1; then
        echo "$name: found by no vector" >&2
        exit 1
    fi
    by=$(grep -oE '[^/ ]*\.(hex|detour|phantom|pacer)' "$folder/log" | head -n 1 || true)
    echo "$name: found by ${by:-a run without end}"
}

# mutant NAME FILE SED-EXPRESSION [OPTION]
mutant() {
    changed "$1" "$2" "$3" || return 0
    WARNINGS=-Wno-fatal OPTIMISE=-O0 "$folder/rtl/build.sh" mutant vectors.cpp CELLS=16384 DATA_SLOTS=1024 HEADER_SLOTS=2048
    found "$1" ${4:-} "${vectors[@]}"
}

# alone NAME BLOCK SED-EXPRESSION [PARAMETER=VALUE]: of a block that stands alone, by the vectors with the ending of its bench.
alone() {
    changed "$1" "$2.sv" "$3" || return 0
    TOP=$2 WARNINGS=-Wno-fatal OPTIMISE=-O0 "$folder/rtl/build.sh" mutant "$2.cpp" ${4:-}
    found "$1" "$PWD"/out/vectors/*."${2%_queue}"
}

mutant "64 bytes stored of a trimmed packet" admission.sv 's/TRIMMED = 60;/TRIMMED = 64;/'
mutant "56 bytes stored of a trimmed packet" admission.sv 's/TRIMMED = 60;/TRIMMED = 56;/'
mutant "eleven headers to one" output_queue.sv "s/\(: \|<= \)cfg_ratio;/\1cfg_ratio + 1'b1;/"
mutant "nine headers to one" output_queue.sv "s/\(: \|<= \)cfg_ratio;/\1cfg_ratio - 1'b1;/"
mutant "strict priority" output_queue.sv "s/wire round = (/wire round = 1'b0 \&\& (/"
mutant "the coin's sides are swapped" admission.sv 's/draws \&\& heads \&\& /draws \&\& !heads \&\& /'
mutant "always the newcomer" admission.sv 's/wire tail_goes = draws/wire tail_goes = 1'"'b0"' \&\& draws/'
mutant "the coin's register stands still" admission.sv 's/lfsr_reg <= {lfsr_reg\[14:0\], /lfsr_reg <= 1'"'b1"' ? lfsr_reg : {lfsr_reg[14:0], /' --register
mutant "no trimming" admission.sv "s/wire next_may_be_cut = /wire next_may_be_cut = 1'b0 \&\& /"
mutant "no return to sender" admission.sv "s/= cfg_return \&\& /= 1'b0 \&\& /"
mutant "one packet more in the data queue" output_queue.sv "s/data_more_reg <= cfg_data_packets;/data_more_reg <= cfg_data_packets + 1'b1;/"
mutant "one header less in the header queue" output_queue.sv 's/header_left_reg <= cfg_header_bytes;/header_left_reg <= cfg_header_bytes - 64;/'
mutant "length not updated" egress.sv "s/OFFSET_LENGTH + 1 \&\& shrinks_reg/OFFSET_LENGTH + 1 \&\& 1'b0/"
mutant "checksum not updated" egress.sv 's/wire \[15:0\] checksum = ~folded;/wire [15:0] checksum = folded;/'
mutant "addresses not swapped" egress.sv 's/if (work_return_reg)$/if (1'"'b0"')/'
mutant "DSCP not set" egress.sv 's/at == OFFSET_DSCP \&\& (work_trim_reg/at == OFFSET_DSCP \&\& (1'"'b0"'/'
alone "detours at the threshold" detour 's/> cfg_threshold;/>= cfg_threshold;/'
alone "detours once too often" detour 's/left\[7:0\] < cfg_limit/left[7:0] <= cfg_limit/'
alone "no limit of detours" detour 's/wire below = .*/wire below = 1;/'
alone "scheduled data is detoured" detour 's/is_ip \&\& cfg_unscheduled\[dscp\]/is_ip/'
alone "the input is drawn" detour 's/ \& ~own \& ~from;/ \& ~own;/'
alone "its own port is drawn" detour 's/ \& ~own \& ~from;/ \& ~from;/'
alone "the longer of both" detour 's/second_length_reg < first_length_reg/first_length_reg < second_length_reg/'
alone "of equals the second" detour 's/second_length_reg < first_length_reg/second_length_reg <= first_length_reg/'
alone "one port is drawn" detour 's/second_place_reg <= second_place;/second_place_reg <= first_place;/'
alone "drawn where no port is left" detour 's/hot \&\& count != 0;/hot;/'
alone "the register is never written" detour "s/else if (leaves\[i\])/else if (1'b0)/"
alone "marked at the threshold" phantom_queue 's/level > {cfg_threshold/level >= {cfg_threshold/' DATA_W=64
alone "what the packet leaves is compared" phantom_queue 's/wire above_now = level >/wire above_now = level + fills[FILL_W-1:0] >/' DATA_W=64
alone "packets without ECN are marked" phantom_queue 's/(ecn\[1\] ^ ecn\[0\])/!(ecn[1] \&\& ecn[0])/' DATA_W=64
alone "the counter falls below zero" phantom_queue "s/(moved\[FILL_W+1\] \&\& !stays_inside)/1'b0/" DATA_W=64
alone "the ticks of a packet are lost" phantom_queue "s/drains_next = tick_next_reg ?/drains_next = tick_next_reg \&\& first ?/" DATA_W=64
alone "a tick comes a cycle late" phantom_queue "s/rst ? 16'd1 :/rst ? 16'd0 :/" DATA_W=64
alone "the checksum is not mended" phantom_queue "s/if (mends) begin/if (1'b0) begin/" DATA_W=64
alone "no check sequence is counted" phantom_queue "s/(first ? FCS :/(1'b0 ? FCS :/" DATA_W=64
alone "a bucket without depth" pacer "s/brought > {1'b0, cfg_depth} ? cfg_depth : //"
alone "tokens are not spent" pacer "s/held - (start_fifo ? first_bytes_reg : 16'd0)/held/"
alone "packets wait for half their tokens" pacer 's/tokens_reg >= first_bytes_reg/tokens_reg >= (first_bytes_reg >> 1)/'
alone "eta is twice as large" pacer "s/distance >> cfg_gain/distance >> (cfg_gain - 1'b1)/g"
alone "the backlog is not measured" pacer "s/queued_reg <= backlog_reg;/queued_reg <= 20'd0;/"
alone "the rate is rounded down" pacer "s/average_reg\[47:16\] + {13'd0, cfg_step\[19:1\]}/average_reg[47:16]/"
alone "passing packets are measured" pacer 's/(passes \&\& cfg_measures_all)/passes/'
alone "associations never end" pacer "s/age >= cfg_lifetime \&\& !waits/1'b0/"
alone "every echo associates" pacer "s/cfg_coin_given ? coin :/cfg_coin_given ? 1'b1 :/"
alone "addresses of an echo are not swapped" pacer 's/r_key_reg\[32 +: 32\] <= r_axis_tdata\[16 +: 32\]/r_key_reg[0 +: 32] <= r_axis_tdata[16 +: 32]/'
alone "the FIFO takes a packet too many" pacer 's/backlog_then <= {1.b0, cfg_queue}/{1'"'b0"', backlog_reg} <= {1'"'b0"', cfg_queue}/'
alone "packets do not wait for tokens" pacer 's/first_reg == 2.d2 \&\& enough;/first_reg == 2'"'d2"';/'
