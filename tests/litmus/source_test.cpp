// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The CUDA source of litmus files: it assembles, and the PTX of each thread is what the file says, in the file's order.
#include "kernel_texts.hpp"

#include <membar-litmus/source.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace membar;
using membar::tests::catalogue;
using membar::tests::compiled_test;
using membar::tests::litmus_files;
using membar::tests::plan_of;
using membar::tests::read_text;

/// A kernel that runs one thread of a test, and nothing of the engine.
[[nodiscard]] std::string role_kernel(const std::string& type, std::size_t thread, const std::string& name) {
  return "extern \"C\" __global__ void " + name +
         "(const __grid_constant__ membar::litmus::launch_view view) {\n"
         "  const unsigned rotations[membar::litmus::max_locations] = {};\n"
         "  const membar::litmus::instance_cells at(view.where, view.cells, rotations, threadIdx.x, view.all_words, 0);\n"
         "  const membar::litmus::results<" +
         type +
         "> out(view.where, view.digits, threadIdx.x);\n"
         "  " +
         type + "::run<" + std::to_string(thread) + ">(at, out);\n}\n";
}

/// Every test below a folder that runs, in one translation unit: `role_T_P` is thread P of test T.
struct unit {
  std::string text = std::string(litmus::source_prologue);
  std::vector<std::unique_ptr<litmus::run_plan>> plans;
  std::map<std::string, std::string> refused;
};

[[nodiscard]] unit unit_of(const std::vector<std::string>& texts, int compute_capability) {
  unit made;
  for (const std::string& text : texts) {
    tests::plan_or_reason one = plan_of(text);
    try {
      if (one.plan == nullptr) {
        throw model::error(one.reason);
      }
      const std::string type = "test_" + std::to_string(made.plans.size());
      const litmus::test_source source = litmus::source_writer(*one.plan, type).write();
      litmus::require_compilable(source, compute_capability, 13000);
      made.text += source.text;
      for (std::size_t t = 0; t < one.plan->test().threads.size(); ++t) {
        if (!one.plan->test().threads[t].where.host) {
          made.text += role_kernel(type, t, "role_" + std::to_string(made.plans.size()) + "_" + std::to_string(t));
        }
      }
      made.plans.push_back(std::move(one.plan));
    } catch (const model::error& e) {
      made.refused[text.substr(4, text.find('\n') - 4)] = e.what();
    }
  }
  return made;
}

[[nodiscard]] std::vector<std::string> catalogue_texts() {
  std::vector<std::string> texts;
  for (const auto& path : litmus_files(catalogue)) {
    texts.push_back(read_text(path));
  }
  return texts;
}

/// The lines of each kernel's PTX, by the kernel's name.
[[nodiscard]] std::map<std::string, std::vector<std::string>> kernels_of(const std::string& ptx) {
  std::map<std::string, std::vector<std::string>> kernels;
  std::istringstream lines(ptx);
  std::string name;
  static const std::regex entry(R"(\.entry (\w+)\()");
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, entry)) {
      name = found[1];
    }
    if (!name.empty()) {
      kernels[name].push_back(line);
    }
  }
  return kernels;
}

/// The statements that the source asked for in so many words: what stands between the marks of inline assembly.
[[nodiscard]] std::vector<std::string> inline_statements(const std::vector<std::string>& lines) {
  std::vector<std::string> statements;
  bool inside = false;
  for (const std::string& line : lines) {
    if (line.find("begin inline asm") != std::string::npos) {
      inside = true;
      statements.emplace_back();
    } else if (line.find("end inline asm") != std::string::npos) {
      inside = false;
    } else if (inside) {
      statements.back() += line;
    }
  }
  return statements;
}

