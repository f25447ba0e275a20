# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a script of bench/ that writes report.md, on made-up results."""
import json
import pathlib
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent.parent.parent / "bench"


def written_report(script, *documents):
    """What the script, named from bench/, prints of the documents and what it writes. A document that is no string becomes JSON."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, document in enumerate(documents):
            paths.append(pathlib.Path(folder, f"{i}.json"))
            paths[-1].write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        ran = subprocess.run([sys.executable, BENCH / script, "--output", folder, *paths], capture_output=True, text=True, check=False)
        page = pathlib.Path(folder, "report.md")
        return ran, page.read_text(encoding="utf-8") if page.exists() else ""
