// SPDX-License-Identifier: Apache-2.0
#include "cli/packet_file.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cli/errors.h"
#include "core/file.h"

namespace postern::cli {
namespace {

constexpr std::size_t kMostFile_bytes = std::size_t{1} << 30;
constexpr std::uint32_t kEthernet = 1;  // LINKTYPE_ETHERNET
constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kEnhancedPacket = 6;

// A file's bytes, read in the order that its writer had. A read behind the end gives nothing.
class Reader {
 public:
  Reader(ByteView bytes, const std::filesystem::path& path) : bytes_(bytes), path_(path) {}

  void swap(bool swapped) { swapped_ = swapped; }
  std::size_t size() const { return bytes_.size(); }
  bool holds(std::size_t at, std::size_t count) const { return at <= size() && count <= size() - at; }
  std::uint32_t word(std::size_t at) const {
    if (!holds(at, 4)) return 0;
    const auto value = load_le<std::uint32_t>(bytes_, at);
    return swapped_ ? __builtin_bswap32(value) : value;
  }
  std::uint16_t half(std::size_t at) const {
    if (!holds(at, 2)) return 0;
    const auto value = load_le<std::uint16_t>(bytes_, at);
    return swapped_ ? __builtin_bswap16(value) : value;
  }
  tl::unexpected<Error> broken(std::size_t packet, const std::string& what) const {
    return fail(errc::packet_file, path_.string() + ": packet " + std::to_string(packet + 1) + ": " + what);
  }

  // Adds the frame of `captured` bytes at `at`.
  Result<> take(std::vector<FiledFrame>& frames, std::size_t at, std::size_t captured,
                std::uint32_t length) const {
    if (!holds(at, captured)) return broken(frames.size(), "the file ends within it");
    if (captured > kMostFrame_bytes)
      return broken(frames.size(), "it has " + std::to_string(captured) + " bytes, at most " +
                                       std::to_string(kMostFrame_bytes) + " can be explained");
    if (frames.size() == kMostFrames)
      return broken(frames.size(), "more than " + std::to_string(kMostFrames) + "; cut the file");
    const ByteView frame = bytes_.subspan(at, captured);
    frames.push_back({Bytes(frame.begin(), frame.end()), length});
    return {};
  }

 private:
  ByteView bytes_;
  const std::filesystem::path& path_;
  bool swapped_ = false;
};

Result<std::vector<FiledFrame>> read_pcap(const Reader& file) {
  std::vector<FiledFrame> frames;
  if (const std::uint32_t link = file.word(20) & 0xfffffff; link != kEthernet)
    return file.broken(0, "the capture is of link type " + std::to_string(link) + ", and not of Ethernet");
  for (std::size_t at = 24; at < file.size();) {
    if (!file.holds(at, 16)) return file.broken(frames.size(), "the file ends within its header");
    const std::size_t captured = file.word(at + 8);
    if (Result<> taken = file.take(frames, at + 16, captured, file.word(at + 12)); !taken)
      return pass_on(std::move(taken));
    at += 16 + captured;
  }
  return frames;
}

Result<std::vector<FiledFrame>> read_pcapng(Reader& file) {
  std::vector<FiledFrame> frames;
  std::vector<std::uint32_t> links;  // of the section's interfaces
  for (std::size_t at = 0; at < file.size();) {
    if (!file.holds(at, 12)) return file.broken(frames.size(), "the file ends within a block");
    if (file.word(at) == kSectionHeader) {
      file.swap(false);
      file.swap(file.word(at + 8) != kByteOrder);
      links.clear();
    }
    const std::uint32_t kind = file.word(at);
    const std::size_t size = file.word(at + 4);
    if (size < 12 || size % 4 != 0 || !file.holds(at, size))
      return file.broken(frames.size(), "a block's length makes no sense");
    if (kind == kInterfaceBlock) links.push_back(file.half(at + 8));
    if (kind == kEnhancedPacket || kind == kSimplePacket) {
      const std::size_t interface = kind == kEnhancedPacket ? file.word(at + 8) : 0;
      if (interface >= links.size() || links[interface] != kEthernet)
        return file.broken(frames.size(), "it was captured on an interface that is no Ethernet");
      const std::size_t head = kind == kEnhancedPacket ? 28 : 12;
      const std::uint32_t length = file.word(at + (kind == kEnhancedPacket ? 24 : 8));
      const std::size_t captured = kind == kEnhancedPacket
                                       ? file.word(at + 20)
                                       : std::min<std::size_t>(length, size < 16 ? 0 : size - 16);
      if (size < head + 4 || captured > size - head - 4)
        return file.broken(frames.size(), "it is longer than its block");
      if (Result<> taken = file.take(frames, at + head, captured, length); !taken)
        return pass_on(std::move(taken));
    }
    at += size;
  }
  return frames;
}

}  // namespace

Result<std::vector<FiledFrame>> read_packet_file(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path, kMostFile_bytes);
  if (!text) return pass_on(std::move(text));
  Reader file(as_bytes(*text), path);
  switch (file.word(0)) {
    case kSectionHeader:
      return read_pcapng(file);
    case 0xd4c3b2a1:
    case 0x4d3cb2a1:
      file.swap(true);
      return read_pcap(file);
    case 0xa1b2c3d4:
    case 0xa1b23c4d:
      return read_pcap(file);
    default:
      return fail(errc::packet_file, path.string() + ": is neither pcap nor pcapng");
  }
}

}  // namespace postern::cli
