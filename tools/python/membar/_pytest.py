# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pytest plugin. With `pytest --membar`, it records and checks the kernels of each test marked `membar`. A finding fails the test."""

import pytest

from membar import _record


def pytest_addoption(parser):
    parser.getgroup("membar").addoption("--membar", action="store_true",
                                        help="record the kernels of tests marked membar, and check them under the CUDA memory model")


def pytest_configure(config):
    config.addinivalue_line("markers", "membar(kernels='', all=False, schedules=10, seconds=60): with --membar, check the kernels that the test "
                                       "launches under the CUDA memory model")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    words = [str(each) for each in early_config.invocation_params.args]
    if "--membar" in words and not _record.is_loaded():  # restarts before a conftest.py can initialize CUDA
        capture = early_config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
        _record.start_again(["-m", "pytest", *words])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    marker = item.get_closest_marker("membar")
    if marker is None or not item.config.getoption("--membar"):
        yield
        return
    asked = dict(marker.kwargs)
    checks = {name: asked.pop(name) for name in ("options", "schedules", "seconds") if name in asked}
    with _record.record(*marker.args, **asked) as recorded:
        outcome = yield
    if outcome.excinfo is None:
        try:
            recorded.check(**checks)
        except (_record.Finding, RuntimeError) as why:
            outcome.force_exception(pytest.fail.Exception(str(why).strip(), pytrace=False))
        for line in recorded.undecided:
            item.add_report_section("call", "membar", f"not decided: {line}")
