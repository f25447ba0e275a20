// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A log file in SARIF 2.1.0 with one run of the command. Source: OASIS, "Static Analysis Results Interchange Format (SARIF)
/// Version 2.1.0".
#pragma once

#include <nlohmann/json.hpp>

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

class sarif_document {
 public:
  using json = nlohmann::ordered_json;

  struct rule {
    std::string_view id;
    std::string_view text;
  };

  explicit sarif_document(std::vector<rule> rules) : rules_(std::move(rules)) {}

  [[nodiscard]] static json message(const std::string& text) { return {{"text", text}}; }
  /// Returns the location of a line in a file. Paths inside the working directory are relative to it. Line 0 means the whole file.
  [[nodiscard]] static json location(const std::string& path, int line);

  /// Returns a result for a rule, without a location. `level` is error, warning or note.
  [[nodiscard]] json result(std::string_view rule, const char* level, const std::string& text) const;
  void add(json result) { results_.push_back(std::move(result)); }
  [[nodiscard]] json& last() { return results_.back(); }

  /// Adds a notification about something that was not checked, or about an error. An error marks the run as failed.
  void notify(const std::string& path, const char* level, const std::string& text);

  void write(std::ostream& out) const;

 private:
  std::vector<rule> rules_;
  json results_ = json::array();
  json notifications_ = json::array();
  bool successful_ = true;
};

}  // namespace membar_check
