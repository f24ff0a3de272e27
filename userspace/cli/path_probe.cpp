// SPDX-License-Identifier: Apache-2.0
#include "cli/path_probe.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "cli/errors.h"
#include "core/bytes.h"
#include "core/unique_fd.h"

namespace postern::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t kLeast4 = 576;  // RFC 791: what every host takes
constexpr std::uint32_t kLeast6 = 1280;
constexpr unsigned kTries = 3;
constexpr std::chrono::milliseconds kPatience{400};
constexpr std::size_t kIcmp_bytes = 8;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const IpAddress& address) {
  SocketAddress out;
  if (address.is_v4()) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
    v4->sin_family = AF_INET;
    std::memcpy(&v4->sin_addr, address.bytes.data() + 12, 4);
    out.size = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    v6->sin6_family = AF_INET6;
    std::memcpy(&v6->sin6_addr, address.bytes.data(), 16);
    out.size = sizeof *v6;
  }
  return out;
}

class Prober {
 public:
  Prober(UniqueFd fd, bool v4) : fd_(std::move(fd)), v4_(v4), id_(static_cast<std::uint16_t>(::getpid())) {}

  // Whether a packet of that size comes back.
  bool passes(std::uint32_t size) {
    for (unsigned i = 0; i < kTries; ++i) {
      ++path_.probes;
      ++sequence_;
      if (!send(size)) return false;
      if (answered(size)) return true;
      if (told_ != 0 && told_ < size) return false;
    }
    return false;
  }

  // What a router said since the last time, 0: nothing.
  std::uint32_t take_told() { return std::exchange(told_, 0); }
  ProbedPath& path() { return path_; }

 private:
  bool send(std::uint32_t size) {
    Bytes message(size - (v4_ ? 20 : 40));
    message[0] = v4_ ? 8 : 128;
    message[4] = static_cast<std::uint8_t>(id_ >> 8);
    message[5] = static_cast<std::uint8_t>(id_);
    message[6] = static_cast<std::uint8_t>(sequence_ >> 8);
    message[7] = static_cast<std::uint8_t>(sequence_);
    if (v4_) {  // the kernel fills in ICMPv6's
      const std::uint16_t checksum = internet_checksum(message);
      message[2] = static_cast<std::uint8_t>(checksum >> 8);
      message[3] = static_cast<std::uint8_t>(checksum);
    }
    for (int i = 0; i < 2; ++i) {
      if (::send(fd_.get(), message.data(), message.size(), 0) == static_cast<ssize_t>(message.size()))
        return true;
      const int error = errno;
      read_errors();  // a pending error of the packet before is handed to this one
      if (error == EMSGSIZE && told_ == 0) return false;
    }
    return false;
  }

