// What a rank publishes in the bootstrap's key-value store, as bytes.
#ifndef WEFT_RUNTIME_WORLD_PEER_CARD_H_
#define WEFT_RUNTIME_WORLD_PEER_CARD_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/engine/engine.h"

namespace weft {

std::string EncodePeerCard(const PeerCard& card);

// kInvalidArgument for anything that EncodePeerCard did not make.
absl::StatusOr<PeerCard> DecodePeerCard(std::string_view bytes);

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_PEER_CARD_H_
