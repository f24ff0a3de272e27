// SPDX-License-Identifier: Apache-2.0
#include "dataplane/kernel_log.h"

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include <cstdarg>
#include <cstdio>

namespace postern::dataplane {
namespace {

// Both libraries take one process-wide callback without a context, so the receiver can only be found this
// way.
thread_local KernelLog* innermost = nullptr;

constexpr std::size_t kKeptBytes = 4096;

}  // namespace

struct KernelLogSink {
  static void take(const char* format, va_list arguments) {
    if (innermost == nullptr) return;
    char line[1024];
    std::vsnprintf(line, sizeof line, format, arguments);
    std::string& text = innermost->text_;
    text += line;
    if (text.size() > 2 * kKeptBytes) text.erase(0, text.size() - kKeptBytes);
  }
  static int from_libbpf(libbpf_print_level level, const char* format, va_list arguments) {
    if (level == LIBBPF_WARN) take(format, arguments);
    return 0;
  }
  static int from_libxdp(libxdp_print_level level, const char* format, va_list arguments) {
    if (level == LIBXDP_WARN) take(format, arguments);
    return 0;
  }
};

KernelLog::KernelLog() : outer_(innermost) {
  innermost = this;
  // libxdp sets libbpf's callback for itself when it is used first: ours is put back each time.
  ::libxdp_set_print(&KernelLogSink::from_libxdp);
  ::libbpf_set_print(&KernelLogSink::from_libbpf);
}

KernelLog::~KernelLog() {
  innermost = outer_;
}

std::string KernelLog::suffix() const {
  std::string text = text_.substr(text_.size() > kKeptBytes ? text_.size() - kKeptBytes : 0);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text.empty() ? text : ": " + text;
}

}  // namespace postern::dataplane
