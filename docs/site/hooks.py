# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MkDocs hooks that turn the pages, which are written to be read in a repository browser, into the site.

* The README is a page of the site, as is the gallery, which gallery.py generates from the litmus tests; links to the folder of these tests
  lead to the gallery. The site has the order of docs/index.md: a section for each heading, and in it a page for each link that
  has not occurred before. The pages that a page in LISTS links to come below it: the headers in reference.md, the reports in measurements.
* Each source file that a page links to becomes a page below source/, as does the list of a folder's files. A file in docs/ that no page
  links to is not part of the site.
* Lists and their contents are indented in the way that Python-Markdown requires.
* A page that is in no list, a link or an anchor that does not exist, and Markdown that was not converted are errors.
"""
import html
import logging
import pathlib
import posixpath
import re
import sys

import pygments
import pygments.formatters
import pygments.lexers
from mkdocs.structure.files import File, InclusionLevel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gallery  # noqa: E402

log = logging.getLogger("mkdocs.hooks.membar")
DOCS = pathlib.Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
README, GALLERY = "readme.md", "gallery.md"
CATALOGUE = "tests/litmus/catalogue"
MADE = {}  # The text of each page that is not a file in docs/.
LISTS = ("reference.md", "measurements/README.md")  # The pages that these pages link to come below them.
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
FENCE = re.compile(r"\s*(```+|~~~+)")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
ITEM = re.compile(r"(\s*)([*+-]|\d+[.)])(\s+)\S")
LOADED = re.compile(r'<(?:script|img|iframe)\b[^>]* src="(?:https?:)?//[^"]*"|<link\b[^>]* rel="(?:stylesheet|icon|preload)"[^>]* href="(?:https?:)?//[^"]*"')
LANGUAGES = {".cu": "cpp", ".cuh": "cpp", ".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".sh": "sh", ".cmake": "cmake", ".txt": "cmake"}
STYLE = """body{margin:0 auto;max-width:72rem;padding:1rem;font-family:sans-serif;color:#222;background:#fff}pre{overflow-x:auto;font-size:.85rem}
a{color:#3f51b5}@media(prefers-color-scheme:dark){body{background:#1e2129;color:#ddd}a{color:#9fa8da}}"""


def path_of(page):
    """Returns the file in the repository from which a page of the site is generated."""
    return ROOT / "README.md" if page == README else DOCS / page


def target_of(page, link):
    """Returns the target of a relative link in a page: a path below the repository's root, or None, and the anchor."""
    if "://" in link or link.startswith(("#", "mailto:")):
        return None, ""
    path, _, anchor = link.partition("#")
    found = (path_of(page).parent / path).resolve()
    if ROOT not in found.parents and found != ROOT:
        return None, ""
    return found.relative_to(ROOT).as_posix(), "#" + anchor if anchor else ""


def place_of(target):
    """Returns the place of a repository's file in the site."""
    path = ROOT / target
    if target in ("README.md", "."):
        return README
    if target == "docs/headers":
        return "reference.md"
    if target == CATALOGUE:
        return GALLERY
    if path.is_dir():
        return f"source/{target}/index.html"
    if target.startswith("docs/") and not target.startswith("docs/site"):
        return target[len("docs/"):]
    return f"source/{target}.html"


def prose(text):
    """Yields each line, and whether it is outside of code blocks."""
    fence = None
    for line in text.splitlines():
        found = FENCE.match(line)
        if fence is None and found:
            fence = found.group(1)
            yield line, False
        elif fence is not None:
            if found and found.group(1).startswith(fence):
                fence = None
            yield line, False
        else:
            yield line, True


def links_of(page):
    text = "\n".join(CODE.sub("", line) for line, outside in prose((MADE.get(page) or path_of(page).read_text(encoding="utf-8"))) if outside)
    return [found.group(2) for found in LINK.finditer(text)]


def targets_of(page):
    """Returns the files and folders in the repository that a page links to."""
    return {target for link in links_of(page) if (target := target_of(page, link)[0]) and (ROOT / target).exists()}


def relinked(page, line):
    """Returns the line with its links changed to the targets' places in the site. Code in the line is not changed."""
    def link(found):
        target, anchor = target_of(page, found.group(2))
        if target is None or not (ROOT / target).exists():
            return found.group()
        to = posixpath.relpath(place_of(target), posixpath.dirname(page) or ".")
        return found.group(1) + to + anchor + found.group(3)

    kept = []

    def keep(found):
        kept.append(found.group())
        return f"\0{len(kept) - 1}\0"

    line = LINK.sub(link, CODE.sub(keep, line))
    return re.sub("\0(\\d+)\0", lambda found: kept[int(found.group(1))], line)


def indented(text):
    """Formats lists for Python-Markdown: with a blank line before each list, and four spaces for each level."""
    lines, widths, blank = [], [], True
    for line, outside in prose(text):
        space = len(line) - len(line.lstrip())
        if not line.strip():
            lines.append(line)
            blank = True
            continue
        item = ITEM.match(line) if outside else None
        while widths and space < widths[-1] and (blank or item):
            widths.pop()
        level = len(widths)
        if widths and space < widths[-1] and outside:  # The rest of a paragraph is indented less than its item.
            lines.append(" " * 4 * level + line.strip())
            continue
        body = " " * 4 * level + line[widths[-1] if widths else 0:]
        if item:
            if not blank and not widths and not in_list(lines):
                lines.append("")
            mark = item.group(2)
            body = " " * 4 * level + mark + " " * max(1, 4 - len(mark)) + line[space:][len(mark):].lstrip()
            widths.append(space + len(mark) + len(item.group(3)))
        lines.append(body)
        blank = False
    return "\n".join(lines) + "\n"


def in_list(lines):
    """Returns whether the last paragraph of the lines belongs to a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if ITEM.match(line):
            return True
    return False


def on_page_markdown(markdown, page, config, files):  # noqa: ARG001
    name = page.file.src_uri
    lines = [relinked(name, line) if outside else line for line, outside in prose(markdown)]
    return indented("\n".join(lines).replace("<details>", '<details markdown="1">'))


def on_page_content(content, page, config, files):  # noqa: ARG001
    without_code = re.sub(r"<(pre|code)\b.*?</\1>", "", content, flags=re.DOTALL)
    for words in re.findall(r"^(?:<p>)?(?:[*+-] |\|.*\||```|\[.*\]\().*", without_code, re.MULTILINE):
        log.warning("%s: this Markdown was not converted: %s", page.file.src_uri, words[:90])
    return content


def on_post_page(output, page, config):  # noqa: ARG001
    return self_contained(output, page.url)


def on_post_template(output, template_name, config):  # noqa: ARG001
    return self_contained(output, template_name) if template_name.endswith(".html") else output


def self_contained(output, url):
    """Ensures that no page loads anything from another site: worker.js replaces the only script that the theme would fetch."""
    output = re.sub(r'src="https://[^"]*/iframe-worker/shim"', f'src="{url.count("/") * "../"}worker.js"', output)
    for loaded in LOADED.findall(output):
        log.warning("%s loads something from another site: %s", url, loaded)
    return output


def shown(title, place, body):
    title, root = html.escape(title), place.count("/") * "../"
    return (f"<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
            f"<link rel='stylesheet' href='{root}source.css'></head><body><p><a href='{root}index.html'>membar</a></p><h1>{title}</h1>{body}</body></html>")


def colours():
    light = pygments.formatters.HtmlFormatter(style="default").get_style_defs("pre")
    dark = pygments.formatters.HtmlFormatter(style="github-dark").get_style_defs("pre")
    return f"{STYLE}\n{light}@media(prefers-color-scheme:dark){{{dark}}}\n"


def source_page(target, known):
    path = ROOT / target
    if path.is_dir():
        names = sorted(each.name + "/" * each.is_dir() for each in path.iterdir() if not each.name.startswith((".", "__pycache__")))
        rows = [f'<li><a href="{posixpath.relpath(place_of(inner), f"source/{target}")}">{html.escape(name)}</a></li>'
                if (inner := posixpath.join(target, name.rstrip("/"))) in known else f"<li>{html.escape(name)}</li>" for name in names]
        return shown(target + "/", place_of(target), f"<ul>{''.join(rows)}</ul>")
    text = path.read_text(encoding="utf-8", errors="replace")
    code = html.escape(text)
    if target.startswith("examples/") and path.suffix in LANGUAGES:  # Highlighting the other sources would take as long as all pages together.
        code = pygments.highlight(text, pygments.lexers.get_lexer_by_name(LANGUAGES[path.suffix]), pygments.formatters.HtmlFormatter(nowrap=True))
    return shown(target, place_of(target), f"<pre>{code}</pre>")


def on_files(files, config):
    MADE[README] = (ROOT / "README.md").read_text(encoding="utf-8")
    if (ROOT / CATALOGUE).exists():
        MADE[GALLERY] = gallery.gallery()
    for name, content in MADE.items():
        files.append(File.generated(config, name, content=content))
    for name in ("site.css", "worker.js"):
        files.append(File.generated(config, name, content=(DOCS / "site" / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, "source.css", content=colours()))
    linked = {target for page in [each.src_uri for each in files.documentation_pages()] for target in targets_of(page)}
    for file in [each for each in files.media_files() if f"docs/{each.src_uri}" not in linked and each.src_dir == config.docs_dir]:
        files.remove(file)
    targets = {target for target in linked if place_of(target).startswith("source/")}
    for folder in [target for target in targets if (ROOT / target).is_dir()]:  # The files in a folder that a page links to.
        targets.update(each.relative_to(ROOT).as_posix() for each in (ROOT / folder).iterdir()
                       if each.suffix in LANGUAGES and each.is_file())
    for target in sorted(targets):
        files.append(File.generated(config, place_of(target), content=source_page(target, targets)))
    config.nav = navigation([each.src_uri for each in files.documentation_pages(inclusion=InclusionLevel.is_included)])
    return files


def navigation(pages):
    """Returns the headings of index.md, each with the pages that its links lead to, in the order of the links."""
    taken, sections = {"index.md"}, [{"Home": "index.md"}]

    def new(page):
        for link in links_of(page):
            target, _ = target_of(page, link)
            place = place_of(target) if target and (ROOT / target).exists() else ""
            if place in pages and place not in taken:
                taken.add(place)
                yield place

    text = (DOCS / "index.md").read_text(encoding="utf-8")
    for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE):
        below = []
        steps = sorted(page for page in pages if page.startswith(f"{heading.lower()}/") and page not in taken)  # The pages in the heading's own folder.
        for found in LINK.finditer(body):
            target, _ = target_of("index.md", found.group(2))
            place = place_of(target) if target and (ROOT / target).exists() else ""
            if place in pages and place not in taken:
                taken.add(place)
                below.append(place)
                below += [*new(place)] if place in LISTS else [step for step in steps if step not in taken] if place == README else []
                taken.update(below)
        sections.append({heading: below})
    return sections