[[nodiscard]] std::vector<std::string> words_of(const std::string& mnemonic) {
  std::vector<std::string> words(1);
  for (const char c : mnemonic) {
    if (c == '.') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return words;
}

[[nodiscard]] bool is_type(const std::string& word) {
  static const std::regex shape("[busf](8|16|32|64|128)");
  return std::regex_match(word, shape);
}

/// What the mnemonic of a file becomes in PTX: the words, with the defaults that PTX gives and without state space.
[[nodiscard]] std::multiset<std::string> expected_words(const std::string& text) {
  const std::vector<std::string> words = words_of(text.substr(0, text.find(' ')));
  std::multiset<std::string> expected;
  bool has_type = false;
  for (const std::string& word : words) {
    if (word != "global" && word != "generic") {
      expected.insert(word == "plus" ? "add" : word == "sub" ? "add" : word);
    }
    has_type = has_type || is_type(word);
  }
  const std::string& head = words.front();
  const auto says = [&](std::initializer_list<const char*> any) {
    return std::any_of(any.begin(), any.end(), [&](const char* word) { return expected.count(word) != 0; });
  };
  if ((head == "ld" || head == "st") && !says({"weak", "relaxed", "acquire", "release", "volatile", "mmio"})) {
    expected.insert("weak");
  }
  if (says({"mmio"}) && !says({"relaxed"})) {
    expected.insert("relaxed");
  }
  if (says({"mmio"}) && !says({"sys"})) {
    expected.insert("sys");
  }
  if (head == "atom" || head == "red") {
    if (!says({"relaxed", "acquire", "release", "acq_rel"})) {
      expected.insert("relaxed");
    }
    if (!says({"cta", "cluster", "gpu", "sys"})) {
      expected.insert("gpu");
    }
  }
  if (head == "fence" && !says({"sc", "acq_rel", "acquire", "release", "proxy"})) {
    expected.insert("acq_rel");
  }
  if (head == "ld" || head == "st" || head == "atom" || head == "red") {
    if (!has_type) {
      expected.insert("32");  // four bytes of any type
    }
  }
  return expected;
}

/// The words of a statement's memory instruction or fence, ready to compare; empty if it has none.
[[nodiscard]] std::multiset<std::string> statement_words(const std::string& statement, bool typed) {
  static const std::regex shape(R"((?:^|[\s{;])((?:ld|st|atom|red|fence|membar)\.[\w.:]+))");
  std::smatch found;
  std::multiset<std::string> words;
  if (std::regex_search(statement, found, shape)) {
    for (const std::string& word : words_of(found[1])) {
      if (word != "global") {
        words.insert(!typed && is_type(word) ? word.substr(1) : word);
      }
    }
  }
  return words;
}

[[nodiscard]] std::string shown(const std::multiset<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += word + " ";
  }
  return out;
}

/// Whether a file's instruction is one statement of memory or fence.
[[nodiscard]] bool reaches_memory(const model::instruction& i) {
  return i.code == model::opcode::load || i.code == model::opcode::store || i.code == model::opcode::atomic ||
         i.code == model::opcode::reduction || i.code == model::opcode::fence || i.code == model::opcode::proxy_fence;
}

/// The accesses to memory that stand between the first and the last statement and are none of the source's: they would move the
/// test's accesses apart in time. The zero that cannot be foreseen lies in constant memory.
[[nodiscard]] std::vector<std::string> accesses_between(const std::vector<std::string>& lines) {
  static const std::regex access(R"(^\s*(@%p\d+ )?(ld|st|atom|red|bar|membar|fence)\.(?!const|param))");
  const auto mark = [](const char* words) {
    return [words](const std::string& line) { return line.find(words) != std::string::npos; };
  };
  const auto first = std::find_if(lines.begin(), lines.end(), mark("begin inline asm"));
  const auto last = std::find_if(lines.rbegin(), lines.rend(), mark("end inline asm")).base();
  std::vector<std::string> found;
  bool inside = false;
  for (auto line = first; line < last; ++line) {
    inside = mark("begin inline asm")(*line) || (inside && !mark("end inline asm")(*line));
    if (!inside && std::regex_search(*line, access)) {
      found.push_back(*line);
    }
  }
  return found;
}

