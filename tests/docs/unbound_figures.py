# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds measured figures in the pages that do not come from a result; see figures.py.

A measured figure is a number with a unit of measurement, a decimal fraction that is not a version, or a number in a table cell if the
table's header or the line before the table names such a unit. Numbers in code, in tables that scripts write, and on the pages in WHOLE,
which a test compares with their results, do not count. Figures that are not measurements, or that others measured, are listed in NO_RESULT,
grouped by reason. An entry must be removed when its page no longer contains the figure.
"""
import re

UNIT = r"(?:ns|µs|us|ms|ps|s|seconds?|minutes?|hours?|cycles?|nanoseconds?|microseconds?|milliseconds?|instances|executions|[kMGT]B/s|MHz|GHz|TB|GB|MB|percent|%|times as)"
NUMBER = r"(?<![\w.,/^#-])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
FIGURES = (re.compile(rf"{NUMBER}(?:\s*(?:to|and|or|instead of|,|;)\s*{NUMBER})*\s*{UNIT}(?![\w/])"),
           re.compile(r"(?<![\w.,/-])\d[\d,]*\.\d+(?:e-?\d+)?(?!\w|\.\d)"))
CELL = re.compile(r"[*~ ]*\d[\d,.]*(?:e-?\d+)?[* ]*(?:(?:[;,]|to) *\d[\d,.]*)*")
BLOCKS = (re.compile(r"^( *)```.*?^\1```[^\n]*$", re.DOTALL | re.MULTILINE),
          re.compile(r"<!-- (?:figures|table|compilers)\.py.*?<!-- (?:end|compilers\.py ends)[^>]*-->", re.DOTALL),
          re.compile(r"<!-- what bench/(?:domains/page\.py writes of [^>]+|check/(?:decided_kernels\.py|sanitized_kernels\.py|large/library_calls\.py|indigo\.py(?: --explore)?) writes) -->.*?<!-- its end -->", re.DOTALL), re.compile(r"<!--.*?-->", re.DOTALL))
# Versions of the toolkit, PTX, drivers, this library and other libraries, compute capabilities, and sections of the PTX ISA.
VERSIONS = set("0.1 0.2 0.3 2.11 2.16 2.28 3.0 3.25 3.3 3.5 3.9 5.0 7.0 7.5 7.8 8.0 8.1 8.3 8.4 8.5 8.6 8.7 8.8 8.9 9.0 9.1 9.2 9.3 9.4 9.5 10.0 12.0 12.1 12.3 12.4 12.6 12.8 12.9 13.0 13.5 14.2 26.10 580.159".split())
WHOLE = re.compile(r"docs/(measurements/.*/.*|changelog|from_0.1_to_0.2|from_0.2_to_0.3)\.md")

NO_RESULT = {
    "a level of statistics": {
        "docs/conformance.md": ["With 95 % confidence"], "docs/headers/litmus.md": ["with 95 % confidence"], "docs/litmus_on_gpu.md": ["with 95 % confidence"],
        "docs/fences_and_scopes.md": ["(95 %) is wider than 5 %"], "docs/membar_domains.md": ["95 % interval comes from"],
        "docs/reading_the_report.md": ["the 95 % confidence interval", "at most 5 %", "within 10 % of 1"]},
    "a limit of a report, which its controls keep": {"docs/reading_the_report.md": ["spin interference ≤ 1.1", "relief below 0.9"]},
    "what others report, with the place": {
        "docs/bugs.md": ["6 to 7 µs per two-stage all-reduce on H100", "in about 40 % of runs", "at 100 % utilisation", "increased a kernel's time by 2.7 %"],
        "docs/older_notes.md": ["gains 50 %", "gains 50 percent"]},
    "a setting of a program or a test": {
        "docs/conformance.md": ["| `--seconds=S` | 1 |", "| `--seed=N` | 1 |", "| `--draws=N` | 4 |", "| `--tune=S` | 0 |", "every 30 seconds", "for 0.02 s",
                                "changes every 64 instances, and", "The choice changes every 64 instances"],
        "docs/contributing.md": ["| 10 s | 10 minutes |", "| none | 10 minutes |", "(10 s)"],
        "docs/headers/atomic.md": ["sleeps of up to 256 ns", "sleeps for up to 256 ns"],
        "docs/headers/symmetric_on_stream.md": ["Within about 10 µs", "every 10 µs"],
        "docs/headers/sync_publisher.md": ["2,000 cycles"], "docs/patterns/which_pattern.md": ["2,000 cycles"],
        "docs/model.md": ["after 30 seconds on one core"],
        "docs/membar_domains.md": ["longer than 20 µs", "Gaps over 50 µs"],
        "docs/membar_check.md": ["compiled within 400 s on our machine", "within 60 s of processor time on one core", "less than 0.05 ns share"],
        "docs/sanitize.md": ["a limit of 20 s of processor time"]},
    "processor time on a shared machine, which the sentence before names; no machine to compare with": {
        "docs/lint.md": ["15 s of processor time for cuSPARSE 12 (155 MB", "30 s for cuBLAS 13 with cuBLASLt"],
        "docs/sanitize.md": ["5.6 to 6.6 million if each thread executes one", "744 instead of 1476 ms for", "722 instead of 1434 ms for", "842 instead of\n1671 ms for",
                             "282 instead of 562 ms where", "took 1.4 s of processor time on one core",
                             "took 103 s for 741 million instructions on one core",
                             "took 0.8 s for 18.3 million instructions and 65 s for 515 million, on one core"],
        "docs/membar_check.md": ["| 3.8 s (`lock_without_fences`) | 0.5 s |", "| a barrier after the line that needs one | 0.1 s | 0.1 s |",
                                 "| the same barrier | 1.6 s | 0.7 s |"]},
    "an example, or what follows from a definition": {
        "docs/memory_guide.md": ["which is 3.94 GB/s in each direction", "63 GB/s for 16 lanes"],
        "docs/headers/access_policy_window.md": ["a ratio of 0.5 keeps", "each has a hit ratio of 0.5"], "docs/litmus_on_gpu.md": ["If 42 instances"],
        "docs/headers/wait_budget.md": ["2^64 - 1 ns"], "docs/how_membar_check_works.md": ["1,680 executions", "3 producers | 6 | 1 |", "2, 6, 24, 120 and 720 executions", "have 33 executions, not"]},
}


def masked(text, sentences):
    """Returns the text without the parts that come from results, with the same lines."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group())

    for pattern in (*BLOCKS, *sentences, re.compile(r"``.+?``|`[^`\n]*`"), re.compile(r"(?<=\])\([^)\s]*\)")):
        text = re.sub(pattern, blank, text)
    return text


