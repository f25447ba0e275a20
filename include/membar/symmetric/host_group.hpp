// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Lets the processes of one host find each other, gather numbers and exchange file descriptors. This header requires only
/// Linux. There is one process per PE.
#pragma once

#include <membar/error.hpp>
#include <membar/symmetric/rendezvous.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// All processes of a job. Each pair of processes is connected by its own socket, so each process detects by itself when
/// another process ends. If a process has forked, its child also holds the socket. On Linux 5.3 or later, the other processes
/// still detect the end immediately; on older kernels, they detect it only when the budget is used up.
///
/// Only processes of the same user can join: the directory must belong to that user and have mode 0700, both ends of a
/// connection check the credentials that the kernel provides (SO_PEERCRED), and the token must match the rendezvous's token.
/// The socket is removed when all processes have joined. After that, nothing is left in a file system, no matter how a process
/// ends. Every collective call has a budget. If a process ends, exceeds the budget, or makes a different call, the next call of
/// every other process throws an `error` that names the process. The group is then broken, and every later call throws the same
/// error.
///
/// Linux only. Not thread-safe: only one thread may use the group at a time. `all_gather` can be passed to `adopted_backend`.
class host_group {
 public:
  /// Joins the group as PE `rank` of `count`. Collective: it returns when all processes have joined. `budget` applies to this
  /// call and to each later collective call, and is limited to a year.
  ///
  /// Errors: throws `error` if other users can access the directory, if the path is too long, if PE 0 rejects the token, count
  /// or rank, or if some PEs did not join within the budget (the error names them).
  [[nodiscard]] static host_group join(const rendezvous& where, int rank, int count, std::chrono::milliseconds budget);

  host_group(host_group&&) noexcept = default;
  host_group& operator=(host_group&&) noexcept = default;

  [[nodiscard]] int rank() const noexcept { return at_->rank; }
  [[nodiscard]] int count() const noexcept { return at_->count; }

  /// Sets the budget for every later call by this process, for example to a time longer than a checkpoint takes.
  void set_budget(std::chrono::milliseconds budget) noexcept { at_->budget = limited(budget); }

  /// Gathers one number from every process, and returns the numbers in PE order. Collective: it is also a barrier between the
  /// processes.
  [[nodiscard]] std::vector<unsigned long long> all_gather(unsigned long long mine) { return numbers(mine, nullptr); }
  /// Returns `all_gather` as a callback, which throws if the group has been destroyed. When the callback's last copy is
  /// destroyed, for example together with the backend that received it, this process has left. The other processes detect this
  /// as soon as they call their own callback, or while they wait in it. Every process must create its callbacks in the same
  /// order.
  [[nodiscard]] std::function<std::vector<unsigned long long>(unsigned long long)> callback() {
    return [shared = std::make_shared<channel>(at_)](unsigned long long mine) { return shared->all_gather(mine); };
  }

  /// Gathers one file descriptor from each process, and returns them in PE order; this process's own descriptor is duplicated.
  /// Collective.
  [[nodiscard]] std::vector<owned_file> all_gather_files(int mine) {
    std::vector<owned_file> files;
    for (received& each : exchange(letter_of(kind::file), mine)) {
      files.push_back(std::move(each.file));
    }
    return files;
  }

  /// 64 bytes that a process passes to the others.
  struct handle {
    unsigned char bytes[64];
  };
  /// Gathers 64 bytes from every process, and returns them in PE order. Collective.
  [[nodiscard]] std::vector<handle> all_gather_handles(const handle& mine) {
    letter own = letter_of(kind::bytes);
    std::memcpy(own.bytes, mine.bytes, sizeof mine.bytes);
    std::vector<handle> all;
    for (const received& each : exchange(own, -1)) {
      all.emplace_back();
      std::memcpy(all.back().bytes, each.contents.bytes, sizeof mine.bytes);
    }
    return all;
  }

