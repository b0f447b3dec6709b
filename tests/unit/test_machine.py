"""The names of a machine: of its file, in a label, in a sentence."""

from __future__ import annotations

from tensor_copies.gallery.machine import Machine
from tensor_copies.machines.recording import simulated_machine

GPU = Machine("cuda", "NVIDIA H100 (SXM)", "2.13.0+cu130", "2.4.6", "3.12.3")


def test_a_file_is_named_after_device_and_versions() -> None:
    versions = "torch-2.13.0-cu130-numpy-2.4.6-py-3.12"
    assert GPU.name == f"cuda-nvidia-h100-sxm-{versions}"


def test_readers_see_the_device_and_the_release() -> None:
    device = "CUDA (NVIDIA H100 (SXM))"
    assert GPU.label == f"{device}, torch 2.13.0, Python 3.12"
    assert GPU.in_sentence == f"{device} with torch 2.13.0"
    assert "simulated device" in simulated_machine().in_sentence
