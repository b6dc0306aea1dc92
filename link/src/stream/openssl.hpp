// SPDX-License-Identifier: Apache-2.0
// The functions of OpenSSL 3 that the link calls. The system's libssl.so.3 is loaded when a link wants security, so neither the library nor a
// wheel needs OpenSSL, and each host's own updates of it count. The headers of OpenSSL serve the compiler alone.
// Thread rules: any thread; what load_openssl() returns lives as long as the process.
#pragma once

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "baton/os/result.hpp"

namespace baton::link::stream {

// Members have the names of the functions. What OpenSSL's headers make a macro is called by what the macro stands for.
#define BATON_OPENSSL_FUNCTIONS(F)      \
  F(BIO_ctrl_pending)                   \
  F(BIO_free)                           \
  F(BIO_new)                            \
  F(BIO_new_file)                       \
  F(BIO_read)                           \
  F(BIO_s_mem)                          \
  F(BIO_write)                          \
  F(ERR_clear_error)                    \
  F(ERR_peek_error)                     \
  F(ERR_reason_error_string)            \
  F(EVP_sha256)                         \
  F(PEM_read_bio_X509_CRL)              \
  F(SSL_CTX_ctrl)                       \
  F(SSL_CTX_free)                       \
  F(SSL_CTX_get0_certificate)           \
  F(SSL_CTX_get_cert_store)             \
  F(SSL_CTX_load_verify_file)           \
  F(SSL_CTX_new)                        \
  F(SSL_CTX_set_default_passwd_cb)      \
  F(SSL_CTX_set_num_tickets)            \
  F(SSL_CTX_set_verify)                 \
  F(SSL_CTX_use_PrivateKey_file)        \
  F(SSL_CTX_use_certificate_chain_file) \
  F(SSL_alert_desc_string_long)         \
  F(SSL_do_handshake)                   \
  F(SSL_free)                           \
  F(SSL_get0_peer_certificate)          \
  F(SSL_get_error)                      \
  F(SSL_get_peer_cert_chain)            \
  F(SSL_get_rbio)                       \
  F(SSL_get_verify_result)              \
  F(SSL_get_wbio)                       \
  F(SSL_key_update)                     \
  F(SSL_new)                            \
  F(SSL_peek_ex)                        \
  F(SSL_read_ex)                        \
  F(SSL_set_accept_state)               \
  F(SSL_set_bio)                        \
  F(SSL_set_connect_state)              \
  F(SSL_write_ex)                       \
  F(TLS_method)                         \
  F(X509_CRL_free)                      \
  F(X509_NAME_digest)                   \
  F(X509_NAME_entry_count)              \
  F(X509_NAME_print_ex)                 \
  F(X509_STORE_CTX_free)                \
  F(X509_STORE_CTX_get_error)           \
  F(X509_STORE_CTX_init)                \
  F(X509_STORE_CTX_new)                 \
  F(X509_STORE_add_crl)                 \
  F(X509_STORE_set_flags)               \
  F(X509_get_subject_name)              \
  F(X509_verify_cert)                   \
  F(X509_verify_cert_error_string)

struct OpenSsl {
#define BATON_OPENSSL_MEMBER(name) decltype(&::name) name = nullptr;
  BATON_OPENSSL_FUNCTIONS(BATON_OPENSSL_MEMBER)
#undef BATON_OPENSSL_MEMBER
};

/// Loads libssl.so.3 at the first call. Error unsupported: the system has no OpenSSL 3, or lacks a function; the text says what to install.
Result<const OpenSsl*> load_openssl();

}  // namespace baton::link::stream
