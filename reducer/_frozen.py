"""The edge: JSON in, frozen out, and back; nothing else passes.

Scalars stay as they are, arrays are `PVector`s, objects `Object`s. Nothing recurses: only memory bounds the nesting.
"""

from __future__ import annotations

import reprlib
from collections import abc
from dataclasses import fields, is_dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, Final, TypeAlias

from attrs import define
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from pyrsistent import PVector, pmap, pvector

Frozen: TypeAlias = "bool | int | float | str | PVector[Frozen] | Object | None"
Path: TypeAlias = "tuple[str | int, ...]"

# `isinstance(x, PVector)` asks an abstract class, at ten times the price of `type(x) is VECTOR`.
VECTOR: Final[type[PVector[Any]]] = type(pvector())
ABSENT: Final[Any] = object()
# Up to 500 keys a dict is copied faster than the wide form is written; but whoever keeps every state keeps the copies.
_NARROW: Final = 128
PLAIN: Final = frozenset({str, int, bool, type(None)})


@define(eq=False)
class Unfreezable(ValueError):
    """A value that is no JSON: `path` leads to it, `value` is it, `why` says what is wrong with it."""

    path: Path
    value: object
    why: str

    def __str__(self) -> str:
        return f"{''.join(f'[{brief(part)}]' for part in self.path) or 'the value'}: {self.why}"


class Object:
    """An immutable JSON object that keeps the order in which its keys were added.

    Replacing a key keeps its place; a key that is removed and added again goes to the end.
    """

    # A narrow object holds one dict, copied on write, and no rows. A wide one holds rows, (key, value) in order with
    # `None` where a key was removed, and a map from keys to places in them; it shares both with its successors. So a
    # replacement spares the map, by far the dearer of the two, and order needs no sorting.
    __slots__ = ("__weakref__", "_held", "_rows")
    __hash__ = None  # type: ignore[assignment]  # as for other JSON containers
    _held: Any
    _rows: PVector[tuple[str, Frozen] | None] | None

    def __init__(self, held: Any, rows: PVector[tuple[str, Frozen] | None] | None = None) -> None:
        """Take over the dict `held`, whose values are frozen; nobody may write to it afterwards."""
        if rows is None and len(held) > _NARROW:
            rows, held = pvector(held.items()), pmap({key: place for place, key in enumerate(held)})
        self._held = held
        self._rows = rows

    def get(self, key: str, default: Frozen = None) -> Frozen:
        """Return what stands under `key`, or `default`."""
        if self._rows is None:
            return self._held.get(key, default)  # type: ignore[no-any-return]
        row = self._rows[self._held[key]] if key in self._held else None
        return row[1] if row else default

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)

    def items(self) -> abc.Iterable[tuple[str, Frozen]]:
        """Return the keys with their values, in order."""
        return self._held.items() if self._rows is None else filter(None, self._rows)

    def set(self, key: str, value: Frozen) -> Object:
        """Return this object with the frozen `value` under `key`; itself where it stands there already."""
        held, rows = self._held, self._rows
        if rows is None:
            return self if held.get(key, ABSENT) is value else Object(held | {key: value})
        if self.get(key, ABSENT) is value:
            return self
        if key in held:
            return Object(held, rows.set(held[key], (key, value)))
        return Object(held.set(key, len(rows)), rows.append((key, value)))

    def remove(self, key: str) -> Object:
        """Return this object without `key`. Raises `KeyError` where it is absent."""
        if self._rows is None:
            held = self._held.copy()
            del held[key]
            return Object(held)
        left = Object(self._held.remove(key), self._rows.set(self._held[key], None))
        # Holes are swept out when they are the half, so that an object costs what it holds and not what it held.
        return left if 2 * len(left) > len(self._rows) else Object(dict(left.items()))

    def __eq__(self, other: object) -> bool:
        return same(self, other) if type(other) is Object else NotImplemented

    def __deepcopy__(self, memo: object) -> Object:
        return self

    def __repr__(self) -> str:
        shown = [f"{brief(key)}: {brief(value)}" for key, value in [*self.items()][:8]]
        return f"Object({{{', '.join(shown)}{', ...' if len(self) > len(shown) else ''}}})"


_CONTAINERS: Final = frozenset({Object, VECTOR, dict, list, tuple})


def freeze(value: object, path: Path = ()) -> Frozen:
    """Return the frozen twin of `value`, which may be JSON of any make: mappings, sequences, pydantic models.

    A model goes by its wire names, less the optional fields without value; a dataclass by its fields, anything else by
    what pydantic makes of it; an `Object` is taken as it is. `path` leads to `value` in the caller's document.
    Raises `Unfreezable` for what is no JSON, such as NaN, keys that are no strings and cycles.
    """
    return _convert(value, path, frozen=True)  # type: ignore[no-any-return]


def to_wire(value: object) -> Any:
    """Return `value`, of any make that `freeze` takes, as fresh plain JSON. Raises `Unfreezable`."""
    return _convert(value, (), frozen=False)


