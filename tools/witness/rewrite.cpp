// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/model/error.hpp>
#include <ptx/lexer.hpp>
#include <ptx/text.hpp>
#include <witness/launcher.hpp>
#include <witness/rewrite.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::witness {

namespace {

using membar_witness::actor_slots;
using membar_witness::most_sites;
using membar_witness::plan;
using ptx::ptx_token;

/// The prefixes of the opcodes before which threads are delayed: memory accesses, fences, and synchronization points.
constexpr std::string_view event_opcodes[] = {
    "ld.",       "st.", "atom.", "red.",  "bar.",   "barrier.", "fence.", "membar.",
    "mbarrier.", "cp.", "shfl.", "vote.", "match.", "redux.",   "elect.", "griddepcontrol."};
/// The prefixes of accesses that no other thread can observe.
constexpr std::string_view private_opcodes[] = {"ld.param", "ld.const", "ld.local", "st.param", "st.local", "ldu."};
constexpr std::string_view warp_opcodes[] = {"shfl.", "vote.", "match.", "redux.", "elect.", "activemask."};

/// The special registers that contain the position of a thread's block in the grid, and their replacements. The replacements
/// are needed because a launch contains several copies of the grid.
constexpr std::pair<std::string_view, std::string_view> places_in_grid[] = {
    {"%ctaid.z", "%mw_cz"}, {"%clusterid.z", "%mw_cz"}, {"%nctaid.z", "%mw_nz"}, {"%nclusterid.z", "%mw_nz"}};
/// The prefixes of special registers that have the same value in all copies of the grid, because they describe the launch.
constexpr std::string_view of_whole_launch[] = {"%envreg", "%gridid"};
constexpr std::string_view vectors_of_grid[] = {"%ctaid", "%nctaid", "%clusterid", "%nclusterid"};

[[nodiscard]] bool begins_with_one_of(std::string_view opcode, const auto& list) {
  return std::any_of(std::begin(list), std::end(list), [&](std::string_view o) { return opcode.starts_with(o); });
}

[[nodiscard]] bool is_event(std::string_view opcode) {
  return begins_with_one_of(opcode, event_opcodes) && !begins_with_one_of(opcode, private_opcodes);
}

/// A statement, label, declaration or brace in a kernel's body, with its position in the text.
struct piece {
  enum class kind_t : unsigned char { label, instruction, declaration, line_directive, open, close };
  kind_t kind = kind_t::instruction;
  std::size_t begin = 0;
  std::size_t end = 0;
  int line = 0;
  int depth = 0;                          ///< the nesting depth of its scope; the depth of the kernel's body is 1
  std::string_view word{};                ///< the opcode without its guard, the label, or the directive
  std::string_view guard{};               ///< "@%p1" or "@!%p1"
  std::vector<std::string_view> words{};  ///< the remaining words
};

/// Splits the body of a kernel into statements, and finds the end of its parameters.
class body_reader {
 public:
  body_reader(std::string_view text, const std::string& kernel) : text_(text) {
    for (const ptx::ptx_part& part : ptx::parts_of(text)) {
      if (part.kind == ptx::ptx_part::kind_t::kernel && part.name == kernel && part.text.find('{') != std::string_view::npos) {
        begin_ = static_cast<std::size_t>(part.text.data() - text.data());
        tokens_ = ptx::ptx_tokens(part.text);
      }
    }
    if (tokens_.empty()) {
      throw model::error("the PTX does not define the kernel " + kernel + ": name one that it defines");
    }
    first_line_ = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin_), '\n'));
    read_head();
    read_body();
  }

  [[nodiscard]] const std::vector<piece>& pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  /// Returns the position of the ')', or of the text after the name if there are no parameters.
  [[nodiscard]] std::size_t parameters_end() const noexcept { return parameters_end_; }
  [[nodiscard]] bool has_list() const noexcept { return has_list_; }
  [[nodiscard]] bool has_parameters() const noexcept { return has_parameters_; }

 private:
  [[nodiscard]] std::size_t offset(const ptx_token& t) const noexcept {
    return static_cast<std::size_t>(t.text.data() - text_.data());
  }
  [[nodiscard]] const ptx_token& now() const noexcept { return tokens_[at_]; }
  [[nodiscard]] bool ended() const noexcept { return now().kind == ptx_token::kind_t::end; }

  void read_head() {
    while (!ended() && !now().is(".entry")) {
      ++at_;
    }
    at_ += 2;
    parameters_end_ = offset(tokens_[at_ - 1]) + tokens_[at_ - 1].text.size();
    if (now().is("(")) {
      has_list_ = true;
      const std::size_t first = at_ + 1;
      while (!ended() && !now().is(")")) {
        ++at_;
      }
      has_parameters_ = at_ != first;
      parameters_end_ = offset(now());
    }
    while (!ended() && !now().is("{")) {
      ++at_;
    }
  }

  void read_body() {
    int depth = 0;
    while (!ended()) {
      piece p;
      p.begin = offset(now());
      p.line = first_line_ + now().line - 1;
      p.depth = depth;
      if (now().is("{") || now().is("}")) {
        p.kind = now().is("{") ? piece::kind_t::open : piece::kind_t::close;
        depth += now().is("{") ? 1 : -1;
        p.end = p.begin + 1;
        ++at_;
      } else {
        read_statement(p);
      }
      pieces_.push_back(std::move(p));
    }
  }

  void read_statement(piece& p) {
    if (tokens_[at_ + 1].is(":")) {
      p.kind = piece::kind_t::label;
      p.word = now().text;
      p.end = offset(tokens_[at_ + 1]) + 1;
      at_ += 2;
      return;
    }
    if (now().is(".loc") || now().is(".file")) {
      p.kind = piece::kind_t::line_directive;
      p.word = now().text;
      for (const int line = now().line; !ended() && now().line == line; ++at_) {
        p.end = offset(now()) + now().text.size();
      }
      return;
    }
    if (now().is("@")) {
      const std::size_t begin = offset(now());
      at_ += tokens_[at_ + 1].is("!") ? 3 : 2;
      p.guard = text_.substr(begin, offset(tokens_[at_ - 1]) + tokens_[at_ - 1].text.size() - begin);
    }
    p.word = now().text;
    p.kind = p.word.starts_with('.') ? piece::kind_t::declaration : piece::kind_t::instruction;
    for (++at_; !ended() && !now().is(";"); ++at_) {
      p.words.push_back(now().text);
    }
    p.end = ended() ? text_.size() : offset(now()) + 1;
    at_ += ended() ? 0 : 1;
  }

  std::string_view text_;
  std::size_t begin_ = 0;
  int first_line_ = 1;
  std::vector<ptx_token> tokens_{};
  std::size_t at_ = 0;
  std::size_t parameters_end_ = 0;
  bool has_list_ = false;
  bool has_parameters_ = false;
  std::vector<piece> pieces_{};
};

