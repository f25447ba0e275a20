// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "intercept/child.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <stdexcept>

namespace membar::intercept {

namespace {

volatile pid_t signalled_child = 0;

/// A signal that would end the command is for the program: its report is still written.
void forward(int signal) { static_cast<void>(kill(signalled_child, signal)); }

/// Handles a signal while it lives, unless the command was started with it ignored.
class handled_signal {
 public:
  handled_signal(int signal, void (*handler)(int)) : signal_(signal) {
    struct sigaction how {};
    how.sa_handler = handler;
    sigaction(signal, nullptr, &before_);
    if (before_.sa_handler != SIG_IGN) {
      sigaction(signal, &how, nullptr);
    }
  }
  ~handled_signal() { sigaction(signal_, &before_, nullptr); }
  handled_signal(const handled_signal&) = delete;
  handled_signal& operator=(const handled_signal&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

}  // namespace

outcome run(const std::vector<std::string>& program, const std::vector<std::pair<std::string, std::string>>& environment,
            const std::function<void()>& meanwhile) {
  std::vector<char*> words;
  for (const std::string& word : program) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    throw std::runtime_error(std::string("cannot create a pipe: ") + std::strerror(errno));
  }
  // Signals wait until there is a program that they can go to.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    throw std::runtime_error(std::string("cannot create a process: ") + std::strerror(errno));
  }
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    for (const auto& [name, value] : environment) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    execvp(words[0], words.data());
    const int why = errno;
    static_cast<void>(!::write(failure[1], &why, sizeof why));
    _exit(why == ENOENT ? 127 : 126);
  }
  close(failure[1]);
  signalled_child = child;
  // The terminal also sends these to the program; other signals reach only the command.
  const handled_signal interrupt(SIGINT, SIG_IGN), quit(SIGQUIT, SIG_IGN);
  const handled_signal term(SIGTERM, forward), hup(SIGHUP, forward), first(SIGUSR1, forward), second(SIGUSR2, forward);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int why = 0;
  outcome out;
  ssize_t told = 0;
  do {
    told = read(failure[0], &why, sizeof why);
  } while (told < 0 && errno == EINTR);
  out.started = told != sizeof why;
  close(failure[0]);
  int status = 0;
  for (pid_t ended = 0; ended == 0 || (ended < 0 && errno == EINTR);) {
    ended = waitpid(child, &status, meanwhile ? WNOHANG : 0);
    if (ended == 0) {
      const timespec pause{0, 50'000'000};
      nanosleep(&pause, nullptr);
      meanwhile();
    }
  }
  if (!out.started) {
    out.status = why == ENOENT ? 127 : 126;
  } else if (WIFSIGNALED(status)) {
    out.signal = WTERMSIG(status);
    out.status = 128 + out.signal;
  } else {
    out.status = WEXITSTATUS(status);
  }
  return out;
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
