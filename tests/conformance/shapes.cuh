// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The shapes of litmus tests, as templates on their actions. Names of tests begin with herd's name for the shape.
#pragma once

#include "program.cuh"

#include <algorithm>
#include <cstddef>
#include <string>

namespace conformance {

/// A name as a template argument.
template <std::size_t Size>
struct shape_text {
  char text[Size]{};
  consteval shape_text(const char (&given)[Size]) { std::ranges::copy(given, text); }  // NOLINT: converts a literal
};

/// The actions of a test, in the order in which its name lists them.
template <class... Actions>
struct by {
  static std::string text() { return (std::string() + ... + ("+" + Actions::text())); }
};

/// A shape: its name, the actions in it, and the parts of its program.
template <shape_text Name, class Actions, class... Parts>
struct shape : program<Parts...> {
  static std::string name() { return Name.text + Actions::text(); }
};

/// A writer stores data, then a flag. A reader that sees the flag reads the data.
template <class Release, class Acquire>
struct message_passing : shape<"MP", by<Release, Acquire>, finally<>,
                               std::conditional_t<observations<Acquire> == 2, outcome<1, 1, 0>, outcome<1, 0>>,
                               thread<at<x, store_weak<>>, at<y, Release>>, thread<see<y, Acquire>, see<x, load_weak<>>>> {};

/// Each thread writes one location and reads the other's.
template <class Write, class Read>
struct store_buffering : shape<"SB", by<Write, Read>, finally<>, outcome<0, 0>, thread<at<x, Write>, see<y, Read>>,
                               thread<at<y, Write>, see<x, Read>>> {};

/// Each thread reads one location and writes the other's.
template <class Read, class Write>
struct load_buffering : shape<"LB", by<Read, Write>, finally<>, outcome<1, 1>, thread<see<x, Read>, at<y, Write>>,
                              thread<see<y, Read>, at<x, Write>>> {};

/// A thread stores to a location and then sets a flag. Another thread that sees the flag stores to the same location, and its
/// store must come last.
template <class Release, class Acquire>
struct store_after_flag : shape<"S", by<Release, Acquire>, finally<x>, outcome<1, 2>,
                                thread<at<x, store_weak<2>>, at<y, Release>>, thread<see<y, Acquire>, at<x, store_weak<1>>>> {};

/// Two stores to one location: the first comes after a store to the other location, and the second comes before a load from it.
template <class Write, class Second, class Other, class Read>
struct store_against_load : shape<"R", by<Write, Second, Other, Read>, finally<y>, outcome<0, 2>,
                                  thread<at<x, Write>, at<y, Second>>, thread<at<y, Other>, see<x, Read>>> {};

/// Two threads write the same two locations in opposite orders.
template <class First, class Second>
struct opposite_writes : shape<"2+2W", by<First, Second>, finally<x, y>, outcome<1, 1>, thread<at<x, First>, at<y, Second>>,
                               thread<at<y, First>, at<x, Second>>> {};

/// A second thread passes on the value that it has read.
template <class Write, class Read, class Release, class Acquire>
struct write_to_read_causality
    : shape<"WRC", by<Write, Read, Release, Acquire>, finally<>, outcome<1, 1, 0>, thread<at<x, Write>>,
            thread<see<x, Read>, at<y, Release>>, thread<see<y, Acquire>, see<x, load_weak<>>>> {};

/// A second thread reads a write, but then does not see a third thread's write.
template <class Write, class Read, class Between>
struct read_to_write_causality
    : shape<"RWC", by<Write, Read, Between>, finally<>, outcome<1, 0, 0>, thread<at<x, Write>>,
            thread<see<x, both<Read, Between>>, see<y, Read>>, thread<at<y, both<Write, Between>>, see<x, Read>>> {};

/// Message passing in two hops; the second hop may use another scope.
template <class Release, class Acquire, class SecondRelease, class SecondAcquire>
struct two_hops : shape<"ISA2", by<Release, Acquire, SecondRelease, SecondAcquire>, finally<>, outcome<1, 1, 0>,
                        thread<at<x, store_weak<>>, at<y, Release>>, thread<see<y, Acquire>, at<z, SecondRelease>>,
                        thread<see<z, SecondAcquire>, see<x, load_weak<>>>> {};

/// Two readers read two writers' locations in opposite orders.
template <class Write, class FirstRead, class SecondRead>
struct independent_reads : shape<"IRIW", by<Write, FirstRead, SecondRead>, finally<>, outcome<1, 0, 1, 0>, thread<at<x, Write>>,
                                 thread<at<y, Write>>, thread<see<x, FirstRead>, see<y, SecondRead>>,
                                 thread<see<y, FirstRead>, see<x, SecondRead>>> {};

/// Two reads of the same location, one after the other.
template <class Write, class Read>
struct coherent_reads
    : shape<"CoRR", by<Write, Read>, finally<>, outcome<1, 0>, thread<at<x, Write>>, thread<see<x, Read>, see<x, Read>>> {};

/// Message passing in which another thread updates the flag before it is read.
template <class Release, class Update, class Acquire>
struct release_sequence
    : shape<"RelSeq", by<Release, Update, Acquire>, finally<>, outcome<1, 2, 0>, thread<at<x, store_weak<>>, at<y, Release>>,
            thread<see<y, Update>>, thread<see<y, Acquire>, see<x, load_weak<>>>> {};

/// Two updates both read the old value, so one of them is lost.
template <class Update, class Other = Update>
struct lost_update : shape<"Atomicity", by<Update, Other>, finally<>,
                           std::conditional_t<observations<Update> == 2, outcome<0, 0, 0, 0>, outcome<0, 0>>,
                           thread<see<x, Update>>, thread<see<x, Other>>> {};

/// Two updates that return nothing: at the end, only one has had an effect.
template <class Update, class Other, int Left>
struct lost_reduction
    : shape<"Atomicity.final", by<Update, Other>, finally<x>, outcome<Left>, thread<at<x, Update>>, thread<at<x, Other>>> {};

/// A read of sixteen bytes that returns one new and one old half.
template <class Write, class Read>
struct torn_read : shape<"Torn", by<Write, Read>, finally<>, outcome<1, 0>, thread<at<x, Write>>, thread<see<x, Read>>> {};

}  // namespace conformance
