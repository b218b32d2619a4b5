"""Configs of result files with every field, remembered."""

import functools
import json

from trainers.workdirs.workdir import resolved


def complete_config(config: dict) -> dict:
    """Like `resolved`, which takes long, and which tables often ask the same.

    For configs of result files alone: what code of a user's own says about the
    fields could change.
    """
    return json.loads(_complete(json.dumps(config)))


@functools.cache
def _complete(config: str) -> str:
    return json.dumps(resolved(json.loads(config)))
