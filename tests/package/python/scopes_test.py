#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the scopes in the Python package with a fake driver. Start this script with LD_LIBRARY_PATH set to the folder of the fake
libcuda.so.1."""

import sys
import threading
import types
import unittest

import membar
from membar import _driver

MIB = 1 << 20
UNTOUCHED = "domain 0, map 0 0, window 0 + 0 at 0.000 hit 0 miss 0, set aside 5 5, retained 0, contexts 1"


class Array:
    """An array in the first device's memory or, with another `start`, in the second device's."""

    def __init__(self, shape, itemsize=4, start=0x10000, strides=None):
        self.__cuda_array_interface__ = {"data": (start, False), "shape": shape, "typestr": f"<f{itemsize}", "strides": strides, "version": 3}


class Scopes(unittest.TestCase):
    def setUp(self):
        self.stub = _driver.library()
        self.stub.stub_state.restype = _driver.ctypes.c_char_p

    def state(self, stream=1000):
        return self.stub.stub_state(stream).decode()

    def tearDown(self):
        for device in (0, 1):
            self.stub.stub_device(device, 4, 30 * MIB)
        self.stub.stub_fail(-1)
        self.assertEqual(self.state(), UNTOUCHED)

    def test_remote_is_set_for_the_block_and_put_back(self):
        with membar.sync_domain(1000, remote=True):
            self.assertIn("domain 1, map 0 0", self.state())
            with membar.sync_domain(1000, remote=False):
                self.assertIn("domain 0", self.state())
            self.assertIn("domain 1", self.state())

    def test_map_and_domain_are_set_together(self):
        with membar.sync_domain(1000, remote=True, map=(2, 3)):
            self.assertIn("domain 1, map 2 3", self.state())

    def test_an_exception_puts_back(self):
        with self.assertRaises(KeyError), membar.sync_domain(1000, remote=True, map=(0, 3)):
            raise KeyError

    def test_another_stream_is_not_touched(self):
        with membar.sync_domain(1001, remote=True):
            self.assertIn("domain 0", self.state(1000))

    def test_streams_of_each_library_are_known(self):
        protocol = types.SimpleNamespace(__cuda_stream__=lambda: (0, 1000))
        for stream in (types.SimpleNamespace(cuda_stream=1000), types.SimpleNamespace(ptr=1000), protocol):
            with membar.sync_domain(stream, remote=True):
                self.assertIn("domain 1", self.state())

    def test_what_is_no_stream_is_refused(self):
        for stream in (None, "stream", True):
            with self.assertRaisesRegex(TypeError, "is not a stream: pass"), membar.sync_domain(stream, remote=True):
                pass

    def test_a_map_beyond_the_devices_domains_is_refused(self):
        self.stub.stub_device(1, 1, 0)
        with self.assertRaisesRegex(ValueError, "domain 4, but the device has 4 synchronization domains: use ids from 0 to 3"):
            with membar.sync_domain(1000, map=(0, 4)):
                pass
        with self.assertRaisesRegex(ValueError, "domain 1, but the device has 1 synchronization domain: use ids from 0 to 0"):
            with membar.sync_domain(2000, map=(0, 1)):
                pass

    def test_a_default_stream_is_of_the_current_device(self):
        self.stub.stub_device(0, 1, 0)
        with self.assertRaisesRegex(ValueError, "has 1 synchronization domain"), membar.sync_domain(0, map=(0, 1)):
            pass

    def test_a_scope_that_changes_nothing_is_refused(self):
        for arguments in ({}, {"remote": 1}, {"map": (0,)}, {"map": (0, True)}):
            with self.assertRaises(TypeError), membar.sync_domain(1000, **arguments):
                pass

    def test_a_failed_set_puts_back_what_was_set_before(self):
        self.stub.stub_fail(_driver.ATTRIBUTE_MEM_SYNC_DOMAIN)
        with self.assertRaisesRegex(membar.Error, r"cuStreamSetAttribute failed: made-up error \(CUresult 1\): pass an existing stream") as seen:
            with membar.sync_domain(1000, remote=True, map=(1, 1)):
                self.fail("the block must not run")
        self.assertEqual(seen.exception.code, 1)

    def test_an_array_persists_for_the_block(self):
        with membar.persisting(Array((MIB,)), stream=1000):
            self.assertIn(f"window 0x10000 + {4 * MIB} at 1.000 hit 2 miss 1, set aside {4 * MIB} 5", self.state())

    def test_more_than_the_set_aside_persists_in_part(self):
        with membar.persisting(Array((10 * MIB,)), stream=1000):
            self.assertIn(f"window 0x10000 + {40 * MIB} at 0.750 hit 2 miss 1, set aside {30 * MIB} 5", self.state())
        with membar.persisting(Array((MIB,)), stream=1000, hit_ratio=0.25):
            self.assertIn(f"+ {4 * MIB} at 0.250 hit 2 miss 1, set aside {MIB} 5", self.state())

    def test_set_asides_add_up_and_the_last_puts_back(self):
        with membar.persisting(Array((5 * MIB,)), stream=1000):
            with membar.persisting(Array((MIB,), start=0x8000000), stream=1001):
                self.assertIn(f"set aside {24 * MIB} 5", self.state())
            self.assertIn(f"set aside {20 * MIB} 5", self.state())
            with membar.persisting(Array((5 * MIB,), start=0x8000000), stream=1001):
                self.assertIn(f"set aside {30 * MIB} 5", self.state())

    def test_the_arrays_device_is_the_one_that_sets_aside(self):
        with membar.persisting(Array((MIB,), start=0x100000000), stream=2000):
            self.assertIn(f"set aside 5 {4 * MIB}", self.state())

    def test_threads_share_the_account(self):
        together = threading.Barrier(2)
        seen = []

        def hold(stream):
            with membar.persisting(Array((MIB,), start=stream * 0x10000), stream=stream):
                together.wait(30)
                seen.append(self.state())
                together.wait(30)

        threads = [threading.Thread(target=hold, args=(stream,)) for stream in (1001, 1002)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual([f"set aside {8 * MIB} 5" in each for each in seen], [True, True])

    def test_memory_reaches_from_the_first_to_the_last_element(self):
        with membar.persisting(Array((4, 8), strides=(256, 4)), stream=1000):
            self.assertIn(f"window 0x10000 + {3 * 256 + 32}", self.state())
        with membar.persisting(Array((4,), start=0x1000c, strides=(-4,)), stream=1000):
            self.assertIn("window 0x10000 + 16", self.state())

    def test_a_tensor_of_pytorch_is_read_by_its_own_members(self):
        tensor = types.SimpleNamespace(data_ptr=lambda: 0x10000, shape=(2, 3), element_size=lambda: 2, stride=lambda: (8, 1))
        with membar.persisting(tensor, stream=1000):
            self.assertIn(f"window 0x10000 + {(8 + 2) * 2 + 2}", self.state())

    def test_the_librarys_current_stream_is_the_default(self):
        cupy = types.ModuleType("cupy")
        cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=1000))
        array = type("ndarray", (Array,), {"__module__": "cupy"})((MIB,))
        sys.modules["cupy"] = cupy
        self.addCleanup(sys.modules.pop, "cupy")
        with membar.persisting(array):
            self.assertIn("window 0x10000", self.state())
        with self.assertRaisesRegex(TypeError, "cannot determine the current stream for a Array: pass stream="), membar.persisting(Array((4,))):
            pass

    def test_what_cannot_persist_is_refused(self):
        for array, arguments, sentence in (
                (Array((64 * MIB,)), {}, f"the array has {256 * MIB} bytes, but the largest window on device 0 is {128 * MIB} bytes"),
                (Array((4,)), {"hit_ratio": 1.5}, "the hit ratio is 1.5: use a value above 0 and at most 1"),
                (Array((0, 4)), {}, "the array is empty"),
        ):
            with self.assertRaisesRegex(ValueError, sentence), membar.persisting(array, stream=1000, **arguments):
                pass
        with self.assertRaisesRegex(TypeError, "list is not an array on a GPU"), membar.persisting([1], stream=1000):
            pass
        with self.assertRaisesRegex(membar.Error, "cuPointerGetAttribute failed.*pass an array in the memory of a GPU"):
            with membar.persisting(Array((4,), start=16), stream=1000):
                pass

    def test_a_device_that_sets_nothing_aside_is_refused(self):
        self.stub.stub_device(0, 4, 0)
        with self.assertRaisesRegex(ValueError, "device 0 cannot set aside L2"), membar.persisting(Array((4,)), stream=1000):
            pass

    def test_a_window_that_the_driver_refuses_leaves_no_set_aside(self):
        self.stub.stub_fail(_driver.ATTRIBUTE_ACCESS_POLICY_WINDOW)
        with self.assertRaises(membar.Error), membar.persisting(Array((4,)), stream=1000):
            pass

    def test_persisting_lines_are_reset_on_the_named_device(self):
        before = self.stub.stub_resets(1)
        membar.reset_persisting_lines(1)
        self.assertEqual(self.stub.stub_resets(1), before + 1)


if __name__ == "__main__":
    unittest.main()
