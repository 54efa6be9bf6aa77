#!/usr/bin/python
# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set kernel parameters, limits, modules, units and huge pages of one node, now and at boot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_tuning
short_description: Set kernel parameters, limits, modules and units of a node, now and at boot
version_added: 0.1.0
author:
  - The Trackbed developers (@trackbed)
description:
  - Brings all that is named to the wanted value in one go, live and for the next boot, and lists
    every setting that changed or would change.
  - Everything is checked before the first change. A mistake in the options, a key that the kernel
    does not have or a limit that the node cannot grant stops it before anything is touched.
  - Its files are its own, named C(90-trackbed.conf). What they held earlier and is no longer
    wanted vanishes from them; the live value of such a key stays as it is until the next boot.
  - An option that is left out leaves that part of the node alone.
  - It never restarts the node and never unloads a kernel module.
extends_documentation_fragment:
  - trackbed.cluster._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    support: full
    platforms: linux
options:
  sysctl:
    description:
      - Kernel parameters by name, as in C(vm.swappiness). V(absent) takes a key out of the file.
    type: dict
  sysctl_ignore_missing:
    description:
      - Keys of O(sysctl) that may be missing on this kernel.
    type: list
    elements: str
    default: []
  limits:
    description:
      - Limits of logins (C(pam_limits)) by item of C(limits.conf), such as C(memlock) in KiB.
      - A number, V(unlimited), V(SOFT:HARD) or V(absent).
    type: dict
  limits_domains:
    description:
      - Whom O(limits) is for. The wildcard does not cover root.
    type: list
    elements: str
    default: ["*", root]
  limits_ungrantable:
    description:
      - What to do about a limit above what the node can grant, as in a container without
        C(CAP_SYS_RESOURCE). Written as it is, it would make every login fail.
    type: str
    choices: [fail, lower]
    default: fail
  service_limits:
    description:
      - Limits of services, in the same units. C(limits.conf) does not reach services.
    type: dict
  modules:
    description:
      - Kernel modules to load, now and at boot.
    type: list
    elements: str
  units:
    description:
      - Units of systemd and their state.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the unit; without a suffix it is a service.
        type: str
        required: true
      state:
        description:
          - V(enabled) also starts it, V(disabled) and V(masked) also stop it.
        type: str
        choices: [enabled, disabled, masked, unmasked]
        required: true
  transparent_hugepage:
    description:
      - Mode of transparent huge pages. V(unmanaged) takes away what was set here earlier.
    type: str
    choices: [always, madvise, never, unmanaged]
  conflicts:
    description:
      - What to do about files of others that would undo a setting at boot.
    type: str
    choices: [warn, fail]
    default: warn
requirements:
  - systemd 247 or newer
"""

EXAMPLES = r"""
- name: Keep training processes out of swap and let RDMA lock memory
  trackbed.cluster.kernel_tuning:
    sysctl:
      vm.swappiness: 1
      kernel.numa_balancing: 0
    limits:
      memlock: unlimited
    service_limits:
      memlock: unlimited
    modules: [ib_umad, ib_uverbs]
    transparent_hugepage: madvise
"""

RETURN = r"""
changes:
  description: Every setting that changed, or would change in check mode.
  returned: always
  type: list
  elements: dict
  sample:
    - {item: sysctl vm.swappiness, before: "60 now, not set at boot", after: "1"}
conflicts:
  description: Files of others that are read after ours and would undo a setting, by line.
  returned: success
  type: list
  elements: str
  sample: []
problems:
  description: What stood in the way, one sentence each.
  returned: failure
  type: list
  elements: str
applied:
  description: The steps that were taken, in order; on failure, those before the one that failed.
  returned: when not in check mode
  type: list
  elements: str
  sample: [set sysctl vm.swappiness to 1, write /etc/sysctl.d/90-trackbed.conf]
skipped_keys:
  description: Keys that this kernel lacks and that O(sysctl_ignore_missing) allows to be missing.
  returned: always
  type: list
  elements: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trackbed.cluster.plugins.module_utils import _command
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_apply import (
    ApplyError,
    apply,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_input import (
    InputError,
    settings_from,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import Paths
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_node import (
    Node,
    StepError,
    write_atomically,
)

ARGUMENTS = {
    "sysctl": {"type": "dict"},
    "sysctl_ignore_missing": {"type": "list", "elements": "str", "default": []},
    "limits": {"type": "dict"},
    "limits_domains": {"type": "list", "elements": "str", "default": ["*", "root"]},
    "limits_ungrantable": {"type": "str", "choices": ["fail", "lower"], "default": "fail"},
    "service_limits": {"type": "dict"},
    "modules": {"type": "list", "elements": "str"},
    "units": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "name": {"type": "str", "required": True},
            "state": {
                "type": "str",
                "choices": ["enabled", "disabled", "masked", "unmasked"],
                "required": True,
            },
        },
    },
    "transparent_hugepage": {"type": "str", "choices": ["always", "madvise", "never", "unmanaged"]},
    "conflicts": {"type": "str", "choices": ["warn", "fail"], "default": "warn"},
}


def main(root: str = "/") -> None:
    """Run the module; `root` is another place in tests only."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        settings = settings_from(module.params)
    except InputError as error:
        module.fail_json(msg="Nothing was changed. " + str(error), problems=error.problems)
    if os.geteuid() != 0:
        module.fail_json(
            msg="Nothing was changed. This ran as an ordinary user, and kernel settings belong to "
            "root; set become to true"
        )
    node = Node(
        Paths(root), _command.run, lambda place, text: write_atomically(module, place, text)
    )
    try:
        plan, applied = apply(node, settings, module.check_mode)
    except ApplyError as error:
        module.fail_json(
            msg=str(error),
            changed=bool(error.applied),
            applied=error.applied,
            problems=error.problems,
        )
    except StepError as error:
        module.fail_json(msg=f"Nothing was changed. {error}")
    for warning in plan.warnings:
        module.warn(warning)
    result = {
        "changed": bool(plan.changes),
        "changes": [one.as_dict() for one in plan.changes],
        "conflicts": plan.conflicts,
        "skipped_keys": plan.skipped,
        "diff": plan.diff(),
    }
    if not module.check_mode:
        result["applied"] = applied
    module.exit_json(**result)


if __name__ == "__main__":
    main()
