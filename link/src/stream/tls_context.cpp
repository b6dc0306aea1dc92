// SPDX-License-Identifier: Apache-2.0
#include "tls_context.hpp"

#include <system_error>

namespace baton::link::stream {
namespace {

namespace fs = std::filesystem;

using Bio = std::unique_ptr<BIO, OpenSslFree<&OpenSsl::BIO_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, OpenSslFree<&OpenSsl::X509_STORE_CTX_free>>;
using RevocationList = std::unique_ptr<X509_CRL, OpenSslFree<&OpenSsl::X509_CRL_free>>;

constexpr const char* kRevoked = "identity_ca.crl.pem";

std::string path(const std::string& directory, const char* file) { return fs::path(directory) / file; }

/// The files with rules of SROS 2 in an enclave, in words. Links do not read them.
std::string not_read(const std::string& directory) {
  std::string out;
  for (const char* file : {"permissions.p7s", "governance.p7s"}) {
    std::error_code ignored;
    if (fs::exists(path(directory, file), ignored)) out += (out.empty() ? "" : ", ") + std::string(file);
  }
  return out;
}

/// The revocation lists of a file, of one CA or several, to `store`, which then asks for a list of the CA that has signed a certificate.
bool add_lists(X509_STORE* store, const std::string& file) {
  const OpenSsl& o = openssl();
  const Bio in(o.BIO_new_file(file.c_str(), "r"));
  if (!in) return false;
  std::size_t count = 0;
  for (;; ++count) {
    const RevocationList list(o.PEM_read_bio_X509_CRL(in.get(), nullptr, nullptr, nullptr));
    if (!list) break;
    if (o.X509_STORE_add_crl(store, list.get()) != 1) return false;
  }
  const unsigned long last = o.ERR_peek_error();  // the end of the file, or bytes that are none
  if (count == 0 || (ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) != PEM_R_NO_START_LINE)) return false;
  o.ERR_clear_error();
  return o.X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) == 1;
}

/// Whether a code of X509_verify_cert() says that the revocation list serves for no certificate.
bool is_useless_list(long code) {
  switch (code) {
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
      return true;
    default:
      return false;
  }
}

}  // namespace

const OpenSsl& openssl() { return **load_openssl(); }

std::string openssl_reason() {
  const unsigned long code = openssl().ERR_peek_error();
  if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
  const char* text = openssl().ERR_reason_error_string(code);
  return text != nullptr ? text : "error " + std::to_string(code);
}

Subject subject_of(X509* certificate) {
  const OpenSsl& o = openssl();
  X509_NAME* const name = o.X509_get_subject_name(certificate);
  Subject out;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  o.X509_NAME_digest(name, o.EVP_sha256(), digest.data(), &size);
  for (std::size_t i = 0; i < out.digest.size(); ++i) out.digest[i] = digest[i];
  const Bio text(o.BIO_new(o.BIO_s_mem()));
  if (!text || o.X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_RFC2253) < 0) return out;
  out.name.resize(o.BIO_ctrl_pending(text.get()));
  o.BIO_read(text.get(), out.name.data(), static_cast<int>(out.name.size()));
  return out;
}

std::string words_of_verification(long code) {
  const std::string reason = openssl().X509_verify_cert_error_string(code);
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is refused: " + reason + "; are the clocks right?";
    case X509_V_ERR_CERT_REVOKED:
      return std::string("its certificate is refused: ") + kRevoked + " of this host revokes it";
    default:
      if (is_useless_list(code)) {
        return std::string("its certificate is refused, because ") + kRevoked +
               " of this host does not serve: " + reason + "; bring a new list, or remove the file";
      }
      return "this host's identity CA has not signed its certificate (" + reason + ")";
  }
}

int TlsContext::verify(X509* certificate, STACK_OF(X509) * chain) const {
  const OpenSsl& o = openssl();
  const Verification verification(o.X509_STORE_CTX_new());
  if (!verification ||
      o.X509_STORE_CTX_init(verification.get(), o.SSL_CTX_get_cert_store(context_.get()), certificate, chain) != 1)
    return X509_V_ERR_OUT_OF_MEM;
  if (o.X509_verify_cert(verification.get()) == 1) return X509_V_OK;
  return o.X509_STORE_CTX_get_error(verification.get());
}

