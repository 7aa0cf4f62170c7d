#!/usr/bin/env python3
"""Runs the same flows here and in another simulator, and compares them flow by flow.

Makes a connection matrix from a seed (distinct pairs, whole packets, sizes log-uniform, starts within some
milliseconds; or a permutation of one size), runs it with trimline and with a csg-htsim or uet-htsim that you have
built, or with any program that a command names, pairs the flows, and prints how well their completion times agree,
beside how well two seeds of one program do, and the CPU time of each.

    scripts/compare_simulators.py --htsim PATH/TO/htsim_ndp [--hosts 128] [--matrix-seed 1] [--plot comparison.png]
    scripts/compare_simulators.py --uet PATH/TO/htsim_uec --control nscc --rate 100Gbps --permutation 8000000
    scripts/compare_simulators.py --command 'program {matrix} {seed}' [--peer-packet 9000]

A command's {matrix} is a file in htsim's form (`SRC->DST start PS size BYTES`), {seed} a number; it prints a line
`SRC DST FCT` for each flow, FCT in microseconds from the flow's start to its end at the sender; other lines are passed
over, but for `hops N`. Python standard library; matplotlib for --plot.

Exit status: 0 done, 1 a flow did not end, or the correlation of log FCT is below --min, 2 misuse.
"""

import argparse
import csv
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# htsim reads a start as a 32-bit float: multiples of this are exact up to 17 ms.
START_STEP_PS = 1024
FINISHED = re.compile(r"^Flow (?:ndp|Uec)_(\d+)_(\d+) .*finished at ([0-9.e+]+)")
HOPS = re.compile(r"^hops (\d+)")


def flows_of(arguments):
    """Flows as (source, destination, packets, start in picoseconds), from the seed."""
    draws = random.Random(arguments.matrix_seed)
    if arguments.permutation:
        packets = max(1, round(arguments.permutation / arguments.payload))
        hosts = draws.sample(range(arguments.hosts), arguments.hosts)
        # One circle: nobody sends to itself.
        ring = zip(hosts, hosts[1:] + hosts[:1], strict=True)
        return [(source, destination, packets, 0) for source, destination in sorted(ring)]
    pairs = set()
    while len(pairs) < arguments.flows:
        source, destination = draws.sample(range(arguments.hosts), 2)
        pairs.add((source, destination))
    flows = []
    for source, destination in sorted(pairs):
        size = math.exp(
            draws.uniform(math.log(arguments.min_size), math.log(arguments.max_size))
        )
        packets = max(1, round(size / arguments.payload))
        last = arguments.within_ms * 1_000_000_000 // START_STEP_PS
        flows.append((source, destination, packets, draws.randrange(last) * START_STEP_PS))
    return sorted(flows, key=lambda flow: flow[3])


def write_matrix(path, flows, hosts, packet):
    lines = [f"Nodes {hosts}", f"Connections {len(flows)}"]
    lines += [
        f"{source}->{destination} start {start} size {packets * packet}"
        for source, destination, packets, start in flows
    ]
    path.write_text("\n".join(lines) + "\n")


def run(command, cwd):
    """Runs a command; returns its output, its CPU seconds and its memory in MB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, cwd=cwd)
        # Not the largest of all commands so far, as `getrusage` has it.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            words = " ".join(map(str, command))
            sys.exit(f"error: {words} ended with {process.returncode}\n{errors.read()[-2000:]}")
        return out.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def parts(arguments):
    """Switch and transport, as TOML."""
    if arguments.uet:
        return f"""[switch]
profile = "uec"
[[switch.port]]
layer = "tor"
direction = "down"
last_hop = true
[transport.{arguments.control}]
payload = "{arguments.payload}B"
entropies = 128
"""
    return f"""[switch]
profile = "{arguments.profile}"
data_queue = "{arguments.queue}pkt"
[transport.ndp]
order = "{arguments.order}"
initial_window = {arguments.window}
payload = "{arguments.payload}B"
"""


def ours(arguments, folder, flows, seed):
    """Completion times in microseconds by pair, and what the run took."""
    folder.mkdir(parents=True, exist_ok=True)
    write_matrix(folder / "matrix.cm", flows, arguments.hosts, arguments.payload)
    (folder / "scenario.toml").write_text(
        f"""name = "beside"
