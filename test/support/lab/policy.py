# SPDX-License-Identifier: Apache-2.0
"""A policy as a tree of plain values, and as the YAML that `postern authority compile` reads."""

import copy


class Policy:
    def __init__(self, tree):
        self.tree = tree

    def changed(self, change):
        """A copy that `change(tree)` was applied to."""
        tree = copy.deepcopy(self.tree)
        change(tree)
        return Policy(tree)

    def revoking(self, peer):
        def revoke(tree):
            _named(tree["peers"], peer)["state"] = "revoked"
        return self.changed(revoke)

    def allowing(self, source, destination, protocol, **match):
        return self.changed(lambda tree: tree["rules"].append(
            {"from": source, "to": destination, "protocol": protocol, **match}))

    def yaml(self):
        return "\n".join(_lines(self.tree, "")) + "\n"

    def __eq__(self, other):
        return isinstance(other, Policy) and self.tree == other.tree


def _named(rows, name):
    return next(row for row in rows if row["id"] == name)


def _flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) and any(c in value for c in ":=#{}[],&*!|>'%@`") else str(value)


def _lines(tree, indent):
    for key, value in tree.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"{indent}{key}:"
            for row in value:
                yield f"{indent}  - {_flow(row)}"
        elif isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        else:
            yield f"{indent}{key}: {_flow(value)}"