/// Returns the targets of backward jumps.
[[nodiscard]] std::set<std::string_view> heads_of(const std::vector<piece>& pieces) {
  std::set<std::string_view> seen;
  std::set<std::string_view> heads;
  for (const piece& p : pieces) {
    if (p.kind == piece::kind_t::label) {
      seen.insert(p.word);
    } else if (p.word.starts_with("bra") || p.word == ".branchtargets") {
      for (const std::string_view w : p.words) {
        if (seen.count(w) != 0) {
          heads.insert(w);
        }
      }
    }
  }
  return heads;
}

[[nodiscard]] std::string plan_name(const std::string& kernel) { return "membar_plan_" + kernel; }
[[nodiscard]] std::string rows_name(const std::string& kernel) { return "membar_rows_" + kernel; }
[[nodiscard]] std::string report_name(const std::string& kernel) { return "membar_report_" + kernel; }

/// Returns the declarations of the constants for a kernel with constant delays.
[[nodiscard]] std::string constants_of(const rewrite_request& request, std::size_t sites) {
  const constant_delays& c = *request.constant;
  std::vector<std::uint64_t> words(sizeof(plan) / 8);
  words[offsetof(plan, limit) / 8] = c.limit;
  const std::size_t row = membar_witness::words_of_row(sites);
  std::vector<std::uint64_t> rows(row * actor_slots);
  for (std::size_t a = 0; a < actor_slots; ++a) {
    words[offsetof(plan, actors) / 8 + a] = a < c.actors.size() ? c.actors[a] : membar_witness::no_actor;
    for (std::size_t k = 0; a < c.cycles.size() && k < std::min(sites, c.cycles[a].size()); ++k) {
      rows[a * row + k] = c.cycles[a][k];
    }
  }
  const auto array = [](const std::string& head, const std::string& name, const std::vector<std::uint64_t>& values) {
    std::string text = head + " " + name + "[" + std::to_string(values.size()) + "] = {";
    for (std::size_t k = 0; k < values.size(); ++k) {
      text += (k == 0 ? "" : ", ") + std::to_string(values[k]) + (values[k] > INT64_MAX ? "U" : "");
    }
    return text + "};\n";
  };
  return array(".const .align 8 .u64", plan_name(request.kernel), words) +
         array(".global .align 8 .u32", rows_name(request.kernel), rows) +
         array(".global .align 8 .u64", report_name(request.kernel), std::vector<std::uint64_t>(membar_witness::report_words));
}

