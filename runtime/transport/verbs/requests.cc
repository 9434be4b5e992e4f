#include "runtime/transport/verbs/requests.h"

#include <cstring>

namespace weft {

uint32_t Requests::Begin(Lane lane, uint64_t token, void* local, uint64_t length) {
  uint32_t index = 0;
  while (places_[index].number != 0) ++index;
  // The upper bits tell a late reply's request from the one that has its place now.
  if (++generation_ == UINT32_MAX / kMost) generation_ = 1;
  const uint32_t number = generation_ * kMost + index;
  places_[index] = {.number = number,
                    .lane = lane,
                    .length = static_cast<uint8_t>(length),
                    .token = token,
                    .local = local};
  ++occupied_;
  ++under_way_;
  return number;
}

Requests::Place* Requests::Find(uint32_t number) {
  Place& place = places_[number % kMost];
  return number != 0 && place.number == number ? &place : nullptr;
}

void Requests::End(Place& place, Event::Result result, Ended ended) {
  place.over = true;
  --under_way_;
  ended(place.token, result);
}

void Requests::Free(Place& place) {
  place = {};
  --occupied_;
}

void Requests::OnSent(uint32_t number, Event::Result result, Ended ended) {
  Place* const place = Find(number);
  if (place == nullptr || place->over) return;
  if (place->answered) {
    End(*place, place->result, ended);
    Free(*place);
  } else if (result == Event::Result::kOk) {
    place->sent = true;
  } else {
    End(*place, result, ended);
  }
}

void Requests::OnReply(uint32_t number, Event::Result result, uint64_t old, Ended ended) {
  Place* const place = Find(number);
  if (place == nullptr || place->answered) return;
  if (place->over) return Free(*place);
  if (result == Event::Result::kOk && place->local != nullptr) {
    std::memcpy(place->local, &old, place->length);  // Words are little-endian.
  }
  place->answered = true;
  place->result = result;
  if (!place->sent) return;
  End(*place, result, ended);
  Free(*place);
}

void Requests::EndLane(Lane lane, Ended ended) {
  for (Place& place : places_) {
    if (place.number != 0 && place.lane == lane && !place.over) {
      End(place, Event::Result::kPeerDown, ended);
    }
  }
}

void Requests::Forget(Lane lane) {
  for (Place& place : places_) {
    if (place.number != 0 && place.lane == lane && place.over) Free(place);
  }
}

}  // namespace weft
