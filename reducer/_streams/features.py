"""What streams are made of: the switches of the strategies."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Features:
    """What streams are made of; every strategy of valid streams takes these fields as keywords."""

    runs: int = 3
    """How many runs a stream has at most."""
    size: int = 8
    """How many things a lane does at most."""
    subagents: bool = True
    """Lanes of subagents beside the parent agent's, announced, nested or only tagged."""
    untagged: bool = True
    """Subagents that attribute only what they open: an untagged continuation is legal, and ends the parent's chunks."""
    text: bool = True
    """Text messages."""
    tools: bool = True
    """Tool calls and their results."""
    reasoning: bool = True
    """Reasoning messages, in spans and without."""
    values: bool = True
    """Encrypted values."""
    chunks: bool = True
    """The chunked spelling."""
    reopening: bool = True
    """Entities that open again after they have closed."""
    steps: bool = True
    """Steps."""
    state: bool = True
    """Snapshots and deltas of the shared state, some of which do not apply."""
    activities: bool = True
    """Activities."""
    passthrough: bool = True
    """RAW and CUSTOM events."""
    snapshots: bool = True
    """Messages snapshots in the middle of things."""
    metadata: bool = True
    """Metadata and raw events."""
    echoes: bool = True
    """The input that a run was started from, echoed."""
    errors: bool = True
    """Runs that fail, at any point, before they start or after they have finished."""
    interrupts: bool = True
    """Runs that end in interrupts, or are cancelled."""
    early_values: bool = False
    """Encrypted values before their entity opens; the reference client drops these."""
    value_types: bool = False
    """`encryptedValueType`, new in version 1.1; the reference client strips it."""
    echoed_state: bool = False
    """A state in the echoed input; the reference client does not take it."""
    shared_ids: bool = False
    """Ids that entities of different kinds share, as some producers have it; the reference client merges these."""
    foreign_results: bool = False
    """Results that the parent agent gives to a subagent's call."""
    surrogates: bool = False
    """Characters whose surrogate halves come in two deltas."""
    drop_open: bool = False
    """Snapshots that leave out messages which are still streaming."""
