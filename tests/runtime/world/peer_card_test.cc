// The card that a rank publishes: survives the trip, and damage is noticed.
#include "runtime/world/peer_card.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

const PeerCard kCard = {
    .address = std::string("\0host\xff", 6), .slab_key = "", .control_key = "key"};

TEST(PeerCard, SurvivesTheTrip) {
  auto card = DecodePeerCard(EncodePeerCard(kCard));
  ASSERT_TRUE(card.ok()) << card.status();
  EXPECT_EQ(card->address, kCard.address);
  EXPECT_EQ(card->slab_key, kCard.slab_key);
  EXPECT_EQ(card->control_key, kCard.control_key);
}

TEST(PeerCard, ATruncatedOrLongerOneIsRefused) {
  const std::string bytes = EncodePeerCard(kCard);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodePeerCard(std::string_view(bytes).substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(DecodePeerCard(bytes + "x").ok());
  EXPECT_FALSE(DecodePeerCard(std::string(12, '\xff')).ok());
}

}  // namespace
}  // namespace weft
