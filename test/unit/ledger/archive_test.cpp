// SPDX-License-Identifier: Apache-2.0
#include "ledger/archive.h"

#include <doctest/doctest.h>

#include <vector>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

struct Seen final : ArchiveVisitor {
  ArchiveHeader head;
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::pair<Lseq, std::string>> events;

  Result<> header(const ArchiveHeader& header) override {
    head = header;
    return {};
  }
  Result<> file_part(const std::string& name, std::uint64_t offset, ByteView part) override {
    if (offset == 0) files.emplace_back(name, "");
    files.back().second += as_text(part);
    return {};
  }
  Result<> event(Lseq lseq, const std::string& sealed) override {
    events.emplace_back(lseq, sealed);
    return {};
  }
};

const ArchiveHeader kHeader{"blue", Id128{1}, Lseq(9), Hash256{2}, 1234};

std::string archive(const wire::SecretKey& key) {
  std::string text;
  ArchiveWriter writer([&text](std::string_view line) -> Result<> {
    text += line;
    return {};
  });
  REQUIRE(writer.header(kHeader));
  REQUIRE(writer.file_part("base", 0, as_bytes("the ")));
  REQUIRE(writer.file_part("base", 4, as_bytes("base")));
  REQUIRE(writer.file_part("auth-1-aa", 0, {}));
  REQUIRE(writer.file_part("auth-2-bb", 0, as_bytes("snapshot")));
  REQUIRE(writer.event(Lseq(3), "{\"a\":\"\\u0001\"}"));
  REQUIRE(writer.event(Lseq(7), "{\"b\":2}"));
  const Result<ArchiveTotals> totals = writer.finish(key);
  REQUIRE(totals);
  CHECK(totals->events == 2);
  CHECK(totals->files == 3);
  return text;
}

Result<ArchiveTotals> read(const std::string& text, const wire::PublicKey& key, Seen& seen) {
  std::size_t at = 0;
  const NextLine next = [&text, &at]() -> Result<std::string> {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end == std::string::npos ? end : end + 1 - at);
    at += line.size();
    return line;
  };
  return read_archive(next, key, seen);
}

}  // namespace

TEST_CASE("an archive reads back as it was written") {
  const wire::SecretKey key = wire::SecretKey::generate();
  Seen seen;
  const Result<ArchiveTotals> totals = read(archive(key), key.public_key(), seen);
  REQUIRE_MESSAGE(totals, (totals ? "" : totals.error().message()));
  CHECK(seen.head == kHeader);
  CHECK(seen.files == std::vector<std::pair<std::string, std::string>>{
                          {"base", "the base"}, {"auth-1-aa", ""}, {"auth-2-bb", "snapshot"}});
  CHECK(seen.events ==
        std::vector<std::pair<Lseq, std::string>>{{Lseq(3), "{\"a\":\"\\u0001\"}"}, {Lseq(7), "{\"b\":2}"}});
}

TEST_CASE("an archive that is cut off anywhere is refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::string whole = archive(key);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    Seen seen;
    const Result<ArchiveTotals> totals = read(whole.substr(0, bytes), key.public_key(), seen);
    CAPTURE(bytes);
    REQUIRE(!totals);
    CHECK(totals.error().code == errc::archive_invalid);
  }
  Seen seen;
  CHECK(!read(whole + "\n", key.public_key(), seen));
}

TEST_CASE("an archive with any bit flipped is refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::string whole = archive(key);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    Seen seen;
    CAPTURE(bit);
    CHECK(!read(flipped, key.public_key(), seen));
  }
}

TEST_CASE("an archive of another node is refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  Seen seen;
  const Result<ArchiveTotals> totals = read(archive(key), wire::SecretKey::generate().public_key(), seen);
  REQUIRE(!totals);
  CHECK(totals.error().context.find("node.key") != std::string::npos);
}

TEST_CASE("lines that are missing, doubled or swapped are not made up for") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::string whole = archive(key);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find('\n', at) + 1;
    lines.push_back(whole.substr(at, end - at));
    at = end;
  }
  const auto refused = [&key](const std::vector<std::string>& changed) {
    std::string text;
    for (const std::string& line : changed)
      text += line;
    Seen seen;
    return !read(text, key.public_key(), seen);
  };
  REQUIRE_FALSE(refused(lines));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(refused(changed));
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    CHECK(refused(changed));
    if (i + 1 == lines.size()) continue;
    changed = lines;
    std::swap(changed[i], changed[i + 1]);
    CHECK(refused(changed));
  }
}

}  // namespace postern::ledger
