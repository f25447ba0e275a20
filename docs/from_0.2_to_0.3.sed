# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From membar 0.2 to 0.3. Run it with: sed -E -i -f FILE SOURCES
s@\bmembar/symmetric/deadlock/@membar/deadlock/@g
s@\bmembar::symmetric::deadlock\b@membar::deadlock@g
s@\bmembar::symmetric::(pe|pe_range|ring_neighbour|object_identity)\b@membar::\1@g
s@\bmembar::vector\b@membar::vec@g
s@\bmembar/model/memory_apart\.hpp\b@membar/model/private_memory.hpp@g
s@\bmembar::model::memory_apart\b@membar::model::private_memory@g
s@\bmembar::model::event_kind::sent\b@membar::model::event_kind::shuffle_write@g
s@\bmembar::model::event_kind::received\b@membar::model::event_kind::shuffle_read@g