std::string TlsContext::objection(X509* certificate, STACK_OF(X509) * chain) const {
  const int code = verify(certificate, chain);
  return code == X509_V_OK ? std::string() : words_of_verification(code);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::read(const std::string& directory, const SaySecurity& say,
                                                           OwnRefused own_refused) {
  const OpenSsl& o = openssl();
  const std::string own = path(directory, "cert.pem"), key = path(directory, "key.pem"),
                    authority = path(directory, "identity_ca.cert.pem"), revoked = path(directory, kRevoked);
  const auto fault = [](const std::string& text) { return Error{Errc::invalid_argument, "--security: " + text}; };
  std::error_code ignored;
  for (const std::string& file : {own, key, authority}) {
    if (!fs::is_regular_file(file, ignored)) return fault("there is no file '" + file + "'");
  }
  o.ERR_clear_error();
  const std::shared_ptr<TlsContext> out(new TlsContext);
  out->context_.reset(o.SSL_CTX_new(o.TLS_method()));
  SSL_CTX* const context = out->get();
  if (context == nullptr || o.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, nullptr) != 1)
    return Error{Errc::system, "OpenSSL: " + openssl_reason()};
  o.SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  o.SSL_CTX_set_num_tickets(context, 0);  // each connection proves its ends anew
  o.SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  if (o.SSL_CTX_load_verify_file(context, authority.c_str()) != 1)
    return fault("cannot use the certificate '" + authority + "': " + openssl_reason());
  if (o.SSL_CTX_use_certificate_chain_file(context, own.c_str()) != 1)
    return fault("cannot use the certificate '" + own + "': " + openssl_reason());
  if (o.SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fault("cannot use '" + key + "' as private key of '" + own + "', without a password: " + openssl_reason());
  if (fs::exists(revoked, ignored) && !add_lists(o.SSL_CTX_get_cert_store(context), revoked))
    return fault("cannot use the revocation list '" + revoked + "' (PEM): " + openssl_reason());
  if ((fs::status(key, ignored).permissions() & fs::perms::others_read) != fs::perms::none)
    say(true, "every user of this machine can read the private key '" + key + "'; chmod 600 keeps it secret");
  if (const std::string rules = not_read(directory); !rules.empty()) {
    say(true, "--security: the rules in '" + directory + "' (" + rules + ") do not count between links: a host that " +
                  "is let in can read and publish all topics that travel; so let in only hosts that may");
  }
  // The other hosts would refuse it.
  X509* const certificate = o.SSL_CTX_get0_certificate(context);
  STACK_OF(X509)* chain = nullptr;
  o.SSL_CTX_ctrl(context, SSL_CTRL_GET_CHAIN_CERTS, 0, static_cast<void*>(&chain));
  if (const int code = out->verify(certificate, chain); code != X509_V_OK) {
    const std::string text = "the certificate '" + own + "' is refused by '" +
                             (code == X509_V_ERR_CERT_REVOKED || is_useless_list(code) ? revoked : authority) +
                             "': " + o.X509_verify_cert_error_string(code);
    if (own_refused == OwnRefused::kError || is_useless_list(code)) return fault(text);
    say(true, "--security: " + text + "; other hosts may refuse this one");
  }
  out->own_ = subject_of(certificate);
  if (o.X509_NAME_entry_count(o.X509_get_subject_name(certificate)) < 1)
    return fault("the certificate '" + own + "' has no subject, by which other hosts know this one");
  return std::shared_ptr<const TlsContext>(out);
}

TlsFiles::Stamps TlsFiles::stamps_of(const std::string& directory) {
  Stamps out;
  for (const char* file : {"cert.pem", "key.pem", "identity_ca.cert.pem", kRevoked}) {
    std::error_code ignored;
    const fs::file_time_type changed = fs::last_write_time(path(directory, file), ignored);
    out.emplace_back(changed, fs::file_size(path(directory, file), ignored));
  }
  return out;
}

bool TlsFiles::refresh() {
  Stamps stamps = stamps_of(directory_);
  {
    const os::Lock lock(mutex_);
    if (stamps == stamps_) return false;
    stamps_ = std::move(stamps);
  }
  const auto before = context();
  // A certificate of this host that does not verify any more must not keep a new revocation list from being used against others.
  Result<std::shared_ptr<const TlsContext>> read = TlsContext::read(directory_, say_, TlsContext::OwnRefused::kWarning);
  if (!read) {
    say_(true, read.error().message + "; the files before stay in use");
    return false;
  }
  if ((*read)->own().digest != before->own().digest) {
    say_(true, "--security: the certificate in '" + directory_ + "' is of '" + (*read)->own().name +
                   "' now, and was of '" + before->own().name + "'; start the link again to use it");
    return false;
  }
  {
    const os::Lock lock(mutex_);
    context_ = std::move(*read);
  }
  say_(false, "the files in '" + directory_ + "' have changed, and are in use");
  return true;
}

}  // namespace baton::link::stream
