// SPDX-License-Identifier: Apache-2.0
// What a Result came to, as text that a failing check can print.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace postern::testing {

// "ok", or the name of the error's code.
template <class T>
std::string outcome(const Result<T>& result) {
  return result ? "ok" : std::string(result.error().code.name);
}

// The error's context; empty when there is none.
template <class T>
std::string context(const Result<T>& result) {
  return result ? "" : result.error().context;
}

template <class T>
bool says(const Result<T>& result, std::string_view part) {
  return context(result).find(part) != std::string::npos;
}

}  // namespace postern::testing
