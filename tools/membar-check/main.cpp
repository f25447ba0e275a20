// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command `membar-check`: explores the executions of kernels as nvcc compiled them.
#include <common/text_file.hpp>
#include <membar-check/lint_command.hpp>
#include <membar-check/nvcc.hpp>
#include <membar-check/progress.hpp>
#include <membar-check/record_command.hpp>
#include <membar-check/report.hpp>
#include <membar-check/request.hpp>
#include <membar-check/sanitize_command.hpp>
#include <membar-check/scenario_file.hpp>
#include <membar-check/witness_command.hpp>

#include <check/async_copies.hpp>
#include <check/explore.hpp>
#include <check/finding_notes.hpp>
#include <check/finding_text.hpp>
#include <check/litmus_program.hpp>
#include <check/object_users.hpp>
#include <check/order_costs.hpp>
#include <check/repair.hpp>
#include <check/scenario.hpp>
#include <check/trace.hpp>
#include <litmus/reader.hpp>
#include <litmus/readings.hpp>
#include <ptx/decode.hpp>
#include <ptx/module.hpp>
#include <ptx/reader.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace check = membar::check;
namespace model = membar::model;
using membar_check::checked_file;
using membar_check::report;
using membar_check::request;
using membar_tools::read_file;
using membar_tools::write_file;

enum exit_status : int { verified = 0, found = 1, error = 2, gave_up = 3 };

check::prepared_scenario prepared(const std::string& path, membar_check::progress_line& progress) {
  const std::string text = read_file(path);
  const std::filesystem::path kind = std::filesystem::path(path).extension();
  if (kind == ".litmus") {
    check::prepared_scenario result;
    result.checked = check::program_of(membar::litmus_files::read_litmus(text));
    return result;
  }
  const check::scenario s = membar_check::scenario_of(path, text);
  progress.begins("being compiled");
  return check::prepare(s, membar_check::ptx_of(s));
}

/// Reports, for each kernel of a source, whether it can be read.
int read_kernels(const std::string& path, const request& how) {
  int worst = verified;
  const std::string shown = membar_tools::shortened(path, 400);
  try {
    const std::string text =
        membar_check::is_source_name(path) ? membar_check::compiled("", path, how.nvcc_options) : read_file(path);
    const membar::ptx::ptx_module module = membar::ptx::read_ptx(text);
    const membar::ptx::module_layout layout = membar::ptx::layout_of(module);
    for (const membar::ptx::ptx_function& f : module.functions) {
      if (!f.kernel || !f.defined) {
        continue;
      }
      std::cout << shown << '\t' << f.name;
      try {
        static_cast<void>(membar::ptx::decode_kernel(module, layout, f));
        std::cout << "\tread\n";
      } catch (const std::exception& e) {
        std::cout << "\trefused\t" << e.what() << '\n';
        worst = error;
      }
    }
  } catch (const std::exception& e) {
    std::cout << shown << "\terror\t" << e.what() << '\n';
    worst = error;
  }
  return worst;
}

bool shows_progress(const request& how) { return !how.quiet && how.format == membar_check::report_format::text; }

/// Returns a copy of the request that makes explorations report their progress.
request watched_by(membar_check::progress_line& progress, request how) {
  how.options.progress = [&progress](const check::check_statistics& counts) { progress.is_at(counts); };
  return how;
}

/// Returns the requested table of costs.
check::order_costs costs_of(const request& how) {
  if (how.costs.empty()) {
    return check::order_costs::read(std::string(check::h200_order_costs));
  }
  try {
    return check::order_costs::read(read_file(how.costs));
  } catch (const std::exception& e) {
    throw model::error(how.costs + ": " + e.what());
  }
}

/// Searches for repairs to a file that is not verified, or for excess orders in a verified file.
void look_for_changes(const checked_file& file, const request& asked, report& out) {
  membar_check::progress_line progress(file.path, shows_progress(asked));
  progress.begins("being explored with changes");
  const request how = watched_by(progress, asked);
  check::repair_options options;
  options.most_edits = static_cast<int>(how.repair);
  options.each = how.options;
  options.most_events = how.options.most_events;
  const check::order_costs costs = costs_of(how);
  const check::check_property property = file.prepared.property();
  if (file.result.status == check::check_status::verified) {
    const check::excess_result found = check::excess_orders_of(file.prepared.checked, property, costs, options);
    progress.end();
    out.excess_orders(file, found, costs);
  } else {
    const check::repair_result found = check::repairs_of(file.prepared.checked, property, costs, options);
    progress.end();
    out.repairs(file, found, costs);
  }
}

