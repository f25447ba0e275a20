#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts how long a kernel boundary waits for stores to peers, for any number of GPUs, with a queueing model that is fitted
to measurements on two GPUs.

    model.py docs/measurements/h200-x2/fence_interference.json [--gpus 2 4 8 72] [--measured domains.json]

Assumptions:
  1. A GPU's stores to all peers leave through links whose total rate is C. The stores that arrive at a GPU also share a total
     rate of C.
  2. A GPU has at most W bytes of stores outstanding. Background load that saturates the link keeps all W outstanding.
  3. Stores leave in order, from one queue per domain. The flush at the end of a kernel waits until the stores in its domain's
     queue are acknowledged, which takes W divided by the queue's drain rate.
  4. In a domain without these stores, the flush waits for a fraction s of that time, because of congestion on the common path.
  5. Background load that pauses, such as occasional all-reduces, delays a flush only during its share of the time. Steady background load
     r < 1 is a queue of bursts of b bytes (M/D/1): r / (2 (1 - r)) b / C.
C, W, s and b are fitted on chains of kernels in a graph during NVLink stores. The queue of NCCL's all-reduce is fitted
separately. All measurements used for the fit are from two GPUs, so the results for more GPUs are predictions."""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'common'))
import results  # noqa: E402

PATTERNS = ('one', 'all', 'from_all', 'ring')
WORDS = {
    'one': 'one GPU stores to one other',
    'all': 'one GPU stores to all others',
    'from_all': 'all GPUs store to one',
    'ring': 'all-reduce: every GPU sends as much as it receives',
}


class Model:
    """Times are in ns, rates in bytes per ns (GB/s)."""

    def __init__(self, measured):
        try:
            self.cases = {b['name']: b for b in measured['benchmarks'] if 'p50_ns' in b}
            self.alone = self.cases['kernel_boundary.graph/none/alone']['p50_ns']
            same = self.case('graph', 'nvlink.saturating', 'same')
            self.rate = same['noise_gbps']
            self.outstanding = (same['p50_ns'] - self.alone) * self.rate
            self.rest = (self.case('graph', 'nvlink.saturating', 'separate')['p50_ns'] - self.alone) / (same['p50_ns'] - self.alone)
            paced = self.case('graph', 'nvlink.paced', 'same')
            load = paced['noise_gbps'] / self.rate
            self.burst = (paced['p50_ns'] - self.alone) * 2 * (1 - load) / load * self.rate
            ring = self.case('graph', 'nccl.saturating', 'same')
            self.ring_rate = ring['noise_gbps']
            self.ring_outstanding = (ring['p50_ns'] - self.alone) * self.ring_rate
            self.ring_rest = (self.case('graph', 'nccl.saturating', 'separate')['p50_ns'] - self.alone) / (ring['p50_ns'] - self.alone)
        except KeyError as missing:
            raise SystemExit(f'the results have no case {missing}: pass results of fence_interference on two GPUs with NCCL') from None

    def case(self, how, noise, arm):
        return self.cases[f'kernel_boundary.{how}/{noise}/{arm}']

    def drain(self, pattern, gpus):
        """Returns the rate at which a GPU's queue drains."""
        if gpus < 2:
            raise SystemExit(f'the number of GPUs is {gpus}, but must be at least 2')
        return self.ring_rate if pattern == 'ring' else self.rate / (gpus - 1) if pattern == 'from_all' else self.rate

    def wait(self, pattern, gpus, load=1.0, moved=False):
        """Returns the time by which a kernel boundary is delayed. `load` is a steady background load's share of the link's rate
        or, for all-reduces, their share of the time."""
        if not 0 <= load <= 1:
            raise SystemExit(f'the load is {load}, but must be from 0 to 1')
        drain = self.drain(pattern, gpus)
        rest = (self.ring_rest if pattern == 'ring' else self.rest) if moved else 1
        if pattern == 'ring':
            return load * self.ring_outstanding / drain * rest
        saturated = self.outstanding / drain
        return rest * (saturated if load == 1 else min(saturated, load / (2 * (1 - load)) * self.burst / drain))

    def checks(self):
        """Returns (name, predicted, measured) for cases on two GPUs that the fit did not use."""
        out = []
        paced = self.cases.get('kernel_boundary.graph/nccl.paced/same')
        if paced:
            share = paced['noise_gbps'] / self.ring_rate
            out.append(('graph during paced all-reduces', self.wait('ring', 2, share), paced['p50_ns'] - self.alone))
            moved = self.cases['kernel_boundary.graph/nccl.paced/separate']
            out.append(('the same, moved', self.wait('ring', 2, share, True), moved['p50_ns'] - self.alone))
        stream = self.cases.get('kernel_boundary.stream/none/alone')
        for noise, pattern in (('nvlink.saturating', 'one'), ('nccl.saturating', 'ring')) if stream else ():
            measured = self.case('stream', noise, 'same')['p50_ns'] - stream['p50_ns']
            out.append((f'stream during {noise}', self.wait(pattern, 2), measured))
        fence = self.cases.get('fence.device.acq_rel.shared_sm/none/alone')
        if fence:
            measured = self.cases['fence.device.acq_rel.shared_sm/nvlink.saturating/same']['p50_ns'] - fence['p50_ns']
            out.append(('device-scope fence on the multiprocessor of the background load', self.wait('one', 2), measured))
        return out


