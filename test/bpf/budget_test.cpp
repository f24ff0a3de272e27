// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include "test_gateway.h"

namespace postern::testing {
namespace {

// Less than a third of what the kernel bears with: Linux 6.1 prunes less than newer ones do.
constexpr unsigned kBudget = 300'000;

}  // namespace

TEST_CASE("the verifier is done with each program within its budget") {
  const TestGateway gateway;
  for (const config::Role role : {config::Role::underlay, config::Role::local}) {
    bpf_prog_info info{};
    __u32 size = sizeof info;
    REQUIRE(::bpf_obj_get_info_by_fd(gateway.plane().program_fd(role), &info, &size) == 0);
    MESSAGE(std::string(info.name) << ": " << info.verified_insns << " instructions verified of a budget of "
                                   << kBudget << ", " << info.xlated_prog_len / 8 << " long");
    CHECK(info.verified_insns > 0);
    CHECK(info.verified_insns < kBudget);
  }
}

}  // namespace postern::testing
