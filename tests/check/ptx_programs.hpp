// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Small PTX programs for the tests of the checker.
#pragma once

#include <check/explore.hpp>
#include <check/launch.hpp>
#include <ptx/reader.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace membar_test {

namespace check = membar::check;

/// Returns a PTX kernel without parameters, with registers %r, %rd and %p and the module's 32-bit variables x, y and z.
[[nodiscard]] inline std::string kernel_text(const std::string& name, const std::string& body) {
  return ".visible .entry " + name +
         "()\n{\n.reg .pred %p<8>;\n.reg .b16 %rs<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .b128 %q<4>;\n" + body +
         "\nret;\n}\n";
}

/// Returns a program with one launch of the kernel `body`, in a module with these variables. `request` specifies the launch.
[[nodiscard]] inline check::program program_of_launch(const std::string& variables, const std::string& body,
                                                      check::launch_request request) {
  const check::ptx_module module =
      check::read_ptx(".version 9.0\n.target sm_90\n.address_size 64\n" + variables + kernel_text("k", body));
  const check::module_layout layout = check::layout_of(module);
  check::program p;
  check::add_variables(p, module, layout);
  request.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(module, layout, module.functions.front()));
  check::add_launch(p, request);
  return p;
}

/// A program in which each body is a kernel with a single thread, in its own block.
class ptx_program {
 public:
  explicit ptx_program(const std::vector<std::string>& bodies, std::uint32_t threads_of_a_block = 1) {
    std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.global .u32 x;\n.global .u32 y;\n.global .u32 z;\n"
        ".global .align 16 .b8 wide[64];\n";
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      text += kernel_text("k" + std::to_string(k), bodies[k]);
    }
    module_ = check::read_ptx(text);
    layout_ = check::layout_of(module_);
    check::add_variables(program_, module_, layout_);
    for (const check::ptx_function& f : module_.functions) {
      check::launch_request request;
      request.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(module_, layout_, f));
      request.block[0] = threads_of_a_block;
      check::add_launch(program_, request);
    }
  }

  [[nodiscard]] check::program& get() noexcept { return program_; }
  [[nodiscard]] const check::program& get() const noexcept { return program_; }
  [[nodiscard]] std::uint64_t address(const std::string& variable) const { return layout_.globals.at(variable); }
  [[nodiscard]] check::check_result explore(const check::check_property& property = {},
                                            const check::check_options& options = {}) const {
    return check::explore(program_, property, options);
  }

 private:
  check::ptx_module module_;
  check::module_layout layout_;
  check::program program_;
};

}  // namespace membar_test
