// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/records.hpp"

#include <algorithm>
#include <istream>
#include <sstream>
#include <string>

#include "membar-domains/format_version.hpp"
#include "membar-domains/move_list.hpp"

namespace membar_domains {

namespace {

/// Returns whether the first line contains the current version. A crash may have truncated the line.
bool has_known_version(const std::string& line) { return line == "F " + std::to_string(records_version); }

}  // namespace

records read_records(std::istream& in) {
  records out;
  std::string line;
  if (std::getline(in, line) && !in.eof() && !has_known_version(line)) {
    throw error("its records begin with '" + line.substr(0, 20) + "', but this version of membar-domains reads only format " +
                std::to_string(records_version) + ", which begins with 'F " + std::to_string(records_version) +
                "': " + one_version);
  }
  while (std::getline(in, line)) {
    if (in.eof()) {  // the line is truncated, possibly within its last number
      ++out.unreadable;
      break;
    }
    std::istringstream words(line);
    char kind = 0;
    words >> kind;
    std::uint32_t id = 0;
    std::string text;
    int how = 0;
    std::uint64_t pointer = 0;
    kernel_record k;
    tick t;
    moved_run m;
    if (kind == 'N' || kind == 'R' || kind == 'L') {
      if (words >> id && std::getline(words >> std::ws, text)) {
        (kind == 'N' ? out.names : kind == 'R' ? out.reasons : out.lanes)[id] = text;
        continue;
      }
    } else if (pointer_uses uses; kind == 'P' && words >> id >> pointer >> uses.in_graphs >> uses.first >> uses.last) {
      out.pointers[id][pointer] = uses;
      continue;
    } else if (int seen = 0; kind == 'S' && words >> id >> seen) {
      seen != 0 ? static_cast<void>(out.looked_at.insert(id)) : static_cast<void>(out.looked_at.erase(id));
      if (std::uint64_t launched = 0; words >> launched) {
        out.launched[id] = launched;
      }
      continue;
    } else if (kind == 'I' && words >> id && std::getline(words >> std::ws, text)) {
      out.images[text] = id;
      continue;
    } else if (kind == 'K' && words >> k.device >> k.stream >> k.graph >> k.start >> k.end >> k.name) {
      words >> k.launch >> k.fills;
      if (k.start != 0 && k.end >= k.start) {  // CUPTI writes 0 if a time is not known
        out.kernels.push_back(k);
      }
      continue;
    } else if (kind == 'E' && words >> id) {
      far_launches& of = out.far[id];
      char far = 0;
      std::uint64_t count = 0;
      while (words >> far) {
        of.ordered = of.ordered && far != '?';
        if (words >> count) {
          of.runs.emplace_back(far == 'f', count);
        }
      }
      continue;
    } else if (std::uint64_t far = 0, near = 0; kind == 'G' && words >> id >> far >> near) {
      out.far[id].far_nodes = far;
      out.far[id].near_nodes = near;
      continue;
    } else if (kind == 'D' && words >> id) {
      out.already_isolated.insert(id);
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

void distinguish_launches(records& of, const std::function<bool(std::uint32_t, const std::string&)>& by_pointer) {
  for (const auto& [name, reason] : of.reasons) {
    if (!of.far.contains(name) && of.names.contains(name) && by_pointer(name, of.names.at(name))) {
      of.not_distinguished.insert(name);  // the process crashed before it recorded which launches were far
    }
  }
  for (const auto& [name, known] : of.far) {
    if (!of.names.contains(name) || !by_pointer(name, of.names.at(name))) {
      continue;
    }
    std::vector<kernel_record*> launched, in_graphs;
    for (kernel_record& k : of.kernels) {
      if (k.name == name) {
        (k.graph == 0 ? launched : in_graphs).push_back(&k);
      }
    }
    std::sort(launched.begin(), launched.end(),
              [](const kernel_record* a, const kernel_record* b) { return a->launch < b->launch; });
    std::uint64_t count = 0;
    bool any_far = false;
    bool any_near = false;
    for (const auto& [far, times] : known.runs) {
      count += times;
      (far ? any_far : any_near) = true;
    }
    const bool told = known.ordered && count == launched.size() &&
                      std::adjacent_find(launched.begin(), launched.end(), [](const kernel_record* a, const kernel_record* b) {
                        return a->launch == b->launch;
                      }) == launched.end();
    if (known.ordered && any_near && !any_far) {
      for (kernel_record* const k : launched) {
        k->near = true;
      }
    } else if (told) {
      auto at = launched.begin();
      for (const auto& [far, times] : known.runs) {
        for (std::uint64_t i = 0; i < times; ++i, ++at) {
          (*at)->near = !far;
        }
      }
    } else if (!launched.empty() && (any_near || !known.ordered)) {
      of.not_distinguished.insert(name);
    }
    for (kernel_record* const k : in_graphs) {
      k->near = known.far_nodes == 0 && known.near_nodes != 0;
    }
    if (!in_graphs.empty() && known.far_nodes != 0 && known.near_nodes != 0) {
      of.not_distinguished.insert(name);
    }
  }
}

}  // namespace membar_domains
