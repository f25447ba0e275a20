# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From membar 0.1 to 0.2. Run it with: sed -E -i -f FILE SOURCES
s@\bsymmetric/symmetric_heap\.hpp\b@symmetric/heap.hpp@g
s@\bsymmetric/dependency_check\.hpp\b@symmetric/deadlock/check.hpp@g
s@\bsymmetric/dependency_recorder\.hpp\b@symmetric/deadlock/recorder.hpp@g
s@\bsymmetric/stream_program\.hpp\b@symmetric/deadlock/program.hpp@g
s@\bsymmetric/deadlock/stream_program\.hpp\b@symmetric/deadlock/program.hpp@g
s@\bmembar::symmetric( *<)@membar::symmetric::object\1@g
s@\busing membar::symmetric;@using membar::symmetric::object;@g
s@\b(using .*), membar::symmetric\b([,;])@\1, membar::symmetric::object\2@g
s@(^|[^A-Za-z0-9_:/])symmetric<@\1object<@g
s@\bmembar::scoped_symmetric_array\b@membar::symmetric::scoped_array@g
s@\bmembar::symmetric_array\b@membar::symmetric::array@g
s@\bmembar::symmetric_backend\b@membar::symmetric::backend@g
s@\bmembar::symmetric_heap\b@membar::symmetric::heap@g
s@\bmembar::symmetric_reach\b@membar::symmetric::reach@g
s@\bmembar::symmetric_region\b@membar::symmetric::region@g
s@\bmembar::symmetric_span\b@membar::symmetric::span@g
s@\bmembar::check_dependencies\b@membar::symmetric::deadlock::check@g
s@\bmembar::dependency_error\b@membar::symmetric::deadlock::hazard_error@g
s@\bmembar::dependency_recorder\b@membar::symmetric::deadlock::recorder@g
s@\bmembar::dependency_report\b@membar::symmetric::deadlock::report@g
s@\bmembar::dependency_step\b@membar::symmetric::deadlock::cycle_step@g
s@\bmembar::stream_program\b@membar::symmetric::deadlock::program@g
s@\bmembar::handle_id\b@membar::symmetric::deadlock::handle@g
s@\bmembar::hangs\b@membar::symmetric::deadlock::hangs@g
s@\bmembar::hazard\b@membar::symmetric::deadlock::hazard@g
s@\bmembar::host_threads\b@membar::symmetric::deadlock::callers@g
s@\bmembar::kernel_role\b@membar::symmetric::deadlock::kernel_role@g
s@\bmembar::kernel_shape\b@membar::symmetric::deadlock::kernel_shape@g
s@\bmembar::kernel_step\b@membar::symmetric::deadlock::kernel_step@g
s@\bmembar::named\b@membar::symmetric::deadlock::handle_kind@g
s@\bmembar::operation_kind\b@membar::symmetric::deadlock::operation_kind@g
s@\bmembar::signal_add\b@membar::symmetric::deadlock::signal_add@g
s@\bmembar::signal_at_least\b@membar::symmetric::deadlock::signal_at_least@g
s@\bmembar::signal_condition\b@membar::symmetric::deadlock::signal_condition@g
s@\bmembar::signal_effect\b@membar::symmetric::deadlock::signal_effect@g
s@\bmembar::signal_equals\b@membar::symmetric::deadlock::signal_equals@g
s@\bmembar::signal_set\b@membar::symmetric::deadlock::signal_set@g
s@\bmembar::step_collective\b@membar::symmetric::deadlock::step_collective@g
s@\bmembar::step_notify\b@membar::symmetric::deadlock::step_notify@g
s@\bmembar::step_wait\b@membar::symmetric::deadlock::step_wait@g
s@\bmembar::stream_operation\b@membar::symmetric::deadlock::stream_operation@g
s@\bmembar::world_team\b@membar::symmetric::deadlock::world@g
s@(^|[^A-Za-z0-9_:/.])scoped_symmetric_array\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1scoped_array\2@g
s@(^|[^A-Za-z0-9_:/.])symmetric_array\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1array\2@g
s@(^|[^A-Za-z0-9_:/.])symmetric_backend\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1backend\2@g
s@(^|[^A-Za-z0-9_:/.])symmetric_heap\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1heap\2@g
s@(^|[^A-Za-z0-9_:/.])symmetric_reach\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1reach\2@g
s@(^|[^A-Za-z0-9_:/.])symmetric_region\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1region\2@g
s@(^|[^A-Za-z0-9_:/.])symmetric_span\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1span\2@g
s@(^|[^A-Za-z0-9_:/.])check_dependencies\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1check\2@g
s@(^|[^A-Za-z0-9_:/.])dependency_error\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1hazard_error\2@g
s@(^|[^A-Za-z0-9_:/.])dependency_recorder\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1recorder\2@g
s@(^|[^A-Za-z0-9_:/.])dependency_report\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1report\2@g
s@(^|[^A-Za-z0-9_:/.])dependency_step\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1cycle_step\2@g
s@(^|[^A-Za-z0-9_:/.])stream_program\b([^./A-Za-z0-9_]|\.[^a-z]|$)@\1program\2@g
s@\bmembar::(add|amo|amo_add|amo_bitwise_and|amo_bitwise_or|amo_bitwise_xor|amo_compare_exchange|amo_exchange|amo_fetch_add|amo_fetch_and|amo_fetch_max|amo_fetch_min|amo_fetch_or|amo_fetch_xor|amo_load|amo_max|amo_min|amo_store|at_least|atomicity_between|barrier|barrier_on_stream|barrier_word|basic_nvshmem_backend|basic_peer_backend|by_block|by_block_t|by_thread|by_thread_t|by_warp|by_warp_t|chosen_memory|collective_grid|collective_launch|copies_are_synchronous|copy_from|copy_to|counter|default_amos|direct_span|equals|every_type_amos|fence|fenced|fetch|fill_bytes|flush|flushed|get|get_nonblocking)\b@membar::symmetric::\1@g
s@\bmembar::(has_no_padding|integer_amos|is_word|launch_offer|load_stream_operations|make_nvshmem_id|notify|notify_on_stream|notify_transitively|nvshmem_backend|nvshmem_id|nvshmem_reach|nvshmem_session|packed|pe|pe_range|peer_backend|peer_facts|peer_facts_of|peer_memory|peer_reach|put|put_nonblocking|put_on_stream|put_packed|put_signal|put_signal_nonblocking|put_value|quiet|quiet_on_stream|quieted|reach_of|ring_neighbour|set|signal|signal_value|stream_guard|synchronous_copies|take_packed|test|test_packed|try_barrier|try_take_packed|try_wait|validate_collective_launch|validate_launched|validate_peers|visibility|visible_devices|wait|wait_on_stream)\b@membar::symmetric::\1@g
s@\bmembar/l2_plan\.hpp\b@membar/window_planning.hpp@g
s@\bmembar/litmus/runner\.hpp\b@membar/litmus/engine.hpp@g
s@\bmembar/litmus/histogram\.hpp\b@membar/litmus/report.hpp@g
s@\bmembar/litmus/test\.hpp\b@membar/litmus/runnable_test.hpp@g
s@\bmembar::atomic_party\b@membar::atomic_participant@g
s@\bmembar::fraction_above_0_and_at_most_1\b@membar::hit_fraction@g
s@(\bmembar::check\(.*\)), "cu[A-Za-z0-9]+"(, |\))@\1\2@
