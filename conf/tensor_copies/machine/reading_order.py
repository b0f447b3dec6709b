"""The order in which a reader meets the lessons."""

from __future__ import annotations

from sphinx.errors import ConfigError
from sphinx_gallery.sorting import FunctionSortKey

READING_ORDER = (
    "leaf_tensors.py",
    "detach.py",
    "clone.py",
    "retain_grad.py",
    "detach_clone.py",
    "clone_detach.py",
    "stop_a_gradient.py",
    "flags_inside_no_grad.py",
    "inference_tensors.py",
    "where_a_graph_ends.py",
    "in_place_and_backward.py",
    "update_by_hand.py",
    "two_losses.py",
    "cpu_and_to.py",
    "numpy_bridge.py",
    "array_to_tensor.py",
    "numpy_force.py",
    "lists_into_a_tensor.py",
    "what_moves.py",
    "load_on_another_device.py",
    "tensor_to_ndarray.py",
    "cost_of_an_ndarray.py",
    "copy_a_tensor.py",
    "measure_a_copy.py",
    "why_a_copy_costs.py",
    "pages_of_a_copy.py",
    "copy_between_devices.py",
    "memory_of_a_copy.py",
    "what_a_copy_copies.py",
    "strides_of_a_copy.py",
    "expanded_tensors.py",
    "what_waits.py",
    "what_stays_alive.py",
    "out_of_memory.py",
    "frozen_network.py",
    "train_through_a_frozen_part.py",
    "freeze_and_unfreeze.py",
    "shared_weights.py",
    "target_network.py",
    "keep_the_best_weights.py",
    "tied_weights.py",
    "gan_step.py",
    "stop_gradient_objectives.py",
    "straight_through.py",
    "truncated_backpropagation.py",
    "activations_and_hooks.py",
    "logging_without_leaking.py",
    "edit_weights_in_place.py",
    "between_libraries.py",
    "batches_and_workers.py",
    "static_buffers.py",
)


class ReadingOrder(FunctionSortKey):
    """Sort key of the gallery: the place of a lesson in ``READING_ORDER``."""

    def __init__(self, src_dir: str) -> None:
        super().__init__(_place)


def _place(lesson: str) -> int:
    if " " in lesson:
        raise ConfigError(f"{lesson}: give the lesson a name without spaces.")
    if lesson not in READING_ORDER:
        raise ConfigError(
            f"{lesson} has no place yet: add it to READING_ORDER in "
            "conf/tensor_copies/machine/reading_order.py."
        )
    return READING_ORDER.index(lesson)
