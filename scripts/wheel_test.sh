#!/bin/sh
# What a user does with an installed wheel, in an empty folder: the command, and the script of the README.
set -eu
trimline formats | grep -q web-search
python - <<'SCRIPT'
import trimline

shown = trimline.reproduce("ndp/fig14", "out", seeds=1)
print(shown.figures[0])
print(shown.results.flows.select("measured_bytes").describe())

# The wheel has figure.py of every experiment.
from trimline.plot import default, figures

assert all(figures.figure_of(f"ndp/{each}") is not default.figure for each in ("fig14", "fig16", "fig21"))
SCRIPT
test -s out/ndp/fig14/ndp-fig14.png
