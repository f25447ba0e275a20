// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The barrier of a team: its words on every PE, and a guard for each PE of this process, so that only one stream uses the
/// barrier at a time.
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/stream_guard.hpp>
#include <membar/symmetric/team.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// A barrier of a team, which several parts of a program may use one after the other. Barriers of different teams may run
/// concurrently, even if the teams have PEs in common. Barriers of one team must be called in the same order on every PE in the
/// team.
///
/// The constructor is collective, like `heap::allocate`: all processes of the heap must call it, including processes without a
/// PE in the team. The destructor is local, like a `scoped_array`'s. The operations on streams are in `on_stream.cuh`, and the
/// operations in kernels are in `barrier.cuh`. Errors: throws `error` on every PE if the team contains a PE that the backend
/// does not have, or if processes name different teams.
template <backend Backend>
class team_barrier {
 public:
  team_barrier(heap<Backend>& from, const team& members)
      : members_(agreed(from.backend(), members)), words_(from.allocate_barrier()) {
    const detail::team_text name(members_);
    for (const pe which : from.backend().local_pes()) {
      locals_.emplace_back();
      if (members_.contains(which)) {
        const device_guard guard(from.backend().device_of(which));
        locals_.back().guard = std::make_unique<stream_guard>(name.text);
      }
    }
    first_local_ = from.backend().local_pes().front().index();
  }
  team_barrier(const team_barrier&) = delete;
  team_barrier& operator=(const team_barrier&) = delete;
  ~team_barrier() = default;

  [[nodiscard]] const team& members() const noexcept { return members_; }

  /// Returns the barrier for the kernels of PE `which`, which must belong to the team and to this process. Errors: throws
  /// `error` if `which` is any other PE.
  [[nodiscard]] team_words<Backend> on(pe which) const {
    const auto words = words_.on(which);
    require_member(which);
    return team_words<Backend>(words, members_);
  }

  /// Returns the guard of PE `which`. The guard lets the program's own collectives on the team take turns with the operations
  /// in `on_stream.cuh`. Errors: the same as for `on`.
  [[nodiscard]] stream_guard& guard(pe which) { return *local(which).guard; }

  /// Acquires the team on PE `which` for a barrier that is complete in one call. Errors: throws the errors of `on` and of
  /// `stream_guard`, and an `error` if an earlier arrival has not been waited for.
  [[nodiscard("destroying the hold releases the team: give the hold a name")]] stream_guard::hold take(pe which,
                                                                                                       cudaStream_t stream) {
    const of_pe& here = local(which);
    if (has_arrived(here, stream)) {
      const auto of_this_stream = here.guard->on(stream);  // this call rejects a different stream
      throw error(cudaErrorNotPermitted,
                  "membar: PE %d cannot arrive at the next barrier of team %s, because it has not waited for the last barrier "
                  "at which it "
                  "arrived: call wait_on_stream first",
                  which.index(), detail::team_text(members_).text);
    }
    return here.guard->on(stream);
  }
  /// Calls `enqueue`, which must enqueue an arrival, and acquires the team until the matching wait. If `enqueue` throws, the
  /// team is not acquired.
  template <class Enqueue>
  void arrive(pe which, cudaStream_t stream, Enqueue enqueue) {
    const unsigned long long capture = stream_guard::capture_of(stream);
    std::unique_ptr<stream_guard::hold> held(new stream_guard::hold(take(which, stream)));
    enqueue();
    local(which).arrived = std::move(held);
    local(which).capture = capture;
  }
  /// Calls `enqueue`, which must enqueue the wait, and then releases the team. If `enqueue` throws, the arrival must still be
  /// waited for. Errors: throws the errors of `on` and of `stream_guard`, and an `error` if there is no arrival.
  template <class Enqueue>
  void wait(pe which, cudaStream_t stream, Enqueue enqueue) {
    of_pe& here = local(which);
    if (!has_arrived(here, stream)) {
      throw error(
          cudaErrorNotPermitted,
          "membar: PE %d cannot wait for a barrier of team %s at which it has not arrived: call arrive_on_stream first, in "
          "the same capture",
          which.index(), detail::team_text(members_).text);
    }
    const auto held = here.guard->on(stream);
    enqueue();
    here.arrived.reset();
  }

 private:
  struct of_pe {
    std::unique_ptr<stream_guard> guard;
    std::unique_ptr<stream_guard::hold> arrived;  ///< held between an arrival and its wait; it is destroyed before its guard
    unsigned long long capture = 0;               ///< the capture that contains the arrival and must contain the wait; 0 if
                                                  ///< there is none
  };

  /// Returns whether there is an arrival that `stream` has to wait for. An arrival in another capture does not count, because
  /// the wait for it must be in that capture.
  [[nodiscard]] static bool has_arrived(const of_pe& here, cudaStream_t stream) {
    return here.arrived != nullptr && (here.capture == 0 || here.capture == stream_guard::capture_of(stream));
  }

  [[nodiscard]] static const team& agreed(Backend& backend, const team& members) {
    unsigned long long hash = static_cast<unsigned long long>(members.size());
    for (int rank = 0; rank != members.size(); ++rank) {
      hash = (hash ^ (hash >> 29) ^ static_cast<unsigned long long>(members[rank].index())) * 0x9e3779b97f4a7c15ULL + 1;
    }
    const auto all = detail::gathered(backend, detail::tagged(detail::collective::team, detail::value_of(hash)));
    for (int i = 1; i < backend.count(); ++i) {
      const unsigned long long theirs = all[static_cast<std::size_t>(i)];
      if (detail::call_of(theirs) != detail::call_of(all[0])) {
        detail::refuse_difference(i, theirs, all[0]);
      }
      if (theirs != all[0]) {
        throw error(cudaErrorInvalidValue,
                    "membar: the team of a barrier differs between PEs: the process of PE %d names a different team than the "
                    "process of PE 0, and this process names %s: make each team in every process, in the same order, even in "
                    "processes without a PE of the team",
                    i, detail::team_text(members).text);
      }
    }
    if (const int last = members[members.size() - 1].index(); last >= backend.count()) {
      throw error(cudaErrorInvalidValue,
                  "membar: PE %d was named as a member of a team, but only PEs 0 to %d exist: name one of them", last,
                  backend.count() - 1);
    }
    return members;
  }

  void require_member(pe which) const {
    if (!members_.contains(which)) {
      throw error(cudaErrorInvalidValue,
                  "membar: PE %d cannot use the barrier of team %s, because it is not in the team: name one of its members",
                  which.index(), detail::team_text(members_).text);
    }
  }
  [[nodiscard]] of_pe& local(pe which) {
    static_cast<void>(on(which));
    return locals_[static_cast<std::size_t>(which.index() - first_local_)];
  }

  team members_;
  scoped_array<barrier_word, Backend> words_;
  std::vector<of_pe> locals_;
  int first_local_ = 0;
};

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
