#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs in programs/ unchanged and under membar-domains watch, try and apply, and writes the results.

    python3 bench/domains/run_domains.py --command build/bin/membar-domains --chain build/.../domains_chain --gpus 2 --output domains

This command writes domains/domains.json, and a folder for each program with the reports of membar-domains and the logs. Each
program runs unchanged and under watch, try and apply; --turns repeats the unchanged run and the run under apply. --cost N measures the cost
of the library itself: it alternates N runs of the unchanged chain with N runs under a list that matches no kernel. --step-cost
N does the same with a decode step on one GPU, and writes step_cost.json. --one-command S instead runs each program for S
seconds under `membar-domains run`, with the library off, and with the communicating kernels moved by hand; it writes run.json.
page.py makes a table and a picture from domains.json."""
import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent / 'programs'
sys.path.insert(0, str(HERE.parents[1] / 'common'))
import results  # noqa: E402

# NVLink multicast is off; to use it with NCCL, set NCCL's variables in the environment.
MULTICAST_OFF = {'TORCH_SYMM_MEM_DISABLE_MULTICAST': '1', 'NCCL_NVLS_ENABLE': '0', 'NVSHMEM_DISABLE_NVLS': '1'}


def python_program(*words, **variables):
    return ('torch', words, variables)


def one_process(*words, **variables):
    return ('python', words, variables)


# The most informative programs run first. Programs that are not reached within --seconds are left out, and the results list
# them.
PROGRAMS = {
    'chain': ('chain', (), {}),
    'chain_host': ('chain', ('created', 'host'), {}),
    'chain_graph_host': ('chain', ('graph', 'host'), {}),
    'chain_legacy_host': ('chain', ('legacy', 'host'), {}),
    'chain_green_host': ('chain', ('green', 'host'), {}),
    'decode_offload': one_process('decode.py', 'offload'),
    'small_kernels_offload': one_process('small_kernels.py', 'offload'),
    'small_kernels_offload_256k': one_process('small_kernels.py', 'offload', '65536'),
    'decode_copy': one_process('decode.py', 'copy'),
    'small_kernels_copy': one_process('small_kernels.py', 'copy'),
    'chain_legacy': ('chain', ('legacy',), {}),
    'chain_per_thread': ('chain', ('per_thread',), {}),
    'chain_green': ('chain', ('green',), {}),
    'chain_graph_one': ('chain', ('graph', 'one'), {}),
    'chain_graph_all': ('chain', ('graph', 'all'), {}),
    'chain_graph_from_all': ('chain', ('graph', 'from_all'), {}),
    'decode_symm': python_program('decode.py', 'symm'),
    'small_kernels_symm': python_program('small_kernels.py', 'symm'),
    'decode_nccl_domain0': python_program('decode.py', 'nccl', NCCL_MEM_SYNC_DOMAIN='0'),
    'halo': python_program('halo.py'),
    'halo_small': python_program('halo.py', 'small'),
    'pipeline': python_program('pipeline.py'),
    'small_kernels_nccl_domain0': python_program('small_kernels.py', 'nccl', NCCL_MEM_SYNC_DOMAIN='0'),
    'training_symm': python_program('training.py', 'symm'),
    'training_nccl_domain0': python_program('training.py', 'nccl', NCCL_MEM_SYNC_DOMAIN='0'),
    'decode_nccl': python_program('decode.py', 'nccl'),
    'training_nccl': python_program('training.py', 'nccl'),
    'decode_large_symm': python_program('decode.py', 'symm', '64', 'large'),
    'decode_batch_1_symm': python_program('decode.py', 'symm', '64', 'batch_1'),
    'decode_batch_32_symm': python_program('decode.py', 'symm', '64', 'batch_32'),
    'prefill_symm': python_program('decode.py', 'symm', '64', 'prefill'),
    'experts': python_program('experts.py'),
    'async_tp': python_program('async_tp.py'),
    'sharded_training_domain0': python_program('sharded_training.py', NCCL_MEM_SYNC_DOMAIN='0'),
    'jax_layer_domain0': one_process('jax_layer.py', NCCL_MEM_SYNC_DOMAIN='0'),
}

# The kernels that are moved by hand, for comparison with `run`.
BY_HAND = {
    **dict.fromkeys(('decode_symm', 'decode_large_symm', 'decode_batch_1_symm', 'decode_batch_32_symm', 'prefill_symm'), '^two_shot_all_reduce'),
    'small_kernels_symm': '^two_shot_all_reduce',
    'decode_nccl_domain0': '^ncclDevKernel',
    'small_kernels_nccl_domain0': '^ncclDevKernel',
    'sharded_training_domain0': '^ncclDevKernel',
    'jax_layer_domain0': '^ncclDevKernel'
}


class Bench:

    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.seconds
        self.port = 29600

    def words_of(self, kind, words):
        if kind == 'chain':
            return [self.options.chain, *words]
        if kind == 'python':
            return [sys.executable, str(HERE / words[0]), *words[1:]]
        self.port += 1
        start = ['-m', 'torch.distributed.run', '--nproc-per-node', str(self.options.gpus), '--master-port', str(self.port)]
        if not self.options.torchrun:
            start = [str(HERE / 'launch.py'), str(self.options.gpus), str(self.port)]
        return [sys.executable, *start, str(HERE / words[0]), *words[1:]]

    def run(self, name, arm, command, variables):
        """Returns the program's RESULT, its exit status and the time that it took."""
        folder = self.options.output / name
        folder.mkdir(parents=True, exist_ok=True)
        left = self.end - time.monotonic()
        if left < 5:
            return {'left_out': 'the time was up'}
        begin = time.monotonic()
        # The program runs in its own session, so that all its processes can be ended if it exceeds its time limit.
        with open(folder / f'{arm}.log', 'w') as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **MULTICAST_OFF, **variables},
                                       start_new_session=True)
            try:
                status = process.wait(min(left, self.options.limit))
            except subprocess.TimeoutExpired:
                # torch.distributed.run puts its workers into other sessions, and ends them when it receives SIGTERM.
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                status = 'the time was up' if left < self.options.limit else f'not finished after {self.options.limit:.0f} s'
        out = {'status': status, 'seconds': round(time.monotonic() - begin, 1)}
        text = (folder / f'{arm}.log').read_text(errors='replace')
        for line in text.splitlines():
            if line.startswith('RESULT '):
                out['result'] = json.loads(line[7:])
        out['said'] = [line for line in text.splitlines() if line.startswith('membar-domains: ')][:12]
        return out

    def measure(self, name):
        kind, words, variables = PROGRAMS[name]
        folder = self.options.output / name
        domains = str(self.options.command)
        out = {'variables': variables}

        def arm(label, *prefix):
            out[label] = self.run(name, label, [*prefix, *self.words_of(kind, words)], variables)
            print(f'{name} {label}: {json.dumps(out[label])[:400]}', flush=True)

        folder.mkdir(parents=True, exist_ok=True)
        found = folder / 'list.txt'
        arm('as_it_is')
        arm('watch', domains, 'watch', f'--output={folder}', '--')
        if not found.exists():
            return out
        listed = any(line.strip() and not line.startswith('#') for line in found.read_text().splitlines())
        out['sentences'] = [line for line in (folder / 'watch.txt').read_text().splitlines() if 'boundaries' in line or 'nothing to move' in line]
        if not listed:
            return out
        arm('try', domains, 'try', '--force', f'--list={found}', f'--output={folder}', '--runs=1', '--')
        if (folder / 'try.json').exists():
            out['gain'] = json.loads((folder / 'try.json').read_text())
        for turn in range(self.options.turns):
            if turn > 0:
                arm(f'as_it_is_{turn}')
            arm(f'apply_{turn}', domains, 'apply', '--force', f'--list={found}', '--')
        out['summary'] = self.summary(out)
        return out

    def one_command(self, name):
        """Measures the last quarter of a program's steps under `run`, with the library off, and with kernels moved by hand."""
        kind, words, variables = PROGRAMS[name]
        folder = self.options.output / name
        domains = str(self.options.command)
        out = {'variables': variables}
        long = {**variables, 'ARMS_SECONDS': str(self.options.one_command)}

        def arm(label, variables, *prefix):
            out[label] = self.run(name, label, [*prefix, *self.words_of(kind, words)], variables)
            print(f'{name} {label}: {json.dumps(out[label])[:600]}', flush=True)

        def late(label):
            return (out.get(label, {}).get('result') or {}).get('beside_late', {}).get('p50')

        run = (domains, 'run', f'--seconds={self.options.watch_seconds}', f'--output={folder}', '--')
        for turn in range(self.options.turns):
            arm(f'off_{turn}', {**long, 'MEMBAR_DOMAINS_OFF': '1'}, *run)
            arm(f'run_{turn}', long, *run)
        if (folder / 'run.json').exists():
            out['processes'] = [{k: v for k, v in process.items() if k != 'pid'} for process in json.loads((folder / 'run.json').read_text())['processes']]
            for process in out['processes']:
                (process['measured'] or {}).pop('lanes', None)
        if kernels := BY_HAND.get(name):
            arm('apply', variables, domains, 'apply', '--force', f'--remote={kernels}', '--')
            out['gain_by_hand'] = round(late('off_0') / late('apply'), 4) if late('off_0') and late('apply') else None
        pairs = [(late(f'off_{turn}'), late(f'run_{turn}')) for turn in range(self.options.turns)]
        out['gains'] = [round(off / run, 4) for off, run in pairs if off and run]
        outputs = [(one.get('result') or {}).get('output') for one in out.values() if isinstance(one, dict) and 'result' in one]
        out['outputs_equal'] = None if None in outputs else len(set(outputs)) == 1
        return out

    @staticmethod
    def summary(out):
        """Returns the medians over the runs of each variant."""

        def p50(label, side):
            values = [r['result'][side]['p50'] for n, r in out.items() if n.startswith(label) and isinstance(r, dict) and (r.get('result') or {}).get(side)]
            return statistics.median(values) if values else None

        sides = {f'{label}_{side}': p50(label, side) for label in ('as_it_is', 'apply') for side in ('alone', 'beside')}

        def ratio(a, b):
            return round(sides[a] / sides[b], 4) if sides[a] and sides[b] else None

        return {
            **sides, 'gain': ratio('as_it_is_beside', 'apply_beside'),
            'apply_costs_alone': ratio('apply_alone', 'as_it_is_alone')
        }

    def list_of_nothing(self):
        nothing = self.options.output / 'nothing.txt'
        nothing.write_text('remote ^no kernel has this name$\n')
        return nothing

    def with_and_without(self, folder, words, pairs):
        """Yields the results of pairs of processes: one without the library, and one with the library and a list that matches
        no kernel. The order alternates."""
        applied = [str(self.options.command), 'apply', '--force', f'--list={self.list_of_nothing()}', '--']
        for pair in range(pairs):
            ran = {}
            for how in ('without', 'with') if pair % 2 == 0 else ('with', 'without'):
                ran[how] = self.run(folder, f'{how}_{pair}', [*(applied if how == 'with' else []), *words], {}).get('result')
            if all(ran.values()):
                yield ran

    def cost(self, pairs):
        """Measures the library's cost for a program if no kernel is listed, as the time per launch without
        communication."""
        runs = self.with_and_without('cost', self.words_of('chain', () if self.options.gpus > 1 else ('created', 'host')), pairs)
        ratios = [round(ran['with']['alone']['p50'] / ran['without']['alone']['p50'], 4) for ran in runs]
        out = {'of': 'the time of a launch alone, with the library and without', 'ratios': ratios}
        if ratios:
            out.update(median=statistics.median(ratios), low=min(ratios), high=max(ratios))
        print(f'cost: {json.dumps(out)}', flush=True)
        return out

    def step_cost(self, pairs):
        """Measures the library's cost for a decode step on one GPU if no kernel is listed, both for a step captured in a graph
        and for kernels launched one by one."""
        runs = [{step: {how: ran[how][step]['p50'] for how in ('without', 'with')} for step in ('graph', 'eager')}
                for ran in self.with_and_without('step_cost', self.words_of('python', ('decode.py', 'alone')), pairs)]
        out = {'of': 'p50 of a decode step in us, without the library and with it, in pairs of processes', 'pairs': runs}
        chance = random.Random(1)
        for step in ('graph', 'eager') if runs else ():
            ratios = [r[step]['with'] / r[step]['without'] for r in runs]
            drawn = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(4000))
            out[step] = {'ratio': round(statistics.median(ratios), 4), 'low': round(drawn[100], 4), 'high': round(drawn[3899], 4)}
        print(f'step cost: {json.dumps(out)}', flush=True)
        return out

    def profilers(self):
        """Records the events that torch.profiler reports for a program under each action, and runs the program under nsys if
        nsys is installed."""
        domains = str(self.options.command)
        nothing = self.list_of_nothing()
        program = [sys.executable, str(HERE / 'profiled.py')]
        actions = {
            'as_it_is': [],
            'watch': [domains, 'watch', f"--output={self.options.output / 'profilers'}", '--'],
            'try': [domains, 'try', '--force', f'--list={nothing}', '--runs=1', f"--output={self.options.output / 'profilers'}", '--'],
            'apply': [domains, 'apply', '--force', f'--list={nothing}', '--']
        }
        out = {how: self.run('profilers', how, [*prefix, *program], {}) for how, prefix in actions.items()}
        if nsys := shutil.which('nsys'):
            profile = [nsys, 'profile', '--force-overwrite=true', '-t', 'cuda', '-o', str(self.options.output / 'profilers' / 'nsys')]
            for how in ('watch', 'apply'):
                out[f'nsys_{how}'] = self.run('profilers', f'nsys_{how}', [*profile, *actions[how], *self.words_of('chain', ())], {})
        print(f'profilers: {json.dumps(out)}', flush=True)
        return out

    def injection(self):
        """Records whether the driver loads the library that CUDA_INJECTION64_PATH names, as a path and as a bare name."""
        library = self.options.command.parent / 'libmembar_domains.so'
        out = {}
        for how, value in (('path', str(library)), ('bare_name', library.name)):
            folder = self.options.output / f'injection_{how}'
            folder.mkdir(parents=True, exist_ok=True)
            variables = {'CUDA_INJECTION64_PATH': value, 'MEMBAR_DOMAINS_JOB': 'watch', 'MEMBAR_DOMAINS_FOLDER': str(folder)}
            out[how] = self.run(f'injection_{how}', 'run', self.words_of('chain', ()), variables)
            out[how]['loaded'] = any(folder.glob('*.state'))
            out[how]['recorded_bytes'] = sum(f.stat().st_size for f in folder.glob('*.records'))
            for f in folder.glob('*.records'):
                f.unlink()
        print(f'injection: {json.dumps(out)}', flush=True)
        return out