/// Writes the rewritten body.
class body_writer {
 public:
  body_writer(std::string_view text, const body_reader& body, const rewrite_request& request)
      : text_(text), pieces_(body.pieces()), request_(request), heads_(heads_of(body.pieces())) {
    for (const piece& p : pieces_) {
      if (p.kind == piece::kind_t::label) {
        labels_.insert(p.word);
      }
      if (p.kind == piece::kind_t::instruction && p.word.starts_with("call")) {
        throw model::error("line " + std::to_string(p.line) +
                           ": the kernel calls a function, and witness delays only kernels " +
                           "whose functions are inlined: declare it __forceinline__, or compile with optimization");
      }
    }
    choose_sites();
    for (const piece& p : pieces_) {
      require_copies(p);
    }
  }

  [[nodiscard]] const std::vector<site>& sites() const noexcept { return sites_; }
  [[nodiscard]] const std::string& one_copy() const noexcept { return one_copy_; }

  [[nodiscard]] std::string written() {
    out_.clear();
    const std::size_t open = pieces_.front().end;
    out_ += "{\n";
    write_begin();
    write_pieces(open, pieces_.size() - 1);
    if (request_.split_warp) {
      out_ += "\n\tret;\nmembar_split:\n";
      suffix_ = "_membar_split";
      write_pieces(open, pieces_.size() - 1);
    }
    out_ += "\n\tret;\n}";
    return out_;
  }

 private:
  void choose_sites() {
    sites_.push_back({pieces_.front().line, "begin"});
    std::vector<const piece*> chosen;
    for (const bool preferred : {true, false}) {
      for (const piece& p : pieces_) {
        const bool is = std::find(request_.preferred.begin(), request_.preferred.end(), p.line) != request_.preferred.end();
        if (p.kind == piece::kind_t::instruction && is_event(p.word) && is == preferred &&
            chosen.size() + 1 < static_cast<std::size_t>(most_sites)) {
          chosen.push_back(&p);
        }
      }
    }
    std::sort(chosen.begin(), chosen.end());
    for (const piece* p : chosen) {
      site_of_[p] = static_cast<int>(sites_.size());
      sites_.push_back({p->line, std::string(p->word)});
    }
  }

  /// Reports a statement that would behave differently if the launch had several copies of the grid.
  void require_copies(const piece& p) {
    const auto because = [&](const std::string& why) {
      one_copy_ = one_copy_.empty() ? "PTX line " + std::to_string(p.line) + " " + why : one_copy_;
    };
    if (p.kind != piece::kind_t::instruction) {
      return;
    }
    for (const std::string_view w : p.words) {
      const bool vector = std::find(std::begin(vectors_of_grid), std::end(vectors_of_grid), w) != std::end(vectors_of_grid);
      const bool narrow = p.word.ends_with("16") && std::any_of(std::begin(places_in_grid), std::end(places_in_grid),
                                                                [&](const auto& place) { return place.first == w; });
      if (begins_with_one_of(w, of_whole_launch) || vector || narrow) {
        because("reads " + std::string(w));
      }
      for (const parameter& of : request_.parameters) {
        if (w == of.name && !p.word.starts_with("ld.param")) {
          because("takes the address of a parameter that contains pointers");
        }
      }
    }
    for (const loaded_pointer& l : pointers_of(p)) {
      if (l.to.empty() || l.word >= 64) {
        because("loads a part of a pointer, or a pointer beyond the first 512 bytes of the parameters");
      }
    }
  }

