// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace postern::dataplane {

// While it lives, what libbpf and libxdp log on this thread is kept here instead of going to stderr; without
// one their log is dropped. Scopes nest; the innermost keeps the text.
class KernelLog {
 public:
  KernelLog();
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  // ": <log>", shortened at its front to its last 4 KiB, to go behind an error's text; "" when nothing was
  // logged.
  std::string suffix() const;

 private:
  friend struct KernelLogSink;
  std::string text_;
  KernelLog* outer_;
};

}  // namespace postern::dataplane
