// SPDX-License-Identifier: Apache-2.0
#include "dataplane/host_port.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>

#include "core/unique_fd.h"
#include "dataplane/kernel_error.h"

namespace postern::dataplane {
namespace {

constexpr const char* kAlias = "Postern's host port";  // tells our pair from somebody else's
constexpr int kEveryFamily = AF_UNSPEC;
constexpr std::uint8_t kRouteProtocol = 112;   // tells our routes from an operator's
constexpr std::uint32_t kRoutePriority = 112;  // an operator's own route to the same prefix wins

template <auto release>
struct Releaser {
  template <class Object>
  void operator()(Object* object) const {
    release(object);
  }
};
using Socket = std::unique_ptr<nl_sock, Releaser<::nl_socket_free>>;
using LinkObject = std::unique_ptr<rtnl_link, Releaser<::rtnl_link_put>>;
using Cache = std::unique_ptr<nl_cache, Releaser<::nl_cache_free>>;
using Address = std::unique_ptr<nl_addr, Releaser<::nl_addr_put>>;
using AddressOfLink = std::unique_ptr<rtnl_addr, Releaser<::rtnl_addr_put>>;
using Route = std::unique_ptr<rtnl_route, Releaser<::rtnl_route_put>>;

tl::unexpected<Error> netlink_error(const std::string& what, int error) {
  return fail(errc::netlink, what + ": " + ::nl_geterror(error));
}

Result<Socket> connect_socket() {
  Socket socket(::nl_socket_alloc());
  if (!socket) return fail(errc::netlink, "cannot make a netlink socket: out of memory");
  const int error = ::nl_connect(socket.get(), NETLINK_ROUTE);
  if (error < 0) return netlink_error("cannot open netlink", error);
  return socket;
}

// Null when there is no such interface.
Result<LinkObject> find_link(nl_sock& socket, const std::string& name) {
  rtnl_link* found = nullptr;
  const int error = ::rtnl_link_get_kernel(&socket, 0, name.c_str(), &found);
  LinkObject link(found);
  if (error == -NLE_NODEV || error == -NLE_OBJ_NOTFOUND) return LinkObject();
  if (error < 0) return netlink_error("cannot ask for interface " + name, error);
  return link;
}

bool is_ours(rtnl_link* link) {
  const char* alias = ::rtnl_link_get_ifalias(link);
  return alias != nullptr && std::string_view(alias) == kAlias;
}

Address mac_of(std::size_t number) {
  const std::array<std::uint8_t, 6> mac = {0x02, 'p', 't', 0, 0, static_cast<std::uint8_t>(number)};
  return Address(::nl_addr_build(AF_LLC, mac.data(), mac.size()));
}

Address build(const IpAddress& address, unsigned length) {
  const std::size_t size = address.is_v4() ? 4 : 16;
  std::array<std::uint8_t, 16> bytes = address.bytes;
  Address out(
      ::nl_addr_build(address.is_v4() ? AF_INET : AF_INET6, bytes.data() + (bytes.size() - size), size));
  ::nl_addr_set_prefixlen(out.get(), static_cast<int>(length));
  return out;
}

Result<> add_pair(nl_sock& socket, const std::string& near, const std::string& far) {
  const LinkObject link(::rtnl_link_veth_alloc());
  if (!link) return fail(errc::netlink, "cannot make a netlink message: out of memory");
  ::rtnl_link_set_name(link.get(), near.c_str());
  rtnl_link* peer = ::rtnl_link_veth_get_peer(link.get());
  ::rtnl_link_set_name(peer, far.c_str());
  const int error = ::rtnl_link_add(&socket, link.get(), NLM_F_CREATE | NLM_F_EXCL);
  ::rtnl_link_put(peer);
  if (error < 0) return netlink_error("cannot make the host port " + near, error);
  return {};
}

Result<> write_setting(const std::string& path, const char* value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return {};  // a kernel without this family or setting
  if (fd && ::write(fd.get(), value, std::strlen(value)) > 0) return {};
  return kernel_error(errc::netlink, "cannot write " + std::string(value) + " to " + path, errno);
}

// XDP neither completes partial checksums nor sends to a veth without NAPI, which GRO turns on.
Result<> set_offloads(const std::string& name) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const auto& [command, value] : {std::pair{ETHTOOL_SGRO, 1u}, std::pair{ETHTOOL_STXCSUM, 0u}}) {
    ethtool_value setting{static_cast<__u32>(command), value};
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&setting);
    if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0)
      return kernel_error(errc::netlink, "cannot set the offloads of " + name, errno);
  }
  return {};
}

