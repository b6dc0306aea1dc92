// SPDX-License-Identifier: Apache-2.0
// The files of an enclave as OpenSSL has them: this host's certificate and key, the identity CA, and the CA's revocation list.
// Thread rules: a TlsContext does not change, any thread; TlsFiles: any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "openssl.hpp"
#include "security.hpp"

namespace baton::link::stream {

/// REQUIRES: load_openssl() has succeeded.
const OpenSsl& openssl();

template <auto free_it>
struct OpenSslFree {
  template <class T>
  void operator()(T* object) const noexcept {
    (openssl().*free_it)(object);
  }
};

/// Why the last call of OpenSSL has failed.
std::string openssl_reason();

/// The subject of a certificate.
struct Subject {
  std::string name;                                  ///< as RFC 2253 writes it
  std::array<std::uint8_t, kSubjectBytes> digest{};  ///< the begin of its SHA-256
};
Subject subject_of(X509* certificate);

/// Why a certificate is refused, of a code of X509_verify_cert(); follows "it is not connected:".
std::string words_of_verification(long code);

class TlsContext {
 public:
  /// Errors and `say`: as make_security(). `own_refused`: what becomes of a certificate of this host that its own CA refuses or the revocation list
  /// names. A list that is out of date, or not of the CA, is always an error.
  enum class OwnRefused : std::uint8_t { kError, kWarning };
  static Result<std::shared_ptr<const TlsContext>> read(const std::string& directory, const SaySecurity& say,
                                                        OwnRefused own_refused);
  SSL_CTX* get() const noexcept { return context_.get(); }
  const Subject& own() const noexcept { return own_; }
  /// Why a host that has shown `certificate`, with `chain`, is not let in; empty: it is. `chain` may be null.
  std::string objection(X509* certificate, STACK_OF(X509) * chain) const;

 private:
  TlsContext() = default;
  int verify(X509* certificate, STACK_OF(X509) * chain) const;  ///< a code of X509_verify_cert()

  std::unique_ptr<SSL_CTX, OpenSslFree<&OpenSsl::SSL_CTX_free>> context_;
  Subject own_;
};

/// The newest files that can be used.
class TlsFiles {
 public:
  /// `first` has been read from `directory` after stamps_of(`directory`) gave `stamps`.
  using Stamps = std::vector<std::pair<std::filesystem::file_time_type, std::uintmax_t>>;
  static Stamps stamps_of(const std::string& directory);
  TlsFiles(std::string directory, Stamps stamps, std::shared_ptr<const TlsContext> first, SaySecurity say)
      : directory_(std::move(directory)),
        say_(std::move(say)),
        stamps_(std::move(stamps)),
        context_(std::move(first)) {}
  std::shared_ptr<const TlsContext> context() const {
    const os::Lock lock(mutex_);
    return context_;
  }
  bool refresh();  ///< as Security::refresh()

 private:
  const std::string directory_;
  const SaySecurity say_;
  mutable os::Mutex mutex_;
  Stamps stamps_ BATON_GUARDED_BY(mutex_);
  std::shared_ptr<const TlsContext> context_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link::stream
