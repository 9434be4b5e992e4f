// What a probe does before its library starts.
#ifndef WEFT_BENCH_VERBS_PEERS_START_H_
#define WEFT_BENCH_VERBS_PEERS_START_H_

namespace weft::bench {

// Makes UCX, which every peer stands on, take the device of --devices=A,B that is this
// rank's; without the flag it chooses.
void UseDevice(int argc, char** argv, int rank);

// The same in a rank that Open MPI's launcher started, which ends when the launcher does.
void BecomeRank(int argc, char** argv);

}  // namespace weft::bench
#endif  // WEFT_BENCH_VERBS_PEERS_START_H_
