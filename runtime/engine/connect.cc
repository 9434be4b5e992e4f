// How peers are found and connected to, when they are first needed or all at once.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/engine/engine_impl.h"

namespace weft {

Engine::Impl::Peer& Engine::Impl::AddPeer(Rank rank) {
  used_.push_back((peers_[rank] = std::make_unique<Peer>(rank)).get());
  return *peers_[rank];
}

absl::Status Engine::Impl::EnsureConnected(Lock& lock, Peer& peer, WaitLimit& limit) {
  if (peer.gone || IsDead(peer.rank)) {
    PeerGone(peer);
    return GoneError(peer.rank, "cannot start the operation");
  }
  switch (peer.state) {
    case Peer::State::kConnecting:  // Operations queue up until it is.
    case Peer::State::kConnected:
      return absl::OkStatus();
    case Peer::State::kLookingUp:
      if (!Await(lock, limit.StartOnce(),
                 [&] { return peer.gone || peer.state != Peer::State::kLookingUp; })) {
        return absl::DeadlineExceededError(
            absl::StrCat("rank ", peer.rank, " had not been found when the deadline passed"));
      }
      return EnsureConnected(lock, peer, limit);
    case Peer::State::kNew:
      break;
  }
  peer.state = Peer::State::kLookingUp;
  lock.unlock();
  const absl::StatusOr<PeerCard> card = directory_(peer.rank);
  lock.lock();
  absl::Status status = card.ok() ? Introduce(peer, *card) : card.status();
  peer.state = status.ok() ? Peer::State::kConnecting : Peer::State::kNew;
  completed_ = true;  // Whoever waits for this looks again.
  if (status.ok()) return status;
  if (IsDead(peer.rank)) return GoneError(peer.rank, "cannot connect to it");
  return absl::Status(status.code(),
                      absl::StrCat("cannot connect to rank ", peer.rank, ": ", status.message()));
}

absl::Status Engine::Impl::ConnectAll(Deadline deadline) {
  Lock lock(mutex_);
  WaitLimit limit = deadline;
  for (Rank rank = 0; rank < node_.size; ++rank) {
    if (absl::Status status = EnsureConnected(lock, PeerOf(rank), limit); !status.ok()) {
      return status;
    }
  }
  const auto connected = [](const Peer* peer) {
    return peer->gone || peer->state == Peer::State::kConnected;
  };
  if (Await(lock, deadline, [&] { return std::ranges::all_of(used_, connected); })) {
    return absl::OkStatus();
  }
  const Peer* const late = *std::ranges::find_if_not(used_, connected);
  return absl::DeadlineExceededError(
      absl::StrCat("rank ", late->rank, " was not connected when the deadline passed"));
}

absl::Status Engine::Impl::Introduce(Peer& peer, const PeerCard& card) {
  if (caps_.needs_registered_source) {
    if (absl::Status status = staging_.Register(*transport_); !status.ok()) return status;
  }
  absl::StatusOr<RemoteRegion> slab = transport_->Import(peer.rank, card.slab_key);
  if (!slab.ok()) return slab.status();
  absl::StatusOr<RemoteRegion> control = transport_->Import(peer.rank, card.control_key);
  if (!control.ok()) return control.status();
  peer.slab = *slab;
  peer.control = *control;
  return transport_->Connect(peer.rank, card.address);
}

}  // namespace weft