  /// Waits for a stream's work, like `cudaStreamSynchronize`, but detects when a process has ended. Use it if kernels in the
  /// stream may wait for other PEs. Not collective. Errors: throws `error` within a second if a process has ended, even if the
  /// kernels are still running, unless they no longer need that process and end in the meantime. It also throws the stream's
  /// error.
  void synchronize(cudaStream_t stream) {
    constexpr auto while_others_end = std::chrono::milliseconds(200);
    clock::time_point noticed{};
    for (;;) {
      const cudaError_t status = cudaStreamQuery(stream);
      if (status != cudaErrorNotReady) {
        check(status, "a kernel failed");
        return;
      }
      static_cast<void>(cudaGetLastError());  // "not ready" is an answer and must not become the error of the next call
      if (noticed == clock::time_point{} && (someone_has_ended(1) || someone_has_left())) {
        noticed = clock::now();
      } else if (noticed != clock::time_point{} && clock::now() - noticed > while_others_end) {
        require_all();
        for (const channel* const each : at_->channels) {
          refuse_left(each);
        }
      }
    }
  }

  /// Throws if a process of the group has ended. This function does not wait for other processes, so it can be used while
  /// kernels run.
  void require_all() {
    require_unbroken();
    for (int other = 0; other != at_->count; ++other) {
      pollfd both[] = {{socket_of(other), 0, 0}, {process_of(other), POLLIN, 0}};
      if (other == at_->rank || ::poll(both, 2, 0) <= 0) {
        continue;
      }
      received last;  // may name another process, which caused this process to abort
      while (receive(socket_of(other), last) == answer::got) {
        if (last.contents.what == kind::broken) {
          give_up(last.contents.why, last.contents.value);
        }
      }
      give_up(fault::ended, other);
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  enum class kind : int { hello, joined, neighbour, refused, number, file, bytes, left, broken };
  enum class fault : int { none, ended, left, late, differs, files, token, count, rank };

  /// The format of messages. Both ends run the same program on the same host.
  struct letter {
    kind what = kind::hello;
    int from = 0;
    /// for `hello` the count, for `neighbour` the PE, for `number` and `left` the channel, for `broken` the PE that caused it
    int value = 0;
    fault why = fault::none;
    unsigned char bytes[64] = {};
  };
  struct received {
    letter contents;
    owned_file file;
    bool cut = false;  ///< whether a file was sent but this process had no descriptor left for it
  };
  enum class answer { got, nothing, ended };

  /// The socket and the directory of a rendezvous. Both are removed at the end of the scope.
  struct meeting_place {
    std::string path, directory;
    bool armed = false;
    ~meeting_place() { remove(); }
    void remove() noexcept {
      if (std::exchange(armed, false)) {
        static_cast<void>(::unlink(path.c_str()));
        // Removes the directory only if make_rendezvous created it and it is empty.
        if (directory.find("/membar-rendezvous.") != directory.npos) {
          static_cast<void>(::rmdir(directory.c_str()));
        }
      }
    }
  };

  class channel;

  [[nodiscard]] static constexpr std::chrono::milliseconds limited(std::chrono::milliseconds budget) noexcept {
    return std::clamp<std::chrono::milliseconds>(budget, std::chrono::hours(0), std::chrono::hours(365 * 24));
  }

  /// The state of a member.
  struct state {
    state(int self, int size, std::chrono::milliseconds for_each_call)
        : rank(self),
          count(size),
          budget(limited(for_each_call)),
          sockets(static_cast<std::size_t>(size)),
          processes(static_cast<std::size_t>(size)) {}

    int rank;
    int count;
    std::chrono::milliseconds budget;
    std::vector<owned_file> sockets;    ///< one for each other PE; the entry of this process is empty
    std::vector<owned_file> processes;  ///< for each PE: a file that becomes readable when the process has ended; empty on
                                        ///< Linux before 5.3
    int channels_made = 0;
    std::vector<const channel*> channels;  ///< the channels that exist in this process
    std::vector<letter> left;              ///< messages from other processes that have left a channel
    pid_t process = ::getpid();            ///< a forked child is not a member
    fault why = fault::none;
    int culprit = -1;
  };

  /// The state that the copies of a callback share. When it is destroyed, the other processes are informed, because they may be
  /// waiting for this process.
  class channel {
   public:
    explicit channel(const std::shared_ptr<state>& at)
        : at_(at), number_(++at->channels_made), theirs_(static_cast<std::size_t>(at->count), number_) {
      at->channels.push_back(this);
    }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    ~channel() {
      const std::shared_ptr<state> at = at_.lock();
      if (at == nullptr || at->process != ::getpid()) {
        return;
      }
      at->channels.erase(std::find(at->channels.begin(), at->channels.end(), this));
      letter last = host_group(at).letter_of(kind::left);
      last.value = number_;
      for (const owned_file& each : at->sockets) {
        static_cast<void>(each.get() < 0 || send(each.get(), last, -1, clock::now()));
      }
    }

    [[nodiscard]] std::vector<unsigned long long> all_gather(unsigned long long mine) {
      const std::shared_ptr<state> at = at_.lock();
      if (at == nullptr) {
        throw error(cudaErrorInvalidValue,
                    "membar: the callback of a group was called after the group was destroyed: destroy the group after "
                    "everything that uses it");
      }
      return host_group(at).numbers(mine, this);
    }

    [[nodiscard]] int number() const noexcept { return number_; }
    /// Processes may number their channels differently, so the message of a call contains the number that the sender uses.
    void heard(const letter& from) { theirs_[static_cast<std::size_t>(from.from)] = from.value; }
    [[nodiscard]] bool is_left_by(const letter& said) const {
      return said.from >= 0 && static_cast<std::size_t>(said.from) < theirs_.size() &&
             said.value == theirs_[static_cast<std::size_t>(said.from)];
    }

   private:
    std::weak_ptr<state> at_;
    int number_;
    std::vector<int> theirs_;  ///< for each PE: the number that it uses for this channel
  };

  explicit host_group(std::shared_ptr<state> at) noexcept : at_(std::move(at)) {}
  host_group(int rank, int count, std::chrono::milliseconds budget) : at_(std::make_shared<state>(rank, count, budget)) {}

  /// Returns whether a process has ended, or ends within `milliseconds` ms.
  [[nodiscard]] bool someone_has_ended(int milliseconds) const {
    std::vector<pollfd> all;
    for (int other = 0; other != at_->count; ++other) {
      all.push_back({socket_of(other), 0, 0});  // poll ignores -1
      all.push_back({other == at_->rank ? -1 : process_of(other), POLLIN, 0});
    }
    return at_->why != fault::none || ::poll(all.data(), all.size(), milliseconds) > 0;
  }

  [[nodiscard]] letter letter_of(kind what) const noexcept {
    letter made;
    made.what = what;
    made.from = at_->rank;
    return made;
  }
  [[nodiscard]] int socket_of(int other) const { return at_->sockets[static_cast<std::size_t>(other)].get(); }
  [[nodiscard]] int process_of(int other) const { return at_->processes[static_cast<std::size_t>(other)].get(); }

  /// Waits until the socket can be read or, with POLLOUT, written, or until the deadline.
  [[nodiscard]] static bool ready(int socket, short event, clock::time_point deadline) noexcept {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
      pollfd one{socket, event, 0};
      const int found = ::poll(&one, 1, left < 0 ? 0 : static_cast<int>(left < 60'000 ? left + 1 : 60'000));
      if (found > 0) {
        return true;
      }
      if (left <= 0 && found == 0) {
        return false;
      }
    }
  }

  /// Sends a message, along with the file descriptor `file` unless that is -1. Returns false if the other end is closed, or if
  /// its buffer stays full until the deadline.
  [[nodiscard]] static bool send(int socket, const letter& contents, int file, clock::time_point deadline) noexcept {
    iovec part{const_cast<letter*>(&contents), sizeof contents};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (file >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    for (;;) {
      if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
        return true;
      }
      if (errno != EINTR && (errno != EAGAIN || !ready(socket, POLLOUT, deadline))) {
        return false;
      }
    }
  }

  /// Receives a message, if there is one.
  [[nodiscard]] static answer receive(int socket, received& into) noexcept {
    iovec part{&into.contents, sizeof into.contents};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // the other process closed the socket with unread messages; after this single error, its earlier messages can still be
    // received
    if (got < 0 && errno == ECONNRESET) {
      got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return answer::nothing;
    }
    into.cut = got >= 0 && (message.msg_flags & MSG_CTRUNC) != 0;
    for (cmsghdr* head = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        int file = -1;
        std::memcpy(&file, CMSG_DATA(head), sizeof file);
        into.file = owned_file(file);
      }
    }
    return got == static_cast<ssize_t>(sizeof into.contents) ? answer::got : answer::ended;
  }

