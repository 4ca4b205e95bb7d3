/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the compiler inlines into the function that waits, as in OSv; no location shall be here. */
#ifndef OSVGUEST_SCHED_HH
#define OSVGUEST_SCHED_HH

#include "osv.h"

namespace sched {
template <class Predicate> __attribute__((always_inline)) inline void wait_until(Predicate done)
{
	while (!done())
		thread::wait();
}
} // namespace sched

#endif
