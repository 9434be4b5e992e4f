// What the fault transport does, and how often. All zero: nothing but a queue.
#ifndef WEFT_RUNTIME_TRANSPORT_FAULT_FAULT_OPTIONS_H_
#define WEFT_RUNTIME_TRANSPORT_FAULT_FAULT_OPTIONS_H_

#include <cstdint>

namespace weft {

// Probabilities are for each operation that is posted.
struct FaultOptions {
  uint64_t seed = 1;

  // Data move no earlier than a time drawn from this range after Post.
  int64_t min_delay_ns = 0;
  int64_t max_delay_ns = 0;
  double at_once = 0;                // Moved within Post, where the order allows it.
  double split = 0;                  // Moved in pieces, in any order, a ride after them.
  double late_event = 0;             // Told only another such delay after the data moved.
  double refuse = 0;                 // Post stops short of it.
  double break_bulk = 0;             // A bulk operation breaks its lane.
  double kill = 0;                   // The peer goes down.
  uint32_t capacity = 32;            // Operations a peer that are accepted at a time.
  uint64_t max_length = UINT64_MAX;  // As in Caps.

  // Some mixture of all but breaking and killing, which a test must ask for.
  static FaultOptions FromSeed(uint64_t seed);
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_FAULT_FAULT_OPTIONS_H_
