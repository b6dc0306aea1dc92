// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, as `ros2 security create_enclave` makes them.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace baton::link::stream {

constexpr long kDay = 24 * 60 * 60;

struct Key {
  EVP_PKEY* pkey = EVP_EC_gen("P-256");
  Key() = default;
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { EVP_PKEY_free(pkey); }
};

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

/// A certificate of `name` that `issuer` has signed, from ten days ago to `until_s` from now. Without an issuer: its own, a CA's.
inline Certificate make_certificate(const std::string& name, const Key& key, X509* issuer, const Key& issuer_key,
                                    long until_s) {
  Certificate out(X509_new(), &X509_free);
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), 1 + std::rand());
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -10 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), until_s);
  X509_set_pubkey(out.get(), key.pkey);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(out.get(), X509_get_subject_name(issuer != nullptr ? issuer : out.get()));
  X509_EXTENSION* const constraints = X509V3_EXT_conf_nid(
      nullptr, nullptr, NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE,pathlen:1" : "critical,CA:FALSE");
  X509_add_ext(out.get(), constraints, -1);
  X509_EXTENSION_free(constraints);
  X509_sign(out.get(), issuer_key.pkey, EVP_sha256());
  return out;
}

/// An identity CA.
class Authority {
 public:
  explicit Authority(const std::string& name, long until_s = kDay)
      : certificate(make_certificate(name, key, nullptr, key, until_s)) {}
  Key key;
  Certificate certificate;
};

/// A folder with the three files, removed at the end.
class Enclave {
 public:
  Enclave(const Authority& authority, const std::string& name, long until_s = kDay)
      : name_(name), certificate_(nullptr, &X509_free) {
    char made[] = "/tmp/baton-enclave-XXXXXX";
    directory_ = ::mkdtemp(made);
    renew(authority, until_s);
  }
  /// Another key and certificate of the same name.
  void renew(const Authority& authority, long until_s = kDay) {
    const Key key;
    certificate_ = make_certificate(name_, key, authority.certificate.get(), authority.key, until_s);
    file("cert.pem", [&](std::FILE* out) { PEM_write_X509(out, certificate_.get()); });
    file("identity_ca.cert.pem", [&](std::FILE* out) { PEM_write_X509(out, authority.certificate.get()); });
    file("key.pem", [&](std::FILE* out) {
      PEM_write_PrivateKey(out, key.pkey, nullptr, nullptr, 0, nullptr, nullptr);
      ::fchmod(::fileno(out), 0600);
    });
  }
  /// The authority's list of revoked certificates: those of `revoked`.
  void revoke(const Authority& authority, const std::vector<const Enclave*>& revoked, long until_s = kDay) const {
    const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> list(X509_CRL_new(), &X509_CRL_free);
    const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> last(X509_gmtime_adj(nullptr, -10 * kDay),
                                                                     &ASN1_TIME_free),
        next(X509_gmtime_adj(nullptr, until_s), &ASN1_TIME_free);
    X509_CRL_set_version(list.get(), 1);
    X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(authority.certificate.get()));
    X509_CRL_set1_lastUpdate(list.get(), last.get());
    X509_CRL_set1_nextUpdate(list.get(), next.get());
    for (const Enclave* each : revoked) {
      X509_REVOKED* const entry = X509_REVOKED_new();
      X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(each->certificate_.get()));
      X509_REVOKED_set_revocationDate(entry, last.get());
      X509_CRL_add0_revoked(list.get(), entry);
    }
    X509_CRL_sort(list.get());
    X509_CRL_sign(list.get(), authority.key.pkey, EVP_sha256());
    file("identity_ca.crl.pem", [&](std::FILE* out) { PEM_write_X509_CRL(out, list.get()); });
  }
  Enclave(const Enclave&) = delete;
  Enclave& operator=(const Enclave&) = delete;
  ~Enclave() { std::filesystem::remove_all(directory_); }
  const std::string& directory() const { return directory_; }

 private:
  /// Replaces it as an operator should: at once, and with another time than before.
  template <class Write>
  void file(const char* name, const Write& write) const {
    const std::string path = directory_ + "/" + name, made = path + ".new";
    std::FILE* const out = std::fopen(made.c_str(), "w");
    write(out);
    std::fclose(out);
    std::filesystem::rename(made, path);
  }
  const std::string name_;
  Certificate certificate_;
  std::string directory_;
};

}  // namespace baton::link::stream
