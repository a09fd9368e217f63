"""The container image, built and run on this machine: buildah, umoci and runc, without a daemon."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.cli.test_serve import Served
from tests.patience import PATIENCE_S
from tests.real import absent
from tests.real.wheels import ROOT, run

# Whom the image runs as.
UID = 10001
# Two busy cores: some 25 s of one of them.
BUILD_TIMEOUT_S = 500
_BUILD = ROOT / "dev/image/build"
# What the image says of how it is run; what runc is told is made from it.
_MADE = "made.json"
# What a container sees in /mnt unless a test has something else to show it.
_EXAMPLES = ROOT / "examples"


def needed_programs() -> None:
    """The test fails or is skipped where the image cannot be built, and says why."""
    look = subprocess.run(["bash", _BUILD, "look"], capture_output=True, check=False)
    if look.returncode == 0:
        return
    how = "as root on Debian, `dev/image/build programs` and then `make e2e`"
    absent("buildah, umoci, runc and mmdebstrap", how)


def built(into: Path, **settings: str) -> tuple[str, str]:
    """An image of this checkout: where it is, as umoci names it, and its digest."""
    done = subprocess.run(
        ["bash", _BUILD],
        env={**os.environ, "IMAGE_INTO": str(into), **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=BUILD_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    path, digest = done.stdout.split()
    return path, digest


def unpacked(image: str, folder: Path) -> Path:
    """An image as runc runs it."""
    run("umoci", "unpack", "--image", image, folder)
    (folder / "config.json").rename(folder / _MADE)
    return folder


class Container:
    """An unpacked image, with a volume for its journal; nothing else of it can be written."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        self.bundle, self.volume, self._state = bundle, folder / "volume", folder / "state"
        self.volume.mkdir()
        os.chown(self.volume, UID, UID)
        self.made: dict[str, Any] = json.loads((bundle / _MADE).read_bytes())

    def write(
        self, arguments: Sequence[str], settings: Mapping[str, str], config_folder: Path
    ) -> None:
        """How it is run next: as the chart has it, on the network of this machine."""
        config = json.loads(json.dumps(self.made))
        config["root"]["readonly"] = True
        process = config["process"]
        process |= {"terminal": False, "noNewPrivileges": True, "args": list(arguments)}
        process["capabilities"] = {}
        process["env"] += [f"{name}={value}" for name, value in settings.items()]
        linux = config["linux"]
        linux["namespaces"] = [e for e in linux["namespaces"] if e["type"] != "network"]
        linux.pop("resources", None)
        config["mounts"] = [
            each
            for each in config["mounts"]
            if each["type"] not in {"cgroup", "sysfs"} and each["destination"] != "/etc/resolv.conf"
        ]
        tmp = {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}
        config["mounts"] += [
            tmp,
            _bound(self.volume, "/var/lib/tidegate", "rw"),
            _bound(config_folder, "/mnt", "ro"),
        ]
        (self.bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")

    def command(self, name: str) -> list[str]:
        """What runs it."""
        of = ["--root", str(self._state)]
        return ["runc", *of, "run", "--bundle", str(self.bundle), name]

    def ran(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What a command in it prints."""
        self.write(arguments, {}, _EXAMPLES)
        return subprocess.run(
            self.command("one"), capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )

    @contextmanager
    def serving(
        self,
        *arguments: str,
        settings: Mapping[str, str] = MappingProxyType({}),
        config_folder: Path = _EXAMPLES,
    ) -> Iterator[Served]:
        """It serves as it does by default, on loopback; the address is that of its API."""
        local = {"TIDEGATE_LISTEN": "127.0.0.1:0", "TIDEGATE_PROBES": "127.0.0.1:0"}
        words = [*self.made["process"]["args"], *arguments]
        self.write(words, {**settings, **local}, config_folder)
        process = subprocess.Popen(
            self.command("service"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        served = Served(process)
        try:
            served.address = served.until("serving")["listen"]
            yield served
        finally:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=PATIENCE_S)


def _bound(source: Path, at: str, mode: str) -> dict[str, Any]:
    options = ["rbind", mode]
    return {"destination": at, "type": "bind", "source": str(source), "options": options}
