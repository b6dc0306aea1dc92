// SPDX-License-Identifier: Apache-2.0
// Connections with TLS 1.3: both sides show certificates of one CA, and the bytes are encrypted. OpenSSL is loaded at run time (openssl.hpp). A
// build without OpenSSL's headers has no_tls.cpp in place of tls.cpp, which refuses.
// Thread rules: any thread.
// Invariant: a host's id begins with the digest of its certificate's subject (kSubjectBytes), so no host can say that it is one of another subject.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "baton/os/result.hpp"
#include "wire.hpp"

namespace baton::link::stream {

/// The first bytes of a host's id: of the SHA-256 digest of the subject (DER). The others are chosen at random by each run of a link.
inline constexpr std::size_t kSubjectBytes = 10;

class Security {
 public:
  virtual ~Security() = default;
  /// A wire over a connection. `called`: this host has made the connection.
  virtual std::unique_ptr<Wire> wire(std::shared_ptr<os::TcpSocket> socket, bool called) const = 0;
  /// `random` as an id of this host: with the bytes of its certificate's subject.
  virtual transport::Gid bind(const transport::Gid& random) const = 0;
  /// Reads the files again if one of them has changed, and says so. True: new files are used; the caller asks each wire whether its other side
  /// is still let in (Wire::objection()). Files that cannot be used are said, and those before stay in use. A certificate of
  /// this host that the new files refuse is a warning, and they are used.
  virtual bool refresh() = 0;
};

/// Called with what an operator should know of the files: a warning, or news.
using SaySecurity = std::function<void(bool warning, std::string)>;

/// Reads the files cert.pem, key.pem, identity_ca.cert.pem, and if it is there the revocation list identity_ca.crl.pem, of `directory`, an enclave
/// of SROS 2. Errors: unsupported (no OpenSSL; the text says what to install), invalid_argument (names the file), system.
Result<std::unique_ptr<Security>> make_security(const std::string& directory, SaySecurity say);

}  // namespace baton::link::stream