  /// The register into which a statement loads a pointer from the parameters, and the index of the pointer's 8-byte word.
  struct loaded_pointer {
    std::string_view to{};  ///< empty if the statement loads only a part of a pointer
    std::uint64_t word = 0;
  };
  [[nodiscard]] std::vector<loaded_pointer> pointers_of(const piece& p) const {
    std::vector<loaded_pointer> result;
    const auto open = std::find(p.words.begin(), p.words.end(), "[");
    if (!p.word.starts_with("ld.param") || p.words.end() - open < 2) {
      return result;
    }
    const auto of = std::find_if(request_.parameters.begin(), request_.parameters.end(),
                                 [&](const parameter& one) { return one.name == open[1]; });
    if (of == request_.parameters.end()) {
      return result;
    }
    const bool offset = p.words.end() - open > 3 && open[2] == "+";
    std::uint64_t at = of->offset + (offset ? std::strtoull(std::string(open[3]).c_str(), nullptr, 0) : 0);
    const std::string_view type = p.word.substr(p.word.rfind('.') + 1);
    const std::uint64_t bytes = std::strtoull(std::string(type.substr(1)).c_str(), nullptr, 10) / 8;
    for (auto to = p.words.begin(); to != open; ++to) {
      if (*to != "{" && *to != "}" && *to != ",") {
        for (const std::uint64_t pointer : request_.pointers) {
          if (pointer < at + bytes && at < pointer + 8) {
            result.push_back({pointer == at && bytes == 8 ? *to : std::string_view(), pointer / 8});
          }
        }
        at += bytes;
      }
    }
    return result;
  }

  void say(const std::string& line) { out_ += "\t" + line + "\n"; }
  /// Loads 8 or 4 bytes of the plan, from the additional parameter or from a constant.
  void load_plan(const char* type, const std::string& to, std::size_t offset) {
    const bool constant = request_.constant != nullptr;
    say(std::string(constant ? "ld.const." : "ld.param.") + type + " " + to + ", [" +
        (constant ? plan_name(request_.kernel) : "membar_witness") + "+" + std::to_string(offset) + "];");
  }

  static void say_for_actors(const auto& each) {
    for (std::size_t a = 0; a < actor_slots; ++a) {
      each(std::to_string(a), a);
    }
  }

  [[nodiscard]] std::string row_register(int number) const { return "%mw_s" + std::to_string(number); }
  [[nodiscard]] std::size_t row_words() const { return membar_witness::words_of_row(sites_.size()); }

