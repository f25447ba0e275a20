// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/temporary_folder.hpp>
#include <common/text_file.hpp>
#include <membar-check/nvdisasm.hpp>
#include <membar-check/toolkit_program.hpp>

#include <membar/model/error.hpp>

#include <unistd.h>

#include <string>

namespace membar_check {

bool has_nvdisasm() { return access(toolkit_program("nvdisasm", "NVDISASM").c_str(), X_OK) == 0; }

std::string disassembled(std::string_view cubin) {
  const membar_tools::temporary_folder folder("membar-check");
  const std::string image = (folder.path() / "image.cubin").string();
  const std::string listing = (folder.path() / "listing").string();
  const std::string log = (folder.path() / "log").string();
  membar_tools::write_file(image, cubin);
  const std::string program = toolkit_program("nvdisasm", "NVDISASM");
  if (const int status = run_program({program, "-c", image}, "", listing, log); status != 0) {
    throw membar::model::error(status == 127 ? "cannot start " + program + ": put nvdisasm on the PATH, or name it in NVDISASM"
                                             : "nvdisasm cannot list the machine code: " +
                                                   membar_tools::shortened(membar_tools::read_file(log), 160));
  }
  return membar_tools::read_file(listing);
}

}  // namespace membar_check