  [[nodiscard]] std::vector<unsigned long long> numbers(unsigned long long mine, channel* by) {
    letter own = letter_of(kind::number);
    own.value = by != nullptr ? by->number() : 0;
    std::memcpy(own.bytes, &mine, sizeof mine);
    std::vector<unsigned long long> all;
    for (const received& each : exchange(own, -1, by)) {
      all.push_back(0);
      std::memcpy(&all.back(), each.contents.bytes, sizeof mine);
    }
    return all;
  }

  /// Sends `own` to every other process and receives one message from each. The result is in PE order, and includes the
  /// process's own message as if it had been received.
  [[nodiscard]] std::vector<received> exchange(const letter& own, int file, channel* by = nullptr) {
    require_unbroken();
    refuse_left(by);
    const auto deadline = clock::now() + at_->budget;
    std::vector<received> all(static_cast<std::size_t>(at_->count));
    all[static_cast<std::size_t>(at_->rank)].contents = own;
    if (file >= 0) {
      all[static_cast<std::size_t>(at_->rank)].file = owned_file(::fcntl(file, F_DUPFD_CLOEXEC, 0));
      if (all[static_cast<std::size_t>(at_->rank)].file.get() < 0) {
        give_up(fault::files, at_->rank);
      }
    }
    for (int other = 0; other != at_->count; ++other) {
      // A process that has ended is detected below, after its messages have been received.
      if (other != at_->rank && !send(socket_of(other), own, file, deadline) && errno == ETOOMANYREFS) {
        give_up(fault::files, at_->rank);
      }
    }
    std::vector<peer_state> peers(all.size(), peer_state::awaited);
    peers[static_cast<std::size_t>(at_->rank)] = peer_state::closed;
    while (std::find(peers.begin(), peers.end(), peer_state::awaited) != peers.end()) {
      std::vector<pollfd> waiting;
      for (int other = 0; other != at_->count; ++other) {
        const peer_state is = peers[static_cast<std::size_t>(other)];
        // poll reports the other process's end even without an event mask
        const short events = is == peer_state::awaited ? POLLIN : 0;
        waiting.push_back({is == peer_state::closed ? -1 : socket_of(other), events, 0});
        waiting.push_back({is == peer_state::awaited ? process_of(other) : -1, POLLIN, 0});
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
      if (::poll(waiting.data(), waiting.size(), left < 0 ? 0 : static_cast<int>(left < 60'000 ? left + 1 : 60'000)) == 0 &&
          left <= 0) {
        give_up(fault::late, static_cast<int>(std::find(peers.begin(), peers.end(), peer_state::awaited) - peers.begin()));
      }
      bool progress = false;
      for (std::size_t i = 0; i != peers.size(); ++i) {
        const bool over = waiting[2 * i + 1].revents != 0;
        if (peers[i] == peer_state::awaited && (over || waiting[2 * i].revents != 0) &&
            take(static_cast<int>(i), over, own.what, by, all[i])) {
          peers[i] = peer_state::came;
          progress = true;
        }
      }
      for (std::size_t i = 0; !progress && i != peers.size(); ++i) {
        if (peers[i] == peer_state::came && waiting[2 * i].revents != 0) {
          refuse_broken(static_cast<int>(i));  // if a process has ended after its message, the next call detects it
          peers[i] = peer_state::closed;
        }
      }
    }
    // checks for processes that aborted after sending their message, because this process was late
    for (int other = 0; other != at_->count; ++other) {
      refuse_broken(other);
    }
    return all;
  }

  /// Throws if a process's next message reports that the process has aborted.
  void refuse_broken(int other) {
    letter next;
    if (other != at_->rank && peek(socket_of(other), next) && next.what == kind::broken) {
      give_up(next.why, next.value);
    }
  }

  /// The known state of another process during an exchange.
  enum class peer_state : char { awaited, came, closed };

  /// Receives a message from another process. Returns whether the message belongs to this call.
  [[nodiscard]] bool take(int other, bool over, kind wanted, channel* by, received& into) {
    const answer found = receive(socket_of(other), into);
    const letter& said = into.contents;
    if (found == answer::ended || (over && found == answer::nothing)) {
      give_up(fault::ended, other);
    }
    if (found == answer::nothing) {
      return false;
    }
    if (said.what == kind::broken) {
      give_up(said.why, said.value);
    }
    if (into.cut) {
      give_up(fault::files, at_->rank);
    }
    if (said.from == other && said.what == kind::left) {
      at_->left.push_back(said);  // a message about another channel does not affect this call
      refuse_left(by);
      return false;
    }
    if (said.from != other || said.what != wanted) {
      give_up(fault::differs, other);
    }
    if (by != nullptr && said.value != 0) {
      by->heard(said);
    }
    return true;
  }

  /// Reads the next message without removing it. Returns false if there is none.
  [[nodiscard]] static bool peek(int socket, letter& next) noexcept {
    const auto whole = static_cast<ssize_t>(sizeof next);
    constexpr int how = MSG_PEEK | MSG_DONTWAIT;
    return ::recv(socket, &next, sizeof next, how) == whole ||
           (errno == ECONNRESET && ::recv(socket, &next, sizeof next, how) == whole);
  }

  /// Throws if a process has left this channel.
  void refuse_left(const channel* by) {
    for (const letter& said : at_->left) {
      if (by != nullptr && by->is_left_by(said)) {
        give_up(fault::left, said.from);
      }
    }
  }

  /// Returns whether a process has left a channel that exists in this process. Does not consume the messages of later calls.
  [[nodiscard]] bool someone_has_left() {
    for (const owned_file& each : at_->sockets) {
      letter next;
      while (each.get() >= 0 && peek(each.get(), next) && next.what == kind::left) {
        static_cast<void>(::recv(each.get(), &next, sizeof next, MSG_DONTWAIT));
        at_->left.push_back(next);
      }
    }
    return std::any_of(at_->channels.begin(), at_->channels.end(), [&](const channel* by) {
      return std::any_of(at_->left.begin(), at_->left.end(), [&](const letter& said) { return by->is_left_by(said); });
    });
  }

  /// Tells the other processes which process is at fault, leaves the group, and throws.
  [[noreturn]] void give_up(fault why, int culprit) {
    letter last = letter_of(kind::broken);
    last.value = culprit;
    last.why = why;
    for (owned_file& each : at_->sockets) {
      static_cast<void>(each.get() < 0 || send(each.get(), last, -1, clock::now()));
      each = owned_file();
    }
    at_->why = why;
    at_->culprit = culprit;
    require_unbroken();
    std::abort();  // this statement is not reached
  }

  void require_unbroken() const {
    const long long most = at_->budget.count();
    switch (at_->why) {
      case fault::none:
        return;
      case fault::ended:
        throw error(cudaErrorUnknown, "membar: PE %d of the group has ended: see its standard error, and restart all processes",
                    at_->culprit);
      case fault::left:
        throw error(cudaErrorUnknown,
                    "membar: PE %d of the group has left: it destroyed the object that uses this callback before the others "
                    "did; see its exception, and "
                    "restart all processes",
                    at_->culprit);
      case fault::files:
        throw error(cudaErrorOperatingSystem,
                    "membar: PE %d of the group has no file descriptor left for another PE's file: close files in that "
                    "process, or raise its "
                    "limit (ulimit -n), and restart all processes",
                    at_->culprit);
      case fault::late:
        throw error(
            cudaErrorTimeout,
            "membar: PE %d of the group did not reach a collective call within %lld ms: check what it waits for, or give the "
            "group a larger budget",
            at_->culprit, most);
      default:
        throw error(cudaErrorInvalidValue,
                    "membar: PE %d of the group makes a different collective call than PE %d: make the same calls on every PE, "
                    "in the same "
                    "order",
                    at_->culprit, at_->rank);
    }
  }

  /// Returns whether the process at the other end belongs to this user.
  [[nodiscard]] static bool is_own(int socket) noexcept {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 && credentials.uid == ::geteuid();
  }

  /// Throws if the directory does not belong to this user, or if other users can access it. Returns false if there is no
  /// directory yet.
  [[nodiscard]] static bool is_private(const std::string& directory) {
    struct stat facts {};
    if (::lstat(directory.c_str(), &facts) != 0) {
      return false;
    }
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() || (facts.st_mode & 077) != 0) {
      throw error(
          cudaErrorInvalidValue,
          "membar: %s is not a directory that belongs only to this user: make one with mode 0700, as make_rendezvous does",
          directory.c_str());
    }
    return true;
  }

