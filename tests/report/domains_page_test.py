#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests bench/domains/page.py and model.py with fake results."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'bench/domains'))
import model  # noqa: E402
import page  # noqa: E402


def program(alone, beside, moved=None, gain=None, **more):
    def result(b):
        return {'status': 0, 'seconds': 1, 'said': ['much'], 'result': {'program': 'decode/symm64', 'alone': {'p50': alone}, 'beside': {'p50': b}}}

    out = {'as_it_is': result(beside), 'summary': {'as_it_is_alone': alone, 'as_it_is_beside': beside}, **more}
    if moved:
        out['apply_0'] = result(moved)
        out['summary'].update(apply_beside=moved, gain=beside / moved)
    if gain:
        low, value, high = gain
        out['gain'] = {'gain': {'value': value, 'low': low, 'high': high}, 'control': {'value': 1, 'low': .99, 'high': 1.01}}
    return out


def everything(**programs):
    return {'gpus': 2, 'gpu': 'Fake', 'driver': '1', 'date': '2026-01-01', 'programs': programs}


class Page(unittest.TestCase):
    def test_a_row_has_times_and_gains(self):
        text = page.table(everything(decode_symm=program(511, 735, 582, (1.23, 1.24, 1.25))))
        self.assertIn('| 511 | 735 | 582 | 1.26 | 1.24 [1.23, 1.25] | 1.00 [0.99, 1.01] |', text)

    def test_a_program_says_which_run_it_is_of(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, name in enumerate(('chain', 'halo')):
                files.append(pathlib.Path(folder, f'{number}.json'))
                files[-1].write_text(json.dumps({**everything(**{name: program(1, 2, 1, (1, 2, 3))}), 'include': f'headers {number}'}))
            told = page.read(files)['programs']
        self.assertEqual({'chain': 'headers 0', 'halo': 'headers 1'}, {name: one['run']['include'] for name, one in told.items()})

    def test_a_program_that_gains_nothing_stays_and_says_so(self):
        text = page.table(everything(halo=program(100, 110, 109, (.99, 1.0, 1.02)), pipeline=program(100, 90, 99, (.9, .91, .92))))
        self.assertIn('| no clear gain: 1.00 [0.99, 1.02] |', text)
        self.assertIn('| slower: do not apply |', text)

    def test_what_was_not_measured_is_left_out_or_a_dash(self):
        text = page.table(everything(decode_symm=program(511, 735), halo={'as_it_is': {'left_out': 'the time was up'}}))
        self.assertIn('| 511 | 735 | — | — | not known | — |', text)
        self.assertNotIn('halo', text)

    def test_nothing_is_to_move_where_watch_ran_to_its_end_and_predicted_nothing(self):
        for status, told in ((0, 'nothing to move'), (139, 'not known'), ('not over after 60 s', 'not known')):
            self.assertIn(f'| {told} |', page.table(everything(decode_nccl=program(511, 735, watch={'status': status}))))

    def test_a_later_file_replaces_programs_and_keeps_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / n for n in ('a', 'b')]
            files[0].write_text(json.dumps(everything(halo=program(1, 2), pipeline=program(1, 2))))
            files[1].write_text(json.dumps(everything(halo=program(1, 3))))
            programs = page.kept(page.read(files))['programs']
        self.assertEqual(programs['halo']['summary']['as_it_is_beside'], 3)
        self.assertEqual(set(programs), {'halo', 'pipeline'})
        self.assertNotIn('said', programs['halo']['as_it_is'])

    def test_the_picture_is_xml_and_names_the_best(self):
        svg = page.picture(everything(decode_symm=program(500, 750, 600), halo=program(100, 300, 100)))
        xml.dom.minidom.parseString(svg)
        self.assertIn('up to 3.0 times as fast', svg)

    def test_the_table_goes_between_the_marks_and_nowhere_else(self):
        one, other = (f'<!-- what bench/domains/page.py writes of {machine} -->\nold\n{page.END}\n' for machine in ('one', 'other'))
        self.assertEqual(page.replaced(f'a\n{one}b\n{other}c', 'other', 'new'), f'a\n{one}b\n' + other.replace('old', 'new') + 'c')
        with self.assertRaises(SystemExit):
            page.replaced(one, 'other', 'new')

    def test_the_page_shows_what_is_recorded(self):
        for machine in ('h100-x2', 'h200-x2'):
            recorded = page.kept(page.read([ROOT / f'docs/measurements/{machine}/domains/domains.json']))
            self.assertIn(page.table(recorded), (ROOT / 'docs/membar_domains.md').read_text())
            of_run = page.read([ROOT / f'docs/measurements/{machine}/domains/run.json'])
            self.assertIn(page.run_table(of_run), (ROOT / 'docs/membar_domains.md').read_text())


