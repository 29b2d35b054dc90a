/* SPDX-License-Identifier: MIT */
/* Tells ThreadSanitizer of GLib's locks, which it does not see, as GLib is not built with it: loaded before GLib
 * (./dev threads), each of their functions says what it orders and then does what it does. */
#include <dlfcn.h>
#include <glib.h>

void __tsan_acquire(void *at);
void __tsan_release(void *at);

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

void(g_mutex_lock)(GMutex *mutex) {
  REAL(g_mutex_lock)(mutex);
  __tsan_acquire(mutex);
}

void(g_mutex_unlock)(GMutex *mutex) {
  __tsan_release(mutex);
  REAL(g_mutex_unlock)(mutex);
}

void(g_cond_wait)(GCond *cond, GMutex *mutex) {
  __tsan_release(mutex);
  REAL(g_cond_wait)(cond, mutex);
  __tsan_acquire(mutex);
}

gboolean(g_cond_wait_until)(GCond *cond, GMutex *mutex, gint64 end) {
  __tsan_release(mutex);
  gboolean signalled = REAL(g_cond_wait_until)(cond, mutex, end);
  __tsan_acquire(mutex);
  return signalled;
}
