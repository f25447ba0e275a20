// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/short_path.hpp>
#include <common/version.hpp>
#include <membar-check/sarif_document.hpp>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

namespace membar_check {

namespace {

using json = sarif_document::json;

/// Returns a path as a URI reference according to RFC 3986.
std::string encoded(const std::string& path) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    result += plain.find(c) != std::string_view::npos ? std::string(1, c)
                                                      : std::string("%") + digits[byte / 16U] + digits[byte % 16U];
  }
  return result;
}

json artifact(const std::string& path) {
  const std::string inside = membar_tools::path_in_working_folder(path);
  if (inside.empty()) {
    return {{"uri", "file://" + encoded(std::filesystem::absolute(path).lexically_normal().string())}};
  }
  return {{"uri", encoded(inside)}, {"uriBaseId", "%SRCROOT%"}};
}

}  // namespace

json sarif_document::location(const std::string& path, int line) {
  json physical = {{"artifactLocation", artifact(path)}};
  if (line > 0) {
    physical["region"] = {{"startLine", line}};
  }
  return {{"physicalLocation", std::move(physical)}};
}

json sarif_document::result(std::string_view rule_id, const char* level, const std::string& text) const {
  const auto at = std::ranges::find(rules_, rule_id, &rule::id) - rules_.begin();
  return {{"ruleId", rule_id}, {"ruleIndex", at}, {"level", level}, {"message", message(text)}};
}

void sarif_document::notify(const std::string& path, const char* level, const std::string& text) {
  notifications_.push_back({{"level", level}, {"message", message(text)}, {"locations", json::array({location(path, 0)})}});
  successful_ = successful_ && level != std::string_view("error");
}

void sarif_document::write(std::ostream& out) const {
  json described = json::array();
  for (const rule& r : rules_) {
    described.push_back({{"id", r.id}, {"shortDescription", message(std::string(r.text))}});
  }
  const json invocation = {{"executionSuccessful", successful_}, {"toolExecutionNotifications", notifications_}};
  const json run = {
      {"tool",
       {{"driver", {{"name", "membar-check"}, {"version", membar_tools::version_text()}, {"rules", std::move(described)}}}}},
      {"invocations", json::array({invocation})},
      {"originalUriBaseIds", {{"%SRCROOT%", {{"uri", "file://" + encoded(std::filesystem::current_path().string()) + "/"}}}}},
      {"columnKind", "unicodeCodePoints"},
      {"results", results_}};
  const json document = {
      {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", json::array({run})}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

}  // namespace membar_check
