// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <sys/un.h>

#include <algorithm>
#include <set>

#include "config/yaml_map.h"
#include "core/file.h"
#include "core/name.h"

namespace postern::config {
namespace {

constexpr std::size_t kMaxGuardedPorts = 8;
constexpr std::size_t kMaxLinkListeners = 8;
constexpr std::uint32_t kMinFlows = 1024;
constexpr std::uint32_t kMaxFlows = 16'777'216;

constexpr std::size_t kMaxInterfaceName = 15;
constexpr std::uint64_t kMinTimestampAge_s = 1;
constexpr std::uint64_t kMaxTimestampAge_s = std::uint64_t{366} * 86'400;
// The name under which frames of no known interface are counted (SPEC 1.10).
constexpr std::string_view kReservedInterface = "unknown";
constexpr std::size_t kMaxUrl = 2048;
constexpr std::uint64_t kMaxPoll_s = 86'400;
constexpr std::uint64_t kMaxTimeout_s = 3'600;
constexpr std::size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

template <class Text>
std::optional<std::string> if_valid(Text text, bool valid) {
  return valid ? std::optional<std::string>(text) : std::nullopt;
}

std::string read_name(YamlMap& map, std::string_view key) {
  return map.parsed(
      map.required(key), [](std::string_view text) { return if_valid(text, is_mesh_name(text)); },
      kMeshNameForm);
}

void read_path(YamlMap& map, std::string_view key, std::filesystem::path& into) {
  const YamlNode* node = map.optional(key);
  if (node == nullptr) return;
  into = map.parsed(
      *node,
      [](std::string_view text) {
        return if_valid(text, text.starts_with('/') && text.find('\0') == std::string_view::npos);
      },
      "an absolute path");
}

void read_http(YamlMap& map, std::optional<Endpoint>& into) {
  const YamlNode* node = map.optional("http");
  if (node == nullptr) return;
  if (node->kind == YamlNode::Kind::scalar && node->text == "off") {
    into.reset();
    return;
  }
  into = map.parsed(
      *node,
      [](std::string_view text) {
        std::optional<Endpoint> endpoint = Endpoint::parse(text);
        return endpoint && endpoint->port != 0 ? endpoint : std::nullopt;
      },
      "address:port, or off");
}

void read_tunnel(YamlMap& map, Config& into) {
  const YamlNode* node = map.optional("tunnel");
  if (node == nullptr) return;
  YamlMap tunnel(*node, map.origin(), "tunnel");
  if (const YamlNode* port = tunnel.optional("port"))
    into.tunnel_port = static_cast<std::uint16_t>(tunnel.integer(*port, 1, 65535));
  if (const YamlNode* clamp = tunnel.optional("clamp_mss")) into.clamp_mss = tunnel.flag(*clamp);
  if (Result<> done = tunnel.finish(); !done) map.adopt(std::move(done).error());
}

void read_links(YamlMap& map, Config& into) {
  const YamlNode* node = map.optional("links");
  if (node == nullptr) return;
  if (node->kind == YamlNode::Kind::scalar && node->text == "off") {
    into.links = false;
    return;
  }
  YamlMap links(*node, map.origin(), "links");
  const YamlNode* snapshots = links.optional("snapshots");
  if (snapshots != nullptr) into.links_snapshots = links.flag(*snapshots);
  const YamlNode* listen = links.optional("listen");
  if (listen == nullptr && snapshots != nullptr) {
    if (Result<> done = links.finish(); !done) map.adopt(std::move(done).error());
    return;
  }
  const YamlNode& list = links.required("listen");
  std::vector<Endpoint> endpoints;
  for (const YamlNode& item : links.items(list)) {
    endpoints.push_back(links.parsed(
        item,
        [](std::string_view text) {
          std::optional<Endpoint> endpoint = Endpoint::parse(text);
          return endpoint && endpoint->port != 0 ? endpoint : std::nullopt;
        },
        "address:port, or [IPv6 address]:port"));
  }
  if (links.ok() && (endpoints.empty() || endpoints.size() > kMaxLinkListeners)) {
    links.reject(list, "found " + std::to_string(endpoints.size()) + " addresses, expected 1 to " +
                           std::to_string(kMaxLinkListeners) + "; `links: off` turns links off");
  }
  if (Result<> done = links.finish(); !done) return map.adopt(std::move(done).error());
  into.links_listen = std::move(endpoints);
}

void read_claims(YamlMap& map, ClaimsConfig& into) {
  const YamlNode* node = map.optional("claims");
  if (node == nullptr) return;
  YamlMap claims(*node, map.origin(), "claims");
  if (const YamlNode* automatic = claims.optional("automatic")) into.automatic = claims.flag(*automatic);
  read_path(claims, "hook", into.hook);
  if (Result<> done = claims.finish(); !done) map.adopt(std::move(done).error());
}

void read_xdp(YamlMap& map, bool& generic) {
  const YamlNode* node = map.optional("xdp");
  if (node == nullptr) return;
  YamlMap xdp(*node, map.origin(), "xdp");
  generic = xdp.flag(xdp.required("generic"));
  if (Result<> done = xdp.finish(); !done) map.adopt(std::move(done).error());
}

std::optional<std::string> if_https(std::string_view text) {
  static constexpr std::string_view kScheme = "https://";
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7f; };
  return if_valid(text, text.starts_with(kScheme) && text.size() > kScheme.size() && text.size() <= kMaxUrl &&
                            text[kScheme.size()] != '/' && text.find('@') == std::string_view::npos &&
                            std::all_of(text.begin(), text.end(), is_plain));
}

void read_url_options(YamlMap& source, const YamlNode& node, Source& out) {
  out.kind = SourceKind::url;
  out.url = source.parsed(node, if_https, "an https:// URL without a user name");
  read_path(source, "ca", out.ca);
  if (const YamlNode* poll = source.optional("poll_s"))
    out.poll_s = static_cast<unsigned>(source.integer(*poll, 1, kMaxPoll_s));
  if (const YamlNode* timeout = source.optional("timeout_s"))
    out.timeout_s = static_cast<unsigned>(source.integer(*timeout, 1, kMaxTimeout_s));
}

void read_source(YamlMap& authority, std::optional<Source>& into) {
  const YamlNode* node = authority.optional("source");
  if (node == nullptr) return;
  YamlMap source(*node, authority.origin(), "source");
  Source out;
  int kinds = 0;
  if (source.optional("file") != nullptr) {
    ++kinds;
    out.kind = SourceKind::file;
    read_path(source, "file", out.path);
  }
  if (source.optional("directory") != nullptr) {
    ++kinds;
    out.kind = SourceKind::directory;
    read_path(source, "directory", out.path);
  }
  if (const YamlNode* url = source.optional("url")) {
    ++kinds;
    read_url_options(source, *url, out);
  }
  if (Result<> done = source.finish(); !done) return authority.adopt(std::move(done).error());
  if (kinds != 1) {
    authority.reject(*node, "found " + std::to_string(kinds) +
                                " sources, expected exactly one of file, directory and url");
  }
  into = std::move(out);
}

void read_authority(YamlMap& map, Config& into) {
  const YamlNode* node = map.optional("authority");
  if (node == nullptr) return;
  YamlMap authority(*node, map.origin(), "authority");
  if (const YamlNode* age = authority.optional("timestamp_max_age_s")) {
    into.timestamp_max_age_s =
        static_cast<std::int64_t>(authority.integer(*age, kMinTimestampAge_s, kMaxTimestampAge_s));
  }
  read_source(authority, into.source);
  if (Result<> done = authority.finish(); !done) map.adopt(std::move(done).error());
}

bool is_interface_name(std::string_view text) {
  const auto allowed = [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != ':'; };
  return !text.empty() && text.size() <= kMaxInterfaceName && text != "." && text != ".." &&
         text != kReservedInterface && std::all_of(text.begin(), text.end(), allowed);
}

std::optional<Role> role_of(std::string_view text) {
  if (text == "underlay") return Role::underlay;
  if (text == "local") return Role::local;
  return std::nullopt;
}

Interface read_interface(YamlMap& map) {
  Interface out;
  out.line = map.line();
  out.name = map.parsed(
      map.required("name"), [](std::string_view text) { return if_valid(text, is_interface_name(text)); },
      "an interface's name, 1 to 15 characters without blanks, slashes and colons, and not \"unknown\", "
      "which "
      "counts frames of no interface; rename such a link (ip link set unknown name ...)");
  out.role = map.parsed(map.required("role"), role_of, "underlay or local");
  const YamlNode* segment = map.optional("segment");
  if (segment != nullptr) {
    out.segment = map.parsed(
        *segment, [](std::string_view text) { return if_valid(text, is_id(text)); }, kIdForm);
  }
  if (!map.ok()) return out;
  if (out.role == Role::local && segment == nullptr) {
    map.required("segment");
  } else if (out.role == Role::underlay && segment != nullptr) {
    map.reject(*segment,
               "an underlay interface belongs to no segment; remove the key, or make its role local");
  }
  return out;
}

void check_interfaces(YamlMap& map, const YamlNode& list, const std::vector<Interface>& interfaces) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    if (names.insert(interfaces[i].name).second) continue;
    const bool other_role = std::any_of(interfaces.begin(), interfaces.end(), [&](const Interface& other) {
      return other.name == interfaces[i].name && other.role != interfaces[i].role;
    });
    map.reject(list.items[i], "the interface " + in_quotes(interfaces[i].name) + " is listed already; " +
                                  (other_role ? std::string(kInsteadOfOneArm) : "list it once"));
  }
  for (const auto& [role, text] : {std::pair{Role::underlay, "underlay"}, std::pair{Role::local, "local"}}) {
    const auto has = [wanted = role](const Interface& candidate) { return candidate.role == wanted; };
    if (std::any_of(interfaces.begin(), interfaces.end(), has)) continue;
    map.reject(list, std::string("no interface has the role ") + text + "; a gateway needs one of each role");
  }
}

