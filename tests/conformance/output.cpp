// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output.hpp"

#include <membar/litmus/report.hpp>
#include <membar/model/decide.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <fstream>
#include <ostream>
#include <stdexcept>

namespace conformance {

namespace {

// Returns a string in JSON syntax.
[[nodiscard]] std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(c) < 0x20 ? printed("\\u%04x", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out + '"';
}

template <class Range, class Each>
[[nodiscard]] std::string array_of(const Range& items, const std::string& separator, Each each) {
  std::string out;
  for (const auto& item : items) {
    out += (out.empty() ? "" : "," + separator) + each(item);
  }
  return "[" + out + "]";
}

[[nodiscard]] std::string json_of(const guarantee& row) {
  return "{\"family\": " + quoted(row.family) + ", \"test\": " + quoted(row.test) +
         ", \"controls\": " + array_of(row.controls, " ", quoted) + "}";
}

[[nodiscard]] std::string json_of(const test_result& t) {
  return "{\"test\": " + quoted(t.test->name) + ", \"role\": " + quoted(t.is_guarantee ? "guarantee" : "control") +
         ", \"family\": " + quoted(t.family) + ", \"verdict\": " + quoted(name(t.result())) +
         printed(", \"instances\": %" PRIu64 ", \"weak\": %" PRIu64 ", \"forbidden\": %" PRIu64
                 ", \"rate\": %.4g, \"seconds\": %.4g",
                 t.instances, t.weak, t.forbidden, t.rate(), t.seconds) +
         printed(", \"parameter_sets\": %d", t.sets) + ", \"parameters\": " + quoted(t.best_parameters) +
         printed(", \"seed\": %" PRIu64, t.best_seed) + ", \"reason\": " + quoted(t.reason) + "}";
}

// Returns whether each value that the model allows at an observation has its own digit. A value without its own digit would be
// counted as a value that no thread writes.
[[nodiscard]] bool tells_values_apart(const membar::litmus::runnable_test& test) {
  const auto has_digit = [](std::int64_t value, const auto& observed) {
    return std::ranges::find(observed.values, value) != observed.values.end();
  };
  return std::ranges::all_of(membar::litmus::allowed_outcomes(test), [&](const std::vector<std::int64_t>& values) {
    return std::equal(values.begin(), values.end(), test.observed.begin(), has_digit);
  });
}

}  // namespace

std::string line_of(const test_result& t) {
  const std::string head = std::string(t.is_guarantee ? "guarantee " : "  control ") + t.test->name + ": ";
  const auto instances = static_cast<double>(t.instances);
  switch (t.result()) {
    case verdict::forbidden:
      return head + printed("FORBIDDEN outcomes in %" PRIu64 " of %.3g instances: ", t.forbidden, instances) + t.reason;
    case verdict::skipped:
    case verdict::failed:
      return head + name(t.result()) + ": " + t.reason;
    case verdict::not_run:
      return head + "not run";
    case verdict::observed:
      return head + printed("observed, %" PRIu64 " of %.3g instances, %.2g", t.weak, instances, t.rate());
    case verdict::not_observed:
      return head + printed("not observed in %.3g instances: a rate below %.2g, with 95 %% confidence if they are independent",
                            instances, membar::litmus::rate_bound(t.instances));
  }
  return head;
}

void write_summary(std::ostream& out, const suite& all, const campaign& done) {
  std::uint64_t instances = 0;
  double seconds = 0;
  std::size_t with_control = 0, elsewhere = 0, ran = 0;
  for (const test_result& t : done.results()) {
    instances += t.instances;
    seconds += t.seconds;
  }
  for (const guarantee& row : all.guarantees()) {
    const test_result* t = done.find(row.test);
    if (t != nullptr && t->instances != 0) {
      ++ran;
      with_control += done.control_observed(row) ? 1 : 0;
      elsewhere += done.control_observed_elsewhere(row) ? 1 : 0;
    }
  }
  out << printed("%.4g instances in %.3g s of kernels\n", static_cast<double>(instances), seconds);
  out << ran << " guarantees ran, " << done.count(true, verdict::forbidden) << " of them broken; "
      << done.count(true, verdict::skipped) << " skipped, " << done.count(true, verdict::failed) << " failed\n";
  out << with_control << " of the guarantees that ran had a control that was observed at the same place, " << elsewhere
      << " more only at another place; this run shows nothing about guarantees outside of the first group\n";
  out << done.count(false, verdict::observed) << " controls observed, " << done.count(false, verdict::not_observed)
      << " not observed, " << done.count(false, verdict::forbidden) << " with an outcome that the model forbids, "
      << done.count(false, verdict::skipped) << " skipped, " << done.count(false, verdict::failed) << " failed\n";
}

void write_list_json(std::ostream& out, const suite& all) {
  const auto told = [](const placed_test& t) {
    const auto word = [](bool is) { return is ? "true" : "false"; };
    return "{\"test\": " + quoted(t.name) + ", \"type\": " + quoted(t.type) +
           ", \"allowed\": " + word(membar::model::decide(t.test.model_test).reachable) +
           ", \"tells_values_apart\": " + word(tells_values_apart(t.test)) +
           printed(", \"outcomes\": %" PRIu64 "}", t.test.outcomes());
  };
  out << "{\n\"tests\": " << array_of(all.tests(), "\n  ", told)
      << ",\n\"guarantees\": " << array_of(all.guarantees(), "\n  ", [](const guarantee& row) { return json_of(row); })
      << "\n}\n";
}

void write_json(std::ostream& out, const suite& all, const campaign& done, const machine_description& context) {
  const plan& how = done.how();
  std::vector<guarantee> rows = all.guarantees();
  std::erase_if(rows, [&](const guarantee& row) { return done.find(row.test) == nullptr; });
  std::string told;
  for (const auto& [key, value] : context) {
    told += (told.empty() ? "" : ", ") + quoted(key) + ": " + quoted(value);
  }
  out << "{\n\"format_version\": 1,\n\"context\": {" << told << "},\n\"plan\": "
      << printed("{\"seconds\": %g, \"instances\": %" PRIu64 ", \"seed\": %" PRIu64
                 ", \"draws\": %d, \"tune_seconds\": %g, \"hunt_seconds\": %g, ",
                 how.seconds, how.instances, how.seed, how.draws, how.tune_seconds, how.hunt_seconds)
      << printed("\"minutes\": %g, \"part\": %zu, \"parts\": %zu, \"given\": ", how.minutes, how.part + 1, how.parts)
      << array_of(how.given, " ", [](const auto& set) { return quoted(membar::litmus::text_of(set)); }) << "}"
      << ",\n\"tests\": " << array_of(done.results(), "\n  ", [](const test_result& t) { return json_of(t); })
      << ",\n\"guarantees\": " << array_of(rows, "\n  ", [](const guarantee& row) { return json_of(row); }) << "\n}\n";
}

void write_json_file(const std::string& path, const suite& all, const campaign& done, const machine_description& context) {
  const std::string fresh = path + ".part";
  std::ofstream file(fresh);
  write_json(file, all, done, context);
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
    throw std::runtime_error("conformance: cannot write the results to " + path +
                             "; name a file in an existing, writable folder");
  }
}

}  // namespace conformance
