// Which RDMA device a probe of two processes takes.
#ifndef WEFT_BENCH_VERBS_DEVICE_H_
#define WEFT_BENCH_VERBS_DEVICE_H_

#include <string>

namespace weft::bench {

// The device[:port] of process 0 or 1, by --devices=A,B or --devices=A; empty without the flag.
std::string DeviceOf(int argc, char** argv, int process);

}  // namespace weft::bench
#endif  // WEFT_BENCH_VERBS_DEVICE_H_