def context(options):
    """Returns the machine, the command line and the versions."""

    def said(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return None

    gpus = (said('nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader') or '').splitlines()
    return {
        'date': datetime.date.today().isoformat(),
        'gpu': gpus[0].split(', ')[0] if gpus else None,
        'driver': gpus[0].split(', ')[1] if gpus else None,
        'gpus': options.gpus,
        'torch': said(sys.executable, '-c', 'import importlib.metadata as m; print(m.version("torch"))'),
        'include': options.include_hash or said('git', 'rev-parse', 'HEAD:include'),
        'tools': said('git', 'rev-parse', 'HEAD:tools'),
        'command': 'run_domains.py ' + ' '.join(w for w in sys.argv[1:] if '/' not in w and w not in ('--command', '--chain', '--output'))
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--command', type=pathlib.Path, required=True, help='the path of membar-domains')
    parser.add_argument('--chain', required=True, help='the path of the program domains_chain')
    parser.add_argument('--gpus', type=int, default=2)
    parser.add_argument('--output', type=pathlib.Path, default=pathlib.Path('domains'))
    parser.add_argument('--seconds', type=float, default=3600, help='time for all programs; programs not reached within it are left out')
    parser.add_argument('--limit', type=float, default=120, help='the maximum number of seconds for one run')
    parser.add_argument('--turns', type=int, default=1, help='the number of runs of each program, unchanged and under apply')
    parser.add_argument('--cost', type=int, default=0, help='pairs of runs to measure the cost of the library')
    parser.add_argument('--step-cost', type=int, default=0, help='measure only the cost for a decode step on one GPU, in this many pairs of runs')
    parser.add_argument('--one-command', type=float, default=0, metavar='SECONDS', help='measure only `run`, on programs that last this long')
    parser.add_argument('--watch-seconds', type=int, default=3, help='with --one-command: seconds for which `run` watches')
    parser.add_argument('--profilers', action='store_true', help='record what torch.profiler and nsys see under each action')
    parser.add_argument('--injection', action='store_true', help='record whether CUDA_INJECTION64_PATH loads the library')
    parser.add_argument('--torchrun', action='store_true', help='start programs with torch.distributed.run, which takes some seconds longer')
    parser.add_argument('--include-hash', help="the hash of the folder include (git rev-parse HEAD:include), if git is not available")
    parser.add_argument('--only', nargs='*', choices=list(PROGRAMS), help='run only these programs')
    options = parser.parse_args()
    options.command = options.command.resolve()
    options.output = options.output.resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    if options.step_cost:
        out = {**context(options), **bench.step_cost(options.step_cost)}
        (options.output / 'step_cost.json').write_text(results.text_of({**out, 'gpus': 1}))
        return
    everything = {**context(options), 'programs': {}}
    measure, file = (bench.one_command, 'run.json') if options.one_command else (bench.measure, 'domains.json')
    for name in PROGRAMS if options.only is None else options.only:
        everything['programs'][name] = measure(name)
        (options.output / file).write_text(results.text_of(everything))
    if options.one_command:
        return
    if options.injection:
        everything['injection'] = bench.injection()
    if options.profilers:
        everything['profilers'] = bench.profilers()
    if options.cost:
        everything['cost'] = bench.cost(options.cost)
    (options.output / 'domains.json').write_text(results.text_of(everything))
    for name, program in everything['programs'].items():
        print(name, json.dumps(program.get('summary')), json.dumps((program.get('gain') or {}).get('gain')))


if __name__ == '__main__':
    main()