/// Explores a file. If its scenario uses host memory, also determines whether devices and host threads access that memory.
void explore(checked_file& file, const request& how) {
  const check::check_property holds = file.prepared.property();
  check::object_users users(file.prepared.checked);
  const auto watched = [&](const check::final_memory& end) {
    users.add(end.execution());
    return holds(end);
  };
  file.result =
      check::explore(file.prepared.checked, users.has_host_memory() ? check::check_property(watched) : holds, how.options);
  if (file.result.status == check::check_status::verified) {
    if (check::reads_clock(file.prepared.checked)) {
      file.warnings.emplace_back("clocks stand still");
    }
    for (std::string& warning : users.warnings()) {
      file.warnings.push_back(std::move(warning));
    }
    if (std::string readings = membar::litmus_files::alternatives_taken(how.options.readings); !readings.empty()) {
      file.warnings.push_back(std::move(readings));
    }
    if (check::asks_launch_control(file.prepared.checked)) {
      file.warnings.emplace_back("assuming that every clusterlaunchcontrol.try_cancel reports that nothing was cancelled");
    }
    for (std::string& race : check::accepted_races(file.prepared.checked, file.result)) {
      file.warnings.push_back(std::move(race));
    }
    if (const check::check_result& r = file.result; r.discarded_at != nullptr) {
      file.warnings.push_back("the load at " + check::place_of(file.prepared.checked, r.discarded, *r.discarded_at) +
                              " races, and thread " + std::to_string(r.discarded) + " never uses its value");
    }
  }
}

int run(const std::string& path, const request& how, report& out) {
  bool has_result = false;
  membar_check::progress_line progress(path, shows_progress(how));
  try {
    checked_file file;
    file.path = path;
    file.prepared = prepared(path, progress);
    progress.begins("being explored");
    const auto begin = std::chrono::steady_clock::now();
    request limited = watched_by(progress, how);
    limited.options.time = check::time_limit(static_cast<double>(how.seconds));
    explore(file, limited);
    progress.end();
    file.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    out.result(file);
    has_result = true;
    const check::check_result& r = file.result;
    if (how.repair != 0 && r.status != check::check_status::gave_up) {
      look_for_changes(file, limited, out);
    }
    if (r.status == check::check_status::verified) {
      return verified;
    }
    const std::string name = std::filesystem::path(path).stem().string();
    if (!how.dot.empty()) {
      write_file(how.dot, check::dot_of(file.prepared.checked, r.found, name));
    }
    if (!how.litmus.empty()) {  // some findings cannot be expressed as a litmus test
      write_file(how.litmus, check::litmus_of(file.prepared.checked, r.found, name));
    }
    return r.status == check::check_status::gave_up ? gave_up : found;
  } catch (const std::exception& e) {
    progress.end();
    out.error(path, e.what(), has_result);
    return error;
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string(arguments[1]) == "lint") {
    return membar_check::lint_command({arguments + 2, arguments + count});
  }
  if (count > 1 && std::string(arguments[1]) == "record") {
    return membar_check::record_command({arguments + 2, arguments + count});
  }
  if (count > 1 && std::string(arguments[1]) == "attach") {
    return membar_check::attach_command({arguments + 2, arguments + count});
  }
  if (count > 1 && std::string(arguments[1]) == "sanitize") {
    return membar_check::sanitize_command({arguments + 2, arguments + count});
  }
  if (count > 1 && std::string(arguments[1]) == "witness") {
    return membar_check::witness_command({arguments + 2, arguments + count});
  }
  int worst = verified;
  const auto how = membar_check::read_request(count, arguments, worst);
  if (!how) {
    return worst;
  }
  if (how->read) {
    for (const std::string& file : how->files) {
      worst = std::max<int>(worst, read_kernels(file, *how));
    }
    return worst;
  }
  using membar_check::report_format;
  const std::unique_ptr<report> out = how->format == report_format::json    ? membar_check::json_report(std::cout)
                                      : how->format == report_format::sarif ? membar_check::sarif_report(std::cout)
                                                                            : membar_check::text_report(std::cout, *how);
  // the worst status wins: an error, then a finding, then an exploration that gave up
  const auto weight = [](int s) { return s == error ? 3 : s == found ? 2 : s == gave_up ? 1 : 0; };
  for (const std::string& file : how->files) {
    const int status = run(file, *how, *out);
    worst = weight(status) > weight(worst) ? status : worst;
  }
  out->end();
  return worst;
}
