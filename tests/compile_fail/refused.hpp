// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// REFUSED(rule, code): code that breaks a rule. The comment above the macro contains the words that must occur in the
/// compiler's message. The code exists only if the file is compiled with -DRULE_<rule>, as check_rules.py does.
#pragma once

#define REFUSED(rule, ...) REFUSED_IF(RULE_##rule)(__VA_ARGS__)
#define REFUSED_IF(value) REFUSED_CHOICE(value)
#define REFUSED_CHOICE(value) REFUSED_SECOND_OF(REFUSED_##value REFUSED_THERE, REFUSED_LEFT_OUT, 0)
#define REFUSED_SECOND_OF(...) REFUSED_SECOND(__VA_ARGS__)
#define REFUSED_SECOND(first, second, ...) second
#define REFUSED_1 0,  // The value that -DRULE_<rule> gives to REFUSED_##value.
#define REFUSED_THERE(...) __VA_ARGS__
#define REFUSED_LEFT_OUT(...)
