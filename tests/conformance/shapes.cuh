// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The shapes of litmus tests, as templates of the actions in them. Names of tests begin with herd's name of the shape.
#pragma once

#include "program.cuh"

#include <string>

namespace conformance {

template <class... Actions>
[[nodiscard]] inline std::string shape_name(const char* shape) {
  std::string name = shape;
  (name.append("+").append(Actions::text()), ...);
  return name;
}

/// A writer stores data, then a flag. A reader that sees the flag reads the data.
template <class Release, class Acquire>
struct message_passing : program<finally<>, std::conditional_t<observations<Acquire> == 2, outcome<1, 1, 0>, outcome<1, 0>>,
                                 thread<at<x, store_weak<>>, at<y, Release>>, thread<see<y, Acquire>, see<x, load_weak<>>>> {
  static std::string name() { return shape_name<Release, Acquire>("MP"); }
};

/// Each thread writes one location and reads the other's.
template <class Write, class Read>
struct store_buffering
    : program<finally<>, outcome<0, 0>, thread<at<x, Write>, see<y, Read>>, thread<at<y, Write>, see<x, Read>>> {
  static std::string name() { return shape_name<Write, Read>("SB"); }
};

/// Each thread reads one location and writes the other's.
template <class Read, class Write>
struct load_buffering
    : program<finally<>, outcome<1, 1>, thread<see<x, Read>, at<y, Write>>, thread<see<y, Read>, at<x, Write>>> {
  static std::string name() { return shape_name<Read, Write>("LB"); }
};

/// A store, then a flag. A thread that sees the flag stores to the same location, and its store must come last.
template <class Release, class Acquire>
struct store_after_flag : program<finally<x>, outcome<1, 2>, thread<at<x, store_weak<2>>, at<y, Release>>,
                                  thread<see<y, Acquire>, at<x, store_weak<1>>>> {
  static std::string name() { return shape_name<Release, Acquire>("S"); }
};

/// Two stores to one location: one after a store to the other location, and one before a load of it.
template <class Write, class Second, class Other, class Read>
struct store_against_load
    : program<finally<y>, outcome<0, 2>, thread<at<x, Write>, at<y, Second>>, thread<at<y, Other>, see<x, Read>>> {
  static std::string name() { return shape_name<Write, Second, Other, Read>("R"); }
};

/// Two threads write the same two locations in opposite order.
template <class First, class Second>
struct opposite_writes
    : program<finally<x, y>, outcome<1, 1>, thread<at<x, First>, at<y, Second>>, thread<at<y, First>, at<x, Second>>> {
  static std::string name() { return shape_name<First, Second>("2+2W"); }
};

/// A second thread passes on what it has read.
template <class Write, class Read, class Release, class Acquire>
struct write_to_read_causality : program<finally<>, outcome<1, 1, 0>, thread<at<x, Write>>,
                                         thread<see<x, Read>, at<y, Release>>, thread<see<y, Acquire>, see<x, load_weak<>>>> {
  static std::string name() { return shape_name<Write, Read, Release, Acquire>("WRC"); }
};

/// A second thread reads a write and then misses a third thread's write.
template <class Write, class Read, class Between>
struct read_to_write_causality
    : program<finally<>, outcome<1, 0, 0>, thread<at<x, Write>>, thread<see<x, both<Read, Between>>, see<y, Read>>,
              thread<at<y, both<Write, Between>>, see<x, Read>>> {
  static std::string name() { return shape_name<Write, Read, Between>("RWC"); }
};

/// Message passing in two hops, the second of which may be at another scope.
template <class Release, class Acquire, class SecondRelease, class SecondAcquire>
struct two_hops : program<finally<>, outcome<1, 1, 0>, thread<at<x, store_weak<>>, at<y, Release>>,
                          thread<see<y, Acquire>, at<z, SecondRelease>>, thread<see<z, SecondAcquire>, see<x, load_weak<>>>> {
  static std::string name() { return shape_name<Release, Acquire, SecondRelease, SecondAcquire>("ISA2"); }
};

/// Two readers of two writers' locations, in opposite order.
template <class Write, class FirstRead, class SecondRead>
struct independent_reads
    : program<finally<>, outcome<1, 0, 1, 0>, thread<at<x, Write>>, thread<at<y, Write>>,
              thread<see<x, FirstRead>, see<y, SecondRead>>, thread<see<y, FirstRead>, see<x, SecondRead>>> {
  static std::string name() { return shape_name<Write, FirstRead, SecondRead>("IRIW"); }
};

/// Two reads of one location, one after the other.
template <class Write, class Read>
struct coherent_reads : program<finally<>, outcome<1, 0>, thread<at<x, Write>>, thread<see<x, Read>, see<x, Read>>> {
  static std::string name() { return shape_name<Write, Read>("CoRR"); }
};

/// Message passing where another thread updates the flag in between.
template <class Release, class Update, class Acquire>
struct release_sequence : program<finally<>, outcome<1, 2, 0>, thread<at<x, store_weak<>>, at<y, Release>>,
                                  thread<see<y, Update>>, thread<see<y, Acquire>, see<x, load_weak<>>>> {
  static std::string name() { return shape_name<Release, Update, Acquire>("RelSeq"); }
};

/// Two updates that both read the old value: one of them is lost.
template <class Update, class Other = Update>
struct lost_update : program<finally<>, std::conditional_t<observations<Update> == 2, outcome<0, 0, 0, 0>, outcome<0, 0>>,
                             thread<see<x, Update>>, thread<see<x, Other>>> {
  static std::string name() { return shape_name<Update, Other>("Atomicity"); }
};

/// Two updates that return nothing: in the end only one has had an effect.
template <class Update, class Other, int Left>
struct lost_reduction : program<finally<x>, outcome<Left>, thread<at<x, Update>>, thread<at<x, Other>>> {
  static std::string name() { return shape_name<Update, Other>("Atomicity.final"); }
};

/// A read of sixteen bytes that returns one new and one old half.
template <class Write, class Read>
struct torn_read : program<finally<>, outcome<1, 0>, thread<at<x, Write>>, thread<see<x, Read>>> {
  static std::string name() { return shape_name<Write, Read>("Torn"); }
};

}  // namespace conformance
