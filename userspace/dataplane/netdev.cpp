// SPDX-License-Identifier: Apache-2.0
#include "dataplane/netdev.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/vlan.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "core/unique_fd.h"
#include "dataplane/kernel_error.h"

namespace postern::dataplane {
namespace {

struct SocketDeleter {
  void operator()(nl_sock* socket) const { ::nl_socket_free(socket); }
};
struct LinkDeleter {
  void operator()(rtnl_link* link) const { ::rtnl_link_put(link); }
};
struct CacheDeleter {
  void operator()(nl_cache* cache) const { ::nl_cache_free(cache); }
};
struct AddressDeleter {
  void operator()(nl_addr* address) const { ::nl_addr_put(address); }
};
struct RouteDeleter {
  void operator()(rtnl_route* route) const { ::rtnl_route_put(route); }
};
struct MessageDeleter {
  void operator()(nl_msg* message) const { ::nlmsg_free(message); }
};
using Socket = std::unique_ptr<nl_sock, SocketDeleter>;
using Cache = std::unique_ptr<nl_cache, CacheDeleter>;
using LinkObject = std::unique_ptr<rtnl_link, LinkDeleter>;
using AddressObject = std::unique_ptr<nl_addr, AddressDeleter>;

tl::unexpected<Error> netlink_error(const std::string& what, int error) {
  return fail(errc::netlink, what + ": " + ::nl_geterror(error));
}

IpAddress address_of(const nl_addr* address) {
  IpAddress out;
  const auto* bytes = static_cast<const std::uint8_t*>(::nl_addr_get_binary_addr(address));
  const unsigned size = ::nl_addr_get_len(address);
  if (::nl_addr_get_family(address) == AF_INET) out.bytes[10] = out.bytes[11] = 0xff;
  if (size <= out.bytes.size()) std::copy_n(bytes, size, out.bytes.end() - size);
  return out;
}

AddressObject object_of(const IpAddress& address) {
  const int family = address.is_v4() ? AF_INET : AF_INET6;
  const std::size_t size = address.is_v4() ? 4 : 16;
  std::array<std::uint8_t, 16> bytes = address.bytes;
  return AddressObject(::nl_addr_build(family, bytes.data() + (bytes.size() - size), size));
}

Result<Socket> connect_socket() {
  Socket socket(::nl_socket_alloc());
  if (!socket) return fail(errc::netlink, "cannot make a netlink socket: out of memory");
  if (const int error = ::nl_connect(socket.get(), NETLINK_ROUTE); error < 0) {
    return netlink_error("cannot open netlink", error);
  }
  if (::fcntl(::nl_socket_get_fd(socket.get()), F_SETFD, FD_CLOEXEC) != 0) {
    return kernel_error(errc::netlink, "cannot set up a netlink socket", errno);
  }
  return socket;
}

class LinkWatch {
 public:
  static Result<LinkWatch> open() {
    Result<Socket> socket = connect_socket();
    if (!socket) return pass_on(std::move(socket));
    ::nl_socket_disable_seq_check(socket->get());
    const int error =
        ::nl_socket_add_memberships(socket->get(), RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, 0);
    if (error < 0) return netlink_error("cannot watch interfaces", error);
    if (const int status = ::nl_socket_set_nonblocking(socket->get()); status < 0) {
      return netlink_error("cannot watch interfaces", status);
    }
    return LinkWatch(std::move(*socket));
  }

  int fd() const { return ::nl_socket_get_fd(socket_.get()); }

  // Names of the links that messages were about; `missed` when the kernel had to drop some.
  Result<std::set<std::string>> read(bool& missed) {
    std::set<std::string> names;
    ::nl_socket_modify_cb(socket_.get(), NL_CB_VALID, NL_CB_CUSTOM, &LinkWatch::take, &names);
    missed = false;
    for (;;) {
      const int error = ::nl_recvmsgs_default(socket_.get());
      if (error == -NLE_AGAIN) return names;
      if (error == -NLE_NOMEM) missed = true;  // how libnl says ENOBUFS
      if (error < 0 && error != -NLE_NOMEM)
        return netlink_error("cannot read what became of interfaces", error);
    }
  }

 private:
  explicit LinkWatch(Socket socket) : socket_(std::move(socket)) {}

  static int take(nl_msg* message, void* argument) {
    auto& names = *static_cast<std::set<std::string>*>(argument);
    nlmsghdr* header = ::nlmsg_hdr(message);
    if (header->nlmsg_type == RTM_NEWLINK || header->nlmsg_type == RTM_DELLINK) {
      const nlattr* name = ::nlmsg_find_attr(header, sizeof(ifinfomsg), IFLA_IFNAME);
      if (name != nullptr) names.insert(::nla_get_string(const_cast<nlattr*>(name)));
    } else if (header->nlmsg_type == RTM_NEWADDR || header->nlmsg_type == RTM_DELADDR) {
      char name[IF_NAMESIZE] = {};
      const auto* body = static_cast<const ifaddrmsg*>(::nlmsg_data(header));
      if (::if_indextoname(body->ifa_index, name) != nullptr) names.insert(name);
    }
    return NL_OK;
  }

