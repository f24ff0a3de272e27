// SPDX-License-Identifier: Apache-2.0
// Errors are values. A function that can fail returns Result<T>; an Error carries a stable code of its module
// and a sentence for the operator: what was found, where, what was expected, what to do.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace postern {

// What kind of trouble an error is. The command-line tool's exit code follows from it (SPEC 7).
enum class ErrorKind {
  failure,      // 1: input/output, kernel, anything unforeseen
  usage,        // 2: a command or request that makes no sense
  unreachable,  // 3: the agent does not answer
  config,       // 4: invalid config or policy file
  authority,    // 5: signature, rollback, expiry: the snapshot is not to be trusted
  conflict,     // 6: ownership conflict
  changes,      // 7: `diff` found changes
  capacity,     // 8: does not fit
  reset,        // 9: a cursor leads nowhere: what was read with it counts for nothing
};

constexpr int exit_code(ErrorKind kind) {
  return 1 + static_cast<int>(kind);
}

// A module lists its codes as constants of this type in its errors.h. `name` is "module.code", static
// storage, and an interface: logs, JSON and tests refer to it.
struct ErrorCode {
  std::string_view name;
  ErrorKind kind = ErrorKind::failure;

  friend constexpr bool operator==(const ErrorCode& a, const ErrorCode& b) { return a.name == b.name; }
};

struct [[nodiscard]] Error {
  ErrorCode code;
  std::string context;

  // "journal.contended: ..." for people.
  std::string message() const { return std::string(code.name) + ": " + context; }
};

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string context) {
  return tl::unexpected<Error>(Error{code, std::move(context)});
}

// Passes a failed result of another type on unchanged.
template <class T>
[[nodiscard]] tl::unexpected<Error> pass_on(Result<T>&& failed) {
  return tl::unexpected<Error>(std::move(failed).error());
}

// Passes a failure on with where it happened put in front of its context.
template <class T>
[[nodiscard]] tl::unexpected<Error> pass_on(Result<T>&& failed, std::string_view where) {
  Error error = std::move(failed).error();
  error.context.insert(0, std::string(where) + ": ");
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace postern
