// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/named_memory.hpp>
#include <membar/model/error.hpp>
#include <ptx/words.hpp>
#include <witness/reproducer.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::witness {

namespace {

using check::named_memory;
using check::ptx_type;

/// Returns the memory that the final conditions mention.
[[nodiscard]] std::vector<named_memory> named(const check::scenario& s, const membar_witness::program& p) {
  std::vector<named_memory> result;
  for (const membar_witness::object& o : p.memory) {
    const auto line = std::find_if(s.memory.begin(), s.memory.end(), [&](const auto& m) { return m.memory.name == o.name; });
    named_memory one;
    if (line != s.memory.end()) {
      one = line->memory;
    } else {
      one.name = o.name;
      one.type = o.bytes == 8 ? ptx_type::u64 : o.bytes % 4 == 0 ? ptx_type::u32 : ptx_type::u8;
      one.count = o.bytes / static_cast<std::uint64_t>(ptx::bytes_of(one.type));
    }
    one.address = o.address;
    result.push_back(std::move(one));
  }
  return result;
}

[[nodiscard]] std::string type_in_cpp(ptx_type type) {
  const int bits = 8 * ptx::bytes_of(type);
  return ptx::is_float(type) ? (bits == 32 ? "float" : "double")
                             : std::string(ptx::is_signed(type) ? "std::int" : "std::uint") + std::to_string(bits) + "_t";
}

[[nodiscard]] bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Returns the numbers as a list in braces.
[[nodiscard]] std::string list(const auto& numbers) {
  std::string text = "{";
  for (const auto n : numbers) {
    text += (text.size() == 1 ? "" : ", ") + std::to_string(n);
  }
  return text + "}";
}

void write_program(std::ostream& out, const std::string& name, const membar_witness::program& p) {
  out << "membar_witness::program " << name << "() {\n  membar_witness::program p;\n  p.ptx = R\"membar_ptx(" << p.ptx
      << ")membar_ptx\";\n";
  for (const membar_witness::object& o : p.memory) {
    out << "  p.memory.push_back({\"" << o.name << "\", " << (o.variable ? "true" : "false") << ", " << o.address << "u, "
        << o.bytes << ", " << list(o.initial) << ", " << list(o.pointers) << "});\n";
  }
  for (const membar_witness::launch& l : p.launches) {
    out << "  {\n    membar_witness::launch l;\n    l.kernel = \"" << l.kernel << "\";\n    l.grid = {" << list(l.grid)
        << "};\n    l.block = {" << list(l.block) << "};\n    l.shared = " << l.shared
        << ";\n    l.cooperative = " << (l.cooperative ? "true" : "false") << ";\n    l.cluster = " << l.cluster
        << ";\n    l.dependent_on = " << l.dependent_on << ";\n    l.after = " << list(l.after)
        << ";\n    l.arguments = " << list(l.arguments) << ";\n    l.offsets = " << list(l.offsets)
        << ";\n    l.pointers = " << list(l.pointers) << ";\n    l.sites = " << l.sites
        << ";\n    l.actors = " << list(l.actors) << ";\n    l.early = " << list(l.early) << ";\n    l.watch = " << l.watch
        << ";\n    p.launches.push_back(l);\n  }\n";
  }
  out << "  return p;\n}\n\n";
}

void write_judge(std::ostream& out, const reproducer_request& r) {
  out << "template <class T>\nauto get(const membar_witness::image& end, std::uint64_t address) {\n"
         "  const std::uint64_t bits = end.value(address, sizeof(T));\n  T value;\n  std::memcpy(&value, &bits, sizeof "
         "value);\n"
         "  if constexpr (std::is_floating_point_v<T>) {\n    return static_cast<double>(value);\n  } else {\n"
         "    return static_cast<__int128>(value);\n  }\n}\n\n"
         "std::string judge(const membar_witness::image& end) {\n";
  for (const check::scenario::final_line& f : r.scenario.finals) {
    out << "  if (!(" << expression_of(f.text, r.scenario, *r.wrong)
        << ")) {\n    return R\"(the final condition does not hold: " << f.text << ")\";\n  }\n";
  }
  if (r.scenario.finals.empty() && r.watched.launch >= 0) {
    out << "  const std::uint64_t read = end.report(3)" << (r.watched.bytes == 4 ? " & 0xffffffffu" : "") << ";\n"
        << "  if (end.report(2) != 0 && read != " << r.watched.expected << "u) {\n    return \"the load at PTX line "
        << r.watched.line << " read \" + std::to_string(read) + \" instead of " << r.watched.expected << "\";\n  }\n";
  }
  if (r.outside) {
    out << "  if (end.is_written_outside()) {\n    return \"the kernels wrote bytes outside of every object\";\n  }\n";
  }
  out << "  static_cast<void>(end);\n  return {};\n}\n\n";
}

void write_main(std::ostream& out, const reproducer_request& r) {
  out << "const membar_witness::delays chosen = {";
  for (const membar_witness::delay& d : r.chosen) {
    out << "{" << d.launch << ", " << d.actor << ", " << d.site << ", " << d.cycles << "u}, ";
  }
  out << "};  // launch, actor, site, cycles\n\n"
         "void show(const char* name, const membar_witness::tally& t) {\n"
         "  std::printf(\"%s: %llu wrong and %llu hangs in %llu runs %s%s\\n\", name, static_cast<unsigned long "
         "long>(t.wrong),\n"
         "              static_cast<unsigned long long>(t.hangs), static_cast<unsigned long long>(t.runs), t.example.c_str(), "
         "t.fault.c_str());\n}\n\n"
         "void show(const std::string& form, const membar_witness::program& p, std::uint64_t runs) {\n"
         "  membar_witness::session gpu(p);\n"
         "  membar_witness::search_options how;\n  how.runs = runs;\n  how.seconds = 1e9;\n  how.early = "
      << (r.early ? "true" : "false")
      << ";\n  membar_witness::search search(gpu, p, judge, how);\n"
         "  std::printf(\"%s on %s\\n\", form.c_str(), gpu.device().c_str());\n"
         "  show(\"  without delays\", search.control());\n"
         "  show(\"  with delays\", chosen.empty() || form == \"fixed\" ? search.delayed() : search.around(chosen));\n}\n\n"
         "}  // namespace\n\n"
         "int main(int count, char** words) {\n"
         "  const std::uint64_t runs = count > 1 ? std::strtoull(words[1], nullptr, 10) : 10000;\n  try {\n"
         "    show(\"wrong\", wrong_program(), runs);\n";
  if (r.fixed != nullptr) {
    out << "    show(\"fixed\", fixed_program(), 10 * runs);\n";
  }
  out << "  } catch (const std::exception& e) {\n    std::fprintf(stderr, \"%s\\n\", e.what());\n    return 2;\n  }\n}\n";
}

}  // namespace

