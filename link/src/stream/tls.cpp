// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 by OpenSSL. An SSL object permits one call at a time, so a lock protects it. The object reads and writes memory (BIO_s_mem), so
// no call waits for the network while it has the lock: a wire's reading thread reads the socket, its writing thread writes the socket.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "security.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

template <auto free_it>
struct OpenSslFree {
  template <class T>
  void operator()(T* object) const noexcept {
    free_it(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>>;

constexpr std::size_t kRecord = SSL3_RT_MAX_PLAIN_LENGTH;
/// Bytes that one call encrypts, and one call sends.
constexpr std::size_t kMostAtOnce = 4 * kRecord;
constexpr std::size_t kReadBytes = 2 * kRecord;
/// Bytes that one key encrypts. RFC 8446, section 5.5 permits some hundred GB; a new key costs microseconds.
constexpr std::size_t kBytesOfKey = std::size_t{64} << 20;
constexpr milliseconds kLong{60000};

/// Why the last call of OpenSSL has failed.
std::string reason() {
  const unsigned long code = ERR_peek_error();
  if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
  const char* text = ERR_reason_error_string(code);
  return text != nullptr ? text : "error " + std::to_string(code);
}

class TlsWire final : public PlainWire {
 public:
  TlsWire(std::shared_ptr<os::TcpSocket> socket, SSL_CTX* context, bool called)
      : PlainWire(std::move(socket)), ssl_(SSL_new(context)), in_(kReadBytes), gathered_(kRecord) {
    BIO* const from = BIO_new(BIO_s_mem());
    BIO* const to = BIO_new(BIO_s_mem());
    if (!ssl_ || from == nullptr || to == nullptr) {
      BIO_free(from);
      BIO_free(to);
      ssl_.reset();
      return;
    }
    SSL_set_bio(ssl_.get(), from, to);
    (called ? SSL_set_connect_state : SSL_set_accept_state)(ssl_.get());
  }

  Result<void> open(milliseconds timeout) override {
    if (!ssl_) return Error{Errc::out_of_memory, "no memory for a TLS connection"};
    const auto end = steady_clock::now() + timeout;
    for (;;) {
      ERR_clear_error();
      const int done = SSL_do_handshake(ssl_.get());
      const bool wants = done != 1 && SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ;
      Result<void> result = done == 1 || wants ? Result<void>() : Result<void>(refusal());
      Result<void> sent = send();  // an alert, too
      if (!result || done == 1) return result;
      if (!sent) return sent;
      const Result<bool> came = feed(end - steady_clock::now());
      if (!came && came.error().code == Errc::system)
        return Error{Errc::system, "it ends the connection during the TLS handshake; has it --security, too?"};
      if (!came) return came.error();
      if (!*came || steady_clock::now() >= end) return Error{Errc::timed_out, "it does not finish the TLS handshake"};
    }
  }

  bool wait_readable(milliseconds timeout) override {
    const auto end = steady_clock::now() + timeout;
    // Records without data do not extend the time limit, however many come.
    for (bool fed = false; !failed_ && !decrypted(); fed = true) {
      if (fed && steady_clock::now() >= end) return false;
      const Result<bool> came = feed(end - steady_clock::now());
      if (!came) failed_ = came.error();
      if (came && !*came) return false;
    }
    return true;
  }

  Result<std::size_t> read(const os::IoPart* parts, std::size_t count) override {
    while (!wait_readable(kLong)) {
    }
    if (failed_) return *failed_;
    std::size_t total = 0;
    const os::Lock lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t done = 0, got = 0; done < parts[i].size; done += got, total += got) {
        if (SSL_read_ex(ssl_.get(), static_cast<std::byte*>(parts[i].bytes) + done, parts[i].size - done, &got) != 1)
          return total;
      }
    }
    return total;
  }

  Result<void> write(const os::IoPart* parts, std::size_t count) override {
    std::size_t gathered = 0;  // small parts share a record
    for (std::size_t i = 0; i < count; ++i) {
      const auto* bytes = static_cast<const std::byte*>(parts[i].bytes);
      for (std::size_t left = parts[i].size, now = 0; left > 0; bytes += now, left -= now) {
        const bool direct = gathered == 0 && left >= kRecord;
        now = std::min(left, direct ? kMostAtOnce : kRecord - gathered);
        if (!direct) {
          std::memcpy(gathered_.data() + gathered, bytes, now);
          gathered += now;
          if (gathered < kRecord) continue;
        }
        Result<void> sent = direct ? encrypt(bytes, now) : encrypt(gathered_.data(), std::exchange(gathered, 0));
        if (!sent) return sent;
      }
    }
    return gathered == 0 ? Result<void>() : encrypt(gathered_.data(), gathered);
  }

  bool encrypted() const override { return true; }

 private:
  /// Bytes from the socket to ssl_. False: none came within `timeout`.
  Result<bool> feed(std::chrono::nanoseconds timeout) {
    const auto whole = std::chrono::ceil<milliseconds>(std::max(timeout, std::chrono::nanoseconds(0)));
    if (!PlainWire::wait_readable(whole)) return false;
    const os::IoPart part{in_.data(), in_.size()};
    const Result<std::size_t> got = PlainWire::read(&part, 1);
    if (!got) return got.error();
    if (!std::exchange(began_, true) && in_[0] != std::byte{SSL3_RT_HANDSHAKE} && in_[0] != std::byte{SSL3_RT_ALERT}) {
      // An alert of TLS, so that a link without security can report the mismatch, too.
      std::byte alert[] = {std::byte{SSL3_RT_ALERT},
                           std::byte{3},
                           std::byte{3},
                           std::byte{0},
                           std::byte{2},
                           std::byte{SSL3_AL_FATAL},
                           std::byte{SSL_AD_PROTOCOL_VERSION}};
      const os::IoPart answer{alert, sizeof alert};
      static_cast<void>(PlainWire::write(&answer, 1));
      return Error{Errc::protocol_violation, "it speaks no TLS; a link needs --security, as this host has it"};
    }
    const os::Lock lock(mutex_);
    if (BIO_write(SSL_get_rbio(ssl_.get()), in_.data(), static_cast<int>(*got)) != static_cast<int>(*got))
      return Error{Errc::out_of_memory, "no memory for a TLS connection"};
    return true;
  }

  /// Whether read() has bytes, or failed_ has the reason why not.
  bool decrypted() {
    const os::Lock lock(mutex_);
    ERR_clear_error();
    char byte = 0;
    std::size_t got = 0;
    const int peeked = SSL_peek_ex(ssl_.get(), &byte, 1, &got);
    if (peeked == 1) return true;
    if (SSL_get_error(ssl_.get(), peeked) == SSL_ERROR_WANT_READ) return false;
    failed_ = refusal();
    return true;
  }

  Result<void> encrypt(const std::byte* bytes, std::size_t size) {
    {
      const os::Lock lock(mutex_);
      ERR_clear_error();
      if ((of_key_ += size) > kBytesOfKey) {
        of_key_ = size;
        if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return refusal();
      }
      std::size_t written = 0;
      if (SSL_write_ex(ssl_.get(), bytes, size, &written) != 1) return refusal();
    }
    return send();
  }

  /// What ssl_ has written, to the socket.
  Result<void> send() {
    {
      const os::Lock lock(mutex_);
      BIO* const from = SSL_get_wbio(ssl_.get());
      out_.resize(BIO_ctrl_pending(from));
      if (out_.empty()) return {};
      BIO_read(from, out_.data(), static_cast<int>(out_.size()));
    }
    const os::IoPart part{out_.data(), out_.size()};
    return PlainWire::write(&part, 1);
  }

  /// Why the last call of ssl_ has failed. With the lock, or before the second thread.
  Error refusal() const {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified == X509_V_ERR_CERT_HAS_EXPIRED || verified == X509_V_ERR_CERT_NOT_YET_VALID) {
      return {Errc::protocol_violation, std::string("its certificate is refused: ") +
                                            X509_verify_cert_error_string(verified) + "; are the clocks right?"};
    }
    if (verified != X509_V_OK) {
      return {Errc::protocol_violation, std::string("this host's identity CA has not signed its certificate (") +
                                            X509_verify_cert_error_string(verified) + ")"};
    }
    const unsigned long code = ERR_peek_error();
    if (code == 0) return {Errc::system, "the other end has closed the connection"};
    if (const int alert = ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET; ERR_GET_LIB(code) == ERR_LIB_SSL && alert >= 0) {
      return {Errc::protocol_violation,
              std::string("it refuses this host with the TLS alert '") + SSL_alert_desc_string_long(alert) + "'"};
    }
    return {Errc::protocol_violation, "TLS with it fails: " + reason()};
  }

