"""The JSON Patch that leads from one frozen document to another (RFC 6902).

Documents that share structure are compared only where they do not.
"""

from __future__ import annotations

from typing import Any

from reducer._frozen import ABSENT, VECTOR, Frozen, Object, same, thaw


def diff(before: Frozen, after: Frozen) -> list[dict[str, Any]]:
    """Return the operations that make `after` of `before`, as fresh plain data; none where they are the same JSON."""
    operations: list[dict[str, Any]] = []
    todo: list[tuple[str, Any, Any]] = [("", before, after)]
    while todo:
        path, old, new = todo.pop()
        if old is new:
            continue
        kind = type(new)
        if type(old) is kind is Object:
            operations += [{"op": "remove", "path": _in(path, key)} for key, _ in old.items() if key not in new]
            for key, value in new.items():
                held = old.get(key, ABSENT)
                if held is ABSENT:
                    operations.append({"op": "add", "path": _in(path, key), "value": thaw(value)})
                else:
                    todo.append((_in(path, key), held, value))
        elif type(old) is kind is VECTOR:
            common = min(len(old), len(new))
            operations += [{"op": "remove", "path": f"{path}/{n}"} for n in range(len(old) - 1, common - 1, -1)]
            operations += [{"op": "add", "path": f"{path}/-", "value": thaw(new[n])} for n in range(common, len(new))]
            pairs = enumerate(zip(old, new, strict=False))
            todo += [(f"{path}/{n}", was, now) for n, (was, now) in pairs if was is not now]
        elif not same(old, new):
            operations.append({"op": "replace", "path": path, "value": thaw(new)})
    return operations


def _in(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
