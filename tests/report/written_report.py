# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a script in bench/ that writes report.md, with fake results and without pictures."""
import contextlib
import io
import json
import pathlib
import runpy
import sys
import tempfile
import types
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parent.parent.parent / "bench"
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH / "common"))

import report_page  # noqa: E402


def written_report(script, *documents):
    """Runs the script, whose name is relative to bench/, on the documents. Returns the script's output and the report that it writes. A
    document that is not a string is converted to JSON."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, document in enumerate(documents):
            paths.append(pathlib.Path(folder, f"{i}.json"))
            paths[-1].write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        ran = types.SimpleNamespace(returncode=0, stderr="")
        with mock.patch.object(sys, "argv", [script, "--output", folder, *map(str, paths)]), mock.patch.object(report_page, "pyplot", None):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    runpy.run_path(str(BENCH / script), run_name="__main__")
            except SystemExit as end:  # As in the interpreter, the text of a SystemExit goes to standard error.
                ran.returncode, ran.stderr = (1, str(end.code)) if isinstance(end.code, str) else (end.code or 0, "")
        page = pathlib.Path(folder, "report.md")
        return ran, page.read_text(encoding="utf-8") if page.exists() else ""


def assert_refused(test, script, *documents):
    """Checks that the script rejects each document, and files that are not benchmark results, in one sentence."""
    for document in ("no json", {"benchmarks": []}, {}, *documents):
        ran, _ = written_report(script, document)
        test.assertNotEqual(ran.returncode, 0)
        test.assertEqual(len(ran.stderr.strip().splitlines()), 1, ran.stderr)
