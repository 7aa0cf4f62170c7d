#!/usr/bin/env bash
# Gives the kernel DCTCP as a congestion control of TCP, `bpf_dctcp`, where it was built without: scripts/dctcp.sh load.
# `unload` takes it away; flows that have it keep it. It needs root, a kernel with its type information
# (/sys/kernel/btf/vmlinux), and clang (CLANG=clang-14 for one of another name), bpftool and the headers of libbpf.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
load)
    clang=${CLANG:-clang}
    for program in "$clang" bpftool; do
        command -v "$program" >/dev/null || {
            echo "$0: $program is missing: apt-get install clang bpftool libbpf-dev" >&2
            exit 1
        }
    done
    out=out/dctcp
    mkdir -p "$out"
    bpftool btf dump file /sys/kernel/btf/vmlinux format c >"$out/vmlinux.h"
    "$clang" -O2 -g -Wall -target bpf -I"$out" -c scripts/dctcp.bpf.c -o "$out/dctcp.o"
    bpftool struct_ops register "$out/dctcp.o"
    ;;
unload) bpftool struct_ops unregister name dctcp ;;
*)
    echo "usage: $0 load | unload" >&2
    exit 2
    ;;
esac
