// SPDX-License-Identifier: Apache-2.0
// Settings of a network card that matter to XDP, by the ethtool ioctl and the kernel's account of XDP
// features. What a driver or a kernel does not know is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/ids.h"
#include "core/result.h"

namespace postern::dataplane {

struct NicAmount {
  std::uint32_t now = 0;
  std::uint32_t most = 0;
  friend bool operator==(const NicAmount&, const NicAmount&) = default;
};

struct NicSettings {
  std::string driver;
  std::optional<bool> takes_redirects;  // frames that XDP sends to it arrive; kernels before 6.3 do not tell
  std::optional<bool> vlan_stripping;   // tags are taken off before XDP sees the frame (rx-vlan-offload)
  std::optional<bool>
      vlan_insertion;  // tags are put on late (tx-vlan-offload): a veth's far end never sees them
  std::optional<bool> lro;
  std::optional<bool> tso;
  std::optional<bool> tx_checksums;
  std::optional<NicAmount> queues;   // that receive
  std::optional<NicAmount> ring;     // descriptors of each
  std::optional<bool> spreads_udp4;  // the flow hash has addresses and ports
  std::optional<bool> spreads_udp6;
};

NicSettings read_nic_settings(const std::string& name, IfIndex ifindex);

// Has the card leave VLAN tags where they are. True when it had to be told.
Result<bool> stop_vlan_stripping(const std::string& name);

}  // namespace postern::dataplane
