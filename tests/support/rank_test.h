// For tests whose process is one rank of a job under weftrun: all ranks run the
// same test cases in the same order. Rank 0 tells the outcome; the others speak
// up only when they fail.
#ifndef WEFT_TESTS_SUPPORT_RANK_TEST_H_
#define WEFT_TESTS_SUPPORT_RANK_TEST_H_

#include "weft/world.h"

namespace weft::testing {

// The world that rank_main joined.
World& TheWorld();

// Whether operations go over RDMA (WEFT_TRANSPORTS=verbs, or shm,verbs) on the soft devices of a
// guest, which tools/rdma-vm names in RDMA_DEVICES.
bool OverSoftRdma();
// Whether an operation takes microseconds: delayed on purpose (WEFT_FAULT), or on its way
// through a soft device.
bool OperationsAreSlow();

}  // namespace weft::testing
#endif  // WEFT_TESTS_SUPPORT_RANK_TEST_H_
