// SPDX-License-Identifier: Apache-2.0
// Engines with security, and those with which they do not speak.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <fstream>
#include <optional>

#include "baton/os/tcp_socket.hpp"
#include "host_network_test_support.hpp"
#include "security.hpp"

namespace baton::link {
namespace {

using stream::Authority;
using stream::Enclave;
using stream::kDay;

/// Has no security, or that of another folder.
std::function<void(HostNetworkOptions&)> with(const std::string& directory) {
  return [directory](HostNetworkOptions& options) { options.security = directory; };
}
const auto without = with("");

/// A TLS client that is no link.
class Client {
 public:
  explicit Client(std::uint16_t port, const std::string& directory = {}, int version = TLS1_3_VERSION)
      : fd_(connect_to(port)), context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
    SSL_CTX_set_max_proto_version(context_, version);
    if (!directory.empty()) {
      SSL_CTX_use_certificate_file(context_, (directory + "/cert.pem").c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(context_, (directory + "/key.pem").c_str(), SSL_FILETYPE_PEM);
    }
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, fd_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ::close(fd_);
  }
  bool connected() { return SSL_connect(ssl_) == 1; }
  /// Whether the other end accepts this one: it answers with a hello.
  bool greeted(const std::string& hello) {
    if (!connected()) return false;
    return answer(hello).has_value();
  }
  /// The hello that answers this one, if the other end accepts the certificate.
  std::optional<stream::HostHello> answer(const std::string& hello) {
    std::array<std::byte, stream::kHelloBytes> bytes;
    if (SSL_write(ssl_, hello.data(), static_cast<int>(hello.size())) <= 0) return std::nullopt;
    for (std::size_t have = 0; have < bytes.size();) {
      const int got = SSL_read(ssl_, bytes.data() + have, static_cast<int>(bytes.size() - have));
      if (got <= 0) return std::nullopt;
      have += static_cast<std::size_t>(got);
    }
    const Result<stream::HostHello> read = stream::decode_hello(bytes.data());
    return read ? std::optional(*read) : std::nullopt;
  }