  /// Writes the beginning of the kernel: determines the copy of the grid, whether the thread is an actor, the start time, and
  /// the address of its report.
  void write_begin() {
    say("// membar-check witness: registers, which copy of the grid this is, and which of the actors this thread is");
    say(".reg .pred %mw_a<4>, %mw_p, %mw_q;");
    say(".reg .b32 %mw_r<8>, %mw_cz, %mw_nz;");
    say(".reg .b32 %mw_s<" + std::to_string(row_words()) + ">;");
    say(".reg .b64 %mw_begin, %mw_limit, %mw_report, %mw_left, %mw_d, %mw_e, %mw_t, %mw_seen, %mw_shift, %mw_early;");
    load_plan("u32", "%mw_nz", offsetof(plan, blocks_z));
    say("setp.eq.u32 %mw_p, %mw_nz, 0;");
    say("@%mw_p mov.u32 %mw_nz, %nctaid.z;");
    say("mov.u32 %mw_cz, %ctaid.z;");
    say("div.u32 %mw_r5, %mw_cz, %mw_nz;");
    say("rem.u32 %mw_cz, %mw_cz, %mw_nz;");
    say("cvt.u64.u32 %mw_d, %mw_r5;");
    load_plan("u64", "%mw_shift", offsetof(plan, stride));
    say("mul.lo.u64 %mw_shift, %mw_shift, %mw_d;");
    const auto linear = [&](const std::string& index, const char* size) {
      say("mov.u32 %mw_r1, " + (index == "%ctaid" ? "%mw_cz" : index + ".z") + ";");
      say(std::string("mov.u32 %mw_r2, ") + size + ".y;");
      say("mov.u32 %mw_r3, " + index + ".y;");
      say("mad.lo.u32 %mw_r1, %mw_r1, %mw_r2, %mw_r3;");
      say(std::string("mov.u32 %mw_r2, ") + size + ".x;");
      say("mov.u32 %mw_r3, " + index + ".x;");
      say("mad.lo.u32 %mw_r1, %mw_r1, %mw_r2, %mw_r3;");
    };
    linear("%ctaid", "%nctaid");
    say("mov.u32 %mw_r4, %mw_r1;");
    linear("%tid", "%ntid");
    say("mov.b64 %mw_d, {%mw_r1, %mw_r4};");
    say_for_actors([&](const std::string& a, std::size_t k) {
      load_plan("u64", "%mw_e", offsetof(plan, actors) + 8 * k);
      say("setp.eq.u64 %mw_a" + a + ", %mw_d, %mw_e;");
    });
    if (request_.constant != nullptr) {
      say("mov.u64 %mw_report, " + report_name(request_.kernel) + ";");
    } else {
      load_plan("u64", "%mw_report", offsetof(plan, report));
    }
    say("add.u64 %mw_report, %mw_report, %mw_shift;");
    load_plan("u64", "%mw_limit", offsetof(plan, limit));
    write_row();
    say("mov.u64 %mw_begin, %clock64;");
    say("mov.u64 %mw_seen, 0;");
    say("mov.u64 %mw_left, " + std::to_string(membar_witness::most_delay) + ";");
    write_delay(0, "begin");
    if (request_.split_warp) {
      say("@%mw_a0 bra membar_split;");
    }
  }

  /// Reads an actor's delays and its early load address once, so that a delay of zero costs only one comparison.
  void write_row() {
    say("mov.u64 %mw_early, 0;");
    say("mov.u32 %mw_r6, " + std::to_string(actor_slots) + ";");
    say_for_actors([&](const std::string& a, std::size_t k) {
      load_plan("u64", "%mw_e", offsetof(plan, early) + 8 * k);
      say("selp.u64 %mw_early, %mw_e, %mw_early, %mw_a" + a + ";");
      say("selp.u32 %mw_r6, " + a + ", %mw_r6, %mw_a" + a + ";");
    });
    say("setp.ne.u64 %mw_p, %mw_early, 0;");
    say("@%mw_p add.u64 %mw_early, %mw_early, %mw_shift;");
    for (std::size_t k = 0; k < row_words(); ++k) {
      say("mov.u32 " + row_register(static_cast<int>(k)) + ", 0;");
    }
    if (request_.constant != nullptr) {
      say("mov.u64 %mw_t, " + rows_name(request_.kernel) + ";");
    } else {
      load_plan("u64", "%mw_t", offsetof(plan, rows));
    }
    say("setp.ne.u64 %mw_p, %mw_t, 0;");
    say("setp.lt.u32 %mw_q, %mw_r6, " + std::to_string(actor_slots) + ";");
    say("and.pred %mw_p, %mw_p, %mw_q;");
    say("@!%mw_p bra membar_row_end;");
    say("mad.lo.u32 %mw_r6, %mw_r5, " + std::to_string(actor_slots) + ", %mw_r6;");
    say("mul.wide.u32 %mw_e, %mw_r6, " + std::to_string(4 * row_words()) + ";");
    say("add.u64 %mw_t, %mw_t, %mw_e;");
    for (std::size_t k = 0; k < row_words(); ++k) {
      say("ld.global.u32 " + row_register(static_cast<int>(k)) + ", [%mw_t+" + std::to_string(4 * k) + "];");
    }
    out_ += "membar_row_end:\n";
  }

