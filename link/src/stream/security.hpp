// SPDX-License-Identifier: Apache-2.0
// Connections with TLS 1.3: both sides show certificates of one CA, and the bytes are encrypted. Only the program baton_link has TLS, since only
// the program links OpenSSL. Everywhere else make_security() is that of no_tls.cpp, which refuses.
// Thread rules: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "baton/os/result.hpp"
#include "wire.hpp"

namespace baton::link::stream {

class Security {
 public:
  virtual ~Security() = default;
  /// A wire over a connection. `called`: this host has made the connection.
  virtual std::unique_ptr<Wire> wire(std::shared_ptr<os::TcpSocket> socket, bool called) const = 0;
};

/// Reads the files cert.pem, key.pem and identity_ca.cert.pem of `directory`, an enclave of SROS 2. `warn` is called before this returns.
/// Errors: unsupported (no OpenSSL; the text names the program that has it), invalid_argument (names the file), system.
Result<std::unique_ptr<Security>> make_security(const std::string& directory,
                                                const std::function<void(std::string)>& warn);

}  // namespace baton::link::stream