// The kernel's end takes packets that say they come from ourselves (tunnel packets whose next hop it
// resolves) or from behind another interface (packets that it cuts). The far end has no address of any
// family.
Result<> set_up_stack(const std::string& near, const std::string& far) {
  const std::string v4 = "/proc/sys/net/ipv4/conf/", v6 = "/proc/sys/net/ipv6/conf/";
  const std::pair<std::string, const char*> settings[] = {
      {v4 + near + "/accept_local", "1"},   {v4 + near + "/rp_filter", "2"},
      {v4 + near + "/send_redirects", "0"}, {v6 + near + "/accept_ra", "0"},
      {v6 + near + "/addr_gen_mode", "1"},  {v6 + far + "/disable_ipv6", "1"},
  };
  for (const auto& [path, value] : settings)
    if (Result<> written = write_setting(path, value); !written) return written;
  return {};
}

Result<> set_link(nl_sock& socket, const std::string& name, std::size_t number, std::uint32_t mtu) {
  const Result<LinkObject> link = find_link(socket, name);
  if (!link) return fail(link.error().code, link.error().context);
  if (!*link) return fail(errc::interface_missing, "the host port's end " + name + " is gone");
  const LinkObject change(::rtnl_link_alloc());
  const Address mac = mac_of(number);
  ::rtnl_link_set_addr(change.get(), mac.get());
  ::rtnl_link_set_mtu(change.get(), mtu);
  ::rtnl_link_set_ifalias(change.get(), kAlias);
  ::rtnl_link_set_flags(change.get(), IFF_UP | IFF_NOARP);
  const int error = ::rtnl_link_change(&socket, link->get(), change.get(), 0);
  if (error < 0) return netlink_error("cannot set up the host port's end " + name, error);
  return {};
}

Result<unsigned> index_of(const std::string& name) {
  const unsigned ifindex = ::if_nametoindex(name.c_str());
  if (ifindex == 0) return fail(errc::interface_missing, "the host port " + name + " is gone");
  return ifindex;
}

// IPv4 wants one on the port itself, even if another interface has it: on a port without addresses the
// kernel's reverse path filter drops all that does not come by the route back, loose or not.
Result<> ensure_address(nl_sock& socket, unsigned ifindex, const IpAddress& address) {
  nl_cache* found = nullptr;
  if (const int error = ::rtnl_addr_alloc_cache(&socket, &found); error < 0)
    return netlink_error("cannot ask for this machine's addresses", error);
  const Cache cache(found);
  const Address wanted = build(address, address.is_v4() ? 32 : 128);
  for (nl_object* o = ::nl_cache_get_first(found); o != nullptr; o = ::nl_cache_get_next(o)) {
    const nl_addr* local = ::rtnl_addr_get_local(reinterpret_cast<rtnl_addr*>(o));
    if (local == nullptr || ::nl_addr_cmp_prefix(local, wanted.get()) != 0) continue;
    const int holder = ::rtnl_addr_get_ifindex(reinterpret_cast<rtnl_addr*>(o));
    if (!address.is_v4() || holder == static_cast<int>(ifindex)) return {};
  }
  const AddressOfLink addition(::rtnl_addr_alloc());
  ::rtnl_addr_set_ifindex(addition.get(), static_cast<int>(ifindex));
  ::rtnl_addr_set_local(addition.get(), wanted.get());
  if (!address.is_v4()) ::rtnl_addr_set_flags(addition.get(), IFA_F_NODAD);
  const int error = ::rtnl_addr_add(&socket, addition.get(), 0);
  if (error < 0 && error != -NLE_EXIST)
    return netlink_error("cannot give the host port the address " + address.text(), error);
  return {};
}

Route route_of(unsigned ifindex, const HostRoute& wanted, std::uint32_t mtu) {
  Route route(::rtnl_route_alloc());
  const Address prefix = build(wanted.prefix.address, wanted.prefix.length);
  const Address source = build(wanted.source, wanted.source.is_v4() ? 32 : 128);
  ::rtnl_route_set_family(route.get(), wanted.source.is_v4() ? AF_INET : AF_INET6);
  ::rtnl_route_set_table(route.get(), RT_TABLE_MAIN);
  ::rtnl_route_set_protocol(route.get(), kRouteProtocol);
  ::rtnl_route_set_scope(route.get(), wanted.source.is_v4() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE);
  ::rtnl_route_set_priority(route.get(), kRoutePriority);
  ::rtnl_route_set_dst(route.get(), prefix.get());
  ::rtnl_route_set_metric(route.get(), RTAX_MTU, mtu);
  ::rtnl_route_set_pref_src(route.get(), source.get());
  rtnl_nexthop* hop = ::rtnl_route_nh_alloc();
  ::rtnl_route_nh_set_ifindex(hop, static_cast<int>(ifindex));
  ::rtnl_route_add_nexthop(route.get(), hop);
  return route;
}

