// Weft: distributed shared memory on one-sided operations and atomics. This one
// header brings the whole public interface, but for weft/try.h and
// weft/task.h.
#ifndef WEFT_WEFT_H_
#define WEFT_WEFT_H_

#include "weft/access.h"
#include "weft/allocate.h"
#include "weft/atomics.h"
#include "weft/dead_set.h"
#include "weft/future.h"
#include "weft/local_buffer.h"
#include "weft/main.h"
#include "weft/notification.h"
#include "weft/order.h"
#include "weft/rank.h"
#include "weft/remote_ptr.h"
#include "weft/rider.h"
#include "weft/symmetric.h"
#include "weft/team.h"
#include "weft/world.h"

#endif  // WEFT_WEFT_H_
