#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates the tables and the picture from the results of run_domains.py.

    page.py --page docs/membar_domains.md --machine h200-x2 --picture docs/pictures/h200-x2.domains.svg domains.json...
    page.py --keep docs/measurements/h200-x2/domains/domains.json domains.json...
    page.py --page docs/membar_domains.md --machine h100-x2 --one-command run.json

If several files contain the same program, the last file is used. The table replaces the text between the machine's marks in the page.
--keep writes one file with the results of all files, without the programs' output."""
import argparse
import pathlib
import re
import sys
import xml.sax.saxutils

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'common'))
import results  # noqa: E402

END = '<!-- its end -->'
ARMS = ('as_it_is', 'watch', 'try', 'apply')
WORDS = {
    'chain': 'chain of launches during stores to the peer',
    'chain_host': 'chain of launches during stores to the host',
    'chain_graph_host': 'chain in a graph during stores to the host',
    'chain_legacy_host': 'chain in the legacy default stream during stores to the host',
    'chain_green_host': 'chain in a green context during stores to the host',
    'decode_offload': 'decode step (graph) while a kernel moves a cache out to the host',
    'small_kernels_offload': 'graph of small kernels while a kernel moves a cache out to the host',
    'small_kernels_offload_256k': 'graph of small kernels that access 256 KiB each, while a kernel moves a cache out to the host',
    'decode_copy': 'decode step while the copy engine moves the cache out',
    'small_kernels_copy': 'small kernels while the copy engine moves the cache out',
    'chain_legacy': 'the chain in the legacy default stream',
    'chain_per_thread': 'the chain in the per-thread default stream',
    'chain_green': 'the chain in a green context',
    'chain_graph_one': 'chain in a graph during stores to one peer',
    'chain_graph_all': 'chain in a graph during stores to all peers',
    'chain_graph_from_all': 'chain in a graph while all GPUs store to one GPU',
    'decode_symm': 'decode step (graph) during two-shot all-reduces',
    'decode_nccl': "decode step (graph) during NCCL's all-reduces in NCCL's own domain",
    'decode_nccl_domain0': "decode step (graph) during NCCL's all-reduces, NCCL_MEM_SYNC_DOMAIN=0",
    'small_kernels_symm': 'graph of small kernels during two-shot all-reduces',
    'small_kernels_nccl_domain0': "graph of small kernels during NCCL's all-reduces, NCCL_MEM_SYNC_DOMAIN=0",
    'halo': 'halo exchange while interior kernels run',
    'halo_small': 'halo exchange in small parts, all in one kernel',
    'pipeline': 'pipeline that writes activations to a peer',
    'training_symm': 'training, with gradients reduced by two-shot all-reduces',
    'training_nccl': "training, with gradients reduced by NCCL's all-reduces in NCCL's own domain",
    'training_nccl_domain0': "training, with gradients reduced by NCCL's all-reduces, NCCL_MEM_SYNC_DOMAIN=0",
    'decode_large_symm': 'larger decode step (hidden 2048, 16 layers, batch 8) during two-shot all-reduces',
    'decode_batch_1_symm': 'larger decode step, batch 1, during two-shot all-reduces',
    'decode_batch_32_symm': 'larger decode step, batch 32, during two-shot all-reduces',
    'prefill_symm': 'prefill of 512 tokens during two-shot all-reduces',
    'experts': 'mixture of experts that sends tokens to a peer',
    'async_tp': "PyTorch's fused_all_gather_matmul and fused_matmul_reduce_scatter",
    'sharded_training_domain0': 'fully sharded training, NCCL_MEM_SYNC_DOMAIN=0',
    'jax_layer_domain0': 'tensor-parallel layers in JAX, NCCL_MEM_SYNC_DOMAIN=0',
}


def read(files):
    """Merges results; programs in later files replace the same programs in earlier files. Each program's
    entry keeps the date and the header hash of its run."""
    out = {}
    for file in files:
        one = results.parsed(pathlib.Path(file).read_text())
        run = {k: one.get(k) for k in ('date', 'include')}
        programs = {**out.get('programs', {}), **{name: {'run': run, **program} for name, program in one.get('programs', {}).items()}}
        out = {**out, **{k: v for k, v in one.items() if v is not None}, 'programs': programs}
    return out