  Socket socket_;
};

class NetlinkNetdev final : public Netdev {
 public:
  NetlinkNetdev(Socket socket, LinkWatch watch) : socket_(std::move(socket)), watch_(std::move(watch)) {}

  Result<Link> link(const std::string& name) override {
    rtnl_link* found = nullptr;
    // The kernel takes a name of any length for a part of one, or refuses it as a bad value.
    const int error = name.size() < IF_NAMESIZE
                          ? ::rtnl_link_get_kernel(socket_.get(), 0, name.c_str(), &found)
                          : -NLE_NODEV;
    const LinkObject object(found);
    if (error == -NLE_NODEV || error == -NLE_OBJ_NOTFOUND) return missing(name);
    if (error < 0) return netlink_error("cannot ask for interface " + name, error);
    Link out = read_link(object.get());
    read_relations(object.get(), out);
    if (Result<> read = read_addresses(out); !read) return pass_on(std::move(read));
    return out;
  }

  Result<NextHop> route(const IpAddress& destination) override {
    const AddressObject address = object_of(destination);
    rtnl_route* found = nullptr;
    const int error = ::rtnl_route_lookup(socket_.get(), address.get(), &found);
    const std::unique_ptr<rtnl_route, RouteDeleter> route(found);
    if (error < 0) return netlink_error("the kernel has no route to " + destination.text(), error);
    rtnl_nexthop* hop = ::rtnl_route_get_nnexthops(found) > 0 ? ::rtnl_route_nexthop_n(found, 0) : nullptr;
    if (hop == nullptr)
      return fail(errc::netlink, "the kernel's route to " + destination.text() + " leads nowhere");
    NextHop out{IfIndex(static_cast<std::uint32_t>(::rtnl_route_nh_get_ifindex(hop))), destination, 0};
    std::uint32_t mtu = 0;
    std::uint32_t locked = 0;
    ::rtnl_route_get_metric(found, RTAX_LOCK, &locked);
    const bool holds = !destination.is_v4() || (locked & 1U << RTAX_MTU) != 0;
    if (holds && ::rtnl_route_get_metric(found, RTAX_MTU, &mtu) == 0) out.mtu = mtu;
    const nl_addr* gateway = ::rtnl_route_nh_get_gateway(hop);
    if (gateway == nullptr) gateway = ::rtnl_route_nh_get_via(hop);
    if (gateway != nullptr) out.address = address_of(gateway);
    return out;
  }

  Result<> want_neighbour(IfIndex ifindex, const IpAddress& address) override {
    const std::unique_ptr<nl_msg, MessageDeleter> message(
        ::nlmsg_alloc_simple(RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE));
    if (!message) return fail(errc::netlink, "cannot make a netlink message: out of memory");
    ndmsg body{};
    body.ndm_family = address.is_v4() ? AF_INET : AF_INET6;
    body.ndm_ifindex = static_cast<int>(ifindex.value);
    body.ndm_state = NUD_NONE;
    // "Used": the kernel treats it as if a packet were waiting, and asks the network if it has to.
    body.ndm_flags = NTF_USE;
    const AddressObject object = object_of(address);
    int error = ::nlmsg_append(message.get(), &body, sizeof body, NLMSG_ALIGNTO);
    if (error >= 0) error = ::nla_put_addr(message.get(), NDA_DST, object.get());
    if (error >= 0) error = ::nl_send_auto(socket_.get(), message.get());
    if (error >= 0) error = ::nl_wait_for_ack(socket_.get());
    if (error < 0) return netlink_error("cannot have the neighbour " + address.text() + " resolved", error);
    return {};
  }

  int watch_fd() const override { return watch_.fd(); }

  Result<std::vector<std::string>> drain() override {
    bool missed = false;
    const Result<std::set<std::string>> names = watch_.read(missed);
    if (!names) return fail(names.error().code, names.error().context);
    if (missed) return all_names();
    return std::vector<std::string>(names->begin(), names->end());
  }

 private:
  static Link read_link(rtnl_link* object) {
    Link out;
    out.name = ::rtnl_link_get_name(object);
    out.ifindex = IfIndex(static_cast<std::uint32_t>(::rtnl_link_get_ifindex(object)));
    out.mtu = ::rtnl_link_get_mtu(object);
    out.up = (::rtnl_link_get_flags(object) & IFF_UP) != 0;
    if (const char* kind = ::rtnl_link_get_type(object)) out.kind = kind;
    out.ethernet = ::rtnl_link_get_arptype(object) == ARPHRD_ETHER;
    const nl_addr* mac = ::rtnl_link_get_addr(object);
    if (mac != nullptr && ::nl_addr_get_len(mac) == out.mac.bytes.size()) {
      std::copy_n(static_cast<const std::uint8_t*>(::nl_addr_get_binary_addr(mac)), out.mac.bytes.size(),
                  out.mac.bytes.begin());
    }
    return out;
  }

