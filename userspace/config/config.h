// SPDX-License-Identifier: Apache-2.0
// The gateway's own configuration, /etc/postern/postern.yaml (SPEC 6). One validator serves start, reload and
// `postern config check`. It checks all that can be known from the text; that an interface exists is the data
// plane's to say.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "core/ip.h"
#include "core/result.h"

namespace postern::config {

inline constexpr std::size_t kMaxConfigBytes = 4U << 20;

enum class Role { underlay, local };

// What to do when one interface leads to the other sites and to the site's own hosts.
inline constexpr std::string_view kInsteadOfOneArm =
    "one interface cannot have both roles: use a second one, or put it into a bridge together with one end "
    "of "
    "each of two veth pairs, and configure the other ends, one of each role";

struct Interface {
  std::string name;
  Role role = Role::underlay;
  std::string segment;  // id of a segment; local interfaces only
  int line = 0;         // where it stands, for errors found later

  friend bool operator==(const Interface&, const Interface&) = default;
};

// Where snapshots come from besides `postern apply`.
enum class SourceKind { file, directory, url };
struct Source {
  SourceKind kind = SourceKind::file;
  std::filesystem::path path;  // file, directory
  std::string url;             // https only
  std::filesystem::path ca;    // PEM of the authorities that may vouch for the server; empty: the system's
  unsigned poll_s = 60;
  unsigned timeout_s = 30;

  friend bool operator==(const Source&, const Source&) = default;
};

// How this gateway takes turns to own resources.
struct ClaimsConfig {
  bool automatic = true;       // it claims what it is a candidate of and nobody holds
  std::filesystem::path hook;  // a program to run when it comes to hold a resource or loses it; empty: none

  friend bool operator==(const ClaimsConfig&, const ClaimsConfig&) = default;
};

struct Config {
  std::string mesh;  // both name the pins and must match the snapshot: [a-z0-9][a-z0-9-]{0,62}
  std::string gateway;
  std::filesystem::path state = "/var/lib/postern";
  std::filesystem::path pins = "/sys/fs/bpf/postern";
  std::filesystem::path socket = "/run/postern/postern.sock";
  std::optional<Endpoint> http = Endpoint{*IpAddress::parse("127.0.0.1"), 9479};  // none: `http: off`
  std::filesystem::path root = "/etc/postern/root.json";  // trust anchor, for the first adoption only
  std::int64_t timestamp_max_age_s = 0;  // `authority: timestamp_max_age_s`; 0: no timestamps are demanded
  std::uint64_t guarded_rate_packets_per_s = 0;  // of all guarded ports together; 0: no limit
  std::vector<std::uint16_t> guarded_ports;      // UDP ports of the host that admitted peers alone reach
  std::uint32_t flows = 65536;                   // remembered for their replies
  std::uint16_t tunnel_port = 4789;
  bool clamp_mss = true;        // TCP segment sizes are lowered to what fits the tunnel
  bool generic_xdp = false;     // allow the slow mode where the driver has no native XDP
  bool links = true;            // `links: off` for a gateway that talks to no other one
  bool links_snapshots = true;  // `links: snapshots:`, whether newer ones are fetched
  std::optional<std::vector<Endpoint>> links_listen;  // `links: listen:`; none: at the signed link addresses
  std::optional<Source> source;                       // `authority: source:`
  ClaimsConfig claims;
  std::vector<Interface> interfaces;  // at least one of each role, names unique

  friend bool operator==(const Config&, const Config&) = default;
};

// `origin` is the file's name for error texts.
Result<Config> parse_config(std::string_view yaml, std::string_view origin);
Result<Config> load_config(const std::filesystem::path& path);

}  // namespace postern::config
