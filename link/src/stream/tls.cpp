// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 by OpenSSL. An SSL object permits one call at a time, so a lock protects it. The object reads and writes memory (BIO_s_mem), so
// no call waits for the network while it has the lock: a wire's reading thread reads the socket, its writing thread writes the socket. Another
// thread may ask for objection() at any time, during the handshake, too.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "frames.hpp"
#include "security.hpp"
#include "tls_context.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kRecord = SSL3_RT_MAX_PLAIN_LENGTH;
/// Bytes that one call encrypts, and one call sends.
constexpr std::size_t kMostAtOnce = 4 * kRecord;
constexpr std::size_t kReadBytes = 2 * kRecord;
/// Bytes that one key encrypts. RFC 8446, section 5.5 permits some hundred GB; a new key costs microseconds.
constexpr std::size_t kBytesOfKey = std::size_t{64} << 20;
constexpr milliseconds kLong{60000};

class TlsWire final : public PlainWire {
 public:
  TlsWire(std::shared_ptr<os::TcpSocket> socket, std::shared_ptr<const TlsFiles> files, bool called)
      : PlainWire(std::move(socket)),
        o_(openssl()),
        files_(std::move(files)),
        ssl_(o_.SSL_new(files_->context()->get())),
        in_(kReadBytes),
        gathered_(kRecord) {
    BIO* const from = o_.BIO_new(o_.BIO_s_mem());
    BIO* const to = o_.BIO_new(o_.BIO_s_mem());
    if (!ssl_ || from == nullptr || to == nullptr) {
      o_.BIO_free(from);
      o_.BIO_free(to);
      ssl_.reset();
      return;
    }
    o_.SSL_set_bio(ssl_.get(), from, to);
    (called ? o_.SSL_set_connect_state : o_.SSL_set_accept_state)(ssl_.get());
  }

  Result<void> open(milliseconds timeout) override {
    const auto end = steady_clock::now() + timeout;
    for (;;) {
      bool done = false;
      Result<void> result = handshake(done);
      if (!result && result.error().code == Errc::out_of_memory) return result;
      Result<void> sent = send();  // an alert, too
      if (!result || done) return result;
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
        if (o_.SSL_read_ex(ssl_.get(), static_cast<std::byte*>(parts[i].bytes) + done, parts[i].size - done, &got) != 1)
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
  std::string certificate() const override { return subject_.name; }
  bool may_be(const transport::Gid& id) const override {
    return std::equal(subject_.digest.begin(), subject_.digest.end(), id.begin());
  }
  std::string objection() const override {
    const auto context = files_->context();
    const os::Lock lock(mutex_);
    if (!opened_) return {};  // the check after the hello is of the newest files
    X509* const shown = o_.SSL_get0_peer_certificate(ssl_.get());
    return shown == nullptr ? std::string() : context->objection(shown, o_.SSL_get_peer_cert_chain(ssl_.get()));
  }

 private:
  /// One step of the handshake. `done`: the last one.
  Result<void> handshake(bool& done) {
    const os::Lock lock(mutex_);
    if (!ssl_) return Error{Errc::out_of_memory, "no memory for a TLS connection"};
    o_.ERR_clear_error();
    const int result = o_.SSL_do_handshake(ssl_.get());
    done = result == 1;
    if (!done) return o_.SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ ? Result<void>() : refusal();
    subject_ = subject_of(o_.SSL_get0_peer_certificate(ssl_.get()));
    opened_ = true;
    return {};
  }

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
    if (o_.BIO_write(o_.SSL_get_rbio(ssl_.get()), in_.data(), static_cast<int>(*got)) != static_cast<int>(*got))
      return Error{Errc::out_of_memory, "no memory for a TLS connection"};
    return true;
  }

  /// Whether read() has bytes, or failed_ has the reason why not.
  bool decrypted() {
    const os::Lock lock(mutex_);
    o_.ERR_clear_error();
    char byte = 0;
    std::size_t got = 0;
    const int peeked = o_.SSL_peek_ex(ssl_.get(), &byte, 1, &got);
    if (peeked == 1) return true;
    if (o_.SSL_get_error(ssl_.get(), peeked) == SSL_ERROR_WANT_READ) return false;
    failed_ = refusal();
    return true;
  }

  Result<void> encrypt(const std::byte* bytes, std::size_t size) {
    {
      const os::Lock lock(mutex_);
      o_.ERR_clear_error();
      if ((of_key_ += size) > kBytesOfKey) {
        of_key_ = size;
        if (o_.SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return refusal();
      }
      std::size_t written = 0;
      if (o_.SSL_write_ex(ssl_.get(), bytes, size, &written) != 1) return refusal();
    }
    return send();
  }

  /// What ssl_ has written, to the socket.
  Result<void> send() {
    {
      const os::Lock lock(mutex_);
      BIO* const from = o_.SSL_get_wbio(ssl_.get());
      out_.resize(o_.BIO_ctrl_pending(from));
      if (out_.empty()) return {};
      o_.BIO_read(from, out_.data(), static_cast<int>(out_.size()));
    }
    const os::IoPart part{out_.data(), out_.size()};
    return PlainWire::write(&part, 1);
  }

  /// Why the last call of ssl_ has failed.
  Error refusal() const BATON_REQUIRES(mutex_) {
    const long verified = o_.SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) return {Errc::protocol_violation, words_of_verification(verified)};
    const unsigned long code = o_.ERR_peek_error();
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_AD_REASON_OFFSET + SSL_AD_INTERNAL_ERROR)
      return {Errc::protocol_violation, words_of(Refusal::kBusy)};
    if (code == 0) return {Errc::system, "the other end has closed the connection"};
    if (const int alert = ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET; ERR_GET_LIB(code) == ERR_LIB_SSL && alert >= 0) {
      return {Errc::protocol_violation,
              std::string("it refuses this host with the TLS alert '") + o_.SSL_alert_desc_string_long(alert) + "'"};
    }
    return {Errc::protocol_violation, "TLS with it fails: " + openssl_reason()};
  }

