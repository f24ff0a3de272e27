// SPDX-License-Identifier: Apache-2.0
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/checks.h"
#include "cli/wording.h"
#include "core/file.h"

namespace postern::cli {
namespace {

namespace fs = std::filesystem;
using wire::check_fail;
using wire::check_ok;
using wire::check_warn;

// "" when it cannot be read.
std::string sysctl(const char* name) {
  const Result<std::string> text = read_file(fs::path("/proc/sys") / name, 64);
  return text ? text->substr(0, text->find('\n')) : "";
}

void check_forwarding(Checks& checks) {
  const std::string four = sysctl("net/ipv4/ip_forward");
  const std::string six = sysctl("net/ipv6/conf/all/forwarding");
  const std::string found = "net.ipv4.ip_forward is " + (four.empty() ? "unreadable" : four) +
                            ", net.ipv6.conf.all.forwarding is " + (six.empty() ? "absent" : six);
  if (four == "1" && (six == "1" || six.empty())) {
    checks.push_back(check_ok("kernel.forwarding", found));
    return;
  }
  checks.push_back(
      check_fail("kernel.forwarding", found,
                 "without it the kernel's FIB lookup gives no way and packets are dropped as "
                 "no_fib_route; posternd switches it on when it starts; find out what switched it "
                 "off (another file in /etc/sysctl.d?)"));
}

void check_pins(const fs::path& pins, Checks& checks) {
  fs::path there = pins;
  std::error_code ignored;
  while (!fs::exists(there, ignored) && there.has_relative_path())
    there = there.parent_path();
  struct statfs facts {};
  if (::statfs(there.c_str(), &facts) != 0) {
    checks.push_back(check_fail("kernel.bpffs", there.string() + ": " + std::strerror(errno),
                                "run as root: pins are looked at as their owner"));
    return;
  }
  if (static_cast<unsigned long>(facts.f_type) != static_cast<unsigned long>(BPF_FS_MAGIC)) {
    checks.push_back(check_fail("kernel.bpffs", pins.string() + " is not on a BPF file system",
                                "mount -t bpf bpf /sys/fs/bpf, or set `pins` to a place on one"));
    return;
  }
  checks.push_back(check_ok("kernel.bpffs", pins.string() + " is on a BPF file system"));
}

// From 5.11 on the memory of BPF maps is charged to the memory cgroup and not to this limit.
bool charges_memory_cgroup() {
  utsname name{};
  int major = 0;
  int minor = 0;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 5 || (major == 5 && minor >= 11);
}

void check_memlock(Checks& checks) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const std::string found =
      "RLIMIT_MEMLOCK is " + (unlimited ? "unlimited" : size_words(limit.rlim_cur)) + " here";
  if (unlimited || charges_memory_cgroup()) {
    checks.push_back(
        check_ok("kernel.memlock",
                 found + (unlimited ? "" : "; this kernel charges BPF maps to the memory cgroup instead")));
    return;
  }
  checks.push_back(
      check_warn("kernel.memlock", found,
                 "set LimitMEMLOCK=infinity for posternd: this kernel counts BPF maps against it"));
}

}  // namespace

void check_kernel(const config::Config& config, Checks& checks) {
  check_forwarding(checks);
  check_pins(config.pins, checks);
  check_memlock(checks);
}

}  // namespace postern::cli
