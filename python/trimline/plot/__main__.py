"""`python3 -m trimline.plot ndp/fig14 out/ndp/fig14`: draws an experiment, as PNG and as PDF."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trimline.files import MalformedResult
from trimline.plot.experiment import Experiment
from trimline.plot.figures import draw


def main(arguments: list[str] | None = None) -> int:
    """Draws the figure; 0 when it was drawn, 1 when a result is unusable, 2 on misuse."""
    parser = argparse.ArgumentParser(prog="python3 -m trimline.plot", description=__doc__)
    parser.add_argument("id", help="experiment, such as ndp/fig14")
    parser.add_argument("results", type=Path, help="where `trimline reproduce` wrote its results")
    parser.add_argument(
        "--out", type=Path, help="folder of the PNG and PDF files (default: the results' own)"
    )
    parser.add_argument(
        "--experiments", type=Path, help="folder of experiments (default: as of the command)"
    )
    parser.add_argument(
        "--reference",
        type=Path,
        help="folder of the published numbers (default: `reference` beside the runs)",
    )
    options = parser.parse_args(arguments)
    try:
        experiment = Experiment.read(options.results, options.id, options.reference)
        for path in draw(experiment, options.out or experiment.folder, options.experiments):
            print(path)
    except MalformedResult as error:
        print(f"trimline.plot: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