def interference(**changed):
    times = {'graph/none/alone': (1000, None), 'graph/nvlink.saturating/same': (11000, 400), 'graph/nvlink.saturating/separate': (5000, 400),
             'graph/nvlink.paced/same': (1100, 200), 'graph/nccl.saturating/same': (3000, 300), 'graph/nccl.saturating/separate': (2000, 300),
             'graph/nccl.paced/same': (1200, 30), 'graph/nccl.paced/separate': (1100, 30), **changed}
    return {'benchmarks': [{'name': f'kernel_boundary.{n}', 'p50_ns': t, 'noise_gbps': r} for n, (t, r) in times.items() if t]}


class Launch(unittest.TestCase):
    def launched(self, body):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / 'program.py'
            program.write_text('import os, signal, sys, time\nrank = int(os.environ["RANK"])\n' + body)
            launch = ROOT / 'bench/domains/programs/launch.py'
            return subprocess.run([sys.executable, str(launch), '3', '29876', str(program), 'word'], capture_output=True, text=True)

    def test_every_process_knows_its_rank_and_its_words(self):
        ran = self.launched('sys.stdout.write(f"{rank} {os.environ[\'WORLD_SIZE\']} {sys.argv[1]}\\n")')
        self.assertEqual(sorted(ran.stdout.split('\n')), ['', '0 3 word', '1 3 word', '2 3 word'])
        self.assertEqual(ran.returncode, 0)

    def test_a_process_that_fails_ends_the_others_and_gives_its_status(self):
        self.assertEqual(self.launched('sys.exit(7) if rank == 1 else time.sleep(600)').returncode, 7)

    def test_a_process_that_a_signal_ended_gives_128_and_the_signal(self):
        self.assertEqual(self.launched('os.kill(os.getpid(), signal.SIGKILL) if rank == 2 else time.sleep(600)').returncode, 137)


class Growth(unittest.TestCase):
    def test_the_fit_gives_back_what_it_was_fitted_on(self):
        m = model.Model(interference())
        self.assertAlmostEqual(m.outstanding, 4e6)
        self.assertAlmostEqual(m.wait('one', 2), 10000)
        self.assertAlmostEqual(m.wait('one', 2, moved=True), 4000)
        self.assertAlmostEqual(m.wait('one', 2, load=.5), 100)
        self.assertAlmostEqual(m.wait('ring', 2), 2000)

    def test_only_stores_of_all_to_one_wait_longer_with_more_gpus(self):
        m = model.Model(interference())
        for gpus in (4, 8, 72):
            self.assertAlmostEqual(m.wait('from_all', gpus), 10000 * (gpus - 1))
            for pattern in ('one', 'all', 'ring'):
                self.assertAlmostEqual(m.wait(pattern, gpus), m.wait(pattern, 2))

    def test_a_wait_grows_with_the_load_and_not_beyond_saturation(self):
        m = model.Model(interference())
        waits = [m.wait('one', 2, load=r / 100) for r in range(101)]
        self.assertEqual(waits, sorted(waits))
        self.assertEqual(waits[0], 0)
        self.assertLessEqual(max(waits), 10000)

    def test_what_is_not_fitted_is_compared(self):
        self.assertIn(('graph during paced all-reduces', 200, 200), [(w, round(p), round(s)) for w, p, s in model.Model(interference()).checks()])

    def test_four_gpus_are_compared_with_the_model(self):
        four = everything(chain_graph_one=program(1, 5), chain_graph_from_all=program(1, 11))
        text = model.text(model.Model(interference()), [4], {**four, 'gpus': 4})
        self.assertIn('| all GPUs store to one | 3.00 | 2.50 |', text)

    def test_results_that_lack_a_case_and_bad_numbers_are_refused_in_a_sentence(self):
        with self.assertRaisesRegex(SystemExit, "no case 'kernel_boundary.graph/nvlink.paced/same'"):
            model.Model(interference(**{'graph/nvlink.paced/same': (None, None)}))
        with self.assertRaisesRegex(SystemExit, 'the number of GPUs is 1'):
            model.Model(interference()).wait('one', 1)
        with self.assertRaisesRegex(SystemExit, 'the load is 2'):
            model.Model(interference()).wait('one', 2, load=2)


if __name__ == '__main__':
    unittest.main()
