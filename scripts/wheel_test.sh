#!/bin/sh
# What a user does after `pip install .`, in an empty folder: the command, and the script of the README.
set -eu
trimline formats | grep -q web-search
python - <<'SCRIPT'
import trimline

shown = trimline.reproduce("ndp/fig14", "out", seeds=1)
print(shown.figures[0])
print(shown.results.flows.select("measured_bytes").describe())
SCRIPT
test -s out/ndp/fig14/ndp-fig14.png
