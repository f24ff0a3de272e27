// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer's body without libFuzzer: over each file of a corpus, and over a fixed number of mutations of
// them that are the same at each run. Not coverage-guided, so no substitute for `make fuzz`; but it needs no
// other compiler, and takes a second.
//
//   replay-NAME CORPUS-DIRECTORY [MUTATIONS]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& text) {
  // A copy of its own on the heap, so that a read past the end is one past an allocation's end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::vector<std::string> read_corpus(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& corpus) : corpus_(corpus) {}

  std::string next() {
    std::string text = any();
    for (std::size_t edits = below(4) + 1; edits > 0; --edits)
      edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const std::string& any() { return corpus_[below(corpus_.size())]; }

  std::string piece() {
    const std::string& source = any();
    const std::size_t at = below(source.size());
    return source.substr(at, below(24) + 1);
  }

  void edit(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(at, below(24) + 1);
        break;
      case 2:
        text.insert(at, piece());
        break;
      case 3:
        text.replace(at, below(24), piece());
        break;
      default:
        text.resize(at);
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s CORPUS-DIRECTORY [MUTATIONS]\n", argv[0]), 2;
  const std::vector<std::string> corpus = read_corpus(argv[1]);
  if (corpus.empty()) return std::fprintf(stderr, "%s is empty\n", argv[1]), 2;
  const long mutations = argc > 2 ? std::atol(argv[2]) : 0;
  for (const std::string& text : corpus)
    run(text);
  Mutator mutator(corpus);
  for (long i = 0; i < mutations; ++i)
    run(mutator.next());
  std::printf("%s: %zu files, %ld mutations\n", argv[0], corpus.size(), mutations);
  return 0;
}