def factors(everything):
    """Returns {pattern: measured µs that a kernel of the graph waits} for the chains that run_domains.py has run."""
    out = {}
    for pattern in ('one', 'all', 'from_all'):
        summary = ((everything.get('programs') or {}).get(f'chain_graph_{pattern}') or {}).get('summary') or {}
        if summary.get('as_it_is_alone') and summary.get('as_it_is_beside'):
            out[pattern] = summary['as_it_is_beside'] - summary['as_it_is_alone']
    return out


def text(model, counts, measured=None):
    out = [
        f'Fitted on two GPUs: {model.rate:.0f} GB/s, {model.outstanding / 1e6:.2f} MB outstanding, bursts of {model.burst / 1e3:.0f} kB; {model.rest:.2f} of the wait remains in another domain. '
        f'For all-reduces: {model.ring_rate:.0f} GB/s, {model.ring_outstanding / 1e6:.2f} MB outstanding; {model.ring_rest:.2f} of the wait remains.', '', '| case on two GPUs, not used in the fit | model, µs | measured, µs | error |', '|---|---:|---:|---:|'
    ]
    for what, predicted, seen in model.checks():
        out.append(f'| {what} | {predicted / 1000:.2f} | {seen / 1000:.2f} | {(predicted / seen - 1) * 100:+.0f} % |')
    out += ['', '| boundary waits (moved), µs | ' + ' | '.join(f'{n} GPUs' for n in counts) + ' |', '|---|' + '---:|' * len(counts)]
    for pattern in PATTERNS:
        cells = [f'{model.wait(pattern, n) / 1000:.2f} ({model.wait(pattern, n, moved=True) / 1000:.2f})' for n in counts]
        out.append(f'| {WORDS[pattern]} | ' + ' | '.join(cells) + ' |')
    seen = factors(measured or {})
    if seen.get('one'):
        gpus = measured['gpus']
        out += ['', f'| on {gpus} GPUs, as a multiple of stores to one peer | model | measured |', '|---|---:|---:|']
        for pattern in ('all', 'from_all'):
            if pattern in seen:
                predicted = model.wait(pattern, gpus) / model.wait('one', gpus)
                out.append(f"| {WORDS[pattern]} | {predicted:.2f} | {seen[pattern] / seen['one']:.2f} |")
    return '\n'.join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('results', type=pathlib.Path, help='results of fence_interference on two GPUs')
    parser.add_argument('--gpus', type=int, nargs='+', default=[2, 4, 8, 72])
    parser.add_argument('--measured', type=pathlib.Path, help='results of run_domains.py for chain_graph_one, _all and _from_all')
    options = parser.parse_args()
    measured = json.loads(options.measured.read_text()) if options.measured else None
    print(text(Model(results.read(options.results, 'fence_interference')), options.gpus, measured))


if __name__ == '__main__':
    main()
