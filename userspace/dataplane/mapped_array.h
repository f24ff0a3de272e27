// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "core/result.h"
#include "dataplane/errors.h"

namespace postern::dataplane {

// An array map (BPF_F_MMAPABLE) as shared memory; unmapped when this goes. Independent of the descriptor's
// lifetime.
class MappedArray {
 public:
  static Result<MappedArray> map(int fd, std::string_view name, std::size_t size_bytes);

  MappedArray(MappedArray&& other) noexcept;
  MappedArray& operator=(MappedArray&&) = delete;
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  ~MappedArray();

  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  MappedArray(void* memory, std::size_t size_bytes) : memory_(memory), size_bytes_(size_bytes) {}

  void* memory_;
  std::size_t size_bytes_;
};

}  // namespace postern::dataplane
