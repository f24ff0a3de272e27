// SPDX-License-Identifier: Apache-2.0
#include "unit/ledger/scratch_journal.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <fstream>

#include "core/file.h"
#include "ledger/posix_directory.h"
#include "ledger/segmented_journal.h"
#include "wire/hash.h"

namespace postern::ledger {

ScratchJournal::ScratchJournal(bool create) {
  const std::string parent = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/var/tmp";
  std::string pattern = parent + "/postern-journal-XXXXXX";
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  options.directory = pattern;
  options.any_file_system = true;
  options.machine = Id128{1};
  if (create) {
    const Result<> made = Journal::create(options);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
  }
}

ScratchJournal::~ScratchJournal() {
  std::error_code ignored;
  std::filesystem::remove_all(options.directory, ignored);
}

Result<std::unique_ptr<Journal>> ScratchJournal::open() {
  return open(std::make_shared<Recording>());
}

Result<std::unique_ptr<Journal>> ScratchJournal::open(std::shared_ptr<Recording> recording) {
  replayed.clear();
  Result<std::unique_ptr<Directory>> real = PosixDirectory::open(options.directory);
  if (!real) return pass_on(std::move(real));
  auto directory = std::make_unique<RecordingDirectory>(std::move(*real), std::move(recording));
  return SegmentedJournal::open(std::move(directory), options, [this](const Record& record) -> Result<> {
    replayed.push_back(record.payload);
    return {};
  });
}

std::map<std::string, std::string> ScratchJournal::contents() const {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(options.directory)) {
    const Result<std::string> text = read_file(entry.path(), std::size_t{64} << 20);
    const auto mode = static_cast<unsigned>(entry.symlink_status().permissions());
    out[entry.path().filename()] =
        std::to_string(mode) + (text ? to_hex(wire::blake2b({as_bytes(*text)})) : text.error().message());
  }
  return out;
}

void ScratchJournal::overwrite(const std::string& name, std::size_t offset, std::string_view bytes) const {
  std::fstream stream(file(name), std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(stream.flush().good());
}

void ScratchJournal::create(const std::string& name, std::string_view content) const {
  REQUIRE(write_file_durably(file(name), content, 0600));
}

std::string ScratchJournal::read(const std::string& name, std::size_t offset, std::size_t bytes) const {
  std::ifstream stream(file(name), std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  std::string out(bytes, '\0');
  stream.read(out.data(), static_cast<std::streamsize>(bytes));
  REQUIRE(stream.good());
  return out;
}

}  // namespace postern::ledger