  [[nodiscard]] static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
      throw error(cudaErrorInvalidValue,
                  "membar: the rendezvous path %s has %zu characters, but a socket path can have at most %zu characters: use a "
                  "directory with a shorter path",
                  path.c_str(), path.size(), sizeof address.sun_path - 1);
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
  }

  [[nodiscard]] static owned_file new_socket() {
    owned_file made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) {
      throw error(cudaErrorOperatingSystem,
                  "membar: no socket could be created (%s): close files, or raise the limit on open files (ulimit -n)",
                  std::strerror(errno));
    }
    return made;
  }

  [[noreturn]] static void refuse_join(fault why, int rank, int count) {
    switch (why) {
      case fault::token:
        throw error(cudaErrorInvalidValue,
                    "membar: PE %d has a different token than PE 0: start all processes of a job with the same rendezvous",
                    rank);
      case fault::count:
        throw error(cudaErrorInvalidValue,
                    "membar: PE %d was started in a group of %d, but PE 0 was started in a group of a different size: start "
                    "all processes with the same group size",
                    rank, count);
      default:
        throw error(cudaErrorInvalidValue,
                    "membar: PE %d joined its group twice: give each process its own number, starting at 0", rank);
    }
  }

  [[noreturn]] static void refuse_files(int rank, int count) {
    throw error(cudaErrorOperatingSystem,
                "membar: PE %d has no file descriptor left to join a group of %d: close files, or raise the limit (ulimit -n)",
                rank, count);
  }

  void meet_as_first(const rendezvous& where, clock::time_point deadline);
  [[nodiscard]] static owned_file make_door(const rendezvous& where, const std::string& path);
  [[nodiscard]] fault fault_of(const letter& said, const rendezvous& where) const noexcept;
  void introduce_others(clock::time_point deadline);
  void meet_as_other(const rendezvous& where, clock::time_point deadline);
  [[noreturn]] void throw_missing() const {
    std::string missing;
    for (int other = 1; other != at_->count; ++other) {
      if (socket_of(other) < 0 && missing.size() < 64) {
        missing += (missing.empty() ? "" : ", ") + std::to_string(other);
      }
    }
    throw error(
        cudaErrorTimeout,
        "membar: PE %s did not join the group of %d within %lld ms: check that its process was started with this rendezvous",
        missing.c_str(), at_->count, static_cast<long long>(at_->budget.count()));
  }

  std::shared_ptr<state> at_;  ///< the group's callbacks refer to the state without owning it
};

