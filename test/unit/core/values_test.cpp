// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "core/bytes.h"
#include "core/ip.h"
#include "core/name.h"
#include "core/utc.h"

using namespace postern;

TEST_CASE("hex is read only in its one spelling") {
  const Bytes bytes = {0x00, 0xff, 0x1a};
  CHECK(to_hex(bytes) == "00ff1a");
  CHECK(from_hex("00ff1a").value() == bytes);
  for (const std::string_view bad : {"0", "0g", "FF", " 00", "00\n"})
    CHECK_FALSE(from_hex(bad));
  CHECK_FALSE(array_from_hex<2>("00ff1a"));
}

TEST_CASE("little-endian fields come back as they were stored") {
  std::array<std::uint8_t, 8> bytes{};
  store_le<std::uint32_t>(bytes, 2, 0xfedcba98U);
  CHECK(to_hex(bytes) == "000098badcfe0000");
  CHECK(load_le<std::uint32_t>(bytes, 2) == 0xfedcba98U);
}

TEST_CASE("addresses are read in both families, and a v4-mapped spelling is refused") {
  CHECK(IpAddress::parse("192.0.2.1").value().text() == "192.0.2.1");
  CHECK(IpAddress::parse("2001:DB8::0").value().text() == "2001:db8::");
  for (const std::string_view bad :
       {"", "192.0.2", "192.0.2.256", "192.0.2.1 ", "::ffff:192.0.2.1", ":::", "1.2.3.4/8", "x"}) {
    CHECK_FALSE(IpAddress::parse(bad));
  }
  CHECK_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0x", 9)));
}

TEST_CASE("kinds of addresses are told apart") {
  CHECK(IpAddress::parse("0.0.0.0").value().is_unspecified());
  CHECK(IpAddress::parse("::").value().is_unspecified());
  CHECK(IpAddress::parse("224.0.0.1").value().is_multicast());
  CHECK(IpAddress::parse("ff02::1").value().is_multicast());
  CHECK(IpAddress::parse("127.1.2.3").value().is_loopback());
  CHECK(IpAddress::parse("::1").value().is_loopback());
  CHECK(IpAddress::parse("169.254.0.1").value().is_link_local());
  CHECK(IpAddress::parse("fe80::1").value().is_link_local());
  CHECK_FALSE(IpAddress::parse("10.0.0.1").value().is_link_local());
}

TEST_CASE("a prefix holds what lies inside it, and nothing of the other family") {
  const IpPrefix prefix = IpPrefix::parse("10.1.0.0/20").value();
  CHECK(prefix.contains(IpAddress::parse("10.1.15.255").value()));
  CHECK_FALSE(prefix.contains(IpAddress::parse("10.1.16.0").value()));
  CHECK(prefix.contains(IpPrefix::parse("10.1.4.0/24").value()));
  CHECK_FALSE(prefix.contains(IpPrefix::parse("10.0.0.0/8").value()));
  CHECK_FALSE(IpPrefix::parse("0.0.0.0/0").value().contains(IpAddress::parse("2001:db8::1").value()));
  CHECK_FALSE(IpPrefix::parse("::/0").value().contains(IpAddress::parse("10.0.0.1").value()));
}

TEST_CASE("a prefix with host bits, without or with a strange length is refused") {
  for (const std::string_view bad : {"10.0.0.1/8", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08",
                                     "10.0.0.0/-1", "2001:db8::1/64", "::/129", "/8"}) {
    CHECK_FALSE(IpPrefix::parse(bad));
  }
  CHECK(IpPrefix::parse("2001:db8::/64").value().text() == "2001:db8::/64");
}

TEST_CASE("MAC addresses and endpoints have one spelling") {
  CHECK(MacAddress::parse("02:00:00:00:0a:ff").value().text() == "02:00:00:00:0a:ff");
  for (const std::string_view bad :
       {"02:00:00:00:0A:ff", "02-00-00-00-00-01", "02:00:00:00:00", "2:0:0:0:0:1", ""}) {
    CHECK_FALSE(MacAddress::parse(bad));
  }
  CHECK_FALSE(MacAddress::parse("01:00:5e:00:00:01").value().is_unicast());
  CHECK_FALSE(MacAddress{}.is_unicast());
  CHECK(Endpoint::parse("192.0.2.1:7946").value().text() == "192.0.2.1:7946");
  CHECK(Endpoint::parse("[2001:db8::1]:80").value().text() == "[2001:db8::1]:80");
  for (const std::string_view bad :
       {"192.0.2.1", "[192.0.2.1]:80", "2001:db8::1:80", "192.0.2.1:65536", "192.0.2.1:", ":80"}) {
    CHECK_FALSE(Endpoint::parse(bad));
  }
}

TEST_CASE("UTC instants are read in one form only, and impossible dates are refused") {
  CHECK(parse_utc("2026-11-29T13:50:48Z").value().value == 1795960248);
  CHECK(utc_text(UtcSeconds(1795960248)) == "2026-11-29T13:50:48Z");
  CHECK(parse_utc("2028-02-29T00:00:00Z"));
  for (const std::string_view bad :
       {"2027-02-29T00:00:00Z", "2026-11-29 13:50:48Z", "2026-11-29T13:50:48+00:00", "2026-11-29T24:00:00Z",
        "2026-11-29T13:50:60Z", "1969-12-31T23:59:59Z", "2026-11-29T13:50:48.0Z", "2026-13-01T00:00:00Z",
        ""}) {
    CHECK_FALSE(parse_utc(bad));
  }
}

TEST_CASE("names keep to lower case, digits and few marks, 63 characters at most") {
  CHECK(is_id("a"));
  CHECK(is_id("0.site_b-1"));
  CHECK(is_id(std::string(63, 'a')));
  for (const std::string_view bad : {"", "-a", ".a", "A", "a b", "a/b", "a\n"})
    CHECK_FALSE(is_id(bad));
  CHECK_FALSE(is_id(std::string(64, 'a')));
  CHECK(is_mesh_name("demo-1"));
  CHECK_FALSE(is_mesh_name("demo.1"));
  CHECK(in_quotes("a\nb") == "\"a?b\"");
}
