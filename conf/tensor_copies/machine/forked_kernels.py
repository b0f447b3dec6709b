"""Kernels that are forks of one Python, which has imported torch before.

To import torch and IPython takes a kernel longer than most pages take to run. Where
several pages run, one Python imports both and forks a kernel for each page; no line of
a page has run in it. ``jupyter_client`` starts kernels by a *provisioner*, and this is
one. On other systems than Linux, or if that Python has ended, kernels start as always.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import warnings
from importlib import import_module
from importlib.metadata import EntryPoint
from threading import Lock
from typing import Any

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "forked"
LAUNCHER = "ipykernel_launcher"  # its arguments are a kernel's


class _Forks:
    """The Python that forks kernels, and the pipes to it."""

    def __init__(self, modules: list[str]) -> None:
        answers, answered = os.pipe()
        with os.fdopen(answered, "wb"):
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(answered), *modules],
                stdin=subprocess.PIPE,
                text=True,
                pass_fds=[answered],
            )
        self._answers = os.fdopen(answers)
        self._one_at_a_time = Lock()
        self._is_ready = False

    def wait(self) -> None:
        """Wait until it has imported all, or has ended."""
        with self._one_at_a_time:
            self._wait()

    def _wait(self) -> None:
        if not self._is_ready:
            self._answers.readline()
            self._is_ready = True

    def fork(self, arguments: list[str], cwd: str | None, env: dict | None) -> int:
        """Return the number of a new process that is a kernel.

        Raises
        ------
        OSError
            If the Python that forks has ended.
        """
        asked = json.dumps({"arguments": arguments, "cwd": cwd, "env": env})
        with self._one_at_a_time:
            self._wait()
            self._process.stdin.write(asked + "\n")
            self._process.stdin.flush()
            answer = self._answers.readline()
        if not answer:
            raise OSError("it has ended")
        return int(answer)

    def close(self) -> None:
        """End it; a kernel ends when it sees that."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._answers.close()
        self._process.wait()


_forks: _Forks | None = None


def begin(modules: list[str]) -> bool:
    """Fork all kernels from now on; return whether this was not so before.

    They are forks of a Python that has imported these ``modules`` too. Nowhere but on
    Linux: macOS forbids forks after some of its libraries ran.
    """
    global _forks
    if sys.platform != "linux" or _forks is not None:
        return False
    _forks = _Forks(modules)
    factory = KernelProvisionerFactory.instance()
    value = f"{Forked.__module__}:{Forked.__name__}"
    factory.provisioners[NAME] = EntryPoint(NAME, value, factory.GROUP_NAME)
    factory.default_provisioner_name = NAME
    return True


def wait() -> None:
    """Wait until the Python that forks, if there is one, has imported all."""
    if _forks is not None:
        _forks.wait()


def end() -> None:
    """Fork no more."""
    global _forks
    if _forks is not None:
        KernelProvisionerFactory.instance().default_provisioner_name = (
            "local-provisioner"
        )
        _forks.close()
        _forks = None


class Forked(LocalProvisioner):
    """Starts a kernel as a fork."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> dict[str, Any]:
        """Start the kernel that a command would start."""
        forks = _forks
        if forks is None or LAUNCHER not in cmd:
            return await super().launch_kernel(cmd, **options)
        arguments = cmd[cmd.index(LAUNCHER) + 1 :]
        try:
            pid = forks.fork(arguments, options.get("cwd"), options.get("env"))
        except OSError:
            return await super().launch_kernel(cmd, **options)
        self.process = _Process(pid)
        self.pid = self.pgid = pid
        return self.connection_info


class _Process:
    """What jupyter_client asks of a process; it is no child of ours."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """Return None while it runs; how it ended nobody knows, nor asks."""
        try:
            os.kill(self.pid, 0)
        except OSError:
            return 0
        return None

    wait = poll  # is asked only of what has ended

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def _become_kernel(asked: dict[str, Any]) -> None:
    """Be what ``python -m ipykernel_launcher`` is, in a session of its own."""
    import ipykernel_launcher
    from ipykernel.kernelapp import launch_new_instance

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    if asked["env"] is not None:
        os.environ.clear()
        os.environ.update(asked["env"])
    if asked["cwd"] is not None:
        os.chdir(asked["cwd"])
    gc.enable()
    sys.argv = [ipykernel_launcher.__file__, *asked["arguments"]]
    launch_new_instance()
    sys.exit()


def main() -> None:
    """Import what all kernels import, then fork one for each line that is read."""
    sys.path.pop(0)  # the folder of this file
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # with it a kernel ends
    gc.disable()
    import ipykernel.ipkernel
    import ipykernel.kernelapp  # noqa: F401
    import numpy  # noqa: F401
    import torch  # noqa: F401

    for module in sys.argv[2:]:
        import_module(module)
    gc.freeze()  # what is never collected is never copied into a fork
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # none is waited for
    # Libraries have threads of their own by now; none of them is forked in its work.
    warnings.filterwarnings("ignore", r".*fork\(\) may lead to deadlocks")
    answers = int(sys.argv[1])
    os.write(answers, b"ready\n")
    for line in sys.stdin:
        kernel = os.fork()
        if not kernel:
            os.close(answers)
            _become_kernel(json.loads(line))
        os.write(answers, f"{kernel}\n".encode())


if __name__ == "__main__":
    main()