  /// Inserts the delay at a site, and a load from the address that the thread later reads too early.
  void write_delay(int number, const std::string& label) {
    const std::string own = "membar_" + label + suffix_;
    say("setp.eq.u64 %mw_p, %mw_early, 0;");
    say("@%mw_p bra " + own + "_early;");
    say("ld.global.u32 %mw_r1, [%mw_early];");
    say("setp.eq.u32 %mw_p, %mw_r1, " + std::to_string(membar_witness::unlikely_value) + ";");
    say("@%mw_p st.volatile.global.u64 [%mw_report+8], %mw_early;");
    out_ += own + "_early:\n";
    say("setp.eq.u32 %mw_p, " + row_register(number) + ", 0;");
    say("@%mw_p bra " + own + "_end;");
    say("setp.lt.s64 %mw_p, %mw_left, 0;");
    say("@%mw_p bra " + own + "_end;");
    say("cvt.u64.u32 %mw_d, " + row_register(number) + ";");
    say("sub.s64 %mw_left, %mw_left, %mw_d;");
    say("mov.u64 %mw_e, %clock64;");
    out_ += own + "_delay:\n";
    say("mov.u64 %mw_t, %clock64;");
    say("sub.u64 %mw_t, %mw_t, %mw_e;");
    say("setp.lt.u64 %mw_p, %mw_t, %mw_d;");
    say("@%mw_p bra " + own + "_delay;");
    out_ += own + "_end:\n";
  }

  /// Inserts a check at a loop head: a thread that has run for too long reports this and exits.
  void write_limit() {
    say("mov.u64 %mw_t, %clock64;");
    say("sub.u64 %mw_t, %mw_t, %mw_begin;");
    say("setp.gt.u64 %mw_p, %mw_t, %mw_limit;");
    say("@%mw_p st.volatile.global.u64 [%mw_report], 1;");
    say("@%mw_p exit;");
  }

  /// After the watched load, inserts code that reports the loaded value once.
  void write_watch(const piece& p) {
    const std::string to(p.words.empty() ? std::string_view() : p.words.front());
    const std::string_view type = p.word.substr(p.word.rfind('.') + 1);
    const bool wide = type.ends_with("64");
    if (to.empty() || to[0] != '%' || !(wide || type.ends_with("32"))) {
      return;  // a vector or a value of fewer than 4 bytes
    }
    say("add.u64 %mw_seen, %mw_seen, 1;");
    load_plan("u64", "%mw_e", offsetof(plan, watch));
    say("setp.eq.u64 %mw_p, %mw_seen, %mw_e;");
    say("and.pred %mw_p, %mw_p, %mw_a" + std::to_string(request_.watched_actor) + ";");
    if (!p.guard.empty()) {
      const bool negated = p.guard.substr(1).starts_with("!");
      const std::string guard(p.guard.substr(negated ? 2 : 1));
      say(std::string(negated ? "not.pred %mw_q, " : "mov.pred %mw_q, ") + guard + ";");
      say("and.pred %mw_p, %mw_p, %mw_q;");
    }
    say(std::string("@%mw_p st.volatile.global.") + (wide ? "b64" : "b32") + " [%mw_report+24], " + to + ";");
    say("@%mw_p st.volatile.global.u64 [%mw_report+16], 1;");
  }

  /// After a load from the parameters, shifts the loaded addresses to the memory of this copy of the grid.
  void write_shift(const piece& p) {
    for (const loaded_pointer& l : pointers_of(p)) {
      if (l.to.starts_with("%") && l.word < 64) {
        out_ += "\n";
        load_plan("u64", "%mw_e", offsetof(plan, pointers));
        say("and.b64 %mw_e, %mw_e, " + std::to_string(std::uint64_t{1} << l.word) + "U;");
        say("setp.ne.u64 %mw_p, %mw_e, 0;");
        say("selp.u64 %mw_e, %mw_shift, 0, %mw_p;");
        say(std::string(p.guard) + (p.guard.empty() ? "" : " ") + "add.u64 " + std::string(l.to) + ", " + std::string(l.to) +
            ", %mw_e;");
      }
    }
  }