def kept(everything):
    """Leaves out logs, individual streams and graphs, programs without measurements, and the times that programs measured under
    `watch` and `try`. A program's date and header hash are kept only if they differ from the file's."""
    whole = {k: everything.get(k) for k in ('date', 'include')}

    def part(key, value):
        if key == 'gain':
            return {k: v for k, v in value.items() if k != 'lanes'}
        if key.startswith((*ARMS, 'nothing')):
            told = ('seconds', 'status') if key in ('watch', 'try') else ('seconds', 'status', 'result')
            return {k: value[k] for k in told if k in value}
        return value

    programs = {}
    for name, program in everything['programs'].items():
        if (program.get('as_it_is') or {}).get('result'):
            programs[name] = {k: part(k, v) for k, v in program.items()
                              if v is not None and k != 'sentences' and (k, v) != ('run', whole)}  # sentences are in watch.txt
    return {**everything, 'programs': programs}


def interval(estimate):
    return f"{estimate['value']:.2f} [{estimate['low']:.2f}, {estimate['high']:.2f}]"


def unit_of(program):
    """Returns a function that formats the program's times, which are per kernel or per step."""
    per_kernel = program['as_it_is']['result']['program'].startswith(('chain', 'small'))
    return lambda us: '—' if us is None else f'{us:.2f}' if per_kernel else f'{us:.0f}'


def rows(everything):
    """Returns one tuple per program, the largest gain first: (name, alone, during communication, moved, gain of whole runs,
    report of `try`)."""
    out = []
    for name, program in everything['programs'].items():
        summary = program.get('summary') or {}
        result = (program.get('as_it_is') or {}).get('result') or {}
        side = {k: summary.get(f'as_it_is_{k}') or (result.get(k) or {}).get('p50') for k in ('alone', 'beside')}
        if side['alone'] is None or side['beside'] is None:
            continue
        out.append((name, side['alone'], side['beside'], summary.get('apply_beside'), summary.get('gain'), program.get('gain') or {}))
    return sorted(out, key=lambda r: -((r[5].get('gain') or {}).get('value') or r[4] or 0))


def verdict(gain):
    if not gain:
        return 'not known'
    return 'slower: do not apply' if gain['high'] < .99 else f'no clear gain: {interval(gain)}' if gain['low'] <= 1.01 else interval(gain)


def table(everything):
    out = [
        '| program | alone, µs | concurrent, µs | moved, µs | gain, whole runs | gain by `try` | control |',
        '|---|---:|---:|---:|---:|---:|---:|'
    ]
    for name, alone, beside, moved, whole, tried in rows(everything):
        one = everything['programs'][name]
        written = unit_of(one)
        gain = tried.get('gain') or {}
        told = 'nothing to move' if (one.get('watch') or {}).get('status') == 0 and 'try' not in one else verdict(gain)
        out.append(f'| {WORDS.get(name, name)} | {written(alone)} | {written(beside)} | {written(moved)} | '
                   f"{f'{whole:.2f}' if whole else '—'} | {told} | "
                   f"{interval(tried['control']) if tried.get('control') else '—'} |")
    where = f"{everything['gpus']} {everything.get('gpu') or 'GPUs'}, driver {everything.get('driver')}"
    torch = f", PyTorch {everything['torch']}" if everything.get('torch') else ''
    out.append(f'\n{where}{torch}, {everything["date"]}. Times are medians for rank 0: per kernel for chains and graphs of small kernels, and per step for the other programs. `moved` was measured with `apply`.')
    cost = everything.get('cost') or {}
    if cost.get('ratios'):
        out.append(f"With the library preloaded and no kernel listed, launches without communication took {cost['low']:.2f} to {cost['high']:.2f} times as long as without the library, in "
                   f"{len(cost['ratios'])} pairs of runs: " + ('any cost is smaller than this spread.' if cost['low'] < 1 < cost['high'] else f"the median is {cost['median']:.3f}."))
    return '\n'.join(out)


