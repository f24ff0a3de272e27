// SPDX-License-Identifier: Apache-2.0
// What an attacker may do with the history of an authority some of whose keys he has
// (SPEC 3.4, 3.6, 3.7, 3.10). The input is a list of documents to make, sign by some keys, perhaps spoil, and
// offer, alone or as bundles. A gateway takes what the rules let in. Whatever comes: serials and floors never
// fall, no serial has two payloads, and nothing is taken that the keys of its time did not sign; nor does a
// timestamp go back.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "authority/chain.h"
#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "authority/timestamp_rules.h"

namespace {

using namespace postern;
using namespace postern::authority;

constexpr std::string_view kMesh = "demo";
constexpr unsigned kKeys = 4;  // of the authority, sooner or later; one more is a stranger's
constexpr std::size_t kMaxSteps = 24;

const std::array<wire::SecretKey, kKeys + 1>& keys() {
  static const auto made = [] {
    const auto key = [](std::uint8_t fill) {
      std::array<std::uint8_t, 32> seed{};
      seed.fill(fill);
      return wire::SecretKey::from_seed(seed);
    };
    return std::array<wire::SecretKey, kKeys + 1>{key(1), key(2), key(3), key(4), key(5)};
  }();
  return made;
}

// Reads the input; zeros behind its end.
class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool over() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::uint8_t below(unsigned bound) { return static_cast<std::uint8_t>(byte() % bound); }
  bool rarely() { return below(16) == 15; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// A signed file, and what its maker knows of it.
struct Made {
  std::string file;
  Snapshot snapshot;
  Hash256 hash{};
  unsigned signers = 0;  // a bit for each of keys()
  bool spoilt = false;   // its payload is not what was signed
};

struct Receiver {
  Root anchor{2, {keys()[0].public_key(), keys()[1].public_key(), keys()[2].public_key()}};
  std::optional<Adopted> adopted;
  std::optional<Timestamp> timestamp;
  UtcSeconds now{1'000'000};

  const Root& root() const { return adopted ? adopted->root : anchor; }
};

[[noreturn]] void violation(const char* what) {
  std::fprintf(stderr, "fuzz_history: %s\n", what);
  std::abort();
}

void require(bool holds, const char* what) {
  if (!holds) violation(what);
}

unsigned signers_of(const Root& root, unsigned signers) {
  unsigned count = 0;
  for (unsigned i = 0; i <= kKeys; ++i) {
    const bool member =
        std::find(root.keys.begin(), root.keys.end(), keys()[i].public_key()) != root.keys.end();
    if (member && (signers >> i & 1U) != 0) ++count;
  }
  return count;
}

Root make_root(Script& script) {
  Root root{1U + script.below(3), {}};
  const unsigned members = script.byte();
  for (unsigned i = 0; i < kKeys; ++i)
    if ((members >> i & 1U) != 0 || (i == 0 && members % (1U << kKeys) == 0))
      root.keys.push_back(keys()[i].public_key());
  root.threshold = std::min(root.threshold, static_cast<std::uint32_t>(root.keys.size()));
  return root;
}

std::uint64_t make_serial(Script& script, std::uint64_t adopted) {
  static constexpr std::uint64_t kSteps[] = {
      1, 1, 1, 1, 2, 3, 0, kMaxSerialStep, kMaxSerialStep + 1, kMaxFirstSerial};
  const std::uint8_t choice = script.below(std::size(kSteps) + 2);
  if (choice < std::size(kSteps)) return adopted + kSteps[choice];
  return choice == std::size(kSteps) ? std::max<std::uint64_t>(adopted, 2) - 1 : (std::uint64_t{1} << 53) - 1;
}

void make_floors(Script& script, Snapshot& snapshot) {
  const std::uint8_t what = script.below(6);
  if (snapshot.epoch_floors.empty()) snapshot.epoch_floors = {{"a", Epoch(3)}, {"b", Epoch(5)}};
  Epoch& floor = snapshot.epoch_floors[0].epoch;
  if (what == 1) floor = Epoch(floor.value + 1 + script.byte());
  if (what == 2) floor = Epoch(floor.value - std::min<std::uint64_t>(floor.value, 1 + script.below(4)));
  if (what == 3) snapshot.epoch_floors.pop_back();
}

// Twice the same signature, or one under another's name, adds nothing.
std::string signed_by(unsigned signers, std::string_view domain, const std::string& payload, Script& script) {
  std::vector<EnvelopeSignature> signatures;
  for (unsigned i = 0; i <= kKeys; ++i) {
    if ((signers >> i & 1U) == 0) continue;
    signatures.push_back({keys()[i].public_key().id(), keys()[i].sign(domain, as_bytes(payload))});
  }
  std::sort(signatures.begin(), signatures.end(),
            [](const auto& a, const auto& b) { return a.key_id < b.key_id; });
  if (!signatures.empty() && script.rarely()) signatures.push_back(signatures.back());
  if (!signatures.empty() && script.rarely())
    signatures.front().key_id = keys()[script.below(kKeys + 1)].public_key().id();
  return seal_envelope(signatures, payload);
}

// The honest next one where the script says nothing else, so that an input of zeros is a peaceful history.
Made make_snapshot(Script& script, const Receiver& gateway, const std::optional<Made>& last) {
  Made made;
  if (last) made.snapshot = last->snapshot;
  Snapshot& snapshot = made.snapshot;
  snapshot.mesh = script.rarely() ? "other" : kMesh;
  snapshot.serial = Serial(make_serial(script, last ? last->snapshot.serial.value : 0));
  if (last) snapshot.prev = script.rarely() ? Hash256{} : last->hash;
  if (!last) snapshot.root = gateway.anchor;
  if (script.below(4) == 3) snapshot.root = make_root(script);
  make_floors(script, snapshot);
  snapshot.issued = UtcSeconds(gateway.now.value - script.byte());
  snapshot.expires = UtcSeconds(snapshot.issued.value + 1000 - 4 * std::int64_t{script.byte()});
  const unsigned all = (1U << kKeys) - 1;
  made.signers = all & ~unsigned{script.byte()};
  if (script.rarely()) made.signers |= 1U << kKeys;
  const std::string payload = encode_snapshot(snapshot);
  made.hash = payload_hash(payload);
  const std::string_view domain = script.rarely() ? wire::domain::timestamp : wire::domain::snapshot;
  if (domain != wire::domain::snapshot) made.signers = 0;
  made.file = signed_by(domain == wire::domain::snapshot ? made.signers : all, domain, payload, script);
  if (script.rarely()) {
    made.spoilt = true;
    const std::size_t begin = made.file.size() - payload.size() - 1;
    char& spoilt = made.file[begin + (std::size_t{script.byte()} * 256 + script.byte()) % payload.size()];
    spoilt = static_cast<char>(spoilt ^ (1 << script.below(8)));
  }
  return made;
}

// What the keys of its time must have said, of each document on the way to the last one.
void require_signed(const Receiver& gateway, const std::vector<const Made*>& way) {
  Root root = gateway.root();
  std::optional<Serial> serial;
  if (gateway.adopted) serial = gateway.adopted->serial;
  for (const Made* made : way) {
    if (serial && made->snapshot.serial <= *serial) continue;
    require(!made->spoilt, "a payload was taken that was not signed");
    require(signers_of(root, made->signers) >= root.threshold, "taken without the trusted threshold");
    const Root& own = made->snapshot.root;
    require(signers_of(own, made->signers) >= own.threshold, "taken without its own threshold");
    if (own != root && serial)
      require(made->snapshot.serial == serial->next(), "the root changed out of turn");
    root = own;
    serial = made->snapshot.serial;
  }
}

void require_history(const std::optional<Adopted>& before, const Candidate& taken, bool recovery) {
  const std::uint64_t serial = taken.snapshot.serial.value;
  require(serial <=
              (before && !recovery ? before->serial.value + kMaxSerialStep * kMaxSteps : kMaxFirstSerial * 2),
          "a serial ran away");
  require(taken.snapshot.mesh == kMesh, "taken though it is of another mesh");
  if (!before) return;
  require(serial > before->serial.value || (serial == before->serial.value && taken.hash == before->hash),
          "a serial fell, or has two payloads");
  const Adopted after = remembered(taken);
  for (const auto& [resource, epoch] : before->floors) {
    const auto found = after.floors.find(resource);
    require(found != after.floors.end() && found->second >= epoch, "a floor fell");
  }
}

void offer(Receiver& gateway, const std::string& text, const std::vector<const Made*>& way, bool recovery) {
  const Result<Chain> chain = follow_chain(text, gateway.root(), kMesh, gateway.adopted);
  if (!chain) return;
  const Result<> allowed = recovery ? may_recover(chain->last, chain->base, gateway.now)
                                    : may_adopt(chain->last, chain->base, gateway.now);
  if (!allowed) return;
  const bool same = gateway.adopted && gateway.adopted->hash == chain->last.hash;
  require(same || gateway.now < chain->last.snapshot.expires, "taken though it expired");
  require_signed(gateway, way);
  require_history(gateway.adopted, chain->last, recovery);
  gateway.adopted = remembered(chain->last);
  if (recovery) gateway.timestamp.reset();
}

void offer_bundle(Receiver& gateway, const std::vector<Made>& made, Script& script) {
  const std::size_t count = std::min<std::size_t>(made.size(), 2 + script.below(4));
  std::vector<BundleEntry> entries;
  std::vector<const Made*> way;
  for (std::size_t i = made.size() - count; i < made.size(); ++i) {
    if (!entries.empty() && made[i].snapshot.serial <= entries.back().serial) continue;
    entries.push_back({made[i].snapshot.serial, made[i].file});
    way.push_back(&made[i]);
  }
  if (!entries.empty()) offer(gateway, seal_bundle(entries), way, script.rarely());
}

void offer_timestamp(Receiver& gateway, const std::vector<Made>& made, Script& script) {
  if (!gateway.adopted || made.empty()) return;
  const Made& about =
      made[made.size() - 1 - script.below(static_cast<unsigned>(std::min<std::size_t>(made.size(), 4)))];
  Timestamp timestamp{std::string(kMesh),
                      about.snapshot.serial,
                      about.hash,
                      UtcSeconds(gateway.now.value - script.byte()),
                      {}};
  timestamp.expires = UtcSeconds(timestamp.issued.value + 1 + 2 * std::int64_t{script.byte()});
  if (script.rarely()) timestamp.hash = Hash256{};
  const unsigned signers = ((1U << kKeys) - 1) & ~unsigned{script.byte()};
  const std::string file = signed_by(signers, wire::domain::timestamp, encode_timestamp(timestamp), script);
  const Result<Timestamp> verified = verify_timestamp(file, gateway.root(), kMesh);
  if (!verified || !may_follow(*verified, *gateway.adopted, gateway.timestamp, gateway.now)) return;
  const Root& root = gateway.root();
  require(signers_of(root, signers) >= root.threshold, "a timestamp was taken without the trusted threshold");
  require(timestamp.serial >= gateway.adopted->serial && gateway.now < timestamp.expires,
          "a timestamp was taken that is out of date");
  require(timestamp.serial != gateway.adopted->serial || timestamp.hash == gateway.adopted->hash,
          "a timestamp was taken that contradicts what is adopted");
  if (gateway.timestamp)
    require(timestamp.issued >= gateway.timestamp->issued && timestamp.serial >= gateway.timestamp->serial,
            "a timestamp went back");
  gateway.timestamp = timestamp;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script(data, std::min<std::size_t>(size, 512));
  Receiver gateway;
  std::vector<Made> made;
  for (std::size_t step = 0; step < kMaxSteps && !script.over(); ++step) {
    switch (script.below(8)) {
      case 5:
        if (!made.empty()) offer_bundle(gateway, made, script);
        break;
      case 6:
        offer_timestamp(gateway, made, script);
        break;
      case 7:
        gateway.now.value += script.byte() * 4;
        break;
      default: {
        std::optional<Made> last;
        if (!made.empty()) last = made[made.size() - 1 - (script.rarely() ? made.size() / 2 : 0)];
        made.push_back(make_snapshot(script, gateway, last));
        const bool kept_back = script.below(4) == 3;  // for a bundle to come
        if (!kept_back) offer(gateway, made.back().file, {&made.back()}, script.rarely());
      }
    }
  }
  return 0;
}
