// SPDX-License-Identifier: Apache-2.0
#include "unit/ledger/recording_directory.h"

#include <algorithm>

namespace postern::ledger {
namespace {

class RecordingFile final : public File {
 public:
  RecordingFile(std::unique_ptr<File> real, std::shared_ptr<Recording> recording,
                std::shared_ptr<std::string> name, Access access)
      : real_(std::move(real)), recording_(std::move(recording)), name_(std::move(name)), access_(access) {}

  Io<FileFacts> facts() const override { return real_->facts(); }

  Io<std::size_t> read_at(std::span<std::uint8_t> into, std::uint64_t offset) const override {
    if (const int error = recording_->note("read " + *name_)) return tl::unexpected<int>(error);
    if (recording_->read_fault) {
      if (const int error = recording_->read_fault(*name_, offset, into.size()))
        return tl::unexpected<int>(error);
    }
    Io<std::size_t> got = real_->read_at(into, offset);
    if (got && access_ == Access::read_disk && recording_->disk_view) {
      recording_->disk_view(*name_, into.first(*got), offset);
    }
    return got;
  }

  Io<std::size_t> write_at(ByteView from, std::uint64_t offset) override {
    const std::string call = "write " + *name_;
    if (const int error = recording_->note(call)) return tl::unexpected<int>(error);
    const std::size_t bytes = recording_->shorten ? recording_->shorten(call, from.size()) : from.size();
    return real_->write_at(from.first(std::min(bytes, from.size())), offset);
  }

  Io<> datasync() override {
    if (const int error = recording_->note("datasync " + *name_)) return tl::unexpected<int>(error);
    return real_->datasync();
  }

  Io<> lock_exclusive() override {
    if (const int error = recording_->note("lock " + *name_)) return tl::unexpected<int>(error);
    return real_->lock_exclusive();
  }

 private:
  std::unique_ptr<File> real_;
  std::shared_ptr<Recording> recording_;
  std::shared_ptr<std::string> name_;
  Access access_;
};

}  // namespace

int Recording::note(std::string call) {
  calls.push_back(std::move(call));
  return fault ? fault(calls.back()) : 0;
}

std::size_t Recording::index_of(std::string_view prefix, std::size_t from) const {
  while (from < calls.size() && !calls[from].starts_with(prefix))
    ++from;
  return from;
}

std::size_t Recording::count(std::string_view prefix) const {
  return static_cast<std::size_t>(std::count_if(
      calls.begin(), calls.end(), [prefix](const std::string& c) { return c.starts_with(prefix); }));
}

RecordingDirectory::RecordingDirectory(std::unique_ptr<Directory> real, std::shared_ptr<Recording> recording)
    : real_(std::move(real)), recording_(std::move(recording)) {}

Io<std::uint64_t> RecordingDirectory::file_system() const {
  if (recording_->file_system != 0) return recording_->file_system;
  return real_->file_system();
}

Io<std::vector<std::string>> RecordingDirectory::list() const {
  if (const int error = recording_->note("list")) return tl::unexpected<int>(error);
  return real_->list();
}

Io<std::unique_ptr<File>> RecordingDirectory::open(std::string_view name, Access access) const {
  if (const int error = recording_->note("open " + std::string(name))) return tl::unexpected<int>(error);
  Io<std::unique_ptr<File>> file = real_->open(name, access);
  if (!file) return file;
  const auto shared = std::make_shared<std::string>(name);
  names_[std::string(name)] = shared;
  return std::make_unique<RecordingFile>(std::move(*file), recording_, shared, access);
}

Io<bool> RecordingDirectory::exists(std::string_view name) const {
  if (const int error = recording_->note("exists " + std::string(name))) return tl::unexpected<int>(error);
  return real_->exists(name);
}

Io<FileFacts> RecordingDirectory::facts_by_path(std::string_view name) const {
  return real_->facts_by_path(name);
}

Io<> RecordingDirectory::rename(std::string_view from, std::string_view to, IfThere if_there) {
  if (const int error = recording_->note("rename " + std::string(from) + " " + std::string(to))) {
    return tl::unexpected<int>(error);
  }
  Io<> renamed = real_->rename(from, to, if_there);
  const auto open = names_.find(std::string(from));
  if (renamed && open != names_.end()) *open->second = to;
  return renamed;
}

Io<> RecordingDirectory::unlink(std::string_view name) {
  if (const int error = recording_->note("unlink " + std::string(name))) return tl::unexpected<int>(error);
  return real_->unlink(name);
}

Io<> RecordingDirectory::sync() {
  if (const int error = recording_->note("sync")) return tl::unexpected<int>(error);
  return real_->sync();
}

}  // namespace postern::ledger
