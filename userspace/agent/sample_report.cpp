// SPDX-License-Identifier: Apache-2.0
#include "agent/sample_report.h"

#include <algorithm>

#include "dataplane/counters.h"

namespace postern::agent {
namespace {

using wire::Json;

Json packet_json(const pt_sample& sample) {
  if ((sample.flags & PT_SAMPLE_INNER) == 0) return nullptr;
  const std::string protocol = protocol_name(sample.next_header);
  Json packet = Json::object({{"source", address_of(sample.source).text()},
                              {"destination", address_of(sample.destination).text()},
                              {"protocol", protocol},
                              {"ttl", std::uint32_t{sample.ttl}},
                              {"tos", std::uint32_t{sample.tos}}});
  if (protocol == "tcp" || protocol == "udp") {
    packet.set("source_port", std::uint32_t{sample.source_port});
    packet.set("destination_port", std::uint32_t{sample.destination_port});
  } else if (protocol == "icmp" || protocol == "icmpv6") {
    packet.set("type", std::uint32_t{sample.destination_port} >> 8);
    packet.set("code", std::uint32_t{sample.destination_port} & 0xff);
  }
  return packet;
}

}  // namespace

IpAddress address_of(const pt_address& raw) {
  IpAddress address;
  std::copy(std::begin(raw.bytes), std::end(raw.bytes), address.bytes.begin());
  return address;
}

std::string protocol_name(std::uint8_t number) {
  switch (number) {
    case 1:
      return "icmp";
    case 6:
      return "tcp";
    case 17:
      return "udp";
    case 58:
      return "icmpv6";
    default:
      return std::to_string(number);
  }
}

wire::Json sample_report(const pt_sample& sample, const Names& names) {
  const bool tunnel = (sample.flags & PT_SAMPLE_TUNNEL) != 0;
  return Json::object(
      {{"verdict", dataplane::verdict_label(sample.verdict)},
       {"reason", sample.reason == 0 ? Json(nullptr) : Json(dataplane::drop_label(sample.reason))},
       {"interface", names.interface(sample.ifindex)},
       {"egress", sample.egress == 0 ? Json(nullptr) : Json(names.interface(sample.egress))},
       {"segment", sample.vni == PT_VNI_ANY ? Json(nullptr) : Json(names.segment(sample.vni))},
       {"sender", sample.sender == 0 ? Json(nullptr) : Json(names.peer(sample.sender))},
       {"receiver", sample.receiver == 0 ? Json(nullptr) : Json(names.peer(sample.receiver))},
       {"generation", static_cast<std::int64_t>(sample.generation)},
       {"length", sample.length},
       {"packet", packet_json(sample)},
       {"tunnel", tunnel ? Json::object({{"source", address_of(sample.tunnel_source).text()},
                                         {"destination", address_of(sample.tunnel_destination).text()}})
                         : Json(nullptr)}});
}

}  // namespace postern::agent
