// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/launches.hpp>
#include <lint/lint.hpp>

#include <ptx/decode.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <string>

namespace membar::lint {

namespace {

place place_of(const ptx::kernel_code& kernel, pc_t pc) {
  const ptx::instruction& i = kernel.code[static_cast<std::size_t>(pc)];
  const auto name = [&](int file) {
    return file > 0 && static_cast<std::size_t>(file) < kernel.files.size() ? kernel.files[static_cast<std::size_t>(file)]
                                                                            : std::string();
  };
  place result{name(i.file), i.source_line, name(i.user_file), i.user_line, i.line, i.text};
  if (result.caller_line == 0 || (result.caller_file == result.file && result.caller_line == result.line)) {
    result.caller_file.clear();
  }
  return result;
}

/// Returns whether more than half of the kernels wait for the preceding kernel.
bool most_wait(const ptx::ptx_module& module) {
  int kernels = 0;
  int waiting = 0;
  for (const ptx::ptx_function& f : module.functions) {
    kernels += f.kernel && f.defined && !f.body.empty() ? 1 : 0;
    waiting +=
        f.kernel && std::ranges::any_of(f.body, [](const ptx::ptx_statement& s) { return s.opcode == "griddepcontrol.wait"; })
            ? 1
            : 0;
  }
  return 2 * waiting > kernels;
}

bool mentions_dependency(const ptx::ptx_function& f) {
  return std::ranges::any_of(f.body, [](const ptx::ptx_statement& s) { return s.opcode.starts_with("griddepcontrol"); });
}

/// The launches in the sources of a module. The sources are read on the first query.
class sources_of {
 public:
  explicit sources_of(const ptx::ptx_module& module) : module_(&module) {}
  /// Returns whether the sources launch the kernel as a programmatic dependent although it contains no griddepcontrol
  /// instruction. If another instance of the same template contains one, this instance may be intended for ordinary launches,
  /// so the result is false.
  bool launch_as_dependent(const ptx::ptx_function& f) {
    if (mentions_dependency(f)) {
      return false;
    }
    if (!launches_) {
      launches_.emplace(module_->files);
      for (const ptx::ptx_function& other : module_->functions) {
        if (mentions_dependency(other)) {
          aware_.insert(plain_name(other.name));
        }
      }
    }
    const std::string name = plain_name(f.name);
    return launches_->have(name) && !aware_.contains(name);
  }

 private:
  const ptx::ptx_module* module_;
  std::optional<dependent_launches> launches_;
  std::set<std::string> aware_;  ///< kernels with an instance that waits or launches dependents
};

/// The variables that the kernels of a module read. The kernels are decoded on the first query.
class variables_read {
 public:
  variables_read(const ptx::ptx_module& module, const ptx::module_layout& layout) : module_(&module), layout_(&layout) {}
  [[nodiscard]] bool include(const std::set<origin>& origins) {
    const auto is_variable = [](const origin& o) { return o.kind == origin::kind_t::global; };
    if (std::ranges::none_of(origins, is_variable)) {
      return false;
    }
    if (!read_) {
      find();
    }
    return std::ranges::any_of(origins, [&](const origin& o) { return is_variable(o) && read_->contains(o); });
  }

 private:
  void find() {
    read_.emplace();
    for (const ptx::ptx_function& f : module_->functions) {
      if (!f.kernel || !f.defined) {
        continue;
      }
      try {
        const ptx::kernel_code kernel = ptx::decode_kernel(*module_, *layout_, f);
        const flow paths(kernel);
        const values data(kernel, *layout_, paths);
        for (const access& a : data.accesses()) {
          if (a.reads) {
            read_->insert(a.origins.begin(), a.origins.end());
          }
        }
      } catch (const std::exception&) {
        continue;  // the report lists the kernel as not read
      }
    }
  }

  const ptx::ptx_module* module_;
  const ptx::module_layout* layout_;
  std::optional<std::set<origin>> read_;
};

}  // namespace

module_findings lint(const ptx::ptx_module& module) {
  module_findings result;
  const ptx::module_layout layout = ptx::layout_of(module);
  const bool others_wait = most_wait(module);
  sources_of sources(module);
  variables_read variables(module, layout);
  for (const ptx::ptx_function& f : module.functions) {
    if (!f.kernel || !f.defined) {
      continue;
    }
    ++result.kernels;
    try {
      const ptx::kernel_code kernel = ptx::decode_kernel(module, layout, f);
      if (kernel.code.empty()) {
        continue;
      }
      const kernel_view view(kernel, layout, others_wait, sources.launch_as_dependent(f),
                             [&](const std::set<origin>& origins) { return variables.include(origins); });
      std::vector<warning> warnings;
      for (const rule& r : rules()) {
        r.look(view, warnings);
      }
      for (const warning& w : warnings) {
        finding one{f.name, w.rule, w.sure, w.text, place_of(kernel, w.at), {}, w.fix};
        for (const auto& [pc, what] : w.related) {
          one.related.emplace_back(place_of(kernel, pc), what);
        }
        result.findings.push_back(std::move(one));
      }
    } catch (const std::exception& e) {
      result.not_read.emplace_back(f.name, e.what());
    }
  }
  return result;
}

}  // namespace membar::lint
