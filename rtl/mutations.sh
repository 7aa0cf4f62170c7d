#!/usr/bin/env bash
# Makes mutants of the RTL, one at a time, and says which vector finds each: half a minute each. Fails when one is found by
# none. mutations.sh [FIRST [LAST]] makes these alone, counted from 1.
set -euo pipefail
cd "$(dirname "$0")/.."
first=${1:-1} last=${2:-99} number=0
folder=out/rtl/mutation
mapfile -t vectors < <(ls "$PWD"/out/vectors/*.hex | grep -v '\.drop-tail\.')

# mutant NAME FILE SED-EXPRESSION [OPTION]
mutant() {
    number=$((number + 1))
    [ "$number" -ge "$first" ] && [ "$number" -le "$last" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    cp -r rtl "$folder/rtl"
    sed -i "$3" "$folder/rtl/src/$2"
    if cmp -s "rtl/src/$2" "$folder/rtl/src/$2"; then
        echo "$1: $2 has changed, the mutant cannot be made" >&2
        exit 1
    fi
    WARNINGS=-Wno-fatal OPTIMISE=-O0 "$folder/rtl/build.sh" mutant vectors.cpp CELLS=16384 DATA_SLOTS=1024 HEADER_SLOTS=2048
    if timeout 120 "$folder/out/rtl/mutant/mutant" ${4:-} "${vectors[@]}" > "$folder/log" 2>&1; then
        echo "$1: found by no vector" >&2
        exit 1
    fi
    local found
    found=$(grep -o '[^/ ]*\.hex' "$folder/log" | head -n 1 || true)
    echo "$1: found by ${found:-a run without end}"
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
