// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace postern::mesh {

// Memory between guard pages, locked where the system allows it. Never null: without memory the process ends.
void* guarded_allocate(std::size_t size);
// Wipes, then frees.
void guarded_free(void* memory);

struct GuardedFree {
  void operator()(void* memory) const { guarded_free(memory); }
};

// A plain value of secrets. Moves, never copies.
template <class T>
using Guarded = std::unique_ptr<T, GuardedFree>;

template <class T>
Guarded<T> make_guarded() {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
  return Guarded<T>(new (guarded_allocate(sizeof(T))) T{});
}

// A secret on the stack; wiped when it goes.
void wipe(void* memory, std::size_t size);
template <class T>
class Wiped {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  Wiped() = default;
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  ~Wiped() { wipe(&value, sizeof value); }
  T value{};
};

}  // namespace postern::mesh
