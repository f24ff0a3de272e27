// SPDX-License-Identifier: Apache-2.0
#include "dataplane/mapped_array.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <utility>

#include "dataplane/kernel_error.h"

namespace postern::dataplane {

Result<MappedArray> MappedArray::map(int fd, std::string_view name, std::size_t size_bytes) {
  void* memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return kernel_error(errc::map, "cannot map table " + std::string(name) + " into memory", errno);
  }
  return MappedArray(memory, size_bytes);
}

MappedArray::MappedArray(MappedArray&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_bytes_(other.size_bytes_) {}

MappedArray::~MappedArray() {
  if (memory_ != nullptr) ::munmap(memory_, size_bytes_);
}

}  // namespace postern::dataplane