void read_interfaces(YamlMap& map, std::vector<Interface>& into) {
  const YamlNode& list = map.required("interfaces");
  into = map.each(list, "an interface", read_interface);
  if (map.ok()) check_interfaces(map, list, into);
}

void read_guarded(YamlMap& map, Config& out) {
  const YamlNode* node = map.optional("guarded");
  if (node == nullptr) return;
  YamlMap guarded(*node, map.origin(), "guarded");
  const YamlNode& ports = guarded.required("ports");
  for (const YamlNode& port : guarded.items(ports)) {
    const auto number = static_cast<std::uint16_t>(guarded.integer(port, 1, 65535));
    if (std::find(out.guarded_ports.begin(), out.guarded_ports.end(), number) != out.guarded_ports.end()) {
      guarded.reject(port, "the port stands here twice");
    }
    out.guarded_ports.push_back(number);
  }
  if (guarded.ok() && (out.guarded_ports.empty() || out.guarded_ports.size() > kMaxGuardedPorts)) {
    guarded.reject(ports, "found " + std::to_string(out.guarded_ports.size()) + " ports, expected 1 to " +
                              std::to_string(kMaxGuardedPorts));
  }
  if (const YamlNode* rate = guarded.optional("packet_rate")) {
    out.guarded_rate_packets_per_s = guarded.integer(*rate, 1, UINT64_MAX);
  }
  if (!map.ok()) return;
  if (Result<> done = guarded.finish(); !done) map.adopt(std::move(done).error());
}

}  // namespace

