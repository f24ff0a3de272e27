// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <doctest/doctest.h>

#include "core/file.h"
#include "unit/core/scratch_directory.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::config;
using namespace postern::testing;

namespace {

constexpr std::string_view kSmall =
    "mesh: demo\n"
    "gateway: gw1\n"
    "interfaces:\n"
    "  - {name: eth0, role: underlay}\n"
    "  - {name: eth1, role: local, segment: blue}\n";

Result<Config> parsed(std::string_view text) {
  return parse_config(text, "p.yaml");
}

Result<Config> with(std::string_view more) {
  return parsed(std::string(kSmall) + std::string(more));
}

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kSmall);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a small configuration gets the defaults") {
  const Config config = parsed(kSmall).value();
  CHECK(config.mesh == "demo");
  CHECK(config.gateway == "gw1");
  CHECK(config.state == "/var/lib/postern");
  CHECK(config.http.value().text() == "127.0.0.1:9479");
  CHECK(config.tunnel_port == 4789);
  CHECK(config.clamp_mss);
  CHECK_FALSE(config.generic_xdp);
  REQUIRE(config.interfaces.size() == 2);
  CHECK(config.interfaces[0] == Interface{"eth0", Role::underlay, "", 4});
  CHECK(config.interfaces[1] == Interface{"eth1", Role::local, "blue", 5});
}

TEST_CASE("every key that is written is taken") {
  const Config config = with(
                            "state: /s\npins: /p\nsocket: /k\nroot: /r\nhttp: \"[::1]:80\"\n"
                            "tunnel: {port: 8472, clamp_mss: false}\nxdp: {generic: true}\n")
                            .value();
  CHECK(config.state == "/s");
  CHECK(config.pins == "/p");
  CHECK(config.socket == "/k");
  CHECK(config.root == "/r");
  CHECK(config.http.value().text() == "[::1]:80");
  CHECK(config.tunnel_port == 8472);
  CHECK_FALSE(config.clamp_mss);
  CHECK(config.generic_xdp);
  CHECK_FALSE(with("http: off\n").value().http);
}

TEST_CASE("guarded ports and the number of flows are taken, and refused where they make no sense") {
  const Config config = with("guarded: {ports: [51820, 4242], packet_rate: 500}\nflows: 4096\n").value();
  CHECK(config.guarded_ports == std::vector<std::uint16_t>{51820, 4242});
  CHECK(config.guarded_rate_packets_per_s == 500);
  CHECK(config.flows == 4096);
  for (const std::string_view bad :
       {"guarded: {ports: []}\n", "guarded: {ports: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n",
        "guarded: {ports: [7, 7]}\n", "guarded: {ports: [0]}\n", "guarded: {ports: [7], packet_rate: 0}\n",
        "guarded: {}\n", "flows: 1023\n", "flows: 16777217\n"}) {
    CAPTURE(bad);
    CHECK_FALSE(with(bad));
  }
  CHECK(outcome(with("guarded: {ports: [7], port: 8}\n")) == "config.unknown_key");
}

TEST_CASE("the example configuration is good and shows the defaults") {
  const Config config = load_config("config/postern.yaml").value();
  Config expected = parsed(kSmall).value();
  for (Interface& interface : expected.interfaces)
    interface.line = 0;
  Config found = config;
  for (Interface& interface : found.interfaces)
    interface.line = 0;
  CHECK(found == expected);
}

TEST_CASE("an unknown key is refused with its place and a suggestion") {
  CHECK(outcome(with("sate: /s\n")) == "config.unknown_key");
  CHECK(context(with("sate: /s\n")) ==
        "p.yaml:6:1: unknown key \"sate\" in the configuration; did you mean \"state\"?");
  CHECK(says(with("zzzzzzzz: 1\n"), "known here are mesh, gateway"));
  CHECK(says(parsed(replaced("segment: blue", "sgment: blue")),
             "p.yaml:5:31: unknown key \"sgment\" in an interface; "
             "did you mean \"segment\"?"));
  CHECK(outcome(with("tunnel: {prt: 1}\n")) == "config.unknown_key");
  CHECK(outcome(with("xdp: {generic: true, x: 1}\n")) == "config.unknown_key");
}

TEST_CASE("a misspelt required key is called unknown rather than missing") {
  CHECK(outcome(parsed(replaced("mesh: demo", "mseh: demo"))) == "config.unknown_key");
}

TEST_CASE("a duplicate key is refused") {
  CHECK(outcome(with("mesh: other\n")) == "config.duplicate_key");
}