def run_table(everything):
    """Returns the table of `run`: the time of the last quarter of the steps during communication, with the library off and on, and the gain
    measured within one process."""
    out = ['| program | off, µs | `run`, µs | gain | moved by hand | gain measured by `run` | outcome |', '|---|---:|---:|---:|---:|---:|---|']
    for name, one in sorted(everything['programs'].items(), key=lambda p: -max(p[1]['gains'])):
        turns = [[one[f'{how}_{turn}']['result']['beside_late'] for how in ('off', 'run')] for turn in range(len(one['gains']))]
        digits = 2 if name.startswith('small') else 0
        process = (one.get('processes') or [{'outcome': 'not decided', 'reason': '', 'measured': None}])[0]
        measured = (process['measured'] or {}).get('gain')
        outcome = process['outcome'] + ('' if process['measured'] else ': ' + re.split(r'[.:] |, so ', process['reason'])[0].rstrip('.'))
        for (off, run), gain in zip(turns, one['gains']):
            shown = [f"{t['p50']:.{digits}f} [{t['low']:.{digits}f}, {t['high']:.{digits}f}]" for t in (off, run)]
            hand = f"{one['gain_by_hand']:.2f}" if one.get('gain_by_hand') else '—'
            out.append(f"| {WORDS.get(name, name)} | {' | '.join(shown)} | {gain:.3f} | {hand} | {interval(measured) if measured else '—'} | {outcome} |")
    equal = [one.get('outputs_equal') for one in everything['programs'].values()]
    out.append(f"\n{everything['gpus']} {everything['gpu']}, driver {everything['driver']}, PyTorch {everything['torch']}, {everything['date']}. Times are medians of the "
               'last quarter of the steps, with a 95 % interval that assumes independent steps; times vary more between processes. '
               f'The outputs with the library off, with `run`, and with kernels moved by hand were equal in {equal.count(True)} programs and differed in {equal.count(False)}. '
               f'They were not compared in {equal.count(None)} programs, whose output depends on the number of steps.')
    return '\n'.join(out)


def picture(everything):
    """Draws each program's times as bars, in multiples of its time without communication."""
    shown = [r for r in rows(everything) if r[3] is not None]
    if not shown:
        raise SystemExit('the results have no program that ran under apply, so there is nothing to draw: run run_domains.py first')
    most = max(beside / alone for _, alone, beside, *_ in shown)
    left, width, line = 20, 700, 62

    def bar(kind, at, times, what):
        wide = times / most * width
        return (f'<rect class="{kind}" x="{left}" y="{at}" width="{wide:.1f}" height="14"/>'
                f'<text x="{left + wide + 6:.1f}" y="{at + 12}">{xml.sax.saxutils.escape(what)}</text>\n')

    body = ''
    at = 50
    for name, alone, beside, moved, whole, _ in shown:
        written = unit_of(everything['programs'][name])
        body += f'<text x="{left}" y="{at}" font-weight="bold">{xml.sax.saxutils.escape(WORDS.get(name, name))}</text>\n'
        body += bar('beside', at + 7, beside / alone, f'{written(beside)} µs, {beside / alone:.2f} times as long as alone')
        body += bar('moved', at + 23, moved / alone, f'{written(moved)} µs moved: {beside / moved:.2f} times as fast')
        at += line
    x = left + width / most
    body += f'<line x1="{x:.1f}" y1="34" x2="{x:.1f}" y2="{at - 20}"/><text x="{x:.1f}" y="{at - 4}" text-anchor="middle">alone</text>\n'
    best = max(shown, key=lambda r: r[2] / r[3])
    title = f'Kernels during communication, and with the communication in another domain: up to {best[2] / best[3]:.1f} times as fast'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {at + 8}" font-family="sans-serif" font-size="12">\n'
            '<style>text{fill:#222}line{stroke:#888;stroke-dasharray:4 3}.beside{fill:#c62828}.moved{fill:#3b78c2}.page{fill:#fff}'
            '@media (prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#161616}.beside{fill:#ff6b6b}.moved{fill:#6ba3e8}}</style>\n'
            f'<rect class="page" width="100%" height="100%"/>\n<text x="{left}" y="20" font-size="15">{title}</text>\n{body}</svg>\n')


def replaced(page, machine, text):
    begin = f'<!-- what bench/domains/page.py writes of {machine} -->'
    if page.count(begin) != 1 or END not in page[page.index(begin):]:
        raise SystemExit(f'the page must have the line {begin} once and the line {END} after it: add them where the table should go')
    at = page.index(begin) + len(begin)
    return page[:at] + '\n' + text + '\n' + page[page.index(END, at):]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--page', type=pathlib.Path)
    parser.add_argument('--machine', default='h200-x2', help='the machine whose table to replace')
    parser.add_argument('--picture', type=pathlib.Path)
    parser.add_argument('--keep', type=pathlib.Path)
    parser.add_argument('--one-command', action='store_true', help='the files are results of run_domains.py --one-command')
    parser.add_argument('files', nargs='+')
    options = parser.parse_args()
    if options.one_command:
        of_run = run_table(read(options.files))
        options.page.write_text(replaced(options.page.read_text(), f'run on {options.machine}', of_run)) if options.page else print(of_run)
        return
    everything = kept(read(options.files))
    if options.keep:
        options.keep.write_text(results.text_of(everything))
    if options.page:
        options.page.write_text(replaced(options.page.read_text(), options.machine, table(everything)))
    if options.picture:
        options.picture.write_text(picture(everything))
    if not (options.keep or options.page or options.picture):
        print(table(everything))


if __name__ == '__main__':
    main()