 private:
  const int fd_;
  SSL_CTX* const context_;
  SSL* ssl_;
};

/// A hello of domain kDomain.
std::string hello() {
  std::string out(128, '\0');
  std::memcpy(out.data(), "btnlink\n\3\0\0\0M\0\0\0me", 18);
  return out;
}

TEST(Security, AHostWithoutItAndOneWithItRefuseEachOtherInWords) {
  Host a(1), b(2, {a.address()}, kDomain, without);
  EXPECT_TRUE(a.says("it speaks no TLS; a link needs --security, as this host has it"));
  EXPECT_TRUE(b.says("it wants TLS; this host needs --security, too"));
  Host c(3, {b.address()});
  EXPECT_TRUE(b.says("a program at 127.0.0.1 is not connected: it wants TLS; this host needs --security, too"));
  EXPECT_TRUE(c.says("it ends the connection during the TLS handshake; has it --security, too?"));
  for (const Host* host : {&a, &b, &c}) EXPECT_TRUE(host->network->hosts().empty());
  for (const Host* host : {&a, &b, &c}) {
    ASSERT_TRUE(wait_until([&] { return !host->network->refused().empty(); }));
    EXPECT_NE(host->network->refused()[0].why.find("--security"), std::string::npos);
  }
}

TEST(Security, AHostOfAnotherCaIsRefusedInWordsOnBothSides) {
  const Authority other("others");
  const Enclave enclave(other, "host2");
  Host a(1), b(2, {a.address()}, kDomain, with(enclave.directory()));
  EXPECT_TRUE(a.says("it refuses this host with the TLS alert 'unknown CA'"));
  EXPECT_TRUE(b.says("this host's identity CA has not signed its certificate"));
  EXPECT_TRUE(a.network->hosts().empty());
  EXPECT_TRUE(b.network->hosts().empty());
  ASSERT_TRUE(wait_until([&] { return !a.network->refused().empty() && !b.network->refused().empty(); }));
  EXPECT_EQ(a.network->refused()[0].why, "it refuses this host with the TLS alert 'unknown CA'");
  EXPECT_NE(b.network->refused()[0].why.find("this host's identity CA has not signed"), std::string::npos);
  EXPECT_EQ(b.network->refused()[0].name, "") << "a name that no certificate has proved";
}

TEST(Security, AClientMustShowACertificateThatIsValidAndSignedByTheCa) {
  const Authority authority("ours"), namesake("ours");
  const Enclave own(authority, "host1"), good(authority, "client"), late(authority, "late", -kDay),
      forged(namesake, "host1");
  Host a(1, {}, kDomain, with(own.directory()));
  EXPECT_TRUE(Client(a.options.port, good.directory()).greeted(hello())) << "otherwise the rest would prove nothing";
  EXPECT_FALSE(Client(a.options.port).greeted(hello()));
  EXPECT_TRUE(a.says("peer did not return a certificate"));
  EXPECT_FALSE(Client(a.options.port, late.directory()).greeted(hello()));
  EXPECT_TRUE(a.says("its certificate is refused: certificate has expired"));
  EXPECT_FALSE(Client(a.options.port, forged.directory()).greeted(hello()));
  EXPECT_TRUE(a.says("this host's identity CA has not signed its certificate"));
  EXPECT_FALSE(Client(a.options.port, good.directory(), TLS1_2_VERSION).greeted(hello()));
  EXPECT_TRUE(a.says("unsupported protocol"));
  EXPECT_TRUE(a.network->hosts().empty());
}

/// Accepts one TLS connection as a host with the certificate of `directory` does, which knows the CA of `authority`. What comes of it.
std::string accept_once(int listening, const std::string& directory, const std::string& authority) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate_file(context, (directory + "/cert.pem").c_str(), SSL_FILETYPE_PEM);
  SSL_CTX_use_PrivateKey_file(context, (directory + "/key.pem").c_str(), SSL_FILETYPE_PEM);
  SSL_CTX_load_verify_file(context, (authority + "/identity_ca.cert.pem").c_str());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  const int fd = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  SSL* const ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  const bool accepted = SSL_accept(ssl) == 1;
  const std::string out = accepted ? "accepted" : ERR_reason_error_string(ERR_peek_last_error());
  SSL_free(ssl);
  SSL_CTX_free(context);
  ::close(fd);
  return out;
}

TEST(Security, AHostThatIsCalledMustShowAValidCertificateAndMayRefuseTheCaller) {
  const Authority authority("ours"), other("others");
  const Enclave own(authority, "host1"), late(authority, "late", -kDay), foreign(other, "foreign");
  const int listening = listen_on_loopback(0);
  Host a(1, {"127.0.0.1:" + std::to_string(port_of(listening))}, kDomain, with(own.directory()));
  EXPECT_EQ(accept_once(listening, late.directory(), own.directory()), "sslv3 alert certificate expired");
  EXPECT_TRUE(a.says("is not connected: its certificate is refused: certificate has expired; are the clocks right?"));
  // In TLS 1.3 the caller is refused after its handshake has ended.
  EXPECT_EQ(accept_once(listening, own.directory(), foreign.directory()), "certificate verify failed");
  EXPECT_TRUE(a.says("is not connected: it refuses this host with the TLS alert 'unknown CA'"));
  ::close(listening);
}

TEST(Security, AHostMaySayOnlyIdsOfItsOwnCertificate) {
  const Authority authority("ours");
  const Enclave own(authority, "host1"), other(authority, "host2"), stranger(authority, "liar");
  Host a(1, {}, kDomain, with(own.directory())), b(2, {a.address()}, kDomain, with(other.directory()));
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1); }));
  EXPECT_EQ(a.network->hosts()[0].certificate, "CN=host2");
  stream::HostHello said;
  said.domain = kDomain;
  said.name = "host2";
  said.host = b.id();
  const auto text = [](const stream::HostHello& each) {
    const auto bytes = stream::encode(each);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  Client liar(a.options.port, stranger.directory()), honest(a.options.port, other.directory());
  ASSERT_TRUE(liar.connected());
  const auto refused = liar.answer(text(said));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->session, 0U);
  EXPECT_EQ(refused->refusal, stream::Refusal::kCertificate);
  EXPECT_TRUE(a.says("is not connected: its id is not one of its certificate, of 'CN=liar'"));
  said.host[15] ^= 1;  // another run of that host
  ASSERT_TRUE(honest.connected());
  const auto accepted = honest.answer(text(said));
  ASSERT_TRUE(accepted);
  EXPECT_NE(accepted->session, 0U);
  EXPECT_TRUE(a.connected_to(1));
}