// Our routes out of this port that are not among `wanted` any more.
Result<> drop_others(nl_sock& socket, unsigned ifindex, const std::vector<HostRoute>& wanted) {
  nl_cache* found = nullptr;
  if (const int error = ::rtnl_route_alloc_cache(&socket, kEveryFamily, 0, &found); error < 0)
    return netlink_error("cannot list the kernel's routes", error);
  const Cache cache(found);
  std::vector<Address> kept;
  for (const HostRoute& route : wanted)
    kept.push_back(build(route.prefix.address, route.prefix.length));
  for (nl_object* o = ::nl_cache_get_first(found); o != nullptr; o = ::nl_cache_get_next(o)) {
    auto* route = reinterpret_cast<rtnl_route*>(o);
    if (::rtnl_route_get_protocol(route) != kRouteProtocol || ::rtnl_route_get_nnexthops(route) != 1)
      continue;
    if (static_cast<unsigned>(::rtnl_route_nh_get_ifindex(::rtnl_route_nexthop_n(route, 0))) != ifindex)
      continue;
    const nl_addr* prefix = ::rtnl_route_get_dst(route);
    const bool stays = std::any_of(kept.begin(), kept.end(), [&](const Address& each) {
      return ::nl_addr_cmp(each.get(), prefix) == 0;
    });
    if (stays) continue;
    if (const int error = ::rtnl_route_delete(&socket, route, 0); error < 0 && error != -NLE_OBJ_NOTFOUND)
      return netlink_error("cannot take back a route out of the host port", error);
  }
  return {};
}

}  // namespace

std::string host_port_name(std::size_t number) {
  return "pt" + std::to_string(number);
}
std::string host_port_far_name(std::size_t number) {
  return host_port_name(number) + "x";
}

Result<> make_host_port(std::size_t number, std::uint32_t mtu) {
  const std::string near = host_port_name(number), far = host_port_far_name(number);
  const Result<Socket> socket = connect_socket();
  if (!socket) return fail(socket.error().code, socket.error().context);
  const Result<LinkObject> link = find_link(**socket, near);
  if (!link) return fail(link.error().code, link.error().context);
  if (*link && !is_ours(link->get())) {
    return fail(errc::interface_refused,
                "there is an interface " + near +
                    " that Postern did not make, and it needs that name for its host "
                    "port; rename yours");
  }
  if (!*link) {
    if (Result<> added = add_pair(**socket, near, far); !added) return added;
  }
  // Offloads before the ends come up: a veth learns then whether its peer takes redirected frames.
  for (const std::string& end : {near, far})
    if (Result<> set = set_offloads(end); !set) return set;
  if (Result<> set = set_up_stack(near, far); !set) return set;
  for (const std::string& end : {near, far})
    if (Result<> set = set_link(**socket, end, number, mtu); !set) return set;
  return {};
}

Result<> remove_host_port(std::size_t number) {
  const Result<Socket> socket = connect_socket();
  if (!socket) return fail(socket.error().code, socket.error().context);
  const Result<LinkObject> link = find_link(**socket, host_port_name(number));
  if (!link) return fail(link.error().code, link.error().context);
  if (!*link || !is_ours(link->get())) return {};
  const int error = ::rtnl_link_delete(socket->get(), link->get());
  if (error < 0) return netlink_error("cannot remove the host port " + host_port_name(number), error);
  return {};
}

Result<> set_host_routes(std::size_t number, const std::vector<HostRoute>& routes, std::uint32_t mtu) {
  const Result<unsigned> ifindex = index_of(host_port_name(number));
  if (!ifindex) return fail(ifindex.error().code, ifindex.error().context);
  const Result<Socket> socket = connect_socket();
  if (!socket) return fail(socket.error().code, socket.error().context);
  std::set<IpAddress> sources;
  for (const HostRoute& route : routes)
    sources.insert(route.source);
  for (const IpAddress& source : sources)
    if (Result<> there = ensure_address(**socket, *ifindex, source); !there) return there;
  for (const HostRoute& wanted : routes) {
    const Route route = route_of(*ifindex, wanted, mtu);
    const int error = ::rtnl_route_add(socket->get(), route.get(), NLM_F_CREATE | NLM_F_REPLACE);
    if (error < 0)
      return netlink_error("cannot route " + wanted.prefix.text() + " out of the host port", error);
  }
  return drop_others(**socket, *ifindex, routes);
}

}  // namespace postern::dataplane
