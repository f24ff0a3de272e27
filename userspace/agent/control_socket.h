// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/result.h"
#include "core/unique_fd.h"

namespace postern::agent {

// The listening unix socket and its name in the file system, which goes away with it.
class ControlSocket {
 public:
  // Binds `path`, replacing a stale socket there: the caller holds the journal's lock, so no other agent of
  // this gateway lives. Anything but a socket is left alone and refused, as is a socket that somebody still
  // answers. Mode 0660 for the readers' group where it exists, else 0600.
  static Result<ControlSocket> listen(const std::filesystem::path& path);

  ControlSocket(ControlSocket&&) noexcept = default;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket();

  int get() const { return fd_.get(); }

 private:
  ControlSocket(UniqueFd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::filesystem::path path_;
};

}  // namespace postern::agent
