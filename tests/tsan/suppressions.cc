// ThreadSanitizer's suppressions, compiled into every test.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  // Abseil 20220623 sets up a thread's semaphore by plain stores and hands it over inside
  // absl::Mutex, where it tells ThreadSanitizer to look away. No code of ours runs below
  // these frames.
  return "race:absl::*::synchronization_internal::Waiter::\n"
         "race:AbslInternalPerThreadSem\n";
}