seeds = [{seed}]
[topology.fattree]
hosts = {arguments.hosts}
[links]
rate = "{arguments.rate}"
{parts(arguments)}[[workload]]
name = "matrix"
file = "matrix.cm"
"""
    )
    out = folder / f"ours-{seed}"
    shutil.rmtree(out, ignore_errors=True)
    command = [arguments.trimline.resolve(), "run", "scenario.toml", "--out", out.resolve()]
    command += [word for setting in arguments.set for word in ("--set", setting)]
    _, cpu, memory = run(command, folder)
    made = out / f"seed-{seed}"
    rows = list(csv.DictReader((made / "flows.csv").open()))
    hops = json.loads((made / "manifest.json").read_text())["packet_hops"]
    times = {
        (int(row["source"]), int(row["destination"])): int(row["fct_sender_ps"]) / 1e6
        for row in rows
        if row["fct_sender_ps"]
    }
    ideal = {
        (int(row["source"]), int(row["destination"])): int(row["ideal_fct_ps"]) / 1e6
        for row in rows
    }
    return {"times": times, "ideal": ideal, "hops": hops, "cpu": cpu, "memory": memory}


def peer(arguments, folder, flows, seed):
    """Runs the flows with the other program; returns times, hops, CPU seconds and memory."""
    matrix = (folder / "peer.cm").resolve()
    write_matrix(matrix, flows, arguments.hosts, arguments.peer_packet)
    if arguments.htsim:
        command = [arguments.htsim.resolve(), "-tm", matrix, "-nodes", arguments.hosts, "-tiers", 3]
        command += ["-q", arguments.queue, "-cwnd", arguments.window, "-mtu", arguments.peer_packet]
        command += ["-linkspeed", megabits(arguments.rate), "-hop_latency", 1, "-strat", "perm"]
        command += ["-seed", seed, "-end", arguments.end_us, "-o", folder.resolve() / "peer.log"]
    elif arguments.uet:
        control = {"nscc": "-sender_cc_only", "rccc": "-receiver_cc_only"}[arguments.control]
        command = [arguments.uet.resolve(), "-tm", matrix, "-nodes", arguments.hosts, "-tiers", 3]
        command += [control, "-load_balancing_algo", "mixed", "-linkspeed", megabits(arguments.rate)]
        command += ["-mtu", arguments.peer_packet + 64, "-seed", seed, "-end", arguments.end_us]
    else:
        words = arguments.command.split()
        command = [word.format(matrix=matrix, seed=seed) for word in words]
    text, cpu, memory = run([str(word) for word in command], folder)
    starts = {(source, destination): start / 1e6 for source, destination, _, start in flows}
    times, hops = {}, None
    for line in text.splitlines():
        if found := HOPS.match(line):
            hops = int(found.group(1))
        elif not arguments.command and (found := FINISHED.match(line)):
            pair = int(found.group(1)), int(found.group(2))
            times[pair] = float(found.group(3)) - starts[pair]
        elif arguments.command and len(words := line.split()) == 3 and words[0].isdigit():
            times[int(words[0]), int(words[1])] = float(words[2])
    return {"times": times, "hops": hops, "cpu": cpu, "memory": memory}


def megabits(rate):
    found = re.fullmatch(r"(\d+)Gbps", rate)
    if not found:
        sys.exit(f"error: --rate {rate}: expected a whole number of Gbps, such as 10Gbps")
    return int(found.group(1)) * 1000


def correlation(a, b):
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    above = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    squares = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return above / math.sqrt(squares)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def agreement(name, a, b, ideal):
    """One row: how well two runs of the same flows agree."""
    pairs = sorted(a["times"].keys() & b["times"].keys())
    if len(pairs) < 2:
        sys.exit(f"error: {name}: {len(pairs)} flows ended in both programs, of {len(a['times'])} and {len(b['times'])}; expected several")
    log_a, log_b = ([math.log(run["times"][pair]) for pair in pairs] for run in (a, b))
    slow_a, slow_b = (
        [math.log(run["times"][pair] / ideal[pair]) for pair in pairs] for run in (a, b)
    )
    ratios = [b["times"][pair] / a["times"][pair] for pair in pairs]
    return {
        "name": name,
        "flows": len(pairs),
        "fct": correlation(log_a, log_b),
        "slowdown": correlation(slow_a, slow_b),
        "median": quantile(ratios, 0.5),
        "tail": quantile(b["times"].values(), 0.99) / quantile(a["times"].values(), 0.99),
    }


def say(runs, rows):
    print(
        f"{'run':<12}{'flows':>7}{'median us':>11}{'p99 us':>10}{'max us':>10}{'hops':>12}{'CPU s':>8}{'MB':>7}"
    )
    for name, one in runs.items():
        times = list(one["times"].values())
        hops = "-" if one["hops"] is None else str(one["hops"])
        print(
            f"{name:<12}{len(times):>7}{quantile(times, 0.5):>11.1f}{quantile(times, 0.99):>10.1f}"
            f"{max(times):>10.1f}{hops:>12}{one['cpu']:>8.2f}{one['memory']:>7.0f}"
        )
    print()
    head = f"{'pair':<22}{'flows':>6}{'log FCT':>9}{'log slowdown':>14}{'median ratio':>14}{'p99 ratio':>11}"
    print(head)
    for row in rows:
        print(
            f"{row['name']:<22}{row['flows']:>6}{row['fct']:>9.4f}{row['slowdown']:>14.4f}"
            f"{row['median']:>14.4f}{row['tail']:>11.4f}"
        )


def plot(path, first, second):
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    pairs = sorted(first["times"].keys() & second["times"].keys())
    figure, axes = pyplot.subplots(figsize=(5, 5), layout="constrained")
    axes.loglog(
        [second["times"][pair] for pair in pairs],
        [first["times"][pair] for pair in pairs],
        ".",
        markersize=4,
        color="#0072B2",
    )
    span = [
        min(axes.get_xlim()[0], axes.get_ylim()[0]),
        max(axes.get_xlim()[1], axes.get_ylim()[1]),
    ]
    axes.plot(span, span, color="#767676", linewidth=0.8)
    axes.set(xlim=span, ylim=span, xlabel="the other program: FCT, us", ylabel="trimline: FCT, us")
    axes.set_aspect("equal")
    figure.savefig(path, dpi=150)


# Options that act in some comparisons alone, with their defaults.
OF_NDP = {"window": 23, "queue": 8, "profile": "csg-htsim", "order": "round-robin"}
OF_RANDOM_FLOWS = {"flows": 1000, "min_size": 9_000, "max_size": 5_000_000, "within_ms": 5}
OF_UET = {"control": "nscc"}


def fill(parser, arguments, defaults, acts, where):
    """Sets options that were not given to their defaults; refuses those that cannot act."""
    for name, default in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
        elif not acts:
            parser.error(f"--{name.replace('_', '-')} acts only {where}")


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    program = parser.add_mutually_exclusive_group(required=True)
    program.add_argument("--htsim", type=Path, metavar="FILE", help="csg-htsim's htsim_ndp")
    program.add_argument("--uet", type=Path, metavar="FILE", help="uet-htsim's htsim_uec")
    program.add_argument(
        "--command", metavar="WORDS", help="another program, with {matrix} and {seed}"
    )
    parser.add_argument("--trimline", type=Path, default=Path("target/release/trimline"))
    parser.add_argument("--out", type=Path, default=Path("out/beside"))
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--matrix-seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=128, help="of a FatTree")
    parser.add_argument("--flows", type=int, help="default: 1000")
    parser.add_argument("--min-size", type=int, metavar="BYTES", help="default: 9000")
    parser.add_argument("--max-size", type=int, metavar="BYTES", help="default: 5000000")
    parser.add_argument(
        "--permutation", type=int, metavar="BYTES", help="one flow of this size from each host"
    )
    parser.add_argument("--control", choices=("nscc", "rccc"), help="with --uet; default: nscc")
    parser.add_argument("--within-ms", type=int, help="default: 5")
    parser.add_argument("--window", type=int, metavar="PACKETS", help="default: 23")
    parser.add_argument("--queue", type=int, metavar="PACKETS", help="default: 8")
    parser.add_argument("--rate", default="10Gbps")
    parser.add_argument(
        "--payload", type=int, metavar="BYTES", help="default: 9000, with --uet 4086"
    )
    parser.add_argument(
        "--peer-packet", type=int, metavar="BYTES", help="of a whole packet in the peer's matrix"
    )
    parser.add_argument("--profile", help="switch.profile; default: csg-htsim")
    parser.add_argument("--order", help="transport.ndp.order; default: round-robin")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of our run"
    )
    parser.add_argument("--peer-seeds", type=int, default=2, help="runs of the other program")
    parser.add_argument("--end-us", type=int, default=100_000, help="of htsim's run")
    parser.add_argument(
        "--min", type=float, default=0.0, help="minimum correlation of log FCT"
    )
    arguments = parser.parse_args()
    fill(parser, arguments, OF_NDP, not arguments.uet, "without --uet: NDP's")
    fill(parser, arguments, OF_UET, bool(arguments.uet), "with --uet")
    is_random = arguments.permutation is None
    fill(parser, arguments, OF_RANDOM_FLOWS, is_random, "without --permutation")
    if arguments.peer_seeds < 2:
        parser.error(f"--peer-seeds {arguments.peer_seeds}: expected at least 2")
    if not arguments.trimline.exists():
        parser.error(f"no {arguments.trimline}: cargo build --release --package trimline-cli")
    for program in filter(None, (arguments.htsim, arguments.uet)):
        if not program.exists():
            parser.error(f"no {program}")
    if arguments.payload is None:
        arguments.payload = 4086 if arguments.uet else 9000
    if arguments.permutation is None and arguments.flows > arguments.hosts * (arguments.hosts - 1):
        parser.error(f"{arguments.hosts} hosts have fewer than {arguments.flows} pairs")
    if arguments.peer_packet is None:
        # csg-htsim adds 64 bytes to a packet's size on the wire, as we do; uet-htsim's option counts them.
        arguments.peer_packet = arguments.payload
    return arguments


def main():
    arguments = parsed()
    flows = flows_of(arguments)
    folder = arguments.out / f"{arguments.hosts}-{arguments.matrix_seed}"
    folder.mkdir(parents=True, exist_ok=True)
    runs = {f"trimline {seed}": ours(arguments, folder, flows, seed) for seed in (1, 2)}
    peers = [f"peer {seed}" for seed in range(1, arguments.peer_seeds + 1)]
    runs |= {name: peer(arguments, folder, flows, name.split()[1]) for name in peers}
    missing = [name for name, run in runs.items() if len(run["times"]) < len(flows)]
    for name in missing:
        count = len(flows) - len(runs[name]["times"])
        print(f"error: {count} of {len(flows)} flows of {name} did not end", file=sys.stderr)
    if any(not run["times"] for run in runs.values()):
        sys.exit(1)
    ideal = runs["trimline 1"]["ideal"]
    pairs = [("peer 1", "trimline 1"), ("trimline 1", "trimline 2"), ("peer 1", "peer 2")]
    rows = [agreement(f"{a} / {b}", runs[a], runs[b], ideal) for a, b in pairs]
    if arguments.json:
        numbers = {
            name: {key: run[key] for key in ("hops", "cpu", "memory")} for name, run in runs.items()
        }
        print(json.dumps({"runs": numbers, "agreement": rows}))
    else:
        say(runs, rows)
        for share in (0.5, 0.99):
            baseline = [quantile(runs[name]["times"].values(), share) for name in peers]
            own = [quantile(runs[f"trimline {seed}"]["times"].values(), share) for seed in (1, 2)]
            print(
                f"p{share * 100:.0f}: trimline {own[0]:.1f} and {own[1]:.1f} us,"
                f" {len(peers)} runs of the peer {min(baseline):.1f} to {max(baseline):.1f} us"
            )
    if arguments.plot:
        plot(arguments.plot, runs["trimline 1"], runs["peer 1"])
    sys.exit(1 if missing or rows[0]["fct"] < arguments.min else 0)


if __name__ == "__main__":
    main()