Result<Config> parse_config(std::string_view yaml, std::string_view origin) {
  const Result<YamlNode> root = parse_yaml(yaml, origin, kMaxConfigBytes);
  if (!root) return tl::unexpected<Error>(root.error());
  YamlMap map(*root, origin, "the configuration");
  Config out;
  out.mesh = read_name(map, "mesh");
  out.gateway = read_name(map, "gateway");
  read_path(map, "state", out.state);
  read_path(map, "pins", out.pins);
  read_path(map, "socket", out.socket);
  read_http(map, out.http);
  read_path(map, "root", out.root);
  read_tunnel(map, out);
  read_authority(map, out);
  read_guarded(map, out);
  if (const YamlNode* flows = map.optional("flows")) {
    out.flows = static_cast<std::uint32_t>(map.integer(*flows, kMinFlows, kMaxFlows));
  }
  read_links(map, out);
  read_claims(map, out.claims);
  read_xdp(map, out.generic_xdp);
  read_interfaces(map, out.interfaces);
  if (map.ok() && out.socket.native().size() > kMaxSocketPath) {
    map.reject(map.required("socket"), "the socket's path is longer than " + std::to_string(kMaxSocketPath) +
                                           " bytes; choose a shorter one");
  }
  if (Result<> done = map.finish(); !done) return pass_on(std::move(done));
  return out;
}

Result<Config> load_config(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path, kMaxConfigBytes);
  if (!text) return tl::unexpected<Error>(text.error());
  return parse_config(*text, path.string());
}

}  // namespace postern::config
