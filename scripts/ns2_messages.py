#!/usr/bin/env python3
"""Workload W5 with the random numbers of the ns-2 scripts of Homa's authors: the same messages at the same times.

Each pair of hosts, i to j of 144, has a Poisson process of its own. Its gaps come from MRG32k3a (L'Ecuyer 1999) with the
seed 17 i + 1244 j, its sizes from one with 33 i + 4369 j (empirical_search_pfabric.tcl in branch ns2_pfabric of
PlatformLab/HomaSimulation, 30b0b6c). A load of 80 %.

    scripts/ns2_messages.py COUNT FOLDER

Writes FOLDER/messages.txt, a flow file of HPCC with sizes 1.6 times theirs, and FOLDER/scenario.toml, which is
pfabric/ns2 with these messages and a port of 33,599 B. Run from the root of the repository. Python standard library only.

Exit status: 0 done, 2 misuse.
"""

import argparse
import bisect
import math
from pathlib import Path

HOSTS = 144
SIZES = Path("crates/sim/distributions/homa-DCTCP_MsgSizeDist.txt")
SCENARIO = Path("experiments/pfabric/ns2/scenario.toml")
# Moduli and factors of MRG32k3a.
M1, M2 = 2**32 - 209, 2**32 - 22853
A12, A13, A21, A23 = 1403580, 810728, 527612, 1370589
# Bits that a host sends per message, and their rate: the mean size in packets, rounded, times 1460 B; with headers and
# ACKs a message takes 2,686,844 B for 2,547,262.
MEAN_BITS = 1745 * 1460 * 8 / 2547262 * 2686844
GAP_S = MEAN_BITS / (0.8 * 10e9) * (HOSTS - 1)


def uniform(seed):
    """Yields MRG32k3a's numbers from 0 to 1, with all of its state the seed."""
    a, b = [seed] * 3, [seed] * 3
    while True:
        a = [a[1], a[2], (A12 * a[1] - A13 * a[0]) % M1]
        b = [b[1], b[2], (A21 * b[2] - A23 * b[0]) % M2]
        difference = a[2] - b[2]
        yield (difference if difference > 0 else difference + M1) / (M1 + 1)


def distribution():
    """Sizes in bytes, and the share of the messages up to each. One packet counts as 1442 B."""
    rows = [line.split() for line in SIZES.read_text().splitlines()[1:]]
    sizes = [1442 if packets == "1" else int(packets) * 1460 for packets, _ in rows]
    return sizes, [float(share) for _, share in rows]


def messages(count):
    """The first `count` messages: start in seconds, source, destination, bytes."""
    sizes, shares = distribution()
    until = count / HOSTS * GAP_S / (HOSTS - 1) * 1.05 + 0.05
    drawn = []
    for destination in range(HOSTS):
        for source in range(HOSTS):
            if source == destination:
                continue
            start = 0.0
            gaps = uniform(17 * source + 1244 * destination)
            for gap, share in zip(gaps, uniform(33 * source + 4369 * destination)):
                start -= math.log(gap) * GAP_S
                if start > until:
                    break
                drawn.append((start, source, destination, sizes[bisect.bisect_left(shares, share)]))
    return sorted(drawn)[:count]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, metavar="COUNT")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.count < 1:
        parser.error(f"COUNT {arguments.count}: expected at least 1")
    if not SCENARIO.is_file():
        parser.error(f"no {SCENARIO} here: run from the root of the repository")
    drawn = messages(arguments.count)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{source} {destination} 3 100 {math.ceil(size * 1.6)} {start:.12f}" for start, source, destination, size in drawn)
    (arguments.folder / "messages.txt").write_text("\n".join([str(len(drawn)), *lines, ""]))
    network = SCENARIO.read_text().split("[[workload]]")[0].split("\n", 1)[1].replace('"31200B"', '"33599B"')
    workload = '[[workload]]\nname = "messages"\nfile = "messages.txt"\n'
    (arguments.folder / "scenario.toml").write_text(network + workload)


if __name__ == "__main__":
    main()
