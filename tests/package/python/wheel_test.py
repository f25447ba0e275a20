#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the wheel from a copy of the repository's files, installs only the wheel into a fresh virtual environment, and uses it there.

usage: wheel_test.py <repository> <empty folder> <cmake> <g++> [--commands <example.litmus>]

Without --commands, the wheel is built without the commands; this takes only seconds. The environment in which it is built is kept in the
folder. Exit status: 0 if everything works, 1 if not. The first line of the output starts with SKIPPED if pip cannot install
scikit-build-core.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import venv

CONSUMER_CMAKE = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(membar REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE membar::membar)
"""
CONSUMER = """#include <membar/atomic.hpp>
#include <membar/version.hpp>
int main() {
  int counter = 0;
  membar::atomic_ref<int, membar::thread_scope::system>(counter).fetch_add(1, membar::relaxed);
  return counter == 1 && membar::version.minor == MEMBAR_VERSION / 100 % 100 ? 0 : 1;
}
"""
# Each program runs in the environment that contains only the wheel.
USES = {
    "the version is that of the headers": "import membar; assert membar.__version__ == '{version}', membar.__version__",
    "the headers are there": "import membar, pathlib; assert (pathlib.Path(membar.include_path()) / 'membar/atomic.cuh').is_file()",
    "the CMake package is there": "import membar, pathlib; assert (pathlib.Path(membar.cmake_path()) / 'membar-config.cmake').is_file()",
    "without a driver one sentence says so": """
import membar, os
try:
    membar.sync_domain_count()
except membar.Error as error:
    assert 'membar: cannot load the CUDA driver' in str(error) or 'does not start' in str(error), error
else:
    assert os.path.exists('/dev/nvidiactl')
""",
}


def run(*command, cwd=None, expect=0):
    done = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, check=False)
    if done.returncode != expect:
        sys.exit(f"FAILED with {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def copy_of(repository, target):
    """Copies the files that a clone would have, in their current state."""
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=repository, stdout=subprocess.PIPE, text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file() and "build" not in path.parts]
    for name in names:
        if (repository / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, target / name)


def version_of(repository):
    number = next(int(line.split()[2]) for line in (repository / "include/membar/base/config.hpp").read_text().splitlines()
                  if line.startswith("#define MEMBAR_VERSION "))
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cmake")
    parser.add_argument("compiler")
    parser.add_argument("--commands", metavar="example.litmus")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    builder = folder / "builder"
    if not (builder / "bin" / "python").exists():
        venv.create(builder, with_pip=True)
    got = subprocess.run([builder / "bin" / "pip", "install", "-q", "scikit-build-core>=0.10"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    if got.returncode != 0:
        print(f"SKIPPED: pip cannot install scikit-build-core, which builds the wheel\n{got.stdout}")
        return 0

    copy_of(asked.repository.resolve(), folder / "clone")
    shutil.rmtree(folder / "wheels", ignore_errors=True)
    without = [] if asked.commands else ["--config-settings=cmake.define.MEMBAR_BUILD_TOOLS=OFF"]
    run(builder / "bin" / "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder / "wheels", *without, folder / "clone")
    wheels = list((folder / "wheels").glob("*.whl"))
    version = version_of(folder / "clone")
    assert [wheel.name.split("-")[:3] for wheel in wheels] == [["membar", version, "py3"]], wheels

    fresh = folder / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    venv.create(fresh, with_pip=False)
    python = fresh / "bin" / "python"
    run(builder / "bin" / "pip", "--python", python, "install", "-q", "--no-index", wheels[0])
    for rule, code in USES.items():
        run(python, "-I", "-c", code.replace("{version}", version), cwd=folder)
        print(rule)

    consumer = folder / "consumer"
    shutil.rmtree(consumer, ignore_errors=True)
    consumer.mkdir()
    (consumer / "consumer.cpp").write_text(CONSUMER)
    (consumer / "CMakeLists.txt").write_text(CONSUMER_CMAKE)
    include = run(python, "-m", "membar", "--include").strip()
    run(asked.compiler, "-std=c++20", f"-I{include}", "-o", consumer / "by_hand", consumer / "consumer.cpp")
    run(consumer / "by_hand")
    root = run(python, "-m", "membar", "--cmake").strip()
    run(asked.cmake, "-S", consumer, "-B", consumer / "build", f"-Dmembar_ROOT={root}", f"-DCMAKE_CXX_COMPILER={asked.compiler}",
        "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON")
    run(asked.cmake, "--build", consumer / "build")
    run(consumer / "build" / "consumer")
    print("a program compiles with include_path(), and with find_package")

    if asked.commands:
        assert "\t1" in (said := run(fresh / "bin" / "membar-litmus", "verdict", asked.commands)), said
        assert "membar-check" in (said := run(fresh / "bin" / "membar-check", "--help")), said
        assert "membar-domains" in (said := run(fresh / "bin" / "membar-domains", "--help")), said
        library = list(pathlib.Path(include).parent.glob("lib/membar/libmembar_domains.so"))
        print("the commands run; the library that membar-domains preloads is "
              f"{'present' if library else 'missing, because no CUDA toolkit was found'}")
    else:
        assert "was built with MEMBAR_BUILD_TOOLS=OFF" in run(fresh / "bin" / "membar-litmus", expect=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
