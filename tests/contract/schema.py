"""The shared JSON Schema of a browser context as one more judge, its `x-` keywords written for this purpose only."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend


def judge_of(schema_file: Path) -> Callable[[Any], bool]:
    """Whether a context is valid by the schema in `schema_file`."""
    keywords = {name: _keyword(check) for name, check in _CHECKS.items()}
    validator = extend(Draft202012Validator, keywords)(json.loads(schema_file.read_text()))
    return lambda context: bool(validator.is_valid(context))


def unknown_keywords(schema_file: Path) -> set[str]:
    """The `x-` keywords of the schema that no check here stands for."""
    return set(re.findall(r'"(x-[A-Za-z0-9]+)"', schema_file.read_text())) - set(_CHECKS)


def _keyword(check: Callable[[Any, Any], bool]) -> Callable[..., Iterator[ValidationError]]:
    def keyword(_validator: Any, argument: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        if not check(argument, instance):
            yield ValidationError("no")

    return keyword


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _children(node: Any) -> list[Any]:
    children = node.get("children") if isinstance(node, dict) else None
    return children if isinstance(children, list) else []


def _count(node: Any) -> int:
    return 1 + sum(map(_count, _children(node)))


def _depth(node: Any) -> int:
    return max((1 + _depth(child) for child in _children(node)), default=0)


def _is_unique(field: str, items: Any) -> bool:
    found = [item.get(field) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return all(found.count(each) == 1 for each in found)


def _is_origin(origin: Any) -> bool:
    try:
        parts = urlsplit(origin)
        port = parts.port
        host = parts.hostname or ""
        if ":" in host:
            ipaddress.IPv6Address(host)
        elif "[" in parts.netloc:
            return False
        elif re.fullmatch(r"[0-9.]+", host):
            ipaddress.IPv4Address(host)
        elif not all(re.fullmatch(r"(?!-)[a-z0-9-]{1,63}(?<!-)", label) for label in host.split(".")):
            return False
    except (ValueError, TypeError, AttributeError):
        return False
    return port != 0 and parts.scheme in ("http", "https") and "@" not in parts.netloc and not parts.path


def _is_project_path(path: Any) -> bool:
    if not isinstance(path, str):
        return True
    segments = path.split("/")
    return segments[0] not in ("deps", "_build") and "\\" not in path and not {"", ".", ".."} & set(segments)


def _is_hint(hint: Any) -> bool:
    if not isinstance(hint, dict) or not isinstance(hint.get("references"), list):
        return True
    return (hint.get("status") == "available") is (len(hint["references"]) in (1, 2))


_CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "x-maxUtf8Bytes": lambda bound, text: not isinstance(text, str) or len(text.encode()) <= bound,
    "x-maxJsonUtf8Bytes": lambda bound, value: _size(value) <= bound,
    "x-maxNodes": lambda bound, node: _count(node) <= bound,
    "x-maxDepth": lambda bound, node: _depth(node) <= bound,
    "x-uniqueBy": _is_unique,
    "x-httpOrigin": lambda wanted, origin: not wanted or _is_origin(origin),
    "x-projectPath": lambda wanted, path: not wanted or _is_project_path(path),
    "x-sourceHint": lambda wanted, hint: not wanted or _is_hint(hint),
}