/// The instructions of a thread that are statements, in order, with the body of each loop `turns` times.
[[nodiscard]] std::vector<std::size_t> instructions_of(const model::litmus_test::thread& thread, int turns) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < thread.code.size(); ++i) {
    const model::instruction& one = thread.code[i];
    if (one.element == 0 && one.code != model::opcode::jump) {
      order.push_back(i);
    }
    const bool jumps = one.code == model::opcode::jump || one.code == model::opcode::branch;
    for (int turn = 1; jumps && one.target <= static_cast<int>(i) && turn < turns; ++turn) {
      for (std::size_t j = static_cast<std::size_t>(one.target); j <= i; ++j) {
        order.push_back(j);
      }
    }
  }
  return order;
}

void expect_the_files_instructions(const unit& made, const std::string& ptx) {
  const auto kernels = kernels_of(ptx);
  for (std::size_t n = 0; n < made.plans.size(); ++n) {
    const model::litmus_test& test = made.plans[n]->test();
    for (std::size_t t = 0; t < test.threads.size(); ++t) {
      if (test.threads[t].where.host) {
        continue;
      }
      const auto kernel = kernels.find("role_" + std::to_string(n) + "_" + std::to_string(t));
      ASSERT_NE(kernel, kernels.end()) << test.name;
      std::vector<std::string> statements;
      for (const std::string& statement : inline_statements(kernel->second)) {
        // what a loop asks about its time is the engine's
        const bool engines =
            statement.find("globaltimer") != std::string::npos || statement.find(".sys.u32") != std::string::npos;
        if (!engines) {
          statements.push_back(statement);
        }
      }
      if (made.plans[n]->end_of(static_cast<int>(t)) == nullptr) {  // a loop's code is not in the order in which it runs
        EXPECT_EQ(accesses_between(kernel->second), std::vector<std::string>{}) << test.name << " P" << t;
      }
      // a compiler may write the first turn of a loop apart: that is the loop's body once more
      const std::vector<std::size_t> once = instructions_of(test.threads[t], 1);
      const std::vector<std::size_t> twice = instructions_of(test.threads[t], 2);
      const std::vector<std::size_t>& order = statements.size() == twice.size() ? twice : once;
      ASSERT_EQ(statements.size(), order.size()) << test.name << " P" << t;
      for (std::size_t s = 0; s < order.size(); ++s) {
        const std::string& text = test.threads[t].text[order[s]];
        if (reaches_memory(test.threads[t].code[order[s]])) {
          const std::multiset<std::string> expected = expected_words(text);
          const bool typed = std::any_of(expected.begin(), expected.end(), is_type);
          EXPECT_EQ(shown(statement_words(statements[s], typed)), shown(expected)) << test.name << ": " << text;
        } else {
          EXPECT_TRUE(statement_words(statements[s], false).empty()) << test.name << ": " << statements[s];
        }
      }
    }
  }
}

class Source : public compiled_test {};

TEST_F(Source, TheCatalogueRunsButForWhatNoRunCanDo) {
  const unit made = unit_of(catalogue_texts(), 90);
  EXPECT_GE(made.plans.size(), 290U);
  static const std::regex known(
      "^(line [0-9]+: '(bar|barrier|mbarrier|sust|suld|tld|cold|suatom|red|fence)[^']*': .*"
      "(barriers|generic accesses only|the model only).*|'P[0-9]' precedes 'P.*|'P[0-9] precedes P[0-9]': in a run .*|"
      "'[a-z]+' is another virtual address of .*)$");
  for (const auto& [name, reason] : made.refused) {
    EXPECT_TRUE(std::regex_match(reason, known)) << name << ": " << reason;
    EXPECT_EQ(reason.find('\n'), std::string::npos) << name;
  }
}

TEST_F(Source, ThePtxOfAThreadIsTheFilesInstructionsInOrder) {
  const unit made = unit_of(catalogue_texts(), 90);
  expect_the_files_instructions(made, compiled(made.text, 90, true));
}