std::string expression_of(const std::string& condition, const check::scenario& s, const membar_witness::program& p) {
  const std::vector<named_memory> memory = named(s, p);
  std::string out;
  for (std::size_t at = 0; at < condition.size();) {
    const std::string_view rest = std::string_view(condition).substr(at);
    const auto is = [&](std::string_view word) { return rest.starts_with(word); };
    if (is("/\\") || is("\\/")) {
      out += is("/\\") ? "&&" : "||";
      at += 2;
    } else if (is("==") || is("!=") || is("<=") || is(">=")) {
      out += rest.substr(0, 2);
      at += 2;
    } else if (is("=") || is("~")) {
      out += is("=") ? "==" : "!";
      ++at;
    } else if (!is_of_word(rest[0])) {
      out += rest[0];
      ++at;
    } else {
      std::size_t end = at;
      while (end < condition.size() && (is_of_word(condition[end]) || condition[end] == '@' || condition[end] == '.')) {
        ++end;
      }
      const std::string word = condition.substr(at, end - at);
      at = end;
      if (const named_memory* m = check::find_memory(memory, word); m != nullptr) {
        named_memory one = *m;
        std::uint64_t index = 0;
        const std::size_t close = condition.find(']', at);
        if (at < condition.size() && condition[at] == '[' && close != std::string::npos) {
          static_cast<void>(check::number_of(condition.substr(at + 1, close - at - 1), index));
          at = close + 1;
        } else if (at < condition.size() && condition[at] == '+') {
          std::size_t last = at + 1;
          while (last < condition.size() && (is_of_word(condition[last]) || condition[last] == ':')) {
            ++last;
          }
          if (const std::string wrong = check::field_of(*m, condition.substr(at, last - at), one); !wrong.empty()) {
            throw model::error(wrong);
          }
          at = last;
        }
        const std::uint64_t address = one.address + index * static_cast<std::uint64_t>(ptx::bytes_of(one.type));
        out += "get<" + type_in_cpp(one.type) + ">(end, " + std::to_string(address) + "u)";
      } else {
        const bool integer = std::all_of(word.begin(), word.end(), [](char c) { return is_of_word(c); });
        const bool negative = !out.empty() && out.back() == '-';
        out += word + (word != "true" && integer && !negative ? "u" : "");
      }
    }
  }
  return out;
}

std::string reproducer_of(const reproducer_request& r) {
  std::ostringstream out;
  std::istringstream lines(r.title);
  for (std::string line; std::getline(lines, line);) {
    out << "// " << line << "\n";
  }
  out << "//\n// nvcc -std=c++17 witness.cu -o witness -ldl && ./witness [RUNS]\n";
  std::string launcher(launcher_text());
  for (const char* left_out : {"#pragma once\n", "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"}) {
    if (const std::size_t at = launcher.find(left_out); at != std::string::npos) {
      launcher.erase(at, std::string_view(left_out).size());
    }
  }
  out << "#include <cstdlib>\n#include <exception>\n#include <type_traits>\n" << launcher << "\nnamespace {\n\n";
  write_program(out, "wrong_program", *r.wrong);
  if (r.fixed != nullptr) {
    write_program(out, "fixed_program", *r.fixed);
  }
  write_judge(out, r);
  write_main(out, r);
  return out.str();
}

}  // namespace membar::witness
