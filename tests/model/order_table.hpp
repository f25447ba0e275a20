// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Proves with litmus tests of the algorithms that the headers' memory orders are sufficient and necessary. The orders in a
/// litmus test are read from the header's text, so a header with a weaker order yields a different test and a different
/// verdict.
#pragma once

#include <litmus/reader.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace membar_test {

/// A place where a header names an order. `code` contains `$` in place of the order, and `#` in place of any other orders.
struct order_site {
  const char* name;    ///< The name by which scenarios refer to the order.
  const char* header;  ///< The header's name in the table's folder.
  /// A text that occurs once in the header: the site is the first match of `code` after this text. If this text is empty,
  /// `code` must occur exactly once in the header.
  const char* function;
  const char* code;         ///< Spaces and comments in the header are ignored.
  const char* orders = "";  ///< The orders that compile at this place; empty if all orders do.
};

/// A thread in a litmus test: its place and its instructions, separated by `;`.
///
/// `{site}` is replaced by the order at that site in the header, and `{one&two}` by the order of `one`, or by relaxed if `two`
/// is relaxed. A relaxed fence means no fence.
struct scenario_thread {
  const char* place;
  std::string code;
};

/// An algorithm, and a final state that it must not reach.
struct scenario {
  const char* name;
  const char* start;  ///< Locations and their initial values.
  std::vector<scenario_thread> threads;
  const char* violation;  ///< The condition of the litmus test.
};

inline std::ostream& operator<<(std::ostream& out, const order_site& s) { return out << s.header << ": " << s.code; }
inline std::ostream& operator<<(std::ostream& out, const scenario& s) { return out << s.name; }

/// A weaker order that preserves every guarantee.
struct enough_order {
  const char* site;
  const char* weaker;
  const char* proof;
};

namespace order_detail {

/// Returns the text without comments, string contents, line breaks and unnecessary blanks.
inline std::string condensed(const std::string& text) {
  static const std::regex comment(R"(//[^\n]*|"(?:[^"\\\n]|\\.)*")");
  const std::string code = std::regex_replace(text, comment, " ");
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string result;
  bool blank = false;
  for (const char c : code) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      blank = true;
      continue;
    }
    if (blank && !result.empty() && word(result.back()) && word(c)) {
      result += ' ';
    }
    blank = false;
    result += c;
  }
  return result;
}

/// Returns the position of the order in the first match of a site's code at or after `from`, or npos.
inline std::size_t find_code(const std::string& text, const std::string& code, std::size_t from, std::size_t& end) {
  static const std::vector<std::string> words = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  for (std::size_t start = from; start < text.size(); ++start) {
    std::size_t at = start;
    std::size_t order = std::string::npos;
    bool good = true;
    for (std::size_t i = 0; good && i < code.size(); ++i) {
      if (code[i] != '$' && code[i] != '#') {
        good = at < text.size() && text[at++] == code[i];
        continue;
      }
      const auto found = std::ranges::find_if(words, [&](const std::string& w) { return text.compare(at, w.size(), w) == 0; });
      good = found != words.end();
      if (good) {
        order = code[i] == '$' ? at : order;
        at += found->size();
      }
    }
    if (good) {
      end = at;
      return order;
    }
  }
  return std::string::npos;
}

inline std::string word_at(const std::string& text, std::size_t at) { return text.substr(at, 7); }

inline bool compiles(const order_site& site, const std::string& order) {
  return *site.orders == '\0' || std::string_view(site.orders).find(order) != std::string_view::npos;
}

inline std::vector<std::string> weaker_than(const std::string& order) {
  if (order == "seq_cst") {
    return {"acq_rel"};
  }
  return order == "acq_rel" ? std::vector<std::string>{"acquire", "release"} : std::vector<std::string>{"relaxed"};
}

}  // namespace order_detail

/// The headers of a folder, and the scenarios of their algorithms.
class order_table {
 public:
  using texts = std::map<std::string, std::string>;  ///< The condensed text of each header.