TEST_F(Source, EverySourceOfTheCatalogueAssembles) {
  for (const int capability : {80, 90}) {
    if (!tests::nvrtc().library->knows(capability)) {
      continue;
    }
    const unit made = unit_of(catalogue_texts(), capability);
    EXPECT_NO_THROW(static_cast<void>(compiled(made.text, capability, false))) << capability;
  }
}

/// One thread of one instruction, as a file.
[[nodiscard]] std::string file_of(const std::string& instruction) {
  return "PTX one\n{ x=0; x[1]=0; x[2]=0; x[3]=0; y=0; P0:r5=3; P0:r6=4; P0:r7=5; P0:r8=6; P0:p=&y; }\n P0@cta 0,gpu 0 ;\n " +
         instruction + " ;\nexists (P0:r0 == 0)\n";
}

TEST_F(Source, EveryFormOfEveryInstructionAssemblesAsItIsWritten) {
  std::vector<std::string> forms;
  for (const char* scope : {"cta", "cluster", "gpu", "sys"}) {
    const std::string s = scope;
    for (const char* type :
         {"", ".b8", ".u8", ".s8", ".b16", ".u16", ".s16", ".b32", ".u32", ".s32", ".b64", ".u64", ".s64", ".b128"}) {
      const std::string t = type;
      for (const char* order : {"relaxed.", "acquire."}) {
        forms.push_back("ld." + (order + s) + t + " r0, y");
      }
      for (const char* order : {"relaxed.", "release."}) {
        forms.push_back("st." + (order + s) + t + " y, r5");
      }
    }
    for (const char* order : {"relaxed.", "acquire.", "release.", "acq_rel."}) {
      for (const char* size : {"32", "64"}) {
        for (const char* what : {"add.u", "and.b", "or.b", "xor.b", "min.s", "max.s", "min.u", "max.u", "exch.b"}) {
          forms.push_back("atom." + (order + s) + "." + what + size + " r0, y, r5");
        }
        forms.push_back("atom." + (order + s) + ".cas.b" + size + " r0, y, r5, r6");
      }
      forms.push_back("atom." + (order + s) + ".inc.u32 r0, y, r5");
      forms.push_back("atom." + (order + s) + ".dec.u32 r0, y, r5");
      forms.push_back("atom." + (order + s) + ".cas.b16 r0, y, r5, r6");
      forms.push_back("atom." + (order + s) + ".cas.b128 r0, y, r5, r6");
      forms.push_back("atom." + (order + s) + ".exch.b128 r0, y, r5");
      forms.push_back("atom." + (order + s) + ".sub.u32 r0, y, r5");
      forms.push_back("atom." + (order + s) + ".add _, y, 1");
    }
    for (const char* order : {"relaxed.", "release."}) {
      for (const char* what :
           {"add.u32", "add.u64", "and.b32", "or.b64", "xor.b32", "min.s64", "max.u32", "inc.u32", "dec.u32"}) {
        forms.push_back("red." + (order + s) + "." + what + " y, r5");
      }
    }
    for (const char* order : {"sc.", "acq_rel.", "acquire.", "release."}) {
      forms.push_back("fence." + (order + s));
    }
    forms.push_back("fence." + s);
    forms.push_back("fence.proxy.tensormap::generic.release." + s);
  }
  for (const char* form : {"ld r0, y",
                           "ld.weak r0, y",
                           "ld.volatile r0, y",
                           "ld.mmio.relaxed.sys r0, y",
                           "ld.mmio.b64 r0, y",
                           "ld.global r0, y",
                           "ld.generic.relaxed.gpu r0, y",
                           "st y, 1",
                           "st.weak y, 1",
                           "st.volatile y, -1",
                           "st.mmio.relaxed.sys y, 1",
                           "ld.weak.b128 r0, y",
                           "st.weak.b128 y, -1",
                           "ld.weak.v2 {r0, r1}, x",
                           "ld.weak.v4 {r0, r1, r2, r3}, x",
                           "ld.relaxed.gpu.v2.b64 {r0, r1}, x",
                           "ld.weak.v4.b16 {r0, r1, r2, r3}, x",
                           "ld.weak.v2.u8 {r0, r1}, x",
                           "ld.volatile.v2 {r0, _}, x",
                           "st.weak.v2 x, {1, r5}",
                           "st.relaxed.sys.v4 x, {r5, r6, r7, r8}",
                           "st.weak.v2.b64 x, {1, 2}",
                           "membar.cta",
                           "membar.gl",
                           "membar.sys",
                           "fence.proxy.alias",
                           "fence.proxy.async",
                           "fence.proxy.async.global",
                           "fence.proxy.async.shared::cta",
                           "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
                           "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
                           "atom.add r0, y, 1",
                           "red.add y, 1",
                           "LD.Acquire.GPU r0, y",
                           "ld.weak r0, [p]",
                           "st.weak [p], 1",
                           "atom.relaxed.gpu.exch r0, [p], r5"}) {
    forms.emplace_back(form);
  }
  std::vector<std::string> texts;
  for (const std::string& form : forms) {
    texts.push_back(file_of(form));
  }
  const unit made = unit_of(texts, 90);
  for (const auto& [name, reason] : made.refused) {
    ADD_FAILURE() << reason;
  }
  expect_the_files_instructions(made, compiled(made.text, 90, true));
  EXPECT_NO_THROW(static_cast<void>(compiled(made.text, 90, false)));
}

