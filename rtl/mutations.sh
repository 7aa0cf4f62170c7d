#!/usr/bin/env bash
# Makes mistakes in the RTL, one at a time, and says which vector finds each: minutes. Fails when one is found by none.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=out/rtl/mutation
mapfile -t vectors < <(ls "$PWD"/out/vectors/*.hex | grep -v '\.drop-tail\.')

# mistake NAME FILE SED-EXPRESSION
mistake() {
    rm -rf "$folder"
    mkdir -p "$folder"
    cp -r rtl "$folder/rtl"
    sed -i "$3" "$folder/rtl/src/$2"
    if cmp -s "rtl/src/$2" "$folder/rtl/src/$2"; then
        echo "$1: $2 has changed, the mistake cannot be made" >&2
        exit 1
    fi
    "$folder/rtl/build.sh" mutant vectors.cpp 256 1 -GCELLS=16384 -GDATA_SLOTS=1024 -GHEADER_SLOTS=2048
    for vector in "${vectors[@]}"; do
        if ! timeout 60 "$folder/out/rtl/mutant/mutant" "$vector" > "$folder/log" 2>&1; then
            echo "$1: found by $(basename "$vector")"
            return
        fi
    done
    echo "$1: found by no vector" >&2
    exit 1
}

mistake "64 bytes stored of a trimmed packet" admission.sv 's/TRIMMED = 60;/TRIMMED = 64;/'
mistake "56 bytes stored of a trimmed packet" admission.sv 's/TRIMMED = 60;/TRIMMED = 56;/'
mistake "eleven headers to one" output_queue.sv 's/served_reg < cfg_ratio;/served_reg <= cfg_ratio;/'
mistake "the coin's sides are swapped" admission.sv 's/draws \&\& heads \&\& /draws \&\& !heads \&\& /'
mistake "always the newcomer" admission.sv 's/wire tail_goes = draws/wire tail_goes = 1'"'b0"' \&\& draws/'
mistake "no return to sender" admission.sv 's/wire may_return = cfg_return/wire may_return = 1'"'b0"' \&\& cfg_return/'
mistake "one packet more in the data queue" output_queue.sv 's/status_data_packets < cfg_data_packets/status_data_packets <= cfg_data_packets/'
mistake "length not updated" egress.sv 's/behind_trim \&\& left < length_word/1'"'b0"' \&\& left < length_word/'
mistake "checksum not updated" egress.sv 's/wire \[15:0\] checksum = ~folded;/wire [15:0] checksum = folded;/'
mistake "addresses not swapped" egress.sv 's/if (work_return_reg)$/if (1'"'b0"')/'
