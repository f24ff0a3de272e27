// SPDX-License-Identifier: Apache-2.0
// A capture file as it grows, for Wireshark and others: pcapng (draft-ietf-opsawg-pcapng), Ethernet,
// nanoseconds, little endian. Pure: each function returns the bytes that come next.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/bytes.h"

namespace postern::cli {

class Pcapng {
 public:
  explicit Pcapng(std::uint32_t snap_bytes) : snap_bytes_(snap_bytes) {}

  struct Frame {
    std::string_view interface;
    std::uint64_t time_ns = 0;       // since 1970
    std::uint32_t length_bytes = 0;  // as it arrived; `bytes` may have fewer
    ByteView bytes;
    std::string_view comment;
  };

  std::string begin() const;
  // The frame, and what describes its interface before the interface's first one.
  std::string add(const Frame& frame);
  // How many frames there were of each interface, and how many more there should have been; an interface with
  // none is made up for them if there was no frame at all.
  std::string end(std::uint64_t time_ns, std::uint64_t lost);

 private:
  std::uint32_t interface_number(std::string_view name, std::string& out);

  std::uint32_t snap_bytes_;
  struct Interface {
    std::uint32_t number = 0;
    std::uint64_t frames = 0;
  };
  std::map<std::string, Interface, std::less<>> interfaces_;
};

}  // namespace postern::cli
