// SPDX-License-Identifier: Apache-2.0
// A number with a meaning of its own: values of two Strong types do not mix, and none converts from a bare
// integer by accident.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace postern {

template <class Tag, class Rep>
struct Strong {
  using rep = Rep;

  Rep value{};

  constexpr Strong() = default;
  explicit constexpr Strong(Rep v) : value(v) {}

  friend constexpr auto operator<=>(const Strong&, const Strong&) = default;  // NOLINT(modernize-use-nullptr)

  constexpr Strong next() const { return Strong(static_cast<Rep>(value + 1)); }
};

}  // namespace postern

template <class Tag, class Rep>
struct std::hash<postern::Strong<Tag, Rep>> {
  std::size_t operator()(const postern::Strong<Tag, Rep>& v) const noexcept {
    return std::hash<Rep>{}(v.value);
  }
};
