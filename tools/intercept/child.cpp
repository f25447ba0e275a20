// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "intercept/child.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <stdexcept>

namespace membar::intercept {

namespace {

volatile pid_t signalled_child = 0;
volatile sig_atomic_t interrupted_by = 0;

/// Forwards to the program a signal that would otherwise end the command, so that the report is still written.
void forward(int signal) {
  if (signalled_child > 0) {
    static_cast<void>(kill(signalled_child, signal));
  }
}

void end_group(pid_t leader) {
  static_cast<void>(kill(-leader, SIGKILL));
  static_cast<void>(kill(leader, SIGKILL));  // the program may have moved to another process group
}

/// Handles a signal that would end the command: kills the program's process group, because the terminal does not send its
/// signals to that group.
void interrupt_group(int signal) {
  if (signalled_child > 0) {
    interrupted_by = signal;
    end_group(signalled_child);
  }
}

/// Handles a signal during the object's lifetime. With `keep_ignored`, a signal that was ignored when the command started stays
/// ignored.
class handled_signal {
 public:
  handled_signal(int signal, void (*handler)(int), bool keep_ignored = true) : signal_(signal) {
    struct sigaction how {};
    how.sa_handler = handler;
    sigaction(signal, nullptr, &before_);
    if (!keep_ignored || before_.sa_handler != SIG_IGN) {
      sigaction(signal, &how, nullptr);
    }
  }
  ~handled_signal() { restore(); }
  handled_signal(const handled_signal&) = delete;
  handled_signal& operator=(const handled_signal&) = delete;

  void restore() const { sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ {};
};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("cannot " + what + ": " + std::strerror(errno)); }

/// A file descriptor with the close-on-exec flag. Its number is at least 3, even if the command was started without some of the
/// standard streams.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int file) : file_(file < 0 ? file : fcntl(file, F_DUPFD_CLOEXEC, 3)) {
    if (file >= 0) {
      ::close(file);
    }
  }
  ~descriptor() { close(); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int get() const { return file_; }
  void close() {
    if (file_ >= 0) {
      ::close(file_);
    }
    file_ = -1;
  }

 private:
  int file_ = -1;
};

/// Waits until the program has ended, but does not release its process id. Returns whether the time limit was reached.
bool wait_for(pid_t child, const run_options& how) {
  const auto begin = std::chrono::steady_clock::now();
  const bool looks = how.meanwhile || how.seconds > 0;
  bool timed_out = false;
  while (true) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT | (looks && !timed_out ? WNOHANG : 0)) != 0) {
      if (errno == EINTR) {
        continue;
      }
      fail("wait for the program");
    }
    if (ended.si_pid != 0) {
      return timed_out;
    }
    if (how.seconds > 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > how.seconds) {
      static_cast<void>(how.own_group ? end_group(child) : forward(SIGKILL));
      timed_out = true;
      continue;
    }
    const timespec pause{0, how.meanwhile ? 50'000'000 : 2'000'000};
    nanosleep(&pause, nullptr);
    if (how.meanwhile) {
      how.meanwhile();
    }
  }
}

/// Called in the new process: executes the program or reports why it cannot be started.
[[noreturn]] void become(const std::vector<char*>& words, const std::vector<std::pair<std::string, std::string>>& environment,
                         int tells) {
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  execvp(words[0], words.data());
  const int why = errno;
  static_cast<void>(!::write(tells, &why, sizeof why));
  _exit(why == ENOENT ? 127 : 126);
}

/// Sets the result's exit status from the program's wait status or, if the program could not start, from the error number
/// `why`.
void set_status(outcome& result, int status, int why) {
  if (!result.started) {
    result.status = why == ENOENT ? 127 : 126;
  } else if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.status = 128 + result.signal;
  } else {
    result.status = WEXITSTATUS(status);
  }
}

}  // namespace

outcome run(const std::vector<std::string>& program, const std::vector<std::pair<std::string, std::string>>& environment,
            const run_options& how) {
  std::vector<char*> words;
  for (const std::string& word : program) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    fail("create a pipe");
  }
  descriptor told(failure[0]), tells(failure[1]);
  const bool has_output = !how.output.empty();
  const descriptor in(has_output ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1);
  const descriptor out(has_output ? open(how.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1);
  if (told.get() < 0 || tells.get() < 0 || (has_output && (in.get() < 0 || out.get() < 0))) {
    fail("open " + (has_output ? "'" + how.output + "'" : std::string("a pipe")));
  }
  // If SIGCHLD were ignored, the program's exit status would be lost.
  const handled_signal child_ended(SIGCHLD, SIG_DFL, false);
  // Signals are blocked until the program exists and they can be forwarded to it.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  if (child < 0) {
    const int why = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    errno = why;
    fail("create a process");
  }
  if (child == 0) {
    if (has_output) {
      static_cast<void>(dup2(in.get(), 0));
      static_cast<void>(dup2(out.get(), 1));
      static_cast<void>(dup2(out.get(), 2));
    }
    if (how.own_group) {
      static_cast<void>(setpgid(0, 0));
    }
    child_ended.restore();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    become(words, environment, tells.get());
  }
  tells.close();
  if (how.own_group) {
    static_cast<void>(setpgid(child, child));  // called in both processes, because either may run first
  }
  signalled_child = child;
  interrupted_by = 0;
  // A program in the command's process group also receives the terminal's SIGINT and SIGQUIT, so the command ignores them. All
  // other signals reach only the command, which forwards them or kills the program's own group.
  const auto of_terminal = how.own_group ? interrupt_group : SIG_IGN;
  const auto ending = how.own_group ? interrupt_group : forward;
  const handled_signal interrupt(SIGINT, of_terminal), quit(SIGQUIT, of_terminal);
  const handled_signal term(SIGTERM, ending), hup(SIGHUP, ending), first(SIGUSR1, forward), second(SIGUSR2, forward);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int why = 0;
  outcome result;
  ssize_t bytes = 0;
  do {
    bytes = read(told.get(), &why, sizeof why);
  } while (bytes < 0 && errno == EINTR);
  result.started = bytes != sizeof why;
  result.timed_out = wait_for(child, how);
  signalled_child = 0;
  if (how.own_group) {
    end_group(child);  // the process id stays reserved until the process is waited for
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.interrupted = interrupted_by;
  set_status(result, status, why);
  return result;
}

std::string library_path(const std::string& file, const std::string& installed) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const std::string& place :
       {std::string("."), std::string("../lib/membar"), std::string("../lib64/membar"), "../" + installed}) {
    const auto candidate = here / place / file;
    if (std::filesystem::exists(candidate)) {
      const std::string path = std::filesystem::canonical(candidate).string();
      if (path.find_first_of(" :") != std::string::npos) {
        throw std::runtime_error("'" + path +
                                 "' contains a space or a colon, where the loader would split LD_PRELOAD: install membar in "
                                 "another folder");
      }
      return path;
    }
  }
  throw std::runtime_error(file +
                           " is neither in the command's folder nor in its lib folder: build membar where CMake finds the CUDA "
                           "toolkit");
}

std::string preload_value(const std::string& library) {
  const char* const before = std::getenv("LD_PRELOAD");
  return before == nullptr || *before == '\0' ? library : library + ":" + before;
}

}  // namespace membar::intercept
