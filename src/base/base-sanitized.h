/* SPDX-License-Identifier: MIT */
/* Whether a sanitizer has the heap: 1 under AddressSanitizer, ThreadSanitizer or MemorySanitizer, else 0. Private to
 * this floor. */
#pragma once

#if defined(__has_feature)
#define BASE_SANITIZED                                                                                                 \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BASE_SANITIZED 1
#else
#define BASE_SANITIZED 0
#endif
