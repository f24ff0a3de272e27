// SPDX-License-Identifier: Apache-2.0
// A passphrase in guarded, locked memory that is wiped when it goes. Never copied, never printed.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace postern::wire {

class Passphrase {
 public:
  static constexpr std::size_t kMaxBytes = 1024;

  Passphrase();

  // False when there is no room for it.
  bool append(char c);
  void clear();
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {text_.get(), size_}; }
  friend bool operator==(const Passphrase& a, const Passphrase& b) { return a.view() == b.view(); }

 private:
  struct Wiped {
    void operator()(char* text) const;
  };
  std::unique_ptr<char[], Wiped> text_;
  std::size_t size_ = 0;
};

}  // namespace postern::wire
