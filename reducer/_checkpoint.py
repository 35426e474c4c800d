"""Checkpoints: a state as bytes, at any point of a run, and back.

A checkpoint is one JSON object in one line: what it is, its version, the size and the digest of what follows, and the
state. The first two members will be first and spelled alike in every version, so that any release can say of any
checkpoint whether it reads it. The digest is of the bytes as they stand: a checkpoint that was cut off, changed or
written anew by some tool is refused, never half read.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from math import isfinite
from typing import Final, NoReturn

from reducer._state import State
from reducer._stored.reader import state_of
from reducer._stored.values import Wrong
from reducer._stored.writer import document
from reducer.errors import CheckpointError

VERSION: Final = 1
"""The version of the format that `dumps` writes. `loads` reads this one and all before it."""

_FORMAT: Final = b'{"format":"agui-reducer/checkpoint","version":'
_VERSION: Final = re.compile(re.escape(_FORMAT) + rb"([0-9]{1,9})[,}]")
_HEADER: Final = re.compile(rb'"bytes":([0-9]{1,18}),"sha256":"([0-9a-f]{64})","state":')


def dumps(state: State) -> bytes:
    """Return a checkpoint of `state`: UTF-8 JSON that `loads` gives an equal state for, in this release and later ones.

    No hash seed changes it. `docs/reference/checkpoint-format.md` describes them.
    """
    text = json.dumps(document(state), ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
    # Half a surrogate pair has no bytes in UTF-8, but an escape in JSON, which is the one that Python writes too.
    body = text.encode("utf-8", "backslashreplace")
    digest = sha256(body, usedforsecurity=False).hexdigest()
    return b'%b%d,"bytes":%d,"sha256":"%b","state":%b}' % (_FORMAT, VERSION, len(body), digest.encode(), body)


def loads(data: bytes | bytearray | memoryview | str) -> State:
    """Return the state that `dumps` made `data` of; fold the rest of the stream on top of it.

    Raises `CheckpointError`, and nothing else, for whatever is not the whole of a checkpoint, unchanged, of a version
    that this release knows.
    """
    body = _body(_bytes(data))
    try:
        told = _READER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"it is no JSON that can be read: {error}", "state") from None
    try:
        return state_of(told)
    except Wrong as wrong:
        raise CheckpointError(wrong.why, "".join(wrong.path).lstrip(".")) from None


def _bytes(data: object) -> bytes:
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, str):
        try:
            return data.encode()
        except UnicodeEncodeError as error:
            raise CheckpointError("it holds half a surrogate pair", f"character {error.start}") from None
    if not isinstance(data, bytes):
        raise CheckpointError(f"it must be bytes or a string, not {type(data).__name__}")
    return data


def _body(data: bytes) -> bytes:
    """Return what the header speaks of, where it is whole."""
    data = data.strip()
    version = _VERSION.match(data)
    if version is None:
        if _FORMAT.startswith(data[: len(_FORMAT)]):
            raise CheckpointError(f"it is cut off after {len(data)} bytes")
        raise CheckpointError(f"it does not begin as a checkpoint does, with {_FORMAT.decode()}")
    number = int(version[1])
    if not 1 <= number <= VERSION:
        raise CheckpointError(f"it is of version {number} of the format; this release reads up to {VERSION}", "version")
    header = _HEADER.match(data, version.end())
    if header is None:
        raise CheckpointError("its header is damaged or cut off")
    start, size = header.end(), int(header[1])
    if len(data) <= start + size:
        raise CheckpointError(f"it is cut off: {len(data)} bytes of {start + size + 1}")
    body = data[start:-1]
    if len(body) > size or data[-1:] != b"}" or sha256(body, usedforsecurity=False).hexdigest() != header[2].decode():
        raise CheckpointError("it is damaged: its digest is not that of what it holds", "sha256")
    return body


def _float(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _refuse(digits)


def _refuse(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no JSON number")


_READER: Final = json.JSONDecoder(parse_constant=_refuse, parse_float=_float)