/// Opens the socket that the other processes connect to.
inline owned_file host_group::make_door(const rendezvous& where, const std::string& path) {
  const sockaddr_un address = address_of(path);
  if (!is_private(where.directory)) {
    if (::mkdir(where.directory.c_str(), 0700) != 0) {
      throw error(cudaErrorOperatingSystem,
                  "membar: the directory %s could not be created for a rendezvous (%s): name a directory that can be created",
                  where.directory.c_str(), std::strerror(errno));
    }
  }
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  owned_file door = new_socket();
  if (::bind(door.get(), name, sizeof address) != 0) {
    // If no process listens on the socket, a process that was killed has left it behind.
    const auto refuses = [&] {
      const owned_file probe = new_socket();
      return ::connect(probe.get(), name, sizeof address) != 0 && errno == ECONNREFUSED;
    };
    const bool left = errno == EADDRINUSE && refuses();
    if (!left || ::unlink(path.c_str()) != 0 || ::bind(door.get(), name, sizeof address) != 0) {
      throw error(
          cudaErrorOperatingSystem,
          "membar: another group already uses the directory %s: give each job its own directory, as make_rendezvous does",
          where.directory.c_str());
    }
  }
  return door;
}

/// Returns what is wrong with the hello message of a process that wants to join.
inline host_group::fault host_group::fault_of(const letter& said, const rendezvous& where) const noexcept {
  char token[sizeof said.bytes] = {};
  std::memcpy(token, where.token.data(), where.token.size());
  if (std::memcmp(token, said.bytes, sizeof token) != 0) {
    return fault::token;
  }
  if (said.value != at_->count) {
    return fault::count;
  }
  return said.from < 1 || said.from >= at_->count || socket_of(said.from) >= 0 ? fault::rank : fault::none;
}

