// SPDX-License-Identifier: Apache-2.0
#include "dataplane/update_row.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace postern::dataplane {
namespace {

constexpr int kTries = 200;
constexpr std::chrono::milliseconds kPause{1};

}  // namespace

int update_row(int map_fd, const void* key, const void* value, std::uint64_t flags) {
  for (int tries = 1; ::bpf_map_update_elem(map_fd, key, value, flags) != 0; ++tries) {
    if (errno != ENOMEM || tries == kTries) return -1;
    std::this_thread::sleep_for(kPause);
  }
  return 0;
}

}  // namespace postern::dataplane