  bool answered(std::uint32_t size) {
    const auto deadline = steady_clock::now() + kPatience;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
      pollfd poll{fd_.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&poll, 1, static_cast<int>(left)) <= 0) return false;
      if ((poll.revents & POLLERR) != 0) {
        read_errors();
        if (told_ != 0 && told_ < size) return false;
      }
      std::array<std::uint8_t, 128> head{};
      const ssize_t got = ::recv(fd_.get(), head.data(), head.size(), MSG_DONTWAIT | MSG_TRUNC);
      if (got > 0 && is_answer(head, static_cast<std::size_t>(got), size)) return true;
    }
  }

  bool is_answer(const std::array<std::uint8_t, 128>& head, std::size_t got, std::uint32_t size) const {
    const std::size_t at = v4_ ? std::size_t{head[0] & 0x0FU} * 4 : 0;
    const std::size_t whole = v4_ ? got : got + 40;
    if (whole != size || at + kIcmp_bytes > head.size() || head[at] != (v4_ ? 0 : 129)) return false;
    return (head[at + 4] << 8 | head[at + 5]) == id_ && (head[at + 6] << 8 | head[at + 7]) == sequence_;
  }

  void read_errors() {
    std::array<std::uint8_t, 64> data{};
    alignas(cmsghdr) std::array<char, 512> control{};
    iovec part{data.data(), data.size()};
    for (;;) {
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      if (::recvmsg(fd_.get(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
      for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
        if ((one->cmsg_level != SOL_IP || one->cmsg_type != IP_RECVERR) &&
            (one->cmsg_level != SOL_IPV6 || one->cmsg_type != IPV6_RECVERR))
          continue;
        sock_extended_err error{};
        std::memcpy(&error, CMSG_DATA(one), sizeof error);
        if (error.ee_errno == EMSGSIZE && error.ee_info != 0) path_.told_mtu = told_ = error.ee_info;
      }
    }
  }

  UniqueFd fd_;
  bool v4_;
  std::uint16_t id_;
  std::uint16_t sequence_ = 0;
  std::uint32_t told_ = 0;
  ProbedPath path_;
};

Result<UniqueFd> open_socket(const IpAddress& local, const IpAddress& remote) {
  const bool v4 = remote.is_v4();
  UniqueFd fd(::socket(v4 ? AF_INET : AF_INET6, SOCK_RAW | SOCK_CLOEXEC,
                       v4 ? int{IPPROTO_ICMP} : int{IPPROTO_ICMPV6}));
  if (!fd)
    return fail(errc::probe, std::string("cannot send probes (") + std::strerror(errno) +
                                 "); probing needs root or CAP_NET_RAW, what is known it does not");
  const SocketAddress from = socket_address(local);
  if (::bind(fd.get(), from.get(), from.size) != 0)
    return fail(errc::probe, "cannot send from " + local.text() + " (" + std::strerror(errno) +
                                 "); run it on the gateway, in its network namespace");
  const SocketAddress to = socket_address(remote);
  if (::connect(fd.get(), to.get(), to.size) != 0)
    return fail(errc::probe, "cannot send to " + remote.text() + " (" + std::strerror(errno) + ")");
  // Don't fragment, and don't believe what the kernel remembers of the path.
  const int probe = v4 ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
  const int on = 1;
  const bool set = v4 ? ::setsockopt(fd.get(), SOL_IP, IP_MTU_DISCOVER, &probe, sizeof probe) == 0 &&
                            ::setsockopt(fd.get(), SOL_IP, IP_RECVERR, &on, sizeof on) == 0
                      : ::setsockopt(fd.get(), SOL_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe) == 0 &&
                            ::setsockopt(fd.get(), SOL_IPV6, IPV6_DONTFRAG, &on, sizeof on) == 0 &&
                            ::setsockopt(fd.get(), SOL_IPV6, IPV6_RECVERR, &on, sizeof on) == 0;
  if (!set) return fail(errc::probe, std::string("cannot forbid fragments: ") + std::strerror(errno));
  return fd;
}

}  // namespace

Result<ProbedPath> probe_path(const IpAddress& local, const IpAddress& remote, std::uint32_t most) {
  Result<UniqueFd> fd = open_socket(local, remote);
  if (!fd) return pass_on(std::move(fd));
  Prober prober(std::move(*fd), remote.is_v4());
  std::uint32_t good = remote.is_v4() ? kLeast4 : kLeast6;
  if (most < good) good = most;
  if (!prober.passes(good)) {
    return fail(errc::probe,
                remote.text() + " answers no echo request of " + std::to_string(good) +
                    " bytes: it drops them, or is not reachable; the path cannot be measured so");
  }
  if (most > good && prober.passes(most)) good = most;
  std::uint32_t bad = most + (good == most ? 1 : 0);
  while (bad - good > 1) {
    const std::uint32_t told = prober.take_told();
    const std::uint32_t next = told > good && told < bad ? told : good + (bad - good) / 2;
    if (prober.passes(next)) {
      good = next;
      // A router's word is right, most of the time: one byte more settles it.
      if (next == told && next + 1 < bad && !prober.passes(next + 1)) bad = next + 1;
    } else {
      bad = next;
    }
  }
  prober.path().mtu = good;
  return prober.path();
}

}  // namespace postern::cli
