"""What the engine says it applied, held against what was asked (M2).

Pure. An engine may drop an option in silence (an older version, a kernel without the feature); that is a difference like any
other. The engine's word alone is not enough either: `probe` compares what is in force inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.sandbox.confined import Confined
from runner.sandbox.spec import SandboxSpec, create_kwargs, host_config

#: Options of the engine that a sandbox never has; each must come back empty.
EMPTY = frozenset(
    {
        "Binds",
        "CgroupParent",
        "DeviceCgroupRules",
        "DeviceRequests",
        "Devices",
        "Dns",
        "DnsOptions",
        "DnsSearch",
        "ExtraHosts",
        "GroupAdd",
        "Links",
        "PortBindings",
        "PublishAllPorts",
        "Sysctls",
        "UsernsMode",
        "VolumeDriver",
        "VolumesFrom",
    }
)
#: Compared as they were asked; image, environment and labels have a comparison of their own.
_CONFIG = (
    *("User", "WorkingDir", "Hostname", "Entrypoint", "Cmd", "Tty", "OpenStdin", "StdinOnce", "NetworkDisabled"),
    *("AttachStdin", "AttachStdout", "AttachStderr", "StopTimeout"),
)
MASKED = frozenset({"/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"})
READ_ONLY = frozenset({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"})
_UNORDERED = ("SecurityOpt", "CapDrop")


def differences(spec: SandboxSpec, inspect: Mapping[str, Any]) -> tuple[str, ...]:
    """Every difference between a spec and the engine's description of a container; none is the only good answer.

    Args:
        spec: What was asked.
        inspect: The engine's answer, as received.
    """
    return departures(spec, create_kwargs(spec), inspect)


def departures(spec: Confined, asked: Mapping[str, Any], inspect: Mapping[str, Any]) -> tuple[str, ...]:
    """The same for any confined container.

    Args:
        spec: How it is confined.
        asked: The body of the create request.
        inspect: The engine's answer, as received.
    """
    config = _mapping(inspect.get("Config"))
    host = _mapping(inspect.get("HostConfig"))
    return (
        *_config(asked, config, image=inspect.get("Image")),
        *_host(spec, host),
        *_mounts(spec, inspect.get("Mounts")),
        *_rest(inspect),
    )


def _config(asked: Mapping[str, Any], config: Mapping[str, Any], *, image: object) -> list[str]:
    found = [f"Config.{key}" for key in _CONFIG if config.get(key) != asked[key]]
    if image != asked["Image"]:
        found.append("Image")
    if sorted(config.get("Env") or ()) != asked["Env"]:
        found.append("Config.Env")
    labels = _mapping(config.get("Labels"))
    if any(labels.get(name) != value for name, value in asked["Labels"].items()):
        found.append("Config.Labels")
    found.extend(f"Config.{key}" for key in ("Volumes", "ExposedPorts", "Healthcheck", "OnBuild") if config.get(key))
    return found


def _host(spec: Confined, host: Mapping[str, Any]) -> list[str]:
    found = [f"HostConfig.{key}" for key, value in host_config(spec).items() if not _same(key, value, host.get(key))]
    found.extend(f"HostConfig.{key}" for key in sorted(EMPTY) if host.get(key))
    for key, least in (("MaskedPaths", MASKED), ("ReadonlyPaths", READ_ONLY)):
        if not least <= set(host.get(key) or ()):
            found.append(f"HostConfig.{key}")
    return found


def _same(key: str, asked: object, applied: object) -> bool:
    if key == "Ulimits":
        return _limits(asked) == _limits(applied)
    if key in _UNORDERED and isinstance(asked, list) and isinstance(applied, list):
        return sorted(asked) == sorted(applied)
    if not asked:  # nothing, "" and False are all "no" to the engine
        return not applied
    return asked == applied


def _limits(value: object) -> set[tuple[Any, ...]] | None:
    if not isinstance(value, list):
        return None
    return {(item.get("Name"), item.get("Soft"), item.get("Hard")) for item in value}


def _mounts(spec: Confined, mounts: object) -> list[str]:
    asked = {("bind", str(mount.source), str(mount.target), False) for mount in spec.mounts}
    if not isinstance(mounts, list):
        return ["Mounts"]
    applied = [(item.get("Type"), item.get("Source"), item.get("Destination"), item.get("RW")) for item in mounts]
    return [] if len(applied) == len(asked) and set(applied) == asked else ["Mounts"]


def _rest(inspect: Mapping[str, Any]) -> list[str]:
    found = []
    if inspect.get("AppArmorProfile") == "unconfined":
        found.append("AppArmorProfile")
    if inspect.get("ExecIDs"):
        found.append("ExecIDs")
    network = _mapping(inspect.get("NetworkSettings"))
    if set(_mapping(network.get("Networks"))) - {"none"} or network.get("Ports"):
        found.append("NetworkSettings")
    return found


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
