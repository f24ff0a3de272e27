// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace postern::dataplane {

// bpf_map_update_elem, with patience. The kernel takes the rows of a map that grows as it fills from a small
// stock that each CPU has, and fills that up a moment later: whoever makes many rows in a row is told that
// there is no memory, when there only is none yet. 0, or -1 and errno; ENOMEM when there is none for long.
int update_row(int map_fd, const void* key, const void* value, std::uint64_t flags);

}  // namespace postern::dataplane