def thaw(frozen: Frozen) -> Any:
    """Return frozen JSON as fresh dicts and lists, which share nothing with it."""
    root: list[Any] = [frozen]
    todo: list[Any] = [root]
    while todo:
        fresh = todo.pop()
        for key, value in fresh.items() if type(fresh) is dict else enumerate(fresh):
            if (kind := type(value)) is Object or kind is VECTOR:
                fresh[key] = inner = dict(value.items()) if kind is Object else value.tolist()
                todo.append(inner)
    return root[0]


def same(one: object, other: object) -> bool:
    """Return whether two values, both frozen or both plain, are the same JSON.

    `1` is `1.0` but not `true`, and keys have no order. What is no JSON is as equal as it says.
    """
    todo: list[tuple[Any, Any]] = [(one, other)]
    while todo:
        a, b = todo.pop()
        kind = type(a)
        if a is b:
            continue
        if kind not in _CONTAINERS:
            if a != b or (kind is bool) is not (type(b) is bool):
                return False
        elif type(b) is not kind or len(a) != len(b):
            return False
        elif kind is Object or kind is dict:
            todo += ((v, b.get(k, ABSENT)) for k, v in a.items())
        else:
            todo += zip(a, b, strict=True)
    return True


def brief(value: object) -> str:
    """Return a value in a few words, for messages."""
    if type(value) is Object or type(value) is VECTOR:
        return f"<{'object' if type(value) is Object else 'array'} of {len(value)}>"
    # Python refuses to print the largest integers, and nobody would read them.
    return "<huge integer>" if isinstance(value, int) and abs(value) > 1 << 128 else reprlib.repr(value)


def _convert(value: Any, path: Path, *, frozen: bool) -> Any:
    """Return `value` as frozen JSON, or as fresh plain JSON. Raises `Unfreezable`."""
    if type(value) in PLAIN:
        return value
    root: list[Any] = [value]
    # A value to open, or the draft of one to close once what lies inside it, on top of it here, is done. So the drafts
    # in the list are the ancestors of the value in hand, outermost first.
    todo: list[tuple[Any, Any, Any, Any]] = [(value, root, 0, None)]
    ancestors: set[int] = set()
    while todo:
        source, holder, key, draft = todo.pop()
        if draft is not None:
            ancestors.discard(id(source))
        else:
            try:
                draft = source.copy() if type(source) is dict or type(source) is list else _opened(source)
                if type(draft) is dict and not {str}.issuperset(map(type, draft)):
                    draft = {_key(name): inside for name, inside in draft.items()}
                if id(source) in ancestors:
                    raise ValueError("it contains itself")  # noqa: TRY301 - the path is found once, below
            except (TypeError, ValueError, RecursionError) as error:
                trail = [*(above for _, _, above, opened in todo if opened is not None), key]
                raise Unfreezable((*path, *trail[1:]), source, str(error)) from error
            if type(draft) is not dict and type(draft) is not list:
                holder[key] = draft if frozen else thaw(draft)
                continue
            pairs = draft.items() if type(draft) is dict else enumerate(draft)
            # Most values are plain; to pass them by here, and not take each from the list, halves the time.
            if inside := [k for k, v in pairs if type(v) not in PLAIN and not (type(v) is float and isfinite(v))]:
                ancestors.add(id(source))
                todo.append((source, holder, key, draft))
                todo += [(draft[k], draft, k, None) for k in reversed(inside)]
                continue
        if frozen:
            draft = Object(draft) if type(draft) is dict else pvector(draft)
        holder[key] = draft
    return root[0]


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key must be a string, not {brief(key)}")
    return str.__str__(key)


def _opened(value: Any) -> Any:  # noqa: PLR0911 - one for each make of JSON
    """Return `value`, one level deep, as a dict, list or scalar. Raises `TypeError` or `ValueError` for no JSON."""
    if type(value) is Object:
        return value
    if isinstance(value, (str, int)):
        return str.__str__(value) if isinstance(value, str) else int.__index__(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{value} is no JSON number")
        return float.__float__(value)
    if isinstance(value, BaseModel) and (described := members(type(value))) is not None:
        held = value.__dict__
        wire = {alias: held[name] for name, alias, none in described if held.get(name, none) is not none}
        return wire | (value.__pydantic_extra__ or {})
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, abc.Mapping):
        return dict(value.items())
    if isinstance(value, abc.Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    if isinstance(value, (abc.Set, abc.Iterator)):
        raise TypeError(f"a {type(value).__name__} has no order of its own or is used up by reading")
    return to_jsonable_python(value)


@lru_cache(maxsize=1024)
def members(model: type[BaseModel]) -> tuple[tuple[str, str, object], ...] | None:
    """Return each field's name, its wire name and what it holds if left out; None where the wire form is custom."""
    own = model.__pydantic_decorators__
    # The SDK's own serializer does just what `_opened` does.
    custom = {*own.model_serializers, *own.field_serializers} - {"_omit_fields_without_value"}
    if custom or own.computed_fields or model.__pydantic_root_model__:
        return None
    return tuple(
        (name, field.serialization_alias or field.alias or name, None if field.default is None else ABSENT)
        for name, field in model.model_fields.items()
        if not field.exclude
    )
