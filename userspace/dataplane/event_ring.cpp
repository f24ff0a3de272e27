// SPDX-License-Identifier: Apache-2.0
#include "dataplane/event_ring.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"
#include "dataplane/kernel_log.h"

namespace postern::dataplane {
namespace {

struct RingDeleter {
  void operator()(ring_buffer* ring) const { ::ring_buffer__free(ring); }
};

class MappedRing final : public EventRing {
 public:
  explicit MappedRing(std::function<void(const pt_event&)> on_event) : on_event_(std::move(on_event)) {}

  Result<> map(int fd) {
    const KernelLog log;
    ring_.reset(::ring_buffer__new(fd, &MappedRing::take, this, nullptr));
    if (ring_) return {};
    return kernel_error(errc::map, "cannot map the ring of events" + log.suffix(), errno);
  }

  int poll_fd() const override { return ::ring_buffer__epoll_fd(ring_.get()); }

  Result<> drain() override {
    const int status = ::ring_buffer__consume(ring_.get());
    if (status >= 0) return {};
    return kernel_error(errc::map, "cannot read the ring of events", -status);
  }

 private:
  static int take(void* self, void* data, std::size_t size_bytes) {
    // Larger: a newer program's record, of which we know the front. Smaller: nobody's.
    if (size_bytes < sizeof(pt_event)) return 0;
    pt_event event;
    std::memcpy(&event, data, sizeof event);
    static_cast<MappedRing*>(self)->on_event_(event);
    return 0;
  }

  std::function<void(const pt_event&)> on_event_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
};

}  // namespace

Result<std::unique_ptr<EventRing>> EventRing::open(const Plane& plane,
                                                   std::function<void(const pt_event&)> on_event) {
  auto ring = std::make_unique<MappedRing>(std::move(on_event));
  if (Result<> mapped = ring->map(plane.map_fd("events")); !mapped) return pass_on(std::move(mapped));
  return ring;
}

}  // namespace postern::dataplane
