// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/options.hpp"

#include <gtest/gtest.h>

#include "membar-domains/move_list.hpp"

namespace {

using namespace membar_domains;

std::string refusal_of(const std::vector<std::string>& words) {
  try {
    static_cast<void>(parse_options(words));
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

TEST(domains_options, watch_is_the_default_action) {
  const options o = parse_options({"--", "./app", "--list=mine"});
  EXPECT_EQ(o.what, options::action::watch);
  EXPECT_EQ(o.program, (std::vector<std::string>{"./app", "--list=mine"}));
}

TEST(domains_options, each_option_is_read) {
  const options o = parse_options({"try", "--list=a", "--remote=b", "--remote=c=d", "--output=e", "--turn=7", "--runs=2",
                                   "--cupti=f", "--whole-runs", "--format=json", "--", "g"});
  EXPECT_EQ(o.what, options::action::try_);
  EXPECT_EQ(o.list, "a");
  EXPECT_EQ(o.remote, (std::vector<std::string>{"b", "c=d"}));
  EXPECT_EQ(o.output, "e");
  EXPECT_EQ(o.turn, 7);
  EXPECT_EQ(o.runs, 2);
  EXPECT_EQ(o.cupti, "f");
  EXPECT_TRUE(o.whole_runs);
  EXPECT_TRUE(o.json);
  EXPECT_FALSE(parse_options({"--", "g"}).json);
  EXPECT_EQ(parse_options({"run", "--seconds=0.5", "--", "g"}).seconds, 0.5);
}

TEST(domains_options, help_and_version_need_no_program_and_help_names_every_option) {
  EXPECT_EQ(parse_options({"--help"}).what, options::action::help);
  EXPECT_EQ(parse_options({"try", "-h"}).what, options::action::help);
  EXPECT_EQ(parse_options({"--version"}).what, options::action::version);
  for (const char* words :
       {"  --list=FILE ", "  --remote=REGEX ", "  --check ", "  --no-check ", "  --force ", "  --seconds=N ", "  --whole-runs ",
        "  --format=FORMAT ", "  --turn=N ", "  --runs=N ", "  --cupti=FILE ", "  --output=FOLDER ", "  --version "}) {
    EXPECT_NE(usage().find(words), std::string::npos) << words << usage();
  }
}

TEST(domains_options, errors_name_the_remedy) {
  EXPECT_EQ(refusal_of({"look", "--", "a"}),
            "'look' is not an action: write watch, try, apply or run, and -- before the program");
  EXPECT_EQ(refusal_of({"watch", "--far", "--", "a"}),
            "'--far' is not an option: see membar-domains --help, and write -- before the program");
  EXPECT_EQ(refusal_of({"try", "--turn=0", "--", "a"}), "--turn: '0' is not valid: write a number from 1 to 1000000");
  EXPECT_EQ(refusal_of({"try", "--turn=many", "--", "a"}), "--turn: 'many' is not valid: write a number from 1 to 1000000");
  EXPECT_EQ(refusal_of({"try", "--runs=101", "--", "a"}), "--runs: '101' is not valid: write a number from 1 to 100");
  EXPECT_EQ(refusal_of({"run", "--seconds=0", "--", "a"}), "--seconds: '0' is not valid: write a number from 0.1 to 3600");
  EXPECT_EQ(refusal_of({"watch", "--format=xml", "--", "a"}), "--format: 'xml' is not a format: write text or json");
  EXPECT_EQ(refusal_of({"./app"}), "'./app' is not an action: write watch, try, apply or run, and -- before the program");
  EXPECT_EQ(refusal_of({"try", "--list=", "--", "a"}), "--list needs a value: write --list=...");
  EXPECT_EQ(refusal_of({"try", "--list", "--", "a"}), "--list needs a value: write --list=...");
  EXPECT_EQ(refusal_of({"watch", "--"}), "no program follows --: write membar-domains watch -- ./app args");
  EXPECT_EQ(refusal_of({"watch"}), "-- is missing before the program: write membar-domains watch -- ./app args");
  EXPECT_EQ(refusal_of({"watch", "--whole-runs", "--", "a"}),
            "--whole-runs applies only to try, which runs the program in each mode: write membar-domains try --whole-runs -- "
            "./app args");
  EXPECT_EQ(refusal_of({"apply", "--", "a"}),
            "apply needs a list of kernels to move: write --list=FILE with a file that watch wrote, or --remote=REGEX");
}

}  // namespace
