// SPDX-License-Identifier: Apache-2.0
// The standard headers that most files use, precompiled to build faster. Files include what they use all the
// same, and build without this.
#ifndef POSTERN_PRECOMPILED_H
#define POSTERN_PRECOMPILED_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

#endif