def figures_of(text):
    """Yields each figure with the number of its line."""
    for pattern in FIGURES:
        yield from ((text.count("\n", 0, found.start()) + 1, " ".join(found.group().split())) for found in pattern.finditer(text) if found.group() not in VERSIONS)
    before, head = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("|"):
            head = head or before + line
            if re.search(rf"\b{UNIT}(?!\w)", head) and line not in head:
                yield from ((number, cell.strip()) for cell in line.strip().strip("|").split("|")[1:] if CELL.fullmatch(cell.strip()))
        elif line.strip():
            before, head = line, ""


def unbound(pages):
    """Yields the errors in the pages, each of which is given as (name, text, patterns of the sentences whose figures come from
    results)."""
    for page, text, sentences in pages:
        kept = [phrase for of in NO_RESULT.values() for phrase in of.get(page, ())]
        patterns = []
        for phrase in kept:
            pattern = re.compile(r"\s+".join(map(re.escape, phrase.split())))
            if not pattern.search(text):
                yield f"{page} does not contain \"{phrase}\": take it out of NO_RESULT in unbound_figures.py"
            patterns.append(pattern)
        if not WHOLE.fullmatch(page):
            for line, figure in figures_of(masked(text, [*patterns, *sentences])):
                yield (f"{page}:{line}: \"{figure}\" does not come from a result: write it with a table or a sentence of figures.py; if "
                       "it is not a measurement of this project, add it to unbound_figures.py with the reason")
