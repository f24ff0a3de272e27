// SPDX-License-Identifier: Apache-2.0
#include "dataplane/sample_ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
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

class MappedSamples final : public SampleRing {
 public:
  explicit MappedSamples(OnSample on_sample) : on_sample_(std::move(on_sample)) {}

  Result<> map(int fd) {
    const KernelLog log;
    ring_.reset(::ring_buffer__new(fd, &MappedSamples::take, this, nullptr));
    if (ring_) return {};
    return kernel_error(errc::map, "cannot map the ring of samples" + log.suffix(), errno);
  }

  int poll_fd() const override { return ::ring_buffer__epoll_fd(ring_.get()); }

  Result<bool> drain(std::size_t most) override {
    left_ = most;
    const int status = ::ring_buffer__consume(ring_.get());
    if (status == -EAGAIN) return true;
    if (status >= 0) return false;
    return kernel_error(errc::map, "cannot read the ring of samples", -status);
  }

 private:
  // A negative answer ends the reading; the record counts as read.
  static int take(void* context, void* data, std::size_t size_bytes) {
    auto& self = *static_cast<MappedSamples*>(context);
    if (size_bytes >= sizeof(pt_sample)) {
      pt_sample sample;
      std::memcpy(&sample, data, sizeof sample);
      const ByteView frame(static_cast<const std::uint8_t*>(data) + sizeof sample,
                           size_bytes - sizeof sample);
      self.on_sample_(sample, frame.first(std::min<std::size_t>(frame.size(), sample.captured)));
    }
    return --self.left_ == 0 ? -EAGAIN : 0;
  }

  OnSample on_sample_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  std::size_t left_ = 0;
};

}  // namespace

Result<std::unique_ptr<SampleRing>> SampleRing::open(const Plane& plane, OnSample on_sample) {
  auto ring = std::make_unique<MappedSamples>(std::move(on_sample));
  if (Result<> mapped = ring->map(plane.map_fd("samples")); !mapped) return pass_on(std::move(mapped));
  return ring;
}

Result<> write_watch(const Plane& plane, const pt_watch& watch) {
  const __u32 zero = 0;
  if (::bpf_map_update_elem(plane.map_fd("watch"), &zero, &watch, BPF_ANY) == 0) return {};
  return kernel_error(errc::map, "cannot tell the packet path what to watch", errno);
}

}  // namespace postern::dataplane
