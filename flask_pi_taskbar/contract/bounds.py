"""Every number of Contract v1 in one table, read by all rooms. Nothing here measures or cuts; byte counts are UTF-8."""

from __future__ import annotations

from typing import Final

CONTRACT_VERSION: Final = 1

# The request as a whole. The raw body is bounded before anything looks into it.
REQUEST_BYTES: Final = 131_072
PROMPT_BYTES: Final = 4_000
CONTEXT_BYTES: Final = 98_304

# Node trees. Depth counts the root as 0, so a tree of depth 12 has up to thirteen levels.
PAGE_BYTES: Final = 49_152
PAGE_NODES: Final = 750
PAGE_DEPTH: Final = 12
FOCUS_BYTES: Final = 49_152  # the whole list of focus points
FOCUS_POINTS: Final = 8
FOCUS_NODES: Final = 100
FOCUS_DEPTH: Final = 6
ANCESTORS: Final = 8
SOURCE_REFERENCES: Final = 2

# Strings of a location (the page's own, `href`, `src`).
ORIGIN_BYTES: Final = 512
PORT_MAX: Final = 65_535
PATH_BYTES: Final = 2_048
QUERY_NAMES: Final = 32
QUERY_NAME_BYTES: Final = 128

# Strings of a route.
METHOD_BYTES: Final = 16
PATTERN_BYTES: Final = 1_000
HANDLER_BYTES: Final = 500
ACTION_BYTES: Final = 256

# Strings of a node, an ancestor and a focus point.
TAG_BYTES: Final = 64
ROLE_BYTES: Final = 64
NAME_BYTES: Final = 512
TEXT_BYTES: Final = 1_000
ID_BYTES: Final = 256
CLASSES: Final = 32
CLASS_BYTES: Final = 128
ATTRIBUTE_BYTES: Final = 256
SELECTOR_BYTES: Final = 1_000

# Strings of a source reference.
SOURCE_PATH_BYTES: Final = 500
SYMBOL_BYTES: Final = 256

# What Pi says, as it reaches a snapshot.
OUTPUT_BYTES: Final = 32_768
MODEL_BYTES: Final = 256
TOOL_BYTES: Final = 100
RETRY_COUNT_MAX: Final = 999