  const OpenSsl& o_;
  const std::shared_ptr<const TlsFiles> files_;
  Subject subject_;  // of the other side; does not change after open(), before which nobody reads it
  mutable os::Mutex mutex_;
  std::unique_ptr<SSL, OpenSslFree<&OpenSsl::SSL_free>> ssl_ BATON_GUARDED_BY(mutex_);  // null: there was no memory
  bool opened_ BATON_GUARDED_BY(mutex_) = false;                                        // open() has succeeded
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
  explicit Tls(std::shared_ptr<TlsFiles> files) : files_(std::move(files)), own_(files_->context()->own()) {}
  std::unique_ptr<Wire> wire(std::shared_ptr<os::TcpSocket> socket, bool called) const override {
    return std::make_unique<TlsWire>(std::move(socket), files_, called);
  }
  transport::Gid bind(const transport::Gid& random) const override {
    transport::Gid out = random;
    std::copy(own_.digest.begin(), own_.digest.end(), out.begin());
    return out;
  }
  bool refresh() override { return files_->refresh(); }

 private:
  const std::shared_ptr<TlsFiles> files_;
  const Subject own_;
};

}  // namespace

Result<std::unique_ptr<Security>> make_security(const std::string& directory, SaySecurity say) {
  if (const Result<const OpenSsl*> loaded = load_openssl(); !loaded) return loaded.error();
  TlsFiles::Stamps stamps = TlsFiles::stamps_of(directory);
  Result<std::shared_ptr<const TlsContext>> first = TlsContext::read(directory, say, TlsContext::OwnRefused::kError);
  if (!first) return first.error();
  return std::unique_ptr<Security>(std::make_unique<Tls>(
      std::make_shared<TlsFiles>(directory, std::move(stamps), std::move(*first), std::move(say))));
}

}  // namespace baton::link::stream