  LinkObject by_index(int ifindex) {
    rtnl_link* found = nullptr;
    if (ifindex <= 0 || ::rtnl_link_get_kernel(socket_.get(), ifindex, nullptr, &found) < 0) return nullptr;
    return LinkObject(found);
  }

  // What it belongs to, and what lies below it.
  void read_relations(rtnl_link* object, Link& link) {
    if (const LinkObject master = by_index(::rtnl_link_get_master(object))) {
      link.master = ::rtnl_link_get_name(master.get());
      const char* kind = ::rtnl_link_get_type(master.get());
      link.master_kind = kind != nullptr ? kind : "device";
    }
    std::int32_t elsewhere = -1;
    const bool here = ::rtnl_link_get_link_netnsid(object, &elsewhere) != 0;
    const LinkObject below = here ? by_index(::rtnl_link_get_link(object)) : nullptr;
    if (link.kind == "veth" && below) link.peer = ::rtnl_link_get_name(below.get());
    if (::rtnl_link_is_vlan(object) == 0) return;
    VlanLink vlan;
    vlan.id = static_cast<std::uint16_t>(::rtnl_link_vlan_get_id(object));
    vlan.customer = ::rtnl_link_vlan_get_protocol(object) == htons(ETH_P_8021Q);
    if (below) {
      vlan.carrier = ::rtnl_link_get_name(below.get());
      vlan.carrier_ifindex = IfIndex(static_cast<std::uint32_t>(::rtnl_link_get_ifindex(below.get())));
    }
    link.vlan = std::move(vlan);
  }

  Result<> read_addresses(Link& link) {
    nl_cache* found = nullptr;
    if (const int error = ::rtnl_addr_alloc_cache(socket_.get(), &found); error < 0) {
      return netlink_error("cannot ask for the addresses of " + link.name, error);
    }
    const Cache cache(found);
    for (nl_object* o = ::nl_cache_get_first(found); o != nullptr; o = ::nl_cache_get_next(o)) {
      auto* address = reinterpret_cast<rtnl_addr*>(o);
      if (static_cast<std::uint32_t>(::rtnl_addr_get_ifindex(address)) != link.ifindex.value) continue;
      if (const nl_addr* local = ::rtnl_addr_get_local(address)) link.addresses.push_back(address_of(local));
    }
    return {};
  }

  Result<std::vector<std::string>> all_names() {
    nl_cache* found = nullptr;
    if (const int error = ::rtnl_link_alloc_cache(socket_.get(), AF_UNSPEC, &found); error < 0) {
      return netlink_error("cannot list the interfaces", error);
    }
    const Cache cache(found);
    std::vector<std::string> names;
    for (nl_object* o = ::nl_cache_get_first(found); o != nullptr; o = ::nl_cache_get_next(o)) {
      names.emplace_back(::rtnl_link_get_name(reinterpret_cast<rtnl_link*>(o)));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  tl::unexpected<Error> missing(const std::string& name) {
    std::string list;
    if (const auto names = all_names()) {
      for (const std::string& each : *names)
        list += (list.empty() ? "" : ", ") + each;
    }
    return fail(errc::interface_missing, "there is no interface " + name + "; there are " + list);
  }

  Socket socket_;
  LinkWatch watch_;
};

Result<> write_one(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return {};  // a kernel without this family forwards none of it either
  char now = 0;
  if (fd && ::read(fd.get(), &now, 1) == 1 && now == '1') return {};
  const UniqueFd writer(::open(path, O_WRONLY | O_CLOEXEC));
  if (writer && ::write(writer.get(), "1", 1) == 1) return {};
  return kernel_error(errc::netlink,
                      std::string("forwarding is off, and it cannot be turned on: ") + path +
                          " (write 1 to it, for XDP asks the kernel for routes)",
                      errno);
}

}  // namespace

Result<std::unique_ptr<Netdev>> Netdev::open() {
  Result<Socket> socket = connect_socket();
  if (!socket) return pass_on(std::move(socket));
  Result<LinkWatch> watch = LinkWatch::open();
  if (!watch) return pass_on(std::move(watch));
  return std::make_unique<NetlinkNetdev>(std::move(*socket), std::move(*watch));
}

Result<> enable_forwarding() {
  if (Result<> v4 = write_one("/proc/sys/net/ipv4/ip_forward"); !v4) return v4;
  return write_one("/proc/sys/net/ipv6/conf/all/forwarding");
}

}  // namespace postern::dataplane