inline void host_group::meet_as_first(const rendezvous& where, clock::time_point deadline) {
  const std::string path = where.directory + "/group";
  const owned_file door = make_door(where, path);
  meeting_place place{path, where.directory, true};
  if (::listen(door.get(), at_->count) != 0) {
    throw error(cudaErrorOperatingSystem, "membar: no process can join a group in %s (%s): name another directory",
                path.c_str(), std::strerror(errno));
  }
  std::vector<owned_file> unknown;  // connections whose processes have not identified themselves yet
  for (int missing = at_->count - 1; missing != 0;) {
    std::vector<pollfd> waiting{{door.get(), POLLIN, 0}};
    for (const owned_file& each : unknown) {
      waiting.push_back({each.get(), POLLIN, 0});
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
    if (left <= 0) {
      throw_missing();
    }
    static_cast<void>(::poll(waiting.data(), waiting.size(), static_cast<int>(left < 60'000 ? left + 1 : 60'000)));
    for (std::size_t i = unknown.size(); i-- != 0;) {
      received hello;
      const answer found = waiting[i + 1].revents == 0 ? answer::nothing : receive(unknown[i].get(), hello);
      if (found == answer::nothing) {
        continue;
      }
      owned_file joining = std::move(unknown[i]);
      unknown.erase(unknown.begin() + static_cast<std::ptrdiff_t>(i));
      const letter& said = hello.contents;
      if (found == answer::ended || said.what != kind::hello) {
        continue;  // the other process has aborted
      }
      if (const fault why = fault_of(said, where); why != fault::none) {
        letter no = letter_of(kind::refused);
        no.why = why;
        static_cast<void>(send(joining.get(), no, -1, deadline));
        continue;
      }
      at_->sockets[static_cast<std::size_t>(said.from)] = std::move(joining);
      --missing;
    }
    if (waiting[0].revents != 0) {
      owned_file guest(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!guest && (errno == EMFILE || errno == ENFILE)) {
        refuse_files(at_->rank, at_->count);
      }
      if (guest && is_own(guest.get())) {
        unknown.push_back(std::move(guest));
      }
    }
  }
  introduce_others(deadline);
  for (int other = 1; other != at_->count; ++other) {
    static_cast<void>(send(socket_of(other), letter_of(kind::joined), -1, deadline));
  }
}

/// Gives each pair of other processes a pair of connected sockets, which need no name.
inline void host_group::introduce_others(clock::time_point deadline) {
  for (int one = 1; one != at_->count; ++one) {
    for (int other = one + 1; other != at_->count; ++other) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        throw error(cudaErrorOperatingSystem,
                    "membar: no sockets could be created for a group of %d (%s): raise the limit on open files (ulimit -n)",
                    at_->count, std::strerror(errno));
      }
      const owned_file first(ends[0]), second(ends[1]);
      letter to_one = letter_of(kind::neighbour), to_other = to_one;
      to_one.value = other;
      to_other.value = one;
      static_cast<void>(send(socket_of(one), to_one, first.get(), deadline));
      static_cast<void>(send(socket_of(other), to_other, second.get(), deadline));
    }
  }
}