  os::Mutex mutex_;                                  // ssl_
  std::unique_ptr<SSL, OpenSslFree<SSL_free>> ssl_;  // null: there was no memory
  // Of the reading thread.
  std::vector<std::byte> in_;
  std::optional<Error> failed_;
  bool began_ = false;
  // Of the writing thread.
  std::vector<std::byte> gathered_, out_;
  std::size_t of_key_ = 0;
};

class Tls final : public Security {
 public:
  explicit Tls(Context context) : context_(std::move(context)) {}
  std::unique_ptr<Wire> wire(std::shared_ptr<os::TcpSocket> socket, bool called) const override {
    return std::make_unique<TlsWire>(std::move(socket), context_.get(), called);
  }

 private:
  const Context context_;
};

}  // namespace

Result<std::unique_ptr<Security>> make_security(const std::string& directory,
                                                const std::function<void(std::string)>& warn) {
  namespace fs = std::filesystem;
  const std::string own = fs::path(directory) / "cert.pem", key = fs::path(directory) / "key.pem",
                    authority = fs::path(directory) / "identity_ca.cert.pem";
  const auto fault = [](const std::string& text) { return Error{Errc::invalid_argument, "--security: " + text}; };
  std::error_code ignored;
  for (const std::string& file : {own, key, authority}) {
    if (!fs::is_regular_file(file, ignored)) return fault("there is no file '" + file + "'");
  }
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1)
    return Error{Errc::system, "OpenSSL: " + reason()};
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_num_tickets(context.get(), 0);  // each connection proves its ends anew
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_load_verify_file(context.get(), authority.c_str()) != 1)
    return fault("cannot use the certificate '" + authority + "': " + reason());
  if (SSL_CTX_use_certificate_chain_file(context.get(), own.c_str()) != 1)
    return fault("cannot use the certificate '" + own + "': " + reason());
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fault("cannot use '" + key + "' as private key of '" + own + "', without a password: " + reason());
  if ((fs::status(key, ignored).permissions() & fs::perms::others_read) != fs::perms::none)
    warn("every user of this machine can read the private key '" + key + "'; chmod 600 keeps it secret");
  // The other hosts would refuse it.
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context.get(), &chain);
  const Verification verification(X509_STORE_CTX_new());
  if (!verification || X509_STORE_CTX_init(verification.get(), SSL_CTX_get_cert_store(context.get()),
                                           SSL_CTX_get0_certificate(context.get()), chain) != 1)
    return Error{Errc::system, "OpenSSL: " + reason()};
  if (X509_verify_cert(verification.get()) != 1) {
    return fault("the certificate '" + own + "' is refused by '" + authority +
                 "': " + X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification.get())));
  }
  return std::unique_ptr<Security>(std::make_unique<Tls>(std::move(context)));
}

}  // namespace baton::link::stream