  /// Returns the text between two positions, with the labels of this copy of the code. Barriers are replaced by barriers that
  /// the threads of a warp may reach one by one.
  [[nodiscard]] std::string as_written(const piece& p) const {
    std::string text(text_.substr(p.begin, p.end - p.begin));
    for (const auto& [name, own] : places_in_grid) {
      if (std::find(p.words.begin(), p.words.end(), name) != p.words.end()) {
        text.replace(text.find(name), name.size(), own);
      }
    }
    if (!request_.split_warp) {
      return text;
    }
    if (p.word.starts_with("bar.sync") || p.word.starts_with("bar.red") || p.word.starts_with("bar.arrive")) {
      text.insert(text.find("bar.") + 3, "rier");
    }
    if (p.word.starts_with("barrier.")) {
      if (const std::size_t aligned = text.find(".aligned"); aligned != std::string::npos) {
        text.erase(aligned, 8);
      }
    }
    if (suffix_.empty()) {
      return text;
    }
    std::vector<std::string_view> words = p.words;
    words.push_back(p.word);
    for (const std::string_view w : words) {
      const auto is_target = [&] { return labels_.count(w) != 0 && p.kind != piece::kind_t::line_directive; };
      if (is_target()) {
        const std::string name(w);
        for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + name.size())) {
          const char next = at + name.size() < text.size() ? text[at + name.size()] : ' ';
          if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_' && next != '$') {
            text.insert(at + name.size(), suffix_);
          }
        }
      }
    }
    return text;
  }

  void write_pieces(std::size_t from, std::size_t last) {
    std::size_t at = from;
    for (std::size_t k = 1; k < last; ++k) {
      const piece& p = pieces_[k];
      const bool left_out = !suffix_.empty() && p.depth == 1 && p.kind == piece::kind_t::declaration &&
                            !p.word.starts_with(".pragma") && !p.word.starts_with(".branchtargets");
      out_ += text_.substr(at, p.begin - at);
      at = p.end;
      if (left_out) {
        continue;
      }
      const auto number = site_of_.find(&p);
      if (number != site_of_.end()) {
        out_ += "\n";
        write_delay(number->second, "site" + std::to_string(number->second));
        out_ += "\t";
      }
      out_ += as_written(p);
      if (p.kind == piece::kind_t::label && heads_.count(p.word) != 0) {
        out_ += "\n";
        write_limit();
      }
      if (p.kind == piece::kind_t::instruction && p.line == request_.watched_line && request_.watched_line != 0 &&
          (p.word.starts_with("ld.") || p.word.starts_with("atom."))) {
        out_ += "\n";
        write_watch(p);
      }
      write_shift(p);
    }
    out_ += text_.substr(at, pieces_[last].begin - at);
  }

  std::string_view text_;
  const std::vector<piece>& pieces_;
  const rewrite_request& request_;
  std::set<std::string_view> heads_;
  std::set<std::string_view> labels_{};
  std::map<const piece*, int> site_of_{};
  std::vector<site> sites_{};
  std::string one_copy_{};
  std::string suffix_{};
  std::string out_{};
};

}  // namespace

bool has_warp_operations(std::string_view text, const std::string& kernel) {
  const body_reader body(text, kernel);
  return std::any_of(body.pieces().begin(), body.pieces().end(),
                     [](const piece& p) { return begins_with_one_of(p.word, warp_opcodes); });
}

bool has_constant_delays(std::string_view text, const std::string& kernel) {
  return text.find(" " + plan_name(kernel) + "[") != std::string_view::npos;
}

rewritten_kernel rewrite(std::string_view text, const rewrite_request& request) {
  const body_reader body(text, request.kernel);
  body_writer writer(text, body, request);
  rewritten_kernel result;
  const std::string parameter = ".param .align 8 .b8 membar_witness[" + std::to_string(sizeof(membar_witness::plan)) + "]";
  const std::size_t open = body.pieces().front().begin;
  const std::size_t close = body.pieces().back().end;
  result.text = std::string(text.substr(0, body.begin()));
  result.text += request.constant != nullptr ? constants_of(request, writer.sites().size()) : std::string();
  result.text += text.substr(body.begin(), body.parameters_end() - body.begin());
  if (request.constant == nullptr) {
    result.text += body.has_list() ? (body.has_parameters() ? ",\n\t" : "\n\t") + parameter + "\n" : "(" + parameter + ")";
  }
  result.text += text.substr(body.parameters_end(), open - body.parameters_end());
  result.text += writer.written();
  result.text += text.substr(close);
  result.sites = writer.sites();
  result.one_copy = writer.one_copy();
  return result;
}

}  // namespace membar::witness
