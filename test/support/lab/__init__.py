# SPDX-License-Identifier: Apache-2.0
"""A mesh on one machine: network namespaces joined by veth pairs, stock Linux VXLAN peers, and posternd.

Needs root. Everything a lab makes is found by its id alone: namespaces `pt-ID-*` and the directory
/var/tmp/postern-lab-ID, so that what a killed run left behind can be swept (leftovers.py).
"""

from .command import CommandFailed, run
from .mesh_lab import MeshLab
from .wait import until

__all__ = ["CommandFailed", "MeshLab", "run", "until"]