inline void host_group::meet_as_other(const rendezvous& where, clock::time_point deadline) {
  const std::string path = where.directory + "/group";
  const sockaddr_un address = address_of(path);
  owned_file first;
  bool deserted = false;  // whether there is no socket, or a socket on which no process listens
  struct stat met {};     // the file information of PE 0's socket
  while (!first) {
    if (is_private(where.directory)) {
      static_cast<void>(::lstat(path.c_str(), &met));
      owned_file attempt = new_socket();
      if (::connect(attempt.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        first = std::move(attempt);
        break;
      }
      deserted = errno == ECONNREFUSED || errno == ENOENT;
    }
    if (clock::now() >= deadline) {
      meeting_place{path, where.directory, deserted}.remove();
      throw error(cudaErrorTimeout,
                  "membar: PE 0 did not open the rendezvous in %s within %lld ms: check that its process was started with this "
                  "directory",
                  where.directory.c_str(), static_cast<long long>(at_->budget.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!is_own(first.get())) {
    throw error(cudaErrorInvalidValue,
                "membar: the rendezvous in %s belongs to another user: use a directory that belongs only to you",
                where.directory.c_str());
  }
  letter hello = letter_of(kind::hello);
  hello.value = at_->count;
  std::memcpy(hello.bytes, where.token.data(), where.token.size());
  static_cast<void>(send(first.get(), hello, -1, deadline));
  for (;;) {
    received got;
    const bool there = ready(first.get(), POLLIN, deadline);
    const answer found = there ? receive(first.get(), got) : answer::nothing;
    if (found == answer::ended || !there) {
      struct stat now {};  // another group may be using the directory by now
      const bool left = there && ::lstat(path.c_str(), &now) == 0 && now.st_ino == met.st_ino &&
                        std::memcmp(&now.st_ctim, &met.st_ctim, sizeof met.st_ctim) == 0;
      meeting_place{path, where.directory, left}.remove();
      throw error(cudaErrorTimeout,
                  "membar: PE %d joined, but PE 0 %s before the group was complete: see PE 0's standard error", at_->rank,
                  there ? "ended" : "did not answer");
    }
    if (found == answer::nothing) {
      continue;
    }
    if (got.contents.what == kind::refused) {
      refuse_join(got.contents.why, at_->rank, at_->count);
    }
    if (got.contents.what == kind::joined) {
      at_->sockets[0] = std::move(first);
      return;
    }
    const int other = got.contents.value;
    if (got.cut) {
      refuse_files(at_->rank, at_->count);
    }
    if (got.contents.what != kind::neighbour || other < 1 || other >= at_->count || other == at_->rank ||
        socket_of(other) >= 0 || !got.file) {
      throw error(cudaErrorInvalidValue,
                  "membar: PE 0 introduced PE %d to PE %d of a group of %d: start all processes from one program", other,
                  at_->rank, at_->count);
    }
    at_->sockets[static_cast<std::size_t>(other)] = std::move(got.file);
  }
}

inline host_group host_group::join(const rendezvous& where, int rank, int count, std::chrono::milliseconds budget) {
  if (count < 1 || rank < 0 || rank >= count) {
    throw error(cudaErrorInvalidValue, "membar: PE %d of a group of %d was requested: number the processes from 0", rank,
                count);
  }
  if (where.token.size() > sizeof(letter::bytes)) {
    throw error(cudaErrorInvalidValue, "membar: the token of the rendezvous has %zu characters: use at most 64",
                where.token.size());
  }
  host_group made(rank, count, budget);
  const auto deadline = clock::now() + made.at_->budget;
  if (rank == 0) {
    made.meet_as_first(where, deadline);
  } else {
    made.meet_as_other(where, deadline);
  }
  constexpr long pidfd_open = 434;  // the system call's number is the same on every architecture; older headers do not define a
                                    // name for it
  const owned_file own(static_cast<int>(::syscall(pidfd_open, ::getpid(), 0)));
  if (!own && (errno == EMFILE || errno == ENFILE)) {
    refuse_files(rank, count);
  }
  made.at_->processes = made.all_gather_files(own.get());
  return made;
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
