// SPDX-License-Identifier: Apache-2.0
// The handles of transport.hpp: each forwards to its implementation. An endpoint ends with its handle, though the
// participant and samples keep parts of the implementation.
#include "participant.hpp"
#include "reader.hpp"
#include "writer.hpp"

namespace baton::transport {

Participant::Participant(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Participant::~Participant() = default;
Result<std::shared_ptr<Participant>> Participant::join(const ParticipantOptions& options) {
  return Impl::join(options);
}
Result<std::shared_ptr<Writer>> Participant::create_writer(const WriterOptions& options) {
  return impl_->create_writer({shared_from_this(), impl_.get()}, options);
}
Result<std::shared_ptr<Reader>> Participant::create_reader(const ReaderOptions& options) {
  return impl_->create_reader({shared_from_this(), impl_.get()}, options);
}
void Participant::add_node(const std::string& name, const std::string& enclave) { impl_->add_node({name, enclave}); }
void Participant::remove_node(const std::string& name, const std::string& enclave) {
  impl_->remove_node({name, enclave});
}
std::vector<EndpointInfo> Participant::endpoints() const { return impl_->endpoints(); }
std::vector<EndpointInfo> Participant::endpoints_of(const std::string& topic) const {
  return impl_->endpoints_of(topic);
}
std::vector<TopicInfo> Participant::topics(const std::vector<std::string>& nodes,
                                           const std::function<bool(const std::string&)>& wanted) const {
  return impl_->topics(nodes, wanted);
}
std::vector<std::string> Participant::nodes_of_endpoints() const { return impl_->nodes_of_endpoints(); }
std::vector<NodeInfo> Participant::nodes() const { return impl_->nodes(); }
std::size_t Participant::unmet_count() const { return impl_->unmet_count(); }
std::vector<std::int32_t> Participant::unmet_pids() const { return impl_->unmet_pids(); }
std::uint64_t Participant::graph_version() const { return impl_->graph_version(); }
void Participant::trigger_on_graph_change(const std::shared_ptr<GuardCondition>& guard) {
  impl_->trigger_on_graph_change(guard);
}
Result<std::uint64_t> Participant::wait_graph_change(std::uint64_t seen, os::Nanoseconds timeout) {
  return impl_->wait_graph_change(seen, timeout);
}
Participant::MemoryAccount Participant::memory_account() const { return impl_->memory_account(); }
Result<Report> Participant::report(os::Nanoseconds timeout) { return impl_->report(timeout); }
Result<std::vector<Holding>> Participant::holdings(os::Nanoseconds timeout) {
  Result<Report> all = impl_->report(timeout);
  if (!all) return all.error();
  return std::move(all->holdings);
}
Result<TypeInfo> Participant::type_of(const Gid& endpoint, os::Nanoseconds timeout) {
  return impl_->type_of(endpoint, timeout);
}
int Participant::domain() const { return impl_->domain(); }

// Loans and publish() are in writer.cpp.
Result<void> Writer::keep(const memory::Chunk& chunk) { return impl().keep(chunk); }
Result<std::uint64_t> Writer::publish_to(const memory::Chunk& kept, const Gid& reader) {
  return impl().publish_to(kept, reader);
}

Writer::Unread Writer::unread(const Gid& reader) { return impl().unread(reader); }
void Writer::drop(const memory::Chunk& kept) noexcept { impl().drop(kept); }
std::uint32_t Writer::matched() const { return impl().matched(); }
std::vector<Gid> Writer::readers_of(std::uint64_t sequence) const { return impl().readers_of(sequence); }
bool Writer::hand_newest_to(const Gid& reader) { return impl().hand_newest_to(reader); }
std::vector<Gid> Writer::matched_readers() const { return impl().matched_readers(); }
Statuses Writer::statuses() const { return impl().statuses(); }
void Writer::on_event(std::function<void(Event)> callback) { impl().on_event(std::move(callback)); }
void Writer::assert_liveliness() { impl().assert_liveliness(); }
Result<void> Writer::wait_for_all_acked(os::Nanoseconds timeout) { return impl().wait_for_all_acked(timeout); }
Result<void> Writer::wait_for_queues(os::Nanoseconds timeout) { return impl().wait_for_queues(timeout); }
const Gid& Writer::gid() const { return impl().gid(); }
memory::Pool::Account Writer::memory_account() const { return impl().memory_account(); }
void Writer::trim() { impl().trim(); }

Reader::~Reader() { impl_->close(); }
void Reader::expel(const Gid& publisher, const std::string& what) noexcept { impl_->expel(publisher, what); }
std::size_t Reader::unread() const { return impl_->unread(); }
bool Reader::awaits_memory(const Gid& publisher) const { return impl_->awaits_memory(publisher); }
std::uint32_t Reader::matched() const { return impl_->matched(); }
std::map<Gid, bool> Reader::publishers() const { return impl_->publishers(); }
std::vector<EndpointInfo> Reader::gone_publishers() const { return impl_->gone_publishers(); }
void Reader::stop_matching() noexcept { impl_->stop_matching(); }
void Reader::continue_after(const Reader& before) { impl_->continue_after(*before.impl_); }
Statuses Reader::statuses() const { return impl_->statuses(); }
Losses Reader::losses() const { return impl_->losses(); }
std::int64_t Reader::newest_ns() const { return impl_->newest_ns(); }
std::int64_t Reader::sign_of_life_ns(const Gid& publisher) const { return impl_->sign_of_life_ns(publisher); }
void Reader::on_event(std::function<void(Event)> callback) { impl_->on_event(std::move(callback)); }
const Gid& Reader::gid() const { return impl_->gid(); }
Result<int> Reader::pollable_fd() { return impl_->pollable_fd(); }

}  // namespace baton::transport
