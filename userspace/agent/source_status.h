// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace postern::agent {

// How it stands with the source of snapshots that the config names.
struct SourceStatus {
  std::string name;             // "file PATH", "directory PATH", "url URL"; "" when there is none
  std::string problem;          // "" when its last word was good
  std::uint64_t offered = 0;    // documents that went to adoption
  std::uint64_t unchanged = 0;  // looks that found nothing new
  std::uint64_t failures = 0;   // looks that failed, and documents that were refused
};

}  // namespace postern::agent
