// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/records.hpp"

#include <istream>
#include <sstream>

namespace membar_domains {

records read_records(std::istream& in) {
  records out;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    char kind = 0;
    words >> kind;
    std::uint32_t id = 0;
    std::string text;
    int how = 0;
    ran k;
    tick t;
    moved_run m;
    if (kind == 'N' || kind == 'R' || kind == 'L') {
      if (words >> id && std::getline(words >> std::ws, text)) {
        (kind == 'N' ? out.names : kind == 'R' ? out.reasons : out.lanes)[id] = text;
        continue;
      }
    } else if (std::uint64_t pointer = 0; kind == 'P' && words >> id >> pointer) {
      out.pointers[id].insert(pointer);
      continue;
    } else if (kind == 'I' && words >> id && std::getline(words >> std::ws, text)) {
      out.images[text] = id;
      continue;
    } else if (kind == 'K' && words >> k.device >> k.stream >> k.graph >> k.start >> k.end >> k.name) {
      words >> k.launch;
      if (k.start != 0 && k.end >= k.start) {  // CUPTI writes 0 where it has no time
        out.kernels.push_back(k);
      }
      continue;
    } else if (kind == 'T' && words >> t.lane >> t.start >> t.end) {
      out.ticks.push_back(t);
      continue;
    } else if (kind == 'M' && words >> how >> m.start >> m.end && how >= 0 && how <= 2) {
      m.how = static_cast<mode>(how);
      out.moves.push_back(m);
      continue;
    }
    ++out.unreadable;
  }
  return out;
}

}  // namespace membar_domains
