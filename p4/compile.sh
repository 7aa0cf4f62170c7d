#!/usr/bin/env bash
# Checks that the compiled programs are those of the sources. If p4c is on PATH, compiles the sources again and compares:
# on another output every vector must hold too. `p4/compile.sh --write` replaces the compiled programs and their hashes.
# Action and register of the detours were renamed in source and compiled program alike, without p4c.
set -eu
cd "$(dirname "$0")"
programs="ndp_v1model opf_v1model"
compile() { # FOLDER; called here, so that the output has no path of this machine
    for program in $programs; do p4c-bm2-ss --std p4-16 -o "$1/$program.json" "$program.p4"; done
}
if [ "${1:-}" = --write ]; then
    compile .
    sha256sum ip.p4 ndp_v1model.p4 ndp_v1model.json opf_v1model.p4 opf_v1model.json >compiled.sha256
    exit
fi
sha256sum --check --quiet compiled.sha256 || {
    echo "a compiled program may be stale. Compile them again: p4/compile.sh --write (needs p4c-bm2-ss on PATH)" >&2
    exit 1
}
command -v p4c-bm2-ss >/dev/null || { echo "SKIPPED: p4c-bm2-ss is not on PATH; no source was compiled anew"; exit; }
mkdir -p ../out/p4
compile ../out/p4
for program in $programs; do
    if cmp --silent "$program.json" "../out/p4/$program.json"; then
        echo "p4c-bm2-ss makes of p4/$program.p4 what is kept"
    else
        echo "p4c-bm2-ss makes of p4/$program.p4 something else than what is kept; the vectors must hold on it too"
        changed=1
    fi
done
[ -z "${changed:-}" ] || cargo p4 out/p4
