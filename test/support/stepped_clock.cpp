// SPDX-License-Identifier: Apache-2.0
// A wall clock that is wrong, for one process: preloaded, it moves CLOCK_REALTIME, and no other clock, by the
// seconds that the file POSTERN_WALL_CLOCK holds as an i64. The file may change while the process runs: then
// its clock steps. (A time namespace moves the other clocks, and not this one.)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const volatile std::int64_t* mapped_seconds() {
  static const std::int64_t kNone = 0;
  const char* const path = std::getenv("POSTERN_WALL_CLOCK");
  const int fd = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return &kNone;
  void* const place = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  return place == MAP_FAILED ? &kNone : static_cast<const std::int64_t*>(place);
}

std::int64_t seconds_off() {
  static const volatile std::int64_t* const kSeconds = mapped_seconds();
  return *kSeconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long failed = ::syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && clock == CLOCK_REALTIME) now->tv_sec += seconds_off();
  return static_cast<int>(failed);
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec fine{};
  if (clock_gettime(CLOCK_REALTIME, &fine) != 0) return -1;
  *now = {fine.tv_sec, fine.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* now) noexcept {
  timespec fine{};
  if (clock_gettime(CLOCK_REALTIME, &fine) != 0) return -1;
  if (now != nullptr) *now = fine.tv_sec;
  return fine.tv_sec;
}

}  // extern "C"