TEST_CASE("a missing key is named") {
  for (const std::string_view line : {"mesh: demo\n", "gateway: gw1\n"}) {
    CHECK(outcome(parsed(replaced(line, ""))) == "config.missing_key");
  }
  CHECK(says(parsed("mesh: demo\ngateway: gw1\n"), "\"interfaces\""));
  CHECK(outcome(parsed(replaced("name: eth0, ", ""))) == "config.missing_key");
  CHECK(outcome(parsed(replaced(", role: underlay", ""))) == "config.missing_key");
  CHECK(says(parsed(replaced(", segment: blue", "")), "p.yaml:5:5: an interface lacks the key \"segment\""));
}

TEST_CASE("bad values are refused with place, what was found and what was expected") {
  CHECK(context(with("tunnel: {port: 70000}\n")) ==
        "p.yaml:6:16: found \"70000\", expected a whole number from 1 to 65535");
  for (const std::string_view line : {"http: 127.0.0.1\n",
                                      "http: localhost:80\n",
                                      "http: 127.0.0.1:0\n",
                                      "http: [127.0.0.1]\n",
                                      "state: relative\n",
                                      "state: [a]\n",
                                      "state:\n",
                                      "state: ~\n",
                                      "pins: \"\"\n",
                                      "socket: run/x\n",
                                      "root: .\n",
                                      "tunnel: 4789\n",
                                      "tunnel: {port: 0}\n",
                                      "tunnel: {port: 0x10}\n",
                                      "tunnel: {port: 04789}\n",
                                      "tunnel: {port: -1}\n",
                                      "tunnel: {port: \"4789\"}\n",
                                      "tunnel: {port: 4789.0}\n",
                                      "tunnel: {port: []}\n",
                                      "xdp: {generic: yes}\n",
                                      "xdp: {generic: on}\n",
                                      "xdp: {generic: \"true\"}\n",
                                      "xdp: {generic: 1}\n",
                                      "xdp: true\n"}) {
    CAPTURE(line);
    CHECK(outcome(with(line)) == "config.bad_value");
    CHECK(says(with(line), "p.yaml:6:"));
  }
  CHECK(outcome(with("socket: /" + std::string(107, 'x') + "\n")) == "config.bad_value");
  CHECK(outcome(with("socket: /" + std::string(106, 'x') + "\n")) == "ok");
}

TEST_CASE("names of mesh and gateway keep to the form that paths and pins need") {
  for (const std::string_view bad : {"Demo", "a/b", "a.b", "-a", "\"\"", "[a]", "a b"}) {
    CAPTURE(bad);
    CHECK(outcome(parsed(replaced("demo", bad))) == "config.bad_value");
    CHECK(outcome(parsed(replaced("gw1", bad))) == "config.bad_value");
  }
}

TEST_CASE("interface names that Linux refuses are refused here") {
  for (const std::string_view bad :
       {"\"\"", "a/b", "\"a b\"", "abcdefghijklmnop", ".", "..", "a:b", "\"a\\n\""}) {
    CAPTURE(bad);
    CHECK(outcome(parsed(replaced("eth0", bad))) == "config.bad_value");
  }
  CHECK(outcome(parsed(replaced("eth0", "abcdefghijklmno"))) == "ok");
}

TEST_CASE("interfaces need a role each, unique names, and one of each role") {
  CHECK(outcome(parsed(replaced("role: underlay", "role: wan"))) == "config.bad_value");
  CHECK(says(parsed(replaced("eth1", "eth0")), "p.yaml:5:5: the interface \"eth0\" is listed already"));
  CHECK(says(parsed(replaced("eth1", "eth0")), "one interface cannot have both roles: use a second one"));
  CHECK(says(parsed(replaced("role: underlay", "role: local, segment: red")),
             "no interface has the role underlay"));
  CHECK(says(parsed(replaced("role: local, segment: blue", "role: underlay")),
             "no interface has the role local"));
  CHECK(says(parsed(replaced("role: underlay", "role: underlay, segment: blue")), "belongs to no segment"));
  CHECK(outcome(parsed(replaced("segment: blue", "segment: Blue"))) == "config.bad_value");
  CHECK(outcome(parsed("mesh: m\ngateway: g\ninterfaces: []\n")) == "config.bad_value");
  CHECK(outcome(parsed("mesh: m\ngateway: g\ninterfaces: {a: b}\n")) == "config.bad_value");
  CHECK(outcome(parsed("mesh: m\ngateway: g\ninterfaces: [eth0]\n")) == "config.bad_value");
}

TEST_CASE("a document that is no mapping is refused") {
  for (const std::string_view text : {"[a]", "text", "~"})
    CHECK(outcome(parsed(text)) == "config.bad_value");
}

TEST_CASE("every refusal of a config ends with the exit code for invalid config") {
  for (const std::string_view more : {"x: 1\n", "mesh: a\n", "state: a\n", "a: [\n"}) {
    CHECK(exit_code(with(more).error().code.kind) == 4);
  }
  CHECK(exit_code(parsed("mesh: a\n").error().code.kind) == 4);
}

