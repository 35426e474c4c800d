"""Content parts the protocol has retired, as the parts that replaced them (spec: basic/versioning).

Before 1.0 an attachment was a `binary` part: a MIME type beside `data`, a `url` or the `id` of an upload. A media
part says what it is and names one source. The other retired shapes are the `THINKING_*` events, which the fold
translates, since their ids come from the position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MIRRORED: Final[Any] = object()
_MEDIA: Final = frozenset({"image", "audio", "video"})


def is_binary(part: Any) -> bool:
    """Return whether a content part has the retired shape."""
    return isinstance(part, Mapping) and part.get("type") == "binary" and isinstance(part.get("mimeType"), str)


def upgraded(parts: Sequence[Any]) -> Iterator[Any]:
    """Yield each part, a `binary` one as its successor: the media part with the same bytes, type and file name.

    A `binary` part beside its own modern twin, as producers sent for peers of either age, is `MIRRORED`. One without
    data and URL has no successor and stays as it is.
    """
    modern = {twin for part in parts for twin in _twins(part)}
    for part in parts:
        new = _successor(part) if is_binary(part) else part
        yield MIRRORED if new is not part and next(iter(_twins(new)), None) in modern else new


def _successor(part: Mapping[str, Any]) -> Any:
    family, slash, _ = part["mimeType"].partition("/")
    for source in ("data", "url"):
        if part.get(source):
            new = {
                "type": family if slash and family in _MEDIA else "document",
                "source": {"type": source, "value": part[source], "mimeType": part["mimeType"]},
            }
            return {**new, "metadata": {"filename": part["filename"]}} if part.get("filename") else new
    return part


def _twins(part: Any) -> Iterator[tuple[str | None, ...]]:
    """Yield what a twin of the part looks like: the same attachment under the same file name, then under none."""
    source = part.get("source") if isinstance(part, Mapping) else None
    if not isinstance(source, Mapping):
        return
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, Mapping) else None
    same = (part.get("type"), source.get("type"), source.get("value"), source.get("mimeType"))
    if all(isinstance(word, str) for word in same):
        if isinstance(name, str):
            yield (*same, name)
        yield (*same, None)
