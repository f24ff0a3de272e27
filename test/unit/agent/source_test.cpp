// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>

#include "agent/source_directory.h"
#include "agent/source_url.h"
#include "unit/authority/authority_desk.h"
#include "unit/core/scratch_directory.h"

using namespace postern;
using namespace postern::agent;
using namespace postern::testing;

TEST_CASE("the pause between polls doubles with each failure up to 32 periods, and is scattered by a tenth") {
  CHECK(pause_seconds(60, 0, 0.5) == doctest::Approx(60));
  CHECK(pause_seconds(60, 0, 0) == doctest::Approx(54));
  CHECK(pause_seconds(60, 0, 1) == doctest::Approx(66));
  CHECK(pause_seconds(60, 1, 0.5) == doctest::Approx(120));
  CHECK(pause_seconds(60, 5, 0.5) == doctest::Approx(60 * 32));
  CHECK(pause_seconds(60, 4'000'000'000U, 0.5) == doctest::Approx(60 * 32));
}

TEST_CASE("the timestamp of a URL's snapshot lies in the place of the last segment") {
  CHECK(timestamp_url_of("https://a.example/m/s.json") == "https://a.example/m/timestamp.json");
  CHECK(timestamp_url_of("https://a.example/s.json?key=a/b#c/d") == "https://a.example/timestamp.json");
  CHECK(timestamp_url_of("https://a.example/m/") == "https://a.example/m/timestamp.json");
  CHECK(timestamp_url_of("https://a.example") == "https://a.example/timestamp.json");
  CHECK(timestamp_url_of("https://a.example?x=/y") == "https://a.example/timestamp.json");
}

TEST_CASE("a directory's serials are taken in the order of numbers, above the adopted one only") {
  const ScratchDirectory scratch;
  for (const char* name :
       {"2.json", "10.json", "1.json", "0000009.json", "x.json", "11.json.tmp", "12", "-3.json"})
    std::ofstream(scratch / name) << "x";
  const Result<std::vector<SerialFile>> found = serials_in(scratch / ".", Serial(1));
  REQUIRE(found);
  std::vector<std::uint64_t> serials;
  for (const SerialFile& file : *found)
    serials.push_back(file.serial.value);
  CHECK(serials == std::vector<std::uint64_t>{2, 9, 10});
  CHECK_FALSE(serials_in(scratch / "absent", Serial(0)));
}

TEST_CASE("a directory of more snapshots than a bundle holds leads over all changes of the root") {
  const ScratchDirectory scratch;
  AuthorityDesk desk;
  const authority::Root trusted = desk.root();
  const authority::Adopted adopted = desk.adopted();
  const auto put = [&] {
    std::ofstream(scratch / (std::to_string(desk.snapshot().serial.value) + ".json")) << desk.file();
  };
  for (std::size_t i = 0; i < authority::kMaxBundleEntries + 50; ++i) {
    if (i == 0 || i == 100 || i == 101 || i == authority::kMaxBundleEntries + 49)
      desk.rotate();
    else
      desk.issue_next();
    put();
  }
  const Result<std::vector<SerialFile>> files = serials_in(scratch / ".", adopted.serial);
  REQUIRE(files);
  const Result<std::string> bundle = bundle_of(*files);
  REQUIRE(bundle);
  const Result<authority::Chain> chain = authority::follow_chain(*bundle, trusted, "demo", adopted);
  REQUIRE_MESSAGE(chain, (chain ? "" : chain.error().message()));
  CHECK(chain->last.snapshot == desk.snapshot());
}
