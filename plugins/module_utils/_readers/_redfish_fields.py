# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where each value stands in a Redfish resource. Private to trackbed.cluster.

`SOURCES_OF[entity type]` holds (value name, places, how to read it). Places are
keys with `/` between levels and `|` between alternatives, the newest first.
"""

from __future__ import annotations

import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

# Redfish type -> entity type. What is not here becomes a `resource`.
TYPES = {
    "Sensor": "sensor",
    "Fan": "fan",
    "Pump": "pump",
    "LeakDetector": "leak_detector",
    "SoftwareInventory": "firmware",
    "PowerSupply": "psu",
    "ComputerSystem": "system",
    "Chassis": "chassis",
    "Manager": "manager",
    "Memory": "dimm",
    "Drive": "disk",
}
# The list of `Thermal` or `Power` -> entity type.
LISTS = {
    "Temperatures": "sensor",
    "Voltages": "sensor",
    "Fans": "fan",
    "PowerSupplies": "psu",
    "PowerControl": "power_control",
}
# Name of the collection in an address -> type, for BMCs that leave `@odata.type` out.
BY_COLLECTION = {
    "Systems": "ComputerSystem",
    "Chassis": "Chassis",
    "Managers": "Manager",
    "Sensors": "Sensor",
    "Fans": "Fan",
    "Pumps": "Pump",
    "LeakDetectors": "LeakDetector",
    "FirmwareInventory": "SoftwareInventory",
    "PowerSupplies": "PowerSupply",
    "Processors": "Processor",
    "Memory": "Memory",
    "Drives": "Drive",
    "Ports": "Port",
}
# (value name, places, how to read it, what it says, unit)
_Row = t.Tuple[str, str, str, str, t.Optional[str]]
_READERS: dict[str, type] = {"int": int, "float": float, "bool": bool, "names": list, "gen": int}
_PART: list[_Row] = [
    ("name", "Name", "str", "name", None),
    ("manufacturer", "Manufacturer", "str", "maker", None),
    ("model", "Model", "str", "model", None),
    ("part_number", "PartNumber", "str", "part number", None),
]
_LINK: list[_Row] = [
    ("name", "Name", "str", "name", None),
    ("link_state", "LinkState", "snake", "whether the link is enabled", None),
    ("link_status", "LinkStatus", "snake", "link_up, link_down, no_link, starting, training", None),
    ("speed_gbit_per_s", "CurrentSpeedGbps", "float", "speed", "10^9 bit/s"),
    ("max_speed_gbit_per_s", "MaxSpeedGbps", "float", "highest speed", "10^9 bit/s"),
    ("protocol", "PortProtocol", "str", "NVLink, PCIe, Ethernet, InfiniBand", None),
    ("rx_width", "Oem/Nvidia/RXWidth", "int", "lanes that receive", None),
    ("tx_width", "Oem/Nvidia/TXWidth", "int", "lanes that send", None),
]
_CPU: list[_Row] = [
    *_PART,
    ("processor_type", "ProcessorType", "snake", "cpu, gpu, fpga ...", None),
    ("firmware_version", "FirmwareVersion", "str", "firmware", None),
    ("version", "Version", "str", "hardware revision", None),
    ("clock_mhz", "OperatingSpeedMHz", "int", "clock now", "MHz"),
    ("max_clock_mhz", "MaxSpeedMHz", "int", "highest clock", "MHz"),
    ("core_count", "TotalCores", "int", "cores", None),
    ("ecc_enabled", "MemorySummary/ECCModeEnabled", "bool", "ECC of the memory", None),
    ("pcie_gen", "SystemInterface/PCIe/PCIeType", "gen", "PCIe generation", None),
    ("pcie_max_gen", "SystemInterface/PCIe/MaxPCIeType", "gen", "highest PCIe generation", None),
    ("pcie_width", "SystemInterface/PCIe/LanesInUse", "int", "PCIe lanes", None),
    ("pcie_max_width", "SystemInterface/PCIe/MaxLanes", "int", "most PCIe lanes", None),
    ("throttle_reasons", "Oem/Nvidia/ThrottleReasons", "names", "why clocks are held down", None),
    (
        "ecc_correctable_count",
        "CacheMetricsTotal/LifeTime/CorrectableECCErrorCount",
        "int",
        "corrected ECC errors of the caches, over its life",
        None,
    ),
    (
        "ecc_uncorrectable_count",
        "CacheMetricsTotal/LifeTime/UncorrectableECCErrorCount",
        "int",
        "uncorrected ECC errors of the caches, over its life",
        None,
    ),
    ("pcie_correctable_count", "PCIeErrors/CorrectableErrorCount", "int", "PCIe, corrected", None),
    ("pcie_non_fatal_count", "PCIeErrors/NonFatalErrorCount", "int", "PCIe, not fatal", None),
    ("pcie_fatal_count", "PCIeErrors/FatalErrorCount", "int", "PCIe, fatal", None),
    ("pcie_replay_count", "PCIeErrors/ReplayCount", "int", "PCIe replays", None),
    (
        "pcie_l0_to_recovery_count",
        "PCIeErrors/L0ToRecoveryCount",
        "int",
        "PCIe retrainings; some are normal",
        None,
    ),
]
_READING: list[_Row] = [
    ("name", "Name|FanName", "str", "name", None),
    (
        "reading",
        "Reading|ReadingCelsius|ReadingVolts|CurrentReading|SpeedPercent/Reading",
        "float",
        "what the sensor reads; null where it gives nothing",
        "as reading_units says",
    ),
    ("reading_units", "ReadingUnits|Units", "str", "Cel, RPM, Percent, W, V ...", None),
    ("reading_type", "ReadingType", "snake", "temperature, power, voltage, rotational ...", None),
    ("physical_context", "PhysicalContext", "snake", "where it sits: intake, gpu, cpu ...", None),
    (
        "upper_critical",
        "Thresholds/UpperCritical/Reading|UpperThresholdCritical",
        "float",
        "BMC's own upper critical threshold",
        "as reading_units says",
    ),
    (
        "upper_caution",
        "Thresholds/UpperCaution/Reading|UpperThresholdNonCritical",
        "float",
        "BMC's own upper warning threshold",
        "as reading_units says",
    ),
    (
        "lower_critical",
        "Thresholds/LowerCritical/Reading|LowerThresholdCritical",
        "float",
        "BMC's own lower critical threshold",
        "as reading_units says",
    ),
]
_SYSTEM: list[_Row] = [
    *_PART,
    ("power_state", "PowerState", "snake", "on, off, powering_on, powering_off, paused", None),
    ("bios_version", "BiosVersion", "str", "BIOS", None),
    ("system_type", "SystemType", "snake", "physical, virtual, composed ...", None),
    ("boot_progress", "BootProgress/LastState", "snake", "how far it has booted", None),
    ("boot_override", "Boot/BootSourceOverrideTarget", "snake", "next boot's source", None),
    ("boot_override_enabled", "Boot/BootSourceOverrideEnabled", "snake", "once or always", None),
    ("cpu_count", "ProcessorSummary/Count", "int", "processors", None),
    ("memory_total_gib", "MemorySummary/TotalSystemMemoryGiB", "float", "memory", "GiB"),
]
_TABLES: dict[str, list[_Row]] = {
    "sensor": _READING,
    "fan": _READING,
    "pump": [("name", "Name", "str", "name", None)],
    "leak_detector": [
        ("name", "Name", "str", "name", None),
        (
            "detector_state",
            "DetectorState",
            "snake",
            "ok, warning or critical: critical = wet",
            None,
        ),
        ("detector_type", "LeakDetectorType", "snake", "moisture, float_switch", None),
    ],
    "firmware": [
        ("name", "Name", "str", "name", None),
        ("version", "Version", "str", "version", None),
        ("updateable", "Updateable", "bool", "whether the BMC can update it", None),
        ("software_id", "SoftwareId", "str", "identity of the image", None),
    ],
    "psu": [
        *_PART,
        ("firmware_version", "FirmwareVersion", "str", "firmware", None),
        ("capacity_w", "PowerCapacityWatts", "float", "most power that it gives", "W"),
        ("input_w", "PowerInputWatts", "float", "power taken", "W"),
        ("output_w", "PowerOutputWatts|LastPowerOutputWatts", "float", "power given", "W"),
        ("input_v", "LineInputVoltage", "float", "line voltage", "V"),
        ("line_input_status", "LineInputStatus", "snake", "normal, loss_of_input ...", None),
    ],
    "power_control": [
        ("name", "Name", "str", "name", None),
        ("power_draw_w", "PowerConsumedWatts", "float", "power now", "W"),
        ("power_capacity_w", "PowerCapacityWatts", "float", "most power", "W"),
        ("power_limit_w", "PowerLimit/LimitInWatts", "float", "limit; null: none is set", "W"),
        ("power_average_w", "PowerMetrics/AverageConsumedWatts", "float", "average", "W"),
        ("power_max_w", "PowerMetrics/MaxConsumedWatts", "float", "highest", "W"),
    ],
    "system": _SYSTEM,
    "chassis": [
        *_PART,
        ("chassis_type", "ChassisType", "snake", "rack_mount, component, module ...", None),
        ("power_state", "PowerState", "snake", "on or off", None),
    ],
    "manager": [
        *_PART,
        ("firmware_version", "FirmwareVersion", "str", "the BMC's firmware", None),
    ],
    "dimm": [
        *_PART,
        ("capacity_mib", "CapacityMiB", "int", "size", "MiB"),
        ("clock_mhz", "OperatingSpeedMhz", "int", "clock", "MHz"),
        ("locator", "DeviceLocator", "str", "slot, as the maker calls it", None),
    ],
    "disk": [
        *_PART,
        ("capacity_b", "CapacityBytes", "int", "size", "B"),
        ("firmware_version", "Revision|FirmwareVersion", "str", "firmware", None),
        ("life_left_pct", "PredictedMediaLifeLeftPercent", "float", "life left", "%"),
        ("failure_predicted", "FailurePredicted", "bool", "SMART warns", None),
    ],
    "gpu": _CPU,
    "cpu": _CPU,
    "nvlink": _LINK,
    "port": _LINK,
    "resource": [("name", "Name", "str", "name", None)],
}
SOURCES_OF = {
    kind: [(name, where, reader) for name, where, reader, _says, _unit in table]
    for kind, table in _TABLES.items()
}
_STATUS = {
    "state": Field(str, "enabled, disabled, absent, standby_offline, degraded ..."),
    "health": Field(str, "ok, warning, critical; null where absent", None, None),
    "health_reported": Field(str, "health that the BMC gave for a thing that is absent"),
    "health_rollup": Field(str, "health of it and of what depends on it"),
}
_MESSAGE = {
    "severity": Field(str, "ok, warning, critical"),
    "message": Field(str, "text"),
    "message_id": Field(str, "key of the message registry; null where it is not given"),
    "resolution": Field(str, "what the maker advises"),
}
FIELDS = {
    "node": {
        "resource_type": Field(str, "Redfish type without its version"),
        "resource_path": Field(str, "address of the resource (@odata.id)"),
        "member_count": Field(int, "members of a collection, on all its pages"),
        "more_members": Field(bool, "the collection goes on on another page"),
        "error_code": Field(str, "code of a refusal"),
        "error_message": Field(str, "general text of a refusal"),
    },
    "condition": _MESSAGE,
    "message": _MESSAGE,
}
FIELDS.update(
    {
        kind: {
            **_STATUS,
            **{
                name: Field(_READERS.get(reader, str), says, unit)
                for name, _where, reader, says, unit in table
            },
        }
        for kind, table in _TABLES.items()
    }
)
