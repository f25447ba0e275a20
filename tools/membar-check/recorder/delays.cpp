// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/delays.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ptx/text.hpp>
#include <string>
#include <utility>
#include <vector>
#include <witness/rewrite.hpp>

#include "membar-check/recorder/code.hpp"
#include "membar-check/recorder/records.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

namespace {

using membar::witness::constant_delays;
using nlohmann::json;

/// A kernel to delay.
struct delayed_kernel {
  std::string name;
  constant_delays delays;
  std::vector<int> preferred;  ///< the lines to prefer for delays, counted from the beginning of the kernel
  bool split_warp = false;
};

/// The command's request, read from a JSON file.
struct delay_request {
  std::vector<delayed_kernel> kernels;
  std::string report;  ///< the file to which each process appends JSON lines

  delay_request() {
    const char* const path = std::getenv(environment::delays);
    if (path == nullptr || *path == '\0') {
      return;
    }
    const json asked = json::parse(std::ifstream(path));
    report = asked.at("report");
    for (const json& k : asked.at("kernels")) {
      kernels.push_back({k.at("name"),
                         {asked.at("limit"), k.at("actors"), k.at("cycles")},
                         k.at("preferred").get<std::vector<int>>(),
                         k.at("split_warp")});
    }
  }
};

const delay_request& asked() {
  static const delay_request* const one = [] {
    auto* made = static_cast<delay_request*>(nullptr);
    quietly([&] { made = new delay_request; });
    return made != nullptr ? made : new delay_request(delay_request{});
  }();
  return *one;
}

void report(const json& line) {
  const int file = ::open(asked().report.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
  if (file >= 0) {
    static_cast<void>(!::write(file, text.data(), text.size()));
    ::close(file);
  }
}

/// Returns the number of the line on which a kernel begins, counted from 0.
int line_of(std::string_view text, const std::string& kernel) {
  for (const membar::ptx::ptx_part& part : membar::ptx::parts_of(text)) {
    if (part.kind == membar::ptx::ptx_part::kind_t::kernel && part.name == kernel) {
      return static_cast<int>(std::count(text.data(), part.text.data(), '\n'));
    }
  }
  return 0;
}

/// Returns the PTX with delays in all kernels that the request names.
std::string rewritten(std::string text) {
  for (const delayed_kernel& k : asked().kernels) {
    // The text may already contain the delays, because a driver function that loads code may call another such function.
    if (!membar::ptx::defines_kernel(text, k.name) || membar::witness::has_constant_delays(text, k.name)) {
      continue;
    }
    const int first = line_of(text, k.name);
    membar::witness::rewrite_request request;
    request.kernel = k.name;
    request.constant = &k.delays;
    request.split_warp = k.split_warp && !membar::witness::has_warp_operations(text, k.name);
    for (const int line : k.preferred) {
      request.preferred.push_back(first + line);
    }
    membar::witness::rewritten_kernel kernel_with_delays = membar::witness::rewrite(text, request);
    json sites = json::array();
    for (const membar::witness::site& s : kernel_with_delays.sites) {
      sites.push_back({s.line - first, s.opcode});
    }
    report({{"kernel", k.name}, {"sites", std::move(sites)}});
    text = std::move(kernel_with_delays.text);
  }
  return text;
}

/// Returns the rewritten PTX of an image, or an empty string if the image defines none of the kernels.
std::string text_with_delays(const void* image) {
  std::string text;
  for (const delayed_kernel& k : asked().kernels) {
    text = text.empty() ? ptx_with_kernel(image, k.name) : text;
  }
  return text.empty() ? text : rewritten(std::move(text));
}

template <class Function>
void told(const Function& function) noexcept {
  quietly([&] {
    try {
      function();
    } catch (const std::exception& e) {
      report({{"problem", e.what()}});
    }
  });
}

/// Withdraws the reported sites of the kernels that have delays in this PTX, because the driver did not load it.
void not_loaded(std::string_view text, int error) {
  for (const delayed_kernel& k : asked().kernels) {
    if (membar::witness::has_constant_delays(text, k.name)) {
      report({{"kernel", k.name}, {"sites", json::array()}});
      report({{"problem", "the driver could not load " + k.name + " with delays added (CUDA error " + std::to_string(error) +
                              "), so the program's own code ran"}});
    }
  }
}

}  // namespace

const void* with_delays(const void* image) noexcept {
  const void* result = image;
  told([&] {
    if (image != nullptr && !asked().kernels.empty()) {
      if (std::string text = text_with_delays(image); !text.empty()) {
        result = (new std::string(std::move(text)))->c_str();  // never freed, because the program may load it at a later time
      }
    }
  });
  return result;
}

const char* file_with_delays(const char* path) noexcept {
  const char* result = path;
  told([&] {
    if (path == nullptr || asked().kernels.empty()) {
      return;
    }
    const std::string bytes = image_of_file(path);
    if (std::string text = text_with_delays(bytes.c_str()); !text.empty()) {
      static std::atomic<int> number = 0;
      auto* const copy =
          new std::string(asked().report + "." + std::to_string(getpid()) + "." + std::to_string(number++) + ".ptx");
      std::ofstream(*copy) << text;
      result = copy->c_str();
    }
  });
  return result;
}

void image_not_loaded(const void* delayed, int error) noexcept {
  told([&] { not_loaded(static_cast<const char*>(delayed), error); });
}

void file_not_loaded(const char* delayed, int error) noexcept {
  told([&] { not_loaded(image_of_file(delayed).c_str(), error); });
}

}  // namespace membar_record
