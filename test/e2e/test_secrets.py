# SPDX-License-Identifier: Apache-2.0
"""The node's secret key stays where it is: in its file and in guarded memory."""

import base64
import pathlib
import re


def secrets_of(gw):
    text = (gw.files / "state" / "node.key").read_text(encoding="ascii").split()[1]
    seed = base64.b64decode(text)
    return [text.encode(), seed, seed.hex().encode()]


def test_the_node_key_is_in_no_log_argument_environment_answer_or_other_file(gw, lab):
    gw.stop()
    gw.start(options=("--log-level", "debug"))
    lab.adopt(lab.base_policy())
    process = pathlib.Path("/proc") / str(gw.pid)
    places = {"log": gw.log().encode(), "arguments": (process / "cmdline").read_bytes(),
              "environment": (process / "environ").read_bytes(), "status": gw.cli("--json", "status").stdout.encode(),
              "metrics": gw.http("/metrics")[1].encode()}
    for file in gw.files.rglob("*"):
        if file.is_file() and file.name != "node.key":
            places[str(file)] = file.read_bytes()
    for place, content in places.items():
        for secret in secrets_of(gw):
            assert secret not in content, place


def test_the_daemon_writes_no_core(gw, lab):
    limits = (pathlib.Path("/proc") / str(gw.pid) / "limits").read_text(encoding="ascii")
    assert re.search(r"^Max core file size +0 +0 ", limits, re.M), limits
