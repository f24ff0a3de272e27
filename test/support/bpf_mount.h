// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace postern::testing {

// A BPF file system of its own, unmounted with all its pins when this goes.
class BpfMount {
 public:
  BpfMount() {
    char name[] = "/tmp/postern-pins-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    root = name;
    REQUIRE(::mount("bpf", name, "bpf", 0, nullptr) == 0);
  }
  ~BpfMount() {
    ::umount2(root.c_str(), MNT_DETACH);
    ::rmdir(root.c_str());
  }
  BpfMount(const BpfMount&) = delete;
  BpfMount& operator=(const BpfMount&) = delete;

  std::filesystem::path root;
};

}  // namespace postern::testing
