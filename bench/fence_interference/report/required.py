# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Determines what the victims must wait for according to the memory model, and how much longer they wait."""

import cases
import controls as control_rules
import words

_TOGETHER, _APART = "same", "separate"


def _kind_name(victim):
    """Returns the kind of a victim: its name without the multiprocessor or the form of the chain. Victims of one kind have the
    same answers wherever they run."""
    operation, scope, *_ = victim.split(".")
    name = {"kernel_boundary": "kernel boundaries", "fence": "fences", "release_store": "release stores",
            "acquire_load": "acquire loads"}[operation]
    return name if operation == "kernel_boundary" else f"{scope}-scope {name}"


def groups(decided):
    """Returns rows of (victims in words, where the noise runs, answers). Kinds of victims that have equal answers in both arms
    share a row."""
    by_answers = {}
    for victim in words.VICTIMS:
        answers = tuple(decided.required(victim, arm) for arm in (_TOGETHER, _APART))
        if answers[0] is not None:
            by_answers.setdefault(answers, {})[_kind_name(victim)] = None  # each once, in this order
    rows = []
    for (together, apart), names in by_answers.items():
        rows.append((words.listed(names), "the same domain", together))
        if apart is not None:
            rows.append(("", "a separate domain", apart))
    return rows


def sentence(decided):
    """If the table supports it, returns the conclusion that no victim must wait for noise that it has not observed."""
    known = [decided.required(victim, arm) for victim in words.VICTIMS for arm in (_TOGETHER, _APART)]
    known = [answers for answers in known if answers is not None]
    if any(noise for _, noise, _, _ in known):
        return "Some victims must wait for the noise although they have not observed it: see the column \"for the noise's stores\"."
    text = ("No victim in the bench has to wait for the noise, because no victim has observed the noise's stores. Any time beyond the "
            "victim's time without noise is wasted. The hardware does not record which stores a thread has observed, so a victim "
            "that publishes waits in case it has observed the noise.")
    if any(device for _, _, device, _ in known) and not all(device for _, _, device, _ in known):
        text += (" A separate domain removes the obligation that device scope would create. Stores that the victim had acquired at system "
                 "scope would have to be visible regardless of their domain.")
    return text


def waits(results):
    """Returns (victim, noise, alone, same, separate or None) in ns, for foreign noise that is known to have made the victim
    wait."""
    found = []
    for victim in results.victims():
        required = results.required(victim, _TOGETHER)
        if required is not None and not required[0]:
            continue  # This victim publishes nothing: it waits for its turn and not for memory operations.
        for noise in results.noises(victim):
            ratio = results.interference(victim, noise)
            alone, same, apart = ((victim, noise, arm) for arm in ("alone", _TOGETHER, _APART))
            known = results.spread(alone, same) <= cases.MOST_SPREAD
            if noise.partition(".")[0] in words.FOREIGN and known and ratio > 1.0 + control_rules.TOLERANCE:
                unknown = results.one_domain or results.spread(same, apart) > cases.MOST_SPREAD
                separate = None if unknown else results.p50(*apart)
                found.append((victim, noise, results.p50(victim, noise, "alone"), results.p50(victim, noise, _TOGETHER), separate))
    return found
