# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the report as one web page: the contents of report.md with embedded pictures. The page fetches nothing."""
import html
import re

import chart

_STYLE = """:root{color-scheme:light dark;--ink:#222;--back:#fff;--faint:#666;--line:#ddd;--stripe:#f6f6f6;--accent:#b34700}
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--back:#181a1d;--faint:#a5a5a5;--line:#3a3d42;--stripe:#212429;--accent:#ff9d5c}}
body{font:16px/1.5 system-ui,'DejaVu Sans',sans-serif;color:var(--ink);background:var(--back);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1rem;color:var(--faint);margin:0}.headline{font-size:1.7rem;line-height:1.25;color:var(--accent);margin:.4rem 0 1rem}
h3{margin:2rem 0 .4rem}
blockquote{border-left:4px solid var(--accent);margin:1rem 0;padding:.1rem 1rem;color:var(--faint)}
code{font:.9em ui-monospace,'DejaVu Sans Mono',monospace;background:var(--stripe);padding:.1em .3em;border-radius:3px}
svg{width:100%;height:auto;display:block;margin:.6rem 0;border:1px solid var(--line);border-radius:6px}
details{border-top:1px solid var(--line);padding:.5rem 0}summary{cursor:pointer;font-weight:600;font-size:1.1rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.8rem;margin:.6rem 0}
th,td{padding:.25rem .5rem;border-bottom:1px solid var(--line);text-align:left}td.number,th.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}tr:nth-child(even){background:var(--stripe)}"""


def _inline(text):
    """Formats text within a block: code, bold, and links within the page."""
    pieces = re.split(r"`([^`]*)`", text)
    for i, piece in enumerate(pieces):
        piece = html.escape(piece, quote=False)
        pieces[i] = f"<code>{piece}</code>" if i % 2 else re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", piece)
    return "".join(pieces)


def _table(lines):
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    numbers = [cell.strip().endswith(":") for cell in rows[1]]

    def row(cells, tag):
        return "<tr>" + "".join(f'<{tag}{" class=number" if number else ""}>{_inline(cell.strip().replace(chr(92) + "|", "|"))}</{tag}>'
                                for cell, number in zip(cells, numbers)) + "</tr>"
    return f'<div class="wide"><table>{row(rows[0], "th")}{"".join(row(cells, "td") for cells in rows[2:])}</table></div>'


def page(markdown, pictures, title):
    """Returns the page of a report.md. `pictures` maps its links to SVG text. Sections (##) can be folded; the first is open."""
    out, is_open, sections = [], False, 0
    for block in re.split(r"\n{2,}", markdown.strip()):
        lines = block.split("\n")
        heading, picture = re.match(r"(#+) (.*)", block), re.fullmatch(r"!\[.*\]\((.*)\)", block)
        if heading and len(heading[1]) == 2:
            sections += 1
            out.append(f'{"</details>" * is_open}<details{" open" * (sections == 1)}><summary>{_inline(heading[2])}</summary>')
            is_open = True
        elif heading:
            out.append(f"<h{len(heading[1])}>{_inline(heading[2])}</h{len(heading[1])}>")
        elif picture:
            out.append(pictures[picture[1]].replace(chart.STYLE, ""))
        elif block.startswith("> "):
            out.append(f"<blockquote><p>{_inline(block[2:])}</p></blockquote>")
        elif block.startswith("|"):
            out.append(_table(lines))
        elif block.startswith("- "):
            out.append("<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>")
        else:
            alone = re.fullmatch(r"\*\*[^*]*\*\*", block)  # a paragraph that is entirely bold
            out.append(f"<p{' class=headline' if alone else ''}>{_inline(' '.join(lines))}</p>")
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)}</title>{chart.STYLE}<style>{_STYLE}</style></head><body>\n" + "\n".join(out)
            + "</details>" * is_open + "\n</body></html>\n")