/// The numbers that a statement's operands are, in order; of a register that holds one, that one.
[[nodiscard]] std::vector<long long> numbers_of(const std::string& statement, const std::vector<std::string>& lines) {
  static const std::regex operand(R"(%[a-z]+\d+|[-\s{,]-?\d+(?=[,;}\s]))");
  std::vector<long long> numbers;
  for (auto it = std::sregex_iterator(statement.begin(), statement.end(), operand); it != std::sregex_iterator(); ++it) {
    const std::string one = it->str();
    if (one.front() != '%') {
      numbers.push_back(std::stoll(one.substr(1)));
      continue;
    }
    const std::regex constant(R"(mov\.[bu]\d+\s+)" + one + R"(, (-?\d+);)");
    for (const std::string& line : lines) {
      std::smatch found;
      if (std::regex_search(line, found, constant)) {
        numbers.push_back(std::stoll(found[1]));
      }
    }
  }
  return numbers;
}

TEST_F(Source, OperandsAreInTheOrderOfPtx) {
  const std::vector<std::pair<std::string, std::vector<long long>>> cases = {
      {"st.weak y, 41", {41}},
      {"st.relaxed.gpu.v4 x, {11, 12, 13, 14}", {11, 12, 13, 14}},
      {"atom.relaxed.gpu.cas r0, y, 7, 9", {7, 9}},
      {"atom.relaxed.gpu.cas.b16 r0, y, 7, 9", {7, 9}},
      {"atom.relaxed.gpu.cas.b128 r0, y, 7, 9", {7, 0, 9, 0}},
      {"atom.relaxed.gpu.sub r0, y, 3", {-3}},
      {"red.relaxed.gpu.sub y, 3", {-3}},
      {"atom.relaxed.gpu.exch.b64 r0, y, 5", {5}},
      {"st.weak.b128 y, -2", {-2, -1}},
      {"st.weak.b8 y, -1", {255}},
  };
  std::vector<std::string> texts;
  for (const auto& [instruction, numbers] : cases) {
    texts.push_back(file_of(instruction));
  }
  const unit made = unit_of(texts, 90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  const auto kernels = kernels_of(compiled(made.text, 90, true));
  for (std::size_t n = 0; n < cases.size(); ++n) {
    const std::vector<std::string>& lines = kernels.at("role_" + std::to_string(n) + "_0");
    const std::vector<std::string> statements = inline_statements(lines);
    ASSERT_EQ(statements.size(), 1U) << cases[n].first;
    EXPECT_EQ(numbers_of(statements.front(), lines), cases[n].second) << cases[n].first << ": " << statements.front();
  }
}

TEST_F(Source, ArithmeticAssemblesAndAllComparisons) {
  std::string code;
  for (const char* what : {"add", "sub", "mul", "div", "and", "or", "xor", "min", "max"}) {
    code += " " + std::string(what) + " r1, r5, r0 ;\n " + what + " r1, r1, r1 ;\n " + what + " r1, 2, r1 ;\n " + what +
            " r1, r1, 0 ;\n";
  }
  code += " mov r2, r1 ;\n ld r3, 7 ;\n";
  for (const char* test : {"beq", "bne", "blt", "ble", "bgt", "bge"}) {
    code += " " + std::string(test) + " r1, r0, END ;\n";
  }
  const unit made = unit_of(
      {"PTX t\n{ x=0; P0:r5=3; }\n P0@cta 0,gpu 0 ;\n ld.weak r0, x ;\n" + code + " END: ;\nexists (P0:r1 == 0)\n"}, 90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  expect_the_files_instructions(made, compiled(made.text, 90, true));
  EXPECT_NO_THROW(static_cast<void>(compiled(made.text, 90, false)));
}

/// The registers of PTX that a register is computed from, one step back; of a load, its name.
class flow {
 public:
  explicit flow(const std::vector<std::string>& lines) {
    static const std::regex shape(R"(^\s*(?:\{ \.reg \.\w+ \w+; )?(\S+)\s+([^;]*);)");
    for (const std::string& line : lines) {
      std::smatch found;
      if (!std::regex_search(line, found, shape)) {
        continue;
      }
      const std::string opcode = found[1];
      std::vector<std::string> registers = registers_of(found[2]);
      const bool writes = opcode.rfind("st.", 0) != 0 && opcode.rfind("red.", 0) != 0;
      if (writes && !registers.empty()) {
        sources_[registers.front()].insert(registers.begin() + 1, registers.end());
        if (opcode.rfind("ld.", 0) == 0 && opcode.find(".param") == std::string::npos &&
            opcode.find(".const") == std::string::npos) {
          loads_.insert(registers.front());
        }
        if (opcode.rfind("ld.const", 0) == 0) {
          unforeseen_.insert(registers.front());
        }
      } else if (opcode.rfind("st.weak", 0) == 0) {  // the file's: the engine's own stores are plain
        stores_.push_back(registers);
      }
    }
  }

  /// Whether `reg` is computed from one of `goals`.
  [[nodiscard]] bool reaches(const std::string& reg, const std::set<std::string>& goals) const {
    std::set<std::string> seen;
    std::vector<std::string> open = {reg};
    while (!open.empty()) {
      const std::string one = open.back();
      open.pop_back();
      if (goals.count(one) != 0) {
        return true;
      }
      if (seen.insert(one).second) {
        const auto found = sources_.find(one);
        if (found != sources_.end()) {
          open.insert(open.end(), found->second.begin(), found->second.end());
        }
      }
    }
    return false;
  }

  [[nodiscard]] const std::set<std::string>& loads() const { return loads_; }
  [[nodiscard]] const std::set<std::string>& unforeseen() const { return unforeseen_; }
  [[nodiscard]] const std::vector<std::vector<std::string>>& stores() const { return stores_; }

  [[nodiscard]] static std::vector<std::string> registers_of(const std::string& operands) {
    static const std::regex shape(R"(%[a-z]+\d+)");
    return {std::sregex_token_iterator(operands.begin(), operands.end(), shape), std::sregex_token_iterator()};
  }

 private:
  std::map<std::string, std::set<std::string>> sources_;
  std::set<std::string> loads_;
  std::set<std::string> unforeseen_;
  std::vector<std::vector<std::string>> stores_;
};

TEST_F(Source, ADependencyOfTheFileReachesTheStore) {
  std::vector<std::string> texts;
  for (const char* name :
       {"LB+false-data+false-data", "LB+data+data", "LB+control-after-join", "LB+address+address", "LB+control+control"}) {
    texts.push_back(read_text(catalogue / "forbidden" / (std::string(name) + ".litmus")));
  }
  // x ^ x and x * 0 are what compilers know best
  texts.push_back(
      "PTX LB+same\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n ld.weak r0, x | ld.weak r0, y ;\n xor r1, r0, r0 | mul "
      "r1, r0, 0 ;\n"
      " add r1, r1, 1 | add r1, r1, 1 ;\n st.weak y, r1 | st.weak x, r1 ;\n~exists (P0:r0 == 1 /\\ P1:r0 == 1)\n");
  const unit made = unit_of(texts, 90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  const auto kernels = kernels_of(compiled(made.text, 90, true));
  for (std::size_t n = 0; n < made.plans.size(); ++n) {
    for (std::size_t t = 0; t < 2; ++t) {
      const flow data(kernels.at("role_" + std::to_string(n) + "_" + std::to_string(t)));
      const auto file_store = std::find_if(data.stores().begin(), data.stores().end(), [&](const auto& operands) {
        return std::any_of(operands.begin(), operands.end(),
                           [&](const std::string& r) { return data.reaches(r, data.loads()); });
      });
      EXPECT_NE(file_store, data.stores().end()) << made.plans[n]->test().name << " P" << t;
    }
  }
}

TEST_F(Source, NoOperandOfArithmeticOnALoadedValueCanBeForeseen) {
  const unit made = unit_of({"PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n ld.weak r0, x ;\n and r1, r0, 0 ;\n xor r2, r0, r0 ;\n mul "
                             "r3, 0, r0 ;\n sub r4, r0, r0 ;\n"
                             " min r5, r0, r0 ;\n or r6, r0, -1 ;\n div r7, 0, r0 ;\n beq r0, r0, END ;\n END: ;\nexists "
                             "(P0:r1 == 0 /\\ P0:r2 == 0)\n"},
                            90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  const std::vector<std::string> lines = kernels_of(compiled(made.text, 90, true)).at("role_0_0");
  const flow data(lines);
  static const std::regex arithmetic(R"(\b(and|xor|mul|sub|min|or|div|setp)(?:\.\w+)*\.[bs]64 (\S+), (\S+), ([^\s;]+);)");
  std::size_t checked = 0;
  for (const std::string& statement : inline_statements(lines)) {
    std::smatch found;
    if (!std::regex_search(statement, found, arithmetic)) {
      continue;
    }
    const std::string a = found[3];
    const std::string b = found[4];
    EXPECT_NE(a, b) << statement;
    EXPECT_EQ(a.front(), '%') << statement;
    EXPECT_EQ(b.front(), '%') << statement;
    EXPECT_TRUE(data.reaches(a, data.loads()) || data.reaches(a, data.unforeseen())) << statement;
    EXPECT_TRUE(data.reaches(b, data.loads()) || data.reaches(b, data.unforeseen())) << statement;
    EXPECT_TRUE(data.reaches(a, data.unforeseen()) || data.reaches(b, data.unforeseen())) << statement;
    ++checked;
  }
  EXPECT_EQ(checked, 8U);
}

TEST_F(Source, TheKernelOfATestCompiles) {
  for (const char* name :
       {"allowed/MP+relaxed", "allowed/SB+weak", "allowed/LB+ld.relaxed.gpu+st.relaxed.gpu", "allowed/IRIW+relaxed",
        "forbidden/ISA2.gpu", "forbidden/WRC+release+acquire", "forbidden/RWC+fence.sc.gpu", "allowed/2+2W+relaxed",
        "forbidden/CoRR.relaxed", "forbidden/Lock.spin", "forbidden/LB+address+data", "forbidden/MP.sys.host"}) {
    const tests::plan_or_reason one = plan_of(read_text(catalogue / (std::string(name) + ".litmus")));
    ASSERT_NE(one.plan, nullptr) << one.reason;
    const litmus::test_source source = litmus::write_source(*one.plan);
    EXPECT_NO_THROW(static_cast<void>(compiled(source.text, 90, false))) << name;
  }
}

/// Why a file of one instruction has no source.
[[nodiscard]] std::string refusal_of(const std::string& instruction, int compute_capability = 90, int nvrtc = 13000) {
  const tests::plan_or_reason one = plan_of(file_of(instruction));
  if (one.plan == nullptr) {
    return one.reason;
  }
  try {
    litmus::require_compilable(litmus::write_source(*one.plan), compute_capability, nvrtc);
  } catch (const model::error& e) {
    return e.what();
  }
  return "";
}

TEST(SourceRefusal, WhatPtxDoesNotHaveIsOneSentenceWithItsLine) {
  const std::map<std::string, std::string> refusals = {
      {"atom.relaxed.gpu.mul r0, y, 2", "PTX has no such read-modify-write"},
      {"atom.relaxed.gpu.div r0, y, 2", "PTX has no such read-modify-write"},
      {"atom.relaxed.gpu.add.b8 r0, y, 2", "for 4 and 8 bytes only, not for 1 byte"},
      {"atom.relaxed.gpu.exch.b16 r0, y, 2", "for 4, 8 and 16 bytes only, not for 2 bytes"},
      {"atom.relaxed.gpu.inc.u64 r0, y, 2", "for 4 bytes only, not for 8 bytes"},
      {"atom.relaxed.gpu.add.b128 r0, y, 2", "for 4 and 8 bytes only, not for 16 bytes"},
      {"red.acquire.gpu.add y, 2", "exists in the model only"},
      {"red.acq_rel.gpu.add y, 2", "exists in the model only"},
      {"red.relaxed.gpu.exch y, 2", "no reduction that exchanges"},
      {"red.relaxed.gpu.cas y, 2, 3", "no reduction that exchanges"},
      {"fence.proxy.surface", "exists in the model only"},
      {"fence.proxy.constant", "exists in the model only"},
      {"fence.proxy.texture", "exists in the model only"},
      {"fence.proxy.tensormap::generic.acquire.gpu [y], 128", "a tensor map of 128 bytes"},
      {"fence.proxy.async.nonsense", "PTX has no such proxy fence"},
      {"ld.weak.shared r0, y", "lie in global memory"},
      {"ld.weak.f32 r0, y", "values of a litmus file are integers"},
      {"ld.weak.v4.b64 {r0, r1, r2, r3}, x", "does not fit a run's cells"},
      {"suld.weak r0, y", "generic accesses only"},
      {"bar.cta.sync 0", "a test that runs has no barriers"},
      {"add _, r5, r6", "its result goes nowhere"},
  };
  for (const auto& [instruction, words] : refusals) {
    const std::string reason = refusal_of(instruction);
    EXPECT_EQ(reason.rfind("line 4: ", 0), 0U) << instruction << ": " << reason;
    EXPECT_NE(reason.find(words), std::string::npos) << instruction << ": " << reason;
    EXPECT_EQ(reason.find('\n'), std::string::npos) << instruction;
  }
}

TEST(SourceRefusal, AnInstructionThatTheDeviceOrTheCompilerLacksIsNamed) {
  EXPECT_EQ(refusal_of("fence.sc.cluster", 80),
            "line 4: 'fence.sc.cluster' needs compute capability 9.0, and the device has 8.0");
  EXPECT_EQ(refusal_of("atom.relaxed.gpu.cas.b128 r0, y, 1, 2", 80),
            "line 4: 'atom.relaxed.gpu.cas.b128 r0, y, 1, 2' needs compute capability 9.0, and the device has 8.0");
  EXPECT_EQ(refusal_of("fence.acquire.gpu", 90, 12040),
            "line 4: 'fence.acquire.gpu' needs NVRTC 12.8 or newer, and NVRTC 12.4 was found");
  EXPECT_EQ(refusal_of("fence.acquire.gpu", 90, 12080), "");
  EXPECT_EQ(refusal_of("fence.sc.gpu", 70, 12000), "");
  EXPECT_EQ(refusal_of("fence.sc.gpu", 60, 12000), "the litmus engine needs compute capability 7.0, and the device has 6.0");
}

}  // namespace
