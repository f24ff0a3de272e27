// SPDX-License-Identifier: Apache-2.0
#include "agent/https_fetch.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "agent/errors.h"

namespace postern::agent {
namespace {

constexpr long kConnectTimeout_s = 10;
constexpr std::size_t kMaxEtagBytes = 256;
constexpr long kNotFound = 404;
constexpr long kGone = 410;

struct FreeHandle {
  void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};

struct Transfer {
  const std::atomic<bool>* cancelled;
  std::size_t limit_bytes;
  bool too_large = false;
  HttpsReply reply;
};

std::size_t take_body(char* data, std::size_t one, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (size > transfer.limit_bytes - transfer.reply.body.size()) {
    transfer.too_large = true;
    return 0;
  }
  transfer.reply.body.append(data, one * size);
  return size;
}

std::size_t take_header(char* data, std::size_t one, std::size_t size, void* user) {
  static constexpr std::string_view kEtag = "etag:";
  std::string_view line(data, one * size);
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  if (line.size() > kEtag.size() &&
      std::equal(kEtag.begin(), kEtag.end(), line.begin(),
                 [&same](char wanted, char found) { return same(found, wanted); })) {
    line.remove_prefix(kEtag.size());
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(begin);
    line = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    if (line.size() <= kMaxEtagBytes) static_cast<Transfer*>(user)->reply.etag = line;
  }
  return size;
}

int progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user)->cancelled->load() ? 1 : 0;
}

template <class Value>
bool set(CURL* handle, CURLoption option, Value value) {
  return ::curl_easy_setopt(handle, option, value) == CURLE_OK;
}

bool configure(CURL* handle, const HttpsRequest& request, Transfer& transfer, char* error,
               curl_slist* headers) {
  return set(handle, CURLOPT_ERRORBUFFER, error) && set(handle, CURLOPT_URL, request.url.c_str()) &&
         set(handle, CURLOPT_PROTOCOLS_STR, "https") && set(handle, CURLOPT_FOLLOWLOCATION, 0L) &&
         set(handle, CURLOPT_SSL_VERIFYPEER, 1L) && set(handle, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         (request.ca.empty() || (set(handle, CURLOPT_CAINFO, request.ca.c_str()) &&
                                 set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr)))) &&
         set(handle, CURLOPT_PROXY, "") && set(handle, CURLOPT_NOSIGNAL, 1L) &&
         set(handle, CURLOPT_CONNECTTIMEOUT, std::min(kConnectTimeout_s, request.timeout_s)) &&
         set(handle, CURLOPT_TIMEOUT, request.timeout_s) &&
         set(handle, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request.limit_bytes)) &&
         set(handle, CURLOPT_HTTPHEADER, headers) &&
         set(handle, CURLOPT_USERAGENT, "posternd/" POSTERN_VERSION) &&
         set(handle, CURLOPT_WRITEFUNCTION, &take_body) && set(handle, CURLOPT_WRITEDATA, &transfer) &&
         set(handle, CURLOPT_HEADERFUNCTION, &take_header) && set(handle, CURLOPT_HEADERDATA, &transfer) &&
         set(handle, CURLOPT_XFERINFOFUNCTION, &progress) && set(handle, CURLOPT_XFERINFODATA, &transfer) &&
         set(handle, CURLOPT_NOPROGRESS, 0L);
}

tl::unexpected<Error> failed(const HttpsRequest& request, std::string why) {
  return fail(errc::source, request.url + ": " + std::move(why));
}

Result<HttpsReply> judge(const HttpsRequest& request, CURL* handle, CURLcode code, const char* error,
                         Transfer& transfer) {
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED) {
    return failed(request, "the answer is larger than what was asked for can be, " +
                               std::to_string(request.limit_bytes) + " bytes; nothing of it was kept");
  }
  if (code != CURLE_OK) return failed(request, *error != '\0' ? error : ::curl_easy_strerror(code));
  long status = 0;
  ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (status == 304 && !request.etag.empty()) {
    transfer.reply.unchanged = true;
    transfer.reply.body.clear();
    return std::move(transfer.reply);
  }
  if (request.optional && (status == kNotFound || status == kGone)) {
    transfer.reply = {};
    transfer.reply.missing = true;
    return std::move(transfer.reply);
  }
  if (status >= 300 && status < 400) {
    return failed(request, "the server redirects (status " + std::to_string(status) +
                               "), which is not followed; name the right URL in the config");
  }
  if (status != 200) return failed(request, "the server answers with status " + std::to_string(status));
  return std::move(transfer.reply);
}

}  // namespace

Result<HttpsReply> fetch_https(const HttpsRequest& request, const std::atomic<bool>& cancelled) {
  const std::unique_ptr<CURL, FreeHandle> handle(::curl_easy_init());
  const std::string condition = "If-None-Match: " + request.etag;
  const std::unique_ptr<curl_slist, FreeList> headers(
      request.etag.empty() ? nullptr : ::curl_slist_append(nullptr, condition.c_str()));
  char error[CURL_ERROR_SIZE] = {};
  Transfer transfer{&cancelled, request.limit_bytes, false, {}};
  if (!handle || !configure(handle.get(), request, transfer, error, headers.get()))
    return failed(request, std::string("cannot set up the request: ") + error);
  const CURLcode code = ::curl_easy_perform(handle.get());
  return judge(request, handle.get(), code, error, transfer);
}

}  // namespace postern::agent
