// SPDX-License-Identifier: Apache-2.0
// One generation as plain rows: what compile() makes and Generations puts into the kernel (SPEC 2.2). Rows of
// a table are sorted by key bytes and unique, so two Tables are equal exactly when they would judge alike.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi.h"
#include "core/ids.h"
#include "core/result.h"

namespace postern::dataplane {

template <class Key, class Value>
using Rows = std::vector<std::pair<Key, Value>>;

struct Tables {
  pt_gateway gateway{};  // .generation and .rule_bank are left 0: Generations sets them
  Rows<pt_port_key, pt_port> ports;
  Rows<__u32, pt_segment> segments;  // by VNI
  Rows<pt_address, pt_peer> peers;
  Rows<__u32, pt_endpoint> endpoints;  // by peer id
  Rows<pt_owner_key4, pt_owner> owners4;
  Rows<pt_owner_key6, pt_owner> owners6;
  Rows<pt_policy_key, pt_rule> policy;
  Rows<__u32, pt_rate> rates;          // by peer id; 0: the guarded ports
  Rows<__u32, pt_resource> resources;  // by resource number
  Rows<__u32, pt_service> services;    // by service number
  Rows<pt_backend_key, pt_backend> backends;
  std::vector<pt_port_line> port_classes;  // PT_PROTO_COUNT * PT_PORT_LINES
};

// Fails with errc::capacity naming table, need and limit.
Result<> check_capacity(const Tables& tables);

}  // namespace postern::dataplane