TEST(Security, NewFilesAreUsedWithoutAStartAndARevokedHostIsSentAway) {
  const Authority authority("ours");
  Enclave first(authority, "host1"), second(authority, "host2");
  first.revoke(authority, {});
  Host a(1, {}, kDomain, with(first.directory())), b(2, {a.address()}, kDomain, with(second.directory()));
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const Gid id = a.id();
  first.renew(authority);
  EXPECT_TRUE(a.says("have changed, and are in use"));
  EXPECT_TRUE(a.connected_to(1));
  first.revoke(authority, {&second});
  EXPECT_TRUE(
      a.says("the connection to 'CN=host2' at 127.0.0.1 is ended: its certificate is refused: identity_ca.crl.pem"));
  EXPECT_TRUE(b.says("it refuses this host with the TLS alert 'certificate revoked'"));
  EXPECT_EQ(a.network->refused().at(0).why, "its certificate is refused: identity_ca.crl.pem of this host revokes it");
  second.renew(authority);  // which is not on the list
  EXPECT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  EXPECT_EQ(a.id(), id);
}

TEST(Security, ANewListIsUsedThatRevokesThisHostToo) {
  const Authority authority("ours");
  const Enclave first(authority, "host1"), second(authority, "host2");
  Host a(1, {}, kDomain, with(first.directory())), b(2, {a.address()}, kDomain, with(second.directory()));
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  first.revoke(authority, {&first, &second});
  EXPECT_TRUE(a.says("cert.pem' is refused by '" + first.directory() + "/identity_ca.crl.pem': certificate revoked"));
  EXPECT_TRUE(a.says("the connection to 'CN=host2' at 127.0.0.1 is ended: its certificate is refused"));
  EXPECT_TRUE(wait_until([&] { return a.connected_to(0); }));
}

TEST(Security, FilesThatCannotBeUsedAnyMoreAreSaidAndThoseBeforeStayInUse) {
  const Authority authority("ours");
  const Enclave first(authority, "host1"), second(authority, "host2"), third(authority, "host3");
  Host a(1, {}, kDomain, with(first.directory())), b(2, {a.address()}, kDomain, with(second.directory()));
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto copy = [&](const char* file) {
    std::filesystem::copy_file(third.directory() + "/" + file, first.directory() + "/" + file,
                               std::filesystem::copy_options::overwrite_existing);
  };
  copy("cert.pem");
  EXPECT_TRUE(a.says("the files before stay in use"));
  copy("key.pem");
  EXPECT_TRUE(a.says("is of 'CN=host3' now, and was of 'CN=host1'; start the link again to use it"));
  first.revoke(authority, {}, -kDay);
  EXPECT_TRUE(a.says("CRL has expired; the files before stay in use"));
  EXPECT_TRUE(a.connected_to(1));
  Host c(3, {a.address()}, kDomain, with(third.directory()));
  EXPECT_TRUE(wait_until([&] { return a.connected_to(2); }));
}

