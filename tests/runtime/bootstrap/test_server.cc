#include "tests/runtime/bootstrap/test_server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "absl/strings/str_cat.h"

namespace weft {

TestServer::TestServer(Rank size)
    : job_(size, /*nodes=*/1, /*memories=*/1, server_),
      server_(NodeMap::Blocks(size, 1), std::nullopt, job_, *this),
      links_(size),
      sockets_(size),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  for (Rank rank = 0; rank < size; ++rank) {
    auto [own, theirs] = MakeRankSocket();
    links_[rank] = RankLink(std::move(own));
    sockets_[rank] = std::move(theirs);
    loop_.Add(links_[rank].fd(), EPOLLIN, [this, rank](uint32_t) { OnLink(rank); }).IgnoreError();
  }
  loop_.Add(stop_.get(), EPOLLIN, [this](uint32_t) { stopping_ = true; }).IgnoreError();
  thread_ = std::thread([this] { Serve(); });
}

TestServer::~TestServer() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TestServer::Serve() {
  while (!stopping_) loop_.RunOnce(Deadline());
}

void TestServer::OnLink(Rank rank) {
  std::lock_guard lock(mutex_);
  RankLink& link = links_[rank];
  if (link.blocked()) {
    link.Flush();
    if (link.blocked()) return;
    loop_.Change(link.fd(), EPOLLIN);
  }
  const bool open = link.Receive(64, [&](pid_t sender, std::string_view datagram) {
    server_.Receive(rank, sender, datagram);
  });
  if (!open) loop_.Remove(link.fd());
}

void TestServer::Kill(Rank rank, const std::string& how) {
  std::lock_guard lock(mutex_);
  server_.ReportDeath(rank, 9, how);
}

void TestServer::EndUnjoined(Rank rank) {
  std::lock_guard lock(mutex_);
  server_.ReportEndedUnjoined(rank);
}

std::vector<std::string> TestServer::aborts() {
  std::lock_guard lock(mutex_);
  return aborts_;
}

void TestServer::Send(Rank to, const WireMessage& message, const NodeFds* fds) {
  RankLink& link = links_[to];
  link.Send(EncodeWire(message), fds);
  if (link.blocked()) loop_.Change(link.fd(), EPOLLOUT);
}

void TestServer::OnAbort(Rank rank, int code, std::string_view message) {
  aborts_.push_back(absl::StrCat("rank ", rank, ": ", code, ": ", std::string(message)));
}

}  // namespace weft
