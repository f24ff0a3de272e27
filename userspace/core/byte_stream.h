// SPDX-License-Identifier: Apache-2.0
// Bytes of messages one field after another, integers little-endian.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/bytes.h"

namespace postern {

class ByteWriter {
 public:
  template <class T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void put_bytes(ByteView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// Reads past the end give zeros and leave ok() false.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  ByteView take(std::size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const ByteView out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return out;
  }
  template <class T>
  T number() {
    const ByteView bytes = take(sizeof(T));
    return bytes.empty() ? T{} : load_le<T>(bytes, 0);
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> array() {
    std::array<std::uint8_t, N> out{};
    const ByteView bytes = take(N);
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return out;
  }

 private:
  ByteView rest_;
  bool ok_ = true;
};

}  // namespace postern