TEST(Security, StrangersInTheMiddleOfAHandshakeDoNotDisturbHosts) {
  Host a(1);
  std::vector<int> held;
  for (int i = 0; i < 100; ++i) {
    const int fd = connect_to(a.options.port);
    ASSERT_GE(fd, 0);
    // Nothing, a record that does not end, or a ClientHello that promises 16 MB.
    const std::string bytes = i % 3 == 0   ? ""
                              : i % 3 == 1 ? std::string("\x16\x03\x01\x40\x00\x01", 6)
                                           : std::string("\x16\x03\x01\x00\x05\x01\xff\xff\xff\x03", 10);
    ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    held.push_back(fd);
  }
  Host b(2, {a.address()});
  EXPECT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  EXPECT_EQ(a.network->hosts().size(), 1U);
  // Each is closed, by the limit of time or of number.
  for (const int fd : held) {
    const timeval limit{30, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char byte = 0;
    ssize_t got = 0;
    do {
      got = ::recv(fd, &byte, 1, 0);
    } while (got > 0);
    ASSERT_FALSE(got < 0 && errno == EAGAIN);
    ::close(fd);
  }
}

TEST(Security, FilesThatCannotBeUsedAreErrorsThatNameThem) {
  const Authority authority("ours"), other("others");
  const Enclave good(authority, "host1"), foreign(other, "host2"), late(authority, "late", -kDay);
  HostNetworkOptions options;
  options.interface = "127.0.0.1";
  options.port = free_port();
  std::string warned;
  options.say = [&](About, transport::Diagnostic::Level, Errc, std::string text) { warned += text; };
  const auto refused = [&](const std::string& directory, const std::string& words) {
    options.security = directory;
    const auto made = make_host_network(options, std::make_shared<Ears>());
    ASSERT_FALSE(made) << words;
    EXPECT_EQ(made.error().code, Errc::invalid_argument);
    EXPECT_NE(made.error().message.find(words), std::string::npos) << made.error().message;
  };
  const auto copy = [](const std::string& file, const std::string& to) {
    std::filesystem::copy_file(file, to, std::filesystem::copy_options::overwrite_existing);
  };
  refused("/nowhere", "there is no file '/nowhere/cert.pem'");
  refused(late.directory(),
          "cert.pem' is refused by '" + late.directory() + "/identity_ca.cert.pem': certificate has expired");
  const Enclave mixed(authority, "host3");
  copy(foreign.directory() + "/identity_ca.cert.pem", mixed.directory() + "/identity_ca.cert.pem");
  refused(mixed.directory(), "unable to get local issuer certificate");
  copy(foreign.directory() + "/key.pem", mixed.directory() + "/key.pem");
  refused(mixed.directory(), "key.pem' as private key of");
  copy(mixed.directory() + "/key.pem", mixed.directory() + "/cert.pem");
  refused(mixed.directory(), "cannot use the certificate '" + mixed.directory() + "/cert.pem'");
  std::filesystem::remove(mixed.directory() + "/identity_ca.cert.pem");
  refused(mixed.directory(), "there is no file '" + mixed.directory() + "/identity_ca.cert.pem'");
  EXPECT_EQ(warned, "");
  const Enclave ruled(authority, "host4");
  std::ofstream(ruled.directory() + "/permissions.p7s") << "rules";
  options.security = ruled.directory();
  EXPECT_TRUE(make_host_network(options, std::make_shared<Ears>()));
  EXPECT_NE(warned.find("'" + ruled.directory() + "' (permissions.p7s) do not count between links"), std::string::npos)
      << warned;
  warned.clear();
  ::chmod((good.directory() + "/key.pem").c_str(), 0644);
  options.security = good.directory();
  EXPECT_TRUE(make_host_network(options, std::make_shared<Ears>()));
  EXPECT_NE(warned.find("every user of this machine can read the private key"), std::string::npos) << warned;
}

/// The two ends of a connection, as sockets of a link.
std::pair<std::unique_ptr<os::TcpSocket>, std::unique_ptr<os::TcpSocket>> connected_sockets() {
  os::TcpPlace place;
  place.interface = "127.0.0.1";
  place.port = free_port();
  auto listening = os::TcpListener::open(place);
  auto never = [](void*) { return false; };
  auto called = os::tcp_connect("127.0.0.1", place.port, {}, 10s, stream::kUnsentBytes, never, nullptr);
  auto taken = listening->accept(10s, stream::kUnsentBytes);
  return {std::move(*called), std::move(*taken)};
}

// As refresh_security() does, on another thread. The thread sanitizer and helgrind see whether the two share OpenSSL's object.
TEST(Security, AWireIsAskedForItsObjectionWhileItsHandshakeRuns) {
  const Authority authority("ours");
  const Enclave caller(authority, "host1"), taker(authority, "host2");
  const auto quiet = [](bool, const std::string&) {};
  const auto calling = *stream::make_security(caller.directory(), quiet);
  const auto taking = *stream::make_security(taker.directory(), quiet);
  for (int i = 0; i < 20; ++i) {
    auto [called, taken] = connected_sockets();
    const auto one = calling->wire(std::move(called), true), two = taking->wire(std::move(taken), false);
    std::atomic<bool> opened{false};
    std::thread opens([&] { EXPECT_TRUE(one->open(10s)); });
    std::thread accepts([&] {
      EXPECT_TRUE(two->open(10s));
      opened = true;
    });
    while (!opened) EXPECT_EQ(one->objection() + two->objection(), "");
    opens.join();
    accepts.join();
    EXPECT_EQ(two->certificate(), "CN=host1");
  }
}

TEST(Security, TheKeysOfAConnectionChangeAndNothingIsLost) {
  Host a(1), b(2, {a.address()});
  const auto shelf = std::make_shared<Shelf>();
  const auto receiver = *a.network->open_receiver("channel", shelf);
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto source = std::make_shared<Queue>();
  const auto flow = b.network->open_flow(a.id(), "channel", source);
  for (std::uint64_t i = 1; i <= 50; ++i) source->add(i, 1'500'000);  // a key is good for 64 MiB
  flow->wake();
  ASSERT_TRUE(wait_until([&] { return flow->idle(); }));
  EXPECT_EQ(shelf->numbers(), up_to(50));
  EXPECT_FALSE(shelf->damaged);
  EXPECT_EQ(a.ears->breaks, 0);
}

}  // namespace
}  // namespace baton::link