TEST_CASE("a config file is read with a bound, and a missing one is named") {
  const ScratchDirectory scratch;
  CHECK(outcome(load_config(scratch / "none.yaml")) == "file.unreadable");
  REQUIRE(outcome(write_file_durably(scratch / "big", std::string(kMaxConfigBytes + 1, '#'), 0600)) == "ok");
  CHECK(outcome(load_config(scratch / "big")) == "file.too_large");
  REQUIRE(outcome(write_file_durably(scratch / "good", kSmall, 0600)) == "ok");
  CHECK(outcome(load_config(scratch / "good")) == "ok");
}

TEST_CASE("a source of snapshots is one file, directory or URL, with its own options") {
  CHECK_FALSE(with("").value().source);
  const Source file = *with("authority: {source: {file: /a/s.json}}\n").value().source;
  CHECK((file.kind == SourceKind::file && file.path == "/a/s.json"));
  CHECK(with("authority: {source: {directory: /a}}\n").value().source->kind == SourceKind::directory);
  const Source url = *with(
                          "authority: {source: {url: \"https://a.example/s.json\", ca: /a/ca.pem, poll_s: 5, "
                          "timeout_s: 7}}\n")
                          .value()
                          .source;
  CHECK((url.kind == SourceKind::url && url.url == "https://a.example/s.json" && url.ca == "/a/ca.pem"));
  CHECK((url.poll_s == 5 && url.timeout_s == 7));
}

TEST_CASE("a source that is none, two at once, or not over TLS is refused with its place") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{}", "found 0 sources, expected exactly one"},
      {"{file: /a, directory: /b}", "found 2 sources, expected exactly one"},
      {"{file: a}", "expected an absolute path"},
      {"{url: \"http://a.example/s.json\"}", "expected an https:// URL"},
      {"{url: \"https://user@a.example/\"}", "expected an https:// URL without a user name"},
      {"{url: \"https://a.example/ b\"}", "expected an https:// URL"},
      {"{url: \"https:///b\"}", "expected an https:// URL"},
      {"{url: \"https://a.example/\", poll_s: 0}", "from 1 to 86400"},
      {"{file: /a, poll_s: 1}", "unknown key \"poll_s\""}};
  for (const auto& [source, complaint] : cases) {
    CAPTURE(source);
    const Result<Config> result = with("authority: {source: " + std::string(source) + "}\n");
    CHECK(says(result, complaint));
    CHECK(context(result).starts_with("p.yaml:6:"));
  }
}

TEST_CASE("an interface named as the counters of no interface are is refused") {
  const Result<Config> result = parsed(replaced("name: eth0", "name: unknown"));
  CHECK(says(result, "p.yaml:4:"));
  CHECK(says(result, "not \"unknown\""));
  CHECK(outcome(parsed(replaced("name: eth0", "name: unknown0"))) == "ok");
}

TEST_CASE("links listen at the signed addresses, at others that are named, or are off") {
  CHECK(parsed(kSmall).value().links);
  CHECK_FALSE(parsed(kSmall).value().links_listen);
  CHECK_FALSE(with("links: off\n").value().links);
  CHECK(parsed(kSmall).value().links_snapshots);
  CHECK_FALSE(with("links: {snapshots: false}\n").value().links_snapshots);
  CHECK_FALSE(with("links: {snapshots: false}\n").value().links_listen);
  const Config config = with("links: {listen: [\"10.0.0.1:7946\", \"[2001:db8::1]:7947\"]}\n").value();
  CHECK(config.links);
  REQUIRE(config.links_listen);
  CHECK(config.links_listen->at(1).text() == "[2001:db8::1]:7947");
  for (const char* bad :
       {"links: on\n", "links: {}\n", "links: {listen: []}\n", "links: {listen: [\"10.0.0.1\"]}\n",
        "links: {listen: [\"10.0.0.1:0\"]}\n", "links: {listen: [\"10.0.0.1:1\"], port: 3}\n"})
    CHECK_FALSE(with(bad));
}

TEST_CASE("claims are automatic unless the config says otherwise, and a hook is a path") {
  CHECK(parsed(kSmall).value().claims == ClaimsConfig{});
  CHECK(ClaimsConfig{}.automatic);
  const Config config = with("claims: {automatic: false, hook: /usr/bin/announce}\n").value();
  CHECK_FALSE(config.claims.automatic);
  CHECK(config.claims.hook == "/usr/bin/announce");
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"off", "claims"},
      {"{hook: announce}", "expected an absolute path"},
      {"{automatic: maybe}", "true or false"},
      {"{hooks: /a}", "did you mean \"hook\""}};
  for (const auto& [claims, complaint] : cases) {
    CAPTURE(claims);
    const Result<Config> result = with("claims: " + std::string(claims) + "\n");
    CHECK(says(result, complaint));
    CHECK(context(result).starts_with("p.yaml:6:"));
  }
}