  order_table(const std::filesystem::path& folder, std::vector<order_site> sites, std::vector<scenario> scenarios,
              std::vector<enough_order> enough)
      : sites_(std::move(sites)), scenarios_(std::move(scenarios)), enough_(std::move(enough)) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (file.is_regular_file()) {
        std::ostringstream text;
        text << std::ifstream(file.path()).rdbuf();
        headers_[std::filesystem::relative(file.path(), folder).generic_string()] = order_detail::condensed(text.str());
      }
    }
  }

  [[nodiscard]] const std::vector<scenario>& scenarios() const noexcept { return scenarios_; }

  /// Returns whether, with the orders in these headers, the model allows the final state that the scenario must not reach.
  [[nodiscard]] bool violated(const scenario& s, const texts& headers) const {
    return membar::model::decide(membar::litmus_files::read_litmus(litmus(s, headers))).reachable;
  }
  [[nodiscard]] bool violated(const scenario& s) const { return violated(s, headers_); }

  /// Returns a scenario's litmus test with the orders in these headers.
  [[nodiscard]] std::string litmus(const scenario& s, const texts& headers) const {
    std::vector<std::vector<std::string>> columns;
    std::size_t rows = 0;
    for (const scenario_thread& t : s.threads) {
      std::vector<std::string> column = {"P" + std::to_string(columns.size()) + "@" + t.place};
      std::istringstream code(t.code);
      for (std::string line; std::getline(code, line, ';');) {
        line = with_orders(line, headers);
        if (line.find("fence.relaxed") == std::string::npos) {
          column.push_back(line);
        }
      }
      rows = std::max(rows, column.size());
      columns.push_back(std::move(column));
    }
    std::string text = "PTX scenario\n{ " + std::string(s.start) + " }\n";
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        text += (c == 0 ? " " : " | ") + (row < columns[c].size() ? columns[c][row] : std::string());
      }
      text += " ;\n";
    }
    return text + "exists (" + s.violation + ")\n";
  }

  /// Checks that every order stronger than relaxed in the headers' code belongs to exactly one site.
  void expect_every_order_has_a_site() const {
    // This is a list of allowed orders or a function; no operation here uses an order.
    static const std::regex order(R"(\border_among<[^>]*>|\b(?:acquire|release|acq_rel|seq_cst)(?:_t)?\b(?!\())");
    for (const auto& [name, text] : headers_) {
      std::map<std::size_t, std::string> claimed;
      for (const order_site& site : sites_) {
        if (name == site.header) {
          const std::size_t at = find(site, headers_);
          EXPECT_TRUE(claimed.emplace(at, site.name).second)
              << site.name << " and " << claimed[at] << " are the same place in " << name;
        }
      }
      for (std::sregex_iterator found(text.begin(), text.end(), order); found != std::sregex_iterator(); ++found) {
        const auto at = static_cast<std::size_t>(found->position());
        if (!found->str().starts_with("order_among")) {
          EXPECT_TRUE(claimed.contains(at))
              << name << " has an order that no scenario reads: " << text.substr(at - std::min<std::size_t>(at, 60), 80);
        }
      }
    }
  }

  /// Checks that with any weaker order at the site, some scenario reaches its forbidden final state, unless the table gives a
  /// reason why the weaker order is sufficient.
  void expect_need(const order_site& site) const {
    const std::size_t at = find(site, headers_);
    const std::string now = order_detail::word_at(headers_.at(site.header), at);
    if (now == "relaxed") {
      return;  // The scenarios decide whether this order is sufficient.
    }
    for (const std::string& weaker : order_detail::weaker_than(now)) {
      if (!order_detail::compiles(site, weaker)) {
        continue;
      }
      texts weakened = headers_;
      weakened.at(site.header).replace(at, now.size(), weaker);
      const auto argued = std::ranges::find_if(
          enough_, [&](const enough_order& e) { return std::string_view(e.site) == site.name && e.weaker == weaker; });
      const bool noticed =
          std::ranges::any_of(scenarios_, [&](const scenario& s) { return reads(s, site) && violated(s, weakened); });
      if (argued == enough_.end()) {
        EXPECT_TRUE(noticed) << site.header << ", " << site.name << ", " << site.code << ": " << weaker
                             << " is sufficient for every scenario";
      } else {
        EXPECT_FALSE(noticed) << site.name << " as " << weaker << " is not sufficient: " << argued->proof;
      }
    }
  }

  [[nodiscard]] const std::vector<order_site>& sites() const noexcept { return sites_; }

 private:
  [[nodiscard]] std::size_t find(const order_site& site, const texts& headers) const {
    const std::string& text = headers.at(site.header);
    const std::string function = order_detail::condensed(site.function);
    const std::string code = order_detail::condensed(site.code);
    std::size_t from = text.find(function);
    std::size_t end = 0;
    std::size_t rest = 0;
    const bool once = from != std::string::npos && (function.empty() || text.find(function, from + 1) == std::string::npos);
    const std::size_t at = once ? order_detail::find_code(text, code, from, end) : std::string::npos;
    if (at == std::string::npos || (function.empty() && order_detail::find_code(text, code, end, rest) != std::string::npos)) {
      throw std::runtime_error(std::string(site.header) + " has the place '" + site.name +
                               "' not exactly once: " + site.function + " ... " + site.code);
    }
    return at;
  }

  [[nodiscard]] std::string order_of(const std::string& name, const texts& headers) const {
    const auto site = std::ranges::find_if(sites_, [&](const order_site& each) { return each.name == name; });
    if (site == sites_.end()) {
      throw std::runtime_error("a scenario reads '" + name + "', which is not in the table");
    }
    std::string order = order_detail::word_at(headers.at(site->header), find(*site, headers));
    if (!order_detail::compiles(*site, order)) {
      throw std::runtime_error(std::string(site->header) + " has " + order + " in " + site->code + ", which takes " +
                               site->orders + " only: write one of these");
    }
    return order;
  }

  [[nodiscard]] std::string with_orders(std::string line, const texts& headers) const {
    for (std::size_t open; (open = line.find('{')) != std::string::npos;) {
      const std::size_t close = line.find('}', open);
      std::istringstream names(line.substr(open + 1, close - open - 1));
      std::string order;
      for (std::string name; std::getline(names, name, '&');) {
        const std::string here = order_of(name, headers);
        order = order.empty() || here == "relaxed" ? here : order;
      }
      line.replace(open, close - open + 1, order);
    }
    return line;
  }

  [[nodiscard]] static bool reads(const scenario& s, const order_site& site) {
    const std::regex name("[{&]" + std::string(site.name) + "[}&]");
    return std::ranges::any_of(s.threads, [&](const scenario_thread& t) { return std::regex_search(t.code, name); });
  }

  texts headers_;
  std::vector<order_site> sites_;
  std::vector<scenario> scenarios_;
  std::vector<enough_order> enough_;
};

/// Each program defines this for the headers in its folder, MEMBAR_HEADERS: the places that name an order, and the scenarios.
extern const std::vector<order_site> sites;
extern const std::vector<scenario> scenarios;

/// The table for the headers in the program's folder.
inline const order_table& table() {
  static const order_table all(MEMBAR_HEADERS, sites, scenarios, {});
  return all;
}

class every_scenario : public ::testing::TestWithParam<scenario> {};
TEST_P(every_scenario, keeps_the_guarantee) {
  EXPECT_FALSE(table().violated(GetParam())) << "the model allows the forbidden final state";
}
INSTANTIATE_TEST_SUITE_P(, every_scenario, ::testing::ValuesIn(table().scenarios()),
                         [](const auto& each) { return std::string(each.param.name); });

class every_order : public ::testing::TestWithParam<order_site> {};
TEST_P(every_order, is_needed) { table().expect_need(GetParam()); }
INSTANTIATE_TEST_SUITE_P(, every_order, ::testing::ValuesIn(table().sites()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(headers, have_no_order_that_no_scenario_reads) { table().expect_every_order_has_a_site(); }

}  // namespace membar_test
