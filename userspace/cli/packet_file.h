// SPDX-License-Identifier: Apache-2.0
// Frames out of a capture file: pcap (both byte orders, micro- and nanoseconds) and pcapng, of Ethernet
// links.
#pragma once

#include <filesystem>
#include <vector>

#include "core/bytes.h"
#include "core/result.h"

namespace postern::cli {

inline constexpr std::size_t kMostFrames = 100'000;
inline constexpr std::size_t kMostFrame_bytes = 16'384;

struct FiledFrame {
  Bytes bytes;
  std::uint32_t length_bytes = 0;  // on the wire; more than `bytes` has when the capture cut it off
};

// packet_file.* names the file, the packet's number and what is wrong with it.
Result<std::vector<FiledFrame>> read_packet_file(const std::filesystem::path& path);

}  // namespace postern::cli
