#!/usr/bin/env python3
"""Messages with the random numbers of the ns-2 scripts of Homa's authors: the same messages at the same times.

Each pair of hosts, i to j of 144, has a Poisson process of its own. Its gaps come from MRG32k3a (L'Ecuyer 1999) with the
seed 17 i + 1244 j, its sizes from one with 33 i + 4369 j (empirical_*_pfabric.tcl in branch ns2_pfabric of
PlatformLab/HomaSimulation, 30b0b6c). A load of 80 %.

    scripts/ns2_messages.py w1|w2|w5 COUNT FOLDER

Writes FOLDER/messages.txt, a flow file of HPCC with sizes 1.6 times theirs, and FOLDER/scenario.toml, which is
pfabric/ns2 with these messages. Run from the root of the repository. Python standard library only.

Exit status: 0 done, 2 misuse.
"""

import argparse
import bisect
import math
from pathlib import Path

HOSTS = 144
SCENARIO = Path("experiments/pfabric/ns2/scenario.toml")
PACKETS = Path("crates/sim/distributions/homa-DCTCP_MsgSizeDist.txt")
# Moduli and factors of MRG32k3a.
M1, M2 = 2**32 - 209, 2**32 - 22853
A12, A13, A21, A23 = 1403580, 810728, 527612, 1370589
# Mean bytes of a message with headers and ACKs, by which their scripts compute gaps. W5 has 2,686,844 B for 2,547,262 B,
# and they round its mean size to packets of 1460 B.
MEAN_BYTES = {"w1": 267.2, "w2": 440.79 / 440.8 * 530.6, "w5": 1745 * 1460 / 2547262 * 2686844}


def uniform(seed):
    """Yields MRG32k3a's numbers from 0 to 1, with all of its state the seed."""
    a, b = [seed] * 3, [seed] * 3
    while True:
        a = [a[1], a[2], (A12 * a[1] - A13 * a[0]) % M1]
        b = [b[1], b[2], (A21 * b[2] - A23 * b[0]) % M2]
        difference = a[2] - b[2]
        yield (difference if difference > 0 else difference + M1) / (M1 + 1)


def distribution(workload):
    """Sizes in bytes, 1.6 times theirs, and the share of the messages up to each."""
    file = PACKETS if workload == "w5" else SCENARIO.parent / f"{workload}-by-1.6.txt"
    rows = [line.split() for line in file.read_text().splitlines()[1:]]
    sizes = [int(size) for size, _ in rows]
    if workload == "w5":
        # One packet counts as 1442 B.
        sizes = [math.ceil((1442 if packets == 1 else packets * 1460) * 1.6) for packets in sizes]
    return sizes, [float(share) for _, share in rows]


def messages(workload, count):
    """The first `count` messages: start in seconds, source, destination, bytes."""
    sizes, shares = distribution(workload)
    gap_of_host = MEAN_BYTES[workload] * 8 / (0.8 * 10e9)
    gap_of_pair = gap_of_host * (HOSTS - 1)
    # The number of messages until then varies by far less than the margin.
    until = count / HOSTS * gap_of_host * 1.05 + 0.2 * gap_of_pair
    drawn = []
    for destination in range(HOSTS):
        for source in range(HOSTS):
            if source == destination:
                continue
            start = 0.0
            gaps = uniform(17 * source + 1244 * destination)
            for gap, share in zip(gaps, uniform(33 * source + 4369 * destination)):
                start -= math.log(gap) * gap_of_pair
                if start > until:
                    break
                drawn.append((start, source, destination, sizes[bisect.bisect_left(shares, share)]))
    return sorted(drawn)[:count]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=sorted(MEAN_BYTES))
    parser.add_argument("count", type=int, metavar="COUNT")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.count < 1:
        parser.error(f"COUNT {arguments.count}: expected at least 1")
    if not SCENARIO.is_file():
        parser.error(f"no {SCENARIO} here: run from the root of the repository")
    drawn = messages(arguments.workload, arguments.count)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{source} {destination} 3 100 {size} {start:.12f}" for start, source, destination, size in drawn)
    (arguments.folder / "messages.txt").write_text("\n".join([str(len(drawn)), *lines, ""]))
    network = SCENARIO.read_text().split("[[workload]]")[0].split("\n", 1)[1]
    workload = '[[workload]]\nname = "messages"\nfile = "messages.txt"\n'
    (arguments.folder / "scenario.toml").write_text(network + workload)


if __name__ == "__main__":
    main()
