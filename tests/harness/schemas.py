"""JSON answers held against the schema that their operation publishes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jsonschema

from freezeframe.frontends import cli_ops
from freezeframe.frontends.parser import parse
from freezeframe.ops._json_schema import output_schema
from freezeframe.ops._registry import OPS

assert cli_ops  # declares operations

Schema = dict[str, Any]
_NULL = {"type": "null"}


def whole(words: Sequence[str], data: Any) -> Any:
    """Return the *data* that the command line *words* answered, with every default written out.

    An answer leaves out what holds its default. A reader who knows the schema loses nothing by
    that; so it is the schema that completes the answer here, after it was checked against it.
    """
    schema = schema_of(tuple(words))
    jsonschema.Draft202012Validator(schema).validate(data)
    return _filled(data, schema, schema.get("$defs", {}))


@functools.cache
def schema_of(words: tuple[str, ...]) -> Schema:
    """Return the schema of what a command line answers."""
    spec = parse(list(words), OPS).op
    assert spec is not None, words
    return _schema_of_result(spec.result)


#: Commands of one operation share a schema.
_schema_of_result = functools.cache(output_schema)


def _filled(data: Any, schema: Schema, definitions: dict[str, Schema]) -> Any:
    schema = _chosen(data, schema, definitions)
    if isinstance(data, dict) and "properties" in schema:
        filled = dict(data)
        for name, inner in schema["properties"].items():
            if name not in filled:
                if "default" not in inner:
                    continue
                filled[name] = inner["default"]
            filled[name] = _filled(filled[name], inner, definitions)
        return filled
    if isinstance(data, dict) and isinstance(schema.get("additionalProperties"), dict):
        inner = schema["additionalProperties"]
        return {name: _filled(item, inner, definitions) for name, item in data.items()}
    if isinstance(data, list) and isinstance(schema.get("items"), dict):
        return [_filled(item, schema["items"], definitions) for item in data]
    return data


def _chosen(data: Any, schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return the schema that *data* meets, where there are several, with no reference left."""
    options = schema.get("anyOf", ())
    if len(options) == 2 and options[1] == _NULL and data is not None:
        return _chosen(data, options[0], definitions)  # the data was checked: it has no other type
    for one in options:
        if jsonschema.Draft202012Validator({**one, "$defs": definitions}).is_valid(data):
            return _chosen(data, one, definitions)
    if "$ref" in schema:
        return definitions[schema["$ref"].rpartition("/")[2]]
    return schema
