// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/move_list.hpp"

#include <gtest/gtest.h>

namespace {

using namespace membar_domains;

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(move_list::parse(text, "moves.txt"));
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

constexpr const char* two_shot = "_ZN12_GLOBAL__N_134two_shot_all_reduce_kernel_inplaceIN3c108BFloat16ELi16ELi2EEEvPPT_mmPPjmm";

TEST(move_list, the_first_rule_that_matches_decides) {
  const move_list list = move_list::parse("# comment\n\nremote  ^put  # why\n2 halo$\ndefault ^putty\n", "moves.txt");
  EXPECT_EQ(list.match("put_left"), (target{target::kind::logical_remote, 0}));
  EXPECT_EQ(list.match("putty"), (target{target::kind::logical_remote, 0}));
  EXPECT_EQ(list.match("my_halo"), (target{target::kind::physical, 2}));
  EXPECT_EQ(list.match("gemm"), target{});
  ASSERT_EQ(list.rules().size(), 3U);
  EXPECT_EQ(list.rules()[0].pattern, "^put");
  EXPECT_EQ(list.rules()[0].line, 3);
}

TEST(move_list, a_far_rule_decides_for_far_launches_and_the_next_for_the_others) {
  const move_list list = move_list::parse("remote:far ^copy\n2 ^copy_all\n", "moves.txt");
  EXPECT_TRUE(list.rules().at(0).far);
  EXPECT_FALSE(list.rules().at(1).far);
  EXPECT_EQ(list.decide("copy").far, 0);
  EXPECT_EQ(list.decide("copy").near, -1);
  EXPECT_EQ(list.decide("copy_all").far, 0);
  EXPECT_EQ(list.decide("copy_all").near, 1);
  EXPECT_EQ(list.decide("gemm").far, -1);
  EXPECT_EQ(message_of("remote:near ^put$"),
            "moves.txt:1: 'remote:near' ends in ':near': after the domain, write nothing, or :far to select launches with a "
            "pointer to a peer's or the host's memory");
}

TEST(move_list, of_another_format_is_rejected_and_one_without_a_format_is_read) {
  EXPECT_EQ(move_list::parse("# membar-domains list, format 1\r\nremote ^put$\n", "moves.txt").rules().size(), 1U);
  EXPECT_EQ(move_list::parse("remote ^put$\n", "moves.txt").rules().size(), 1U);
  for (const char* version : {"2", "", "1x"}) {
    EXPECT_EQ(message_of("# membar-domains list, format " + std::string(version) + "\nremote ^put$\n"),
              "moves.txt: the list has format '" + std::string(version) +
                  "', but this version of membar-domains reads only format 1: use the membar-domains that wrote it, or write "
                  "the list "
                  "again with watch");
  }
}

TEST(move_list, a_mangled_name_matches_by_its_short_its_plain_and_its_own_name) {
  for (const char* pattern :
       {"^two_shot_all_reduce_kernel_inplace$", "two_shot_all_reduce_kernel_inplace<c10::BFloat16", "^_ZN12_GLOBAL"}) {
    move_list list;
    list.add({target::kind::logical_remote, 0}, pattern, "test");
    EXPECT_EQ(list.rule_of(two_shot), 0) << pattern;
  }
}

TEST(move_list, errors_name_the_line_and_the_remedy) {
  EXPECT_EQ(message_of("\nfar ^put$"),
            "moves.txt:2: 'far' is not a domain: write remote, default, or the number of a physical domain, 0 to 255");
  EXPECT_EQ(message_of("256 ^put$"),
            "moves.txt:1: '256' is not a domain: write remote, default, or the number of a physical domain, 0 to 255");
  EXPECT_EQ(message_of("remote   # nothing"),
            "moves.txt:1: no kernel names follow the domain 'remote': write a regular expression for them after it");
  EXPECT_NE(message_of("remote put(").find("moves.txt:1: 'put(' is not a regular expression"), std::string::npos);
}

TEST(move_list, a_file_that_is_not_there_is_named) { EXPECT_THROW(static_cast<void>(move_list::read("/no/such/list")), error); }

TEST(kernel_names, the_short_name_has_no_types_and_no_namespaces) {
  EXPECT_EQ(short_name(two_shot), "two_shot_all_reduce_kernel_inplace");
  EXPECT_EQ(short_name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                       "std::array<char*, 3ul> >(int)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(short_name("nvjet_tst_64x8_64x16"), "nvjet_tst_64x8_64x16");
}

TEST(kernel_names, an_escaped_name_matches_only_itself) {
  move_list list;
  list.add({target::kind::logical_remote, 0}, "^" + escaped("a+b(c)[d]{2}") + "$", "test");
  EXPECT_EQ(list.rule_of("a+b(c)[d]{2}"), 0);
  EXPECT_EQ(list.rule_of("aab(c)[d]{2}"), -1);
}

TEST(kernel_names, libraries_of_communication_are_known_and_others_are_not) {
  EXPECT_TRUE(known_remote(two_shot));
  EXPECT_TRUE(known_remote("_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
  EXPECT_TRUE(known_remote("nvshmemi_transfer_rma"));
  for (const char* name : {"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxST", "ncclSymDevKernel_AllGather_ST", "ncclSymkRun",
                           "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<1, 2>(int)",
                           "void mscclpp::collective::allreduce<float>(void*)", "userbuffers_fp16_sum_inplace_gpu_rw(int)",
                           "kuserbuffers_pushsend(int*)", "void deep_ep::internode_ll::dispatch<true>(void*)",
                           "void membar::detail::notify_next_kernel<int>(int)"}) {
    EXPECT_TRUE(known_remote(name)) << name;
  }
  EXPECT_FALSE(known_remote("void membar::detail::wait_kernel<int>(int)")) << "the kernel stores nothing";
  EXPECT_FALSE(known_remote("_ZN2at6native13reduce_kernelILi512ELi1EEEvv"));
  EXPECT_FALSE(known_remote("nvjet_tst_64x8_64x16"));
}

}  // namespace
