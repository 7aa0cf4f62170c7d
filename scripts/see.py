#!/usr/bin/env python3
"""Makes the page of docs/see.md, one file that loads nothing: see.py SIMULATOR.wasm INDEX.html."""

import base64
import gzip
import pathlib
import sys

LARGEST = 3_000_000

simulator, page = map(pathlib.Path, sys.argv[1:])
sources = pathlib.Path(__file__).parents[1] / "see"
packed = base64.b64encode(gzip.compress(simulator.read_bytes(), 9, mtime=0)).decode()
parts = {"simulator": packed, "style": (sources / "see.css").read_text()}
parts |= {name: (sources / f"{name}.js").read_text() for name in ("worker", "draw", "see")}
text = (sources / "see.html").read_text()
for name, part in parts.items():
    assert "</script" not in part and text.count(f"{{{{{name}}}}}") == 1, name
    text = text.replace(f"{{{{{name}}}}}", part)
if len(text.encode()) > LARGEST:
    sys.exit(f"{page}: {len(text.encode())} bytes; the limit is {LARGEST}")
page.parent.mkdir(parents=True, exist_ok=True)
page.write_text(text)
print(f"{page}: {len(text.encode())} bytes")
