// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/sync_domain.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <concepts>
#include <string>
#include <type_traits>

namespace {

using fake_cuda::now;
using membar::domain_bound, membar::domain_of;
using membar_test::refusal, membar_test::says;

class sync_domain : public fake_cuda::test {};

// The two tags have distinct types. Each tag converts to the run-time value and compares equal to it.
static_assert(!std::same_as<membar::sync_domain::default_t, membar::sync_domain::remote_t>);
static_assert(!std::convertible_to<membar::sync_domain::default_t, membar::sync_domain::remote_t>);
static_assert(membar::sync_domain(membar::sync_domain::default_) == membar::sync_domain::default_);
static_assert(membar::sync_domain(membar::sync_domain::remote) == membar::sync_domain::remote);
static_assert(membar::sync_domain(membar::sync_domain::remote) != membar::sync_domain::default_);
static_assert(membar::sync_domain(membar::sync_domain::default_).value() == cudaLaunchMemSyncDomainDefault);
static_assert(membar::sync_domain(membar::sync_domain::remote).value() == cudaLaunchMemSyncDomainRemote);
static_assert(membar::sync_domain(cudaLaunchMemSyncDomainRemote) == membar::sync_domain::remote);
static_assert(!std::convertible_to<int, membar::sync_domain> && !std::convertible_to<bool, membar::sync_domain>);
static_assert(!std::convertible_to<cudaLaunchMemSyncDomain, membar::sync_domain>);
static_assert(!std::default_initializable<membar::sync_domain>);

// The map: CUDA's default map, and the member for each logical domain.
static_assert(membar::sync_domain_map{} == membar::sync_domain_map{.default_ = 0, .remote = 1});
static_assert(membar::sync_domain_map{.default_ = 2, .remote = 3}.physical(membar::sync_domain::default_) == 2);
static_assert(membar::sync_domain_map{.default_ = 2, .remote = 3}.physical(membar::sync_domain::remote) == 3);
static_assert(membar::sync_domain_map{.default_ = 260}.default_ == 260,
              "an id out of range is kept, so that it is rejected later");

TEST_F(sync_domain, a_map_is_valid_exactly_if_both_ids_exist) {
  for (const int count : {1, 2, 4}) {
    for (const int id : {-256, -1, 0, 1, 2, 3, 4, 5, 255, 256, 257, 260}) {
      for (const bool is_default : {true, false}) {
        const membar::sync_domain_map map{.default_ = is_default ? id : 0, .remote = is_default ? 0 : id};
        const std::string sentence = refusal([&] { membar::validate(map, count); });
        if (id >= 0 && id < count) {
          EXPECT_EQ(sentence, "") << "id " << id << " of " << count;
        } else {
          EXPECT_TRUE(says(sentence, " is " + std::to_string(id)));
          EXPECT_TRUE(says(sentence, " has " + std::to_string(count) + " synchronization domain"));
          EXPECT_TRUE(says(sentence, is_default ? "the default domain" : "the remote domain"));
        }
      }
    }
  }
}

TEST_F(sync_domain, an_id_is_rejected_with_the_words_of_the_caller) {
  EXPECT_EQ(refusal([] { membar::validate_physical_domain(3, 4, "the victim's domain"); }), "");
  const std::string sentence = refusal([] { membar::validate_physical_domain(4, 4, "the victim's domain"); });
  EXPECT_TRUE(says(sentence, "the victim's domain is 4"));
  EXPECT_TRUE(says(sentence, "from 0 to 3"));
}

TEST_F(sync_domain, a_rejected_id_is_an_invalid_value) {
  try {
    membar::validate_physical_domain(4, 4);
    FAIL();
  } catch (const membar::error& failure) {
    EXPECT_EQ(failure.code(), cudaErrorInvalidValue);
  }
}

TEST_F(sync_domain, the_count_is_the_devices) {
  for (const int count : {1, 2, 4}) {
    now().attribute(cudaDevAttrMemSyncDomainCount) = count;
    EXPECT_EQ(membar::sync_domain_count(0), count);
    EXPECT_EQ(membar::sync_domain_count(), count);
  }
}

TEST_F(sync_domain, a_device_that_does_not_exist_is_an_error_that_names_it) {
  now().devices.resize(2);
  for (const int device : {-1, 2, 1000}) {
    const std::string sentence = refusal([&] { static_cast<void>(membar::sync_domain_count(device)); });
    EXPECT_TRUE(says(sentence, "no device " + std::to_string(device)));
    EXPECT_TRUE(says(sentence, "sees 2"));
    EXPECT_EQ(now().last_error, cudaSuccess) << "the error is left for the next call";
  }
  now().fails["cudaGetDeviceCount"] = {0, cudaErrorInsufficientDriver};
  EXPECT_TRUE(says(refusal([] { static_cast<void>(membar::sync_domain_count(7)); }), "sees 0"));
}

TEST_F(sync_domain, without_a_driver_the_error_says_so) {
  now().driver = false;
  EXPECT_TRUE(says(refusal([] { static_cast<void>(membar::sync_domain_count()); }), "driver"));
  const std::string sentence = refusal([] { static_cast<void>(membar::sync_domain_count(1000)); });
  EXPECT_TRUE(says(sentence, "driver"));
  EXPECT_TRUE(says(sentence, "no device 1000"));
}

// Binding is explicit, and a statically bound id is a compile-time constant.
static_assert(!std::convertible_to<int*, domain_bound<int*, 1>>);
static_assert(!std::convertible_to<int*, domain_bound<int*>>);
static_assert(!std::constructible_from<domain_bound<int*>, int*>, "a domain that is known only at run time must be named");
static_assert(!std::convertible_to<domain_bound<int*, 1>, int*>, "get() must be called to leave the domain");
static_assert(!std::convertible_to<domain_bound<int*, 1>, domain_bound<int*, 2>>);
static_assert(std::is_trivially_copyable_v<domain_bound<int*, 1>> && std::is_trivially_copyable_v<domain_bound<int*>>,
              "handles are kernel arguments");
static_assert(sizeof(domain_bound<int*, 1>) == sizeof(int*), "a static binding needs no space");
static_assert(domain_bound<int, 3>(7).get() == 7 && domain_bound<int, 3>(7).domain() == 3);
static_assert(domain_bound<int>(7, 2).get() == 7 && domain_bound<int>(7, 2).domain() == 2);
static_assert(membar::physical_domain<3>::id == 3);

static_assert(membar::bound_to_domain<domain_bound<int*, 1>> && membar::bound_to_domain<domain_bound<int*>>);
static_assert(domain_of<domain_bound<int*, 1>>::static_id == 1);
static_assert(domain_of<domain_bound<int*>>::static_id == membar::dynamic_domain);
static_assert(domain_of<domain_bound<int, 1>>::id(domain_bound<int, 1>(0)) == 1);
static_assert(domain_of<domain_bound<int>>::id(domain_bound<int>(0, 2)) == 2);
static_assert(!membar::bound_to_domain<int*> && !membar::bound_to_domain<int>);

struct without_trait {
  domain_bound<int*, 1> flag;
};
static_assert(!membar::bound_to_domain<without_trait>,
              "documented: without the trait, the members of a struct are not checked");

}  // namespace
