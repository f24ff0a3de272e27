// SPDX-License-Identifier: Apache-2.0
#include "dataplane/xdp_features.h"

#include <linux/genetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <memory>

namespace postern::dataplane {
namespace {

// <linux/netdev.h> of Linux 6.3, which the build's headers may be older than.
constexpr int kGetDevice = 1;
constexpr int kIfindex = 1;
constexpr int kXdpFeatures = 3;
constexpr std::uint64_t kTakesRedirects = 4;

struct SocketDeleter {
  void operator()(nl_sock* socket) const { ::nl_socket_free(socket); }
};
struct MessageDeleter {
  void operator()(nl_msg* message) const { ::nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, MessageDeleter>;

struct Wanted {
  int attribute;
  bool wide;  // 64 bits, not 16
  std::optional<std::uint64_t> value;
};

int take(nl_msg* message, void* argument) {
  auto& wanted = *static_cast<Wanted*>(argument);
  const nlattr* found = ::nlmsg_find_attr(::nlmsg_hdr(message), GENL_HDRLEN, wanted.attribute);
  if (found == nullptr) return NL_OK;
  wanted.value = wanted.wide ? ::nla_get_u64(found) : ::nla_get_u16(found);
  return NL_OK;
}

Message question(int family, int command) {
  Message message(::nlmsg_alloc_simple(family, NLM_F_REQUEST));
  genlmsghdr header{};
  header.cmd = static_cast<__u8>(command);
  header.version = 1;
  if (message && ::nlmsg_append(message.get(), &header, sizeof header, NLMSG_ALIGNTO) < 0) message.reset();
  return message;
}

std::optional<std::uint64_t> ask(nl_sock* socket, nl_msg* message, Wanted wanted) {
  if (::nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, &take, &wanted) < 0) return std::nullopt;
  if (::nl_send_auto(socket, message) < 0 || ::nl_recvmsgs_default(socket) < 0) return std::nullopt;
  return wanted.value;
}

}  // namespace

std::optional<bool> takes_redirects(IfIndex ifindex) {
  const std::unique_ptr<nl_sock, SocketDeleter> socket(::nl_socket_alloc());
  if (!socket || ::nl_connect(socket.get(), NETLINK_GENERIC) < 0) return std::nullopt;
  ::nl_socket_disable_auto_ack(socket.get());
  const Message by_name = question(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
  if (!by_name || ::nla_put_string(by_name.get(), CTRL_ATTR_FAMILY_NAME, "netdev") < 0) return std::nullopt;
  const auto family = ask(socket.get(), by_name.get(), {CTRL_ATTR_FAMILY_ID, false, {}});
  if (!family) return std::nullopt;
  const Message by_index = question(static_cast<int>(*family), kGetDevice);
  if (!by_index || ::nla_put_u32(by_index.get(), kIfindex, ifindex.value) < 0) return std::nullopt;
  const auto features = ask(socket.get(), by_index.get(), {kXdpFeatures, true, {}});
  return features ? std::optional((*features & kTakesRedirects) != 0) : std::nullopt;
}

}  // namespace postern::dataplane
