"""Say what a record of a call means.

Pages, lanes of the explorer, cards of the search and the cheat sheet take their words
from here; what the explorer says while a reader types is in static/explorer.js. No
fact stands in this file.
"""

import re
from html import escape

from tensor_maps.atlas.calls import Call

from tensor_copies.calls.facts import LEAF, Facts, Record

SIGNS = {
    "shares": "shares memory",
    "itself": "is x itself",
    "copies": "has its own memory",
    "moves": "is x itself, moved",
    "raises": "raises",
    "flows": "gradient flows back",
    "stops": "gradient stops",
}
PLACES = {"cpu": "the CPU", "device": "the GPU"}
TENSORS = ("x", "z", "h")  # what has a version counter and gradients


def signs(record: Record) -> list[str]:
    """Return the signs of a record, keys of ``SIGNS``: memory first, then gradient."""
    if record["error"] is not None:
        return ["raises"]
    memory = "shares" if record["shares_memory"] else "copies"
    if record["same_object"]:
        memory = "moves" if record["new_bytes"] else "itself"
    gradient = {True: ["flows"], False: ["stops"], None: []}
    return [memory, *gradient[record["gradient_flows"]]]


def raised(record: Record) -> str:
    """Return the class of what a call raised."""
    return record["error"].partition(":")[0]


def headline(record: Record, x: str = "x") -> str:
    """Return the answer in a sentence or two."""
    if record["error"] is not None:
        ends = record["error"].startswith("Python ended")
        return "It ends Python." if ends else f"It raises {raised(record)}."
    if record["same_object"]:
        moved = ", now in new memory" if record["new_bytes"] else ""
        said = f"y is {x} itself{moved}."
    elif record["shares_memory"]:
        said = f"y shares memory with {x}."
    elif record["new_bytes"] is None:
        said = f"y is a {_kind(record)}, not a tensor or array."
    elif record["other_values"]:
        said = f"y has new memory and other values than {x}."
    else:
        said = "y is a copy with its own memory."
    back = {True: f" Gradients flow back to {x}.", False: " No gradient flows back."}
    said += back.get(record["gradient_flows"], "")
    if record["moved"] and record["new_bytes"] is not None:
        said += f" y is on {PLACES[record['where']]}."
    return said


def _kind(record: Record) -> str:
    kind = record["result"]
    return f"Python {kind}" if kind in ("float", "int", "list") else "number"


def facts_of(record: Record, x: str = "x") -> list[tuple[str, str, str]]:
    """Return what is known of y, if there is one: titles, answers and details.

    The first four are those of every call; the explorer shows these.
    """
    size = record["new_bytes"]
    new = f"{size} new bytes" if size else "no new memory"
    if record["same_object"]:
        memory = f"{x} itself", new
    elif record["shares_memory"]:
        memory = f"shared with {x}", new
    elif size is None:
        memory = "none", f"a {_kind(record)}"
    else:
        memory = "its own", f"{size} new bytes"
    gradient = {
        None: ("none", f"{x} does not require grad"),
        False: ("stops", f"a backward pass does not reach {x}"),
        True: ("flows back", f"a backward pass reaches {x}"),
    }[record["gradient_flows"]]
    autograd = "not part of autograd", ""
    if record["requires_grad"] is not None:
        leaf = "leaf: yes" if record["is_leaf"] else f"leaf: no, {record['grad_fn']}"
        autograd = f"requires_grad: {record['requires_grad']}", leaf
    if record["changes_x"]:
        autograd = autograd[0], f"{autograd[1]}; the call changed {x}"
    return [
        ("Memory", *memory),
        ("Gradient", *gradient),
        ("Result", record["result"], f"on {PLACES[record['where']]}"),
        ("y in autograd", *autograd),
        *_more_facts(record, x),
    ]


def _more_facts(record: Record, x: str) -> list[tuple[str, str, str]]:
    said, is_of_x = [], record["shares_version"]
    if record["shares_memory"] and not record["same_object"] and is_of_x is not None:
        whose, a = (f"that of {x}", "a") if is_of_x else ("its own", "no")
        notices = f"{a} backward pass notices a write through the other name"
        said.append(("Version counter", whose, notices))
    elif x in TENSORS and record["requires_grad"] is not None:
        if is_of_x is None:
            said.append(("Version counter", "none", "y is an inference tensor"))
        elif not record["same_object"]:
            said.append(("Version counter", "its own", ""))
    if record["version_raised"] or (x in TENSORS and record["writes_x"]):
        said.append((f"Version of {x}", f"+ {record['version_raised']}", ""))
    if record["strides_kept"] is not None:
        kept = "yes" if record["strides_kept"] else "no"
        said.append((f"Keeps the strides of {x}", kept, ""))
    if record["pinned"]:
        said.append(("Pinned", "yes", ""))
    if record["warning"]:
        said.append(("Warning", record["warning"], ""))
    return said


def meaning(record: Record, x: str = "x") -> str:
    """Say in a sentence or two what a call means for who writes to y or x."""
    said = [_memory_meaning(record, x)]
    if record["operation"] == "expand" and record["shares_memory"]:
        said.append("But calls such as y.add_(1) raise, because y repeats elements.")
    if record["moved"] and record["new_bytes"] is not None:
        said.append(f"y is on {PLACES[record['where']]}.")
    if record["pinned"]:
        said.append("y is in pinned memory.")
    back = {True: ["Gradients flow back."], False: ["No gradient flows back."]}
    return " ".join(said + back.get(record["gradient_flows"], []))


def _memory_meaning(record: Record, x: str) -> str:
    """Say what a write to x or y changes, or that the call itself is one."""
    if record["same_object"]:
        return _meaning_of_itself(record, x)
    if not record["shares_memory"]:
        if record["new_bytes"] is None:
            return f"y is a {_kind(record)}, without a tensor's memory."
        return f"y has its own memory, so a write to y doesn't change {x}."
    if x not in TENSORS:
        return f"A write to y also changes {x}."
    notices = "notices" if record["shares_version"] else "doesn't notice"
    if what := _written_under_no_grad(record, x):
        return (
            f"y is {what}, so a write to y needs torch.no_grad(). "
            f"It also changes {x}, and autograd {notices}."
        )
    return f"A write to y also changes {x}. Autograd {notices}."


def _meaning_of_itself(record: Record, x: str) -> str:
    said, grows = f"y is {x} itself", record["version_raised"]
    if record["new_bytes"]:
        they = "keep the old memory."
        if record["operation"] == "share-memory":  # the storage itself gets new memory
            they = f"move with it. An earlier {x}.numpy() points to freed memory."
        return f"{said}, now in new memory. Earlier views of {x} {they}"
    if record["writes_x"]:
        does = f"notices, because {x}'s version counter grows by {grows}"
        if not grows:
            does = f"doesn't notice, because {x}'s version counter stays the same"
        return f"The call modifies {x} in place. Autograd {does}."
    if record["changes_x"]:
        return f"{said}, now with requires_grad={record['requires_grad']}."
    return f"{said}, not a copy."


def _written_under_no_grad(record: Record, x: str) -> str:
    """Say why a write to y raises in grad mode; nothing where it doesn't."""
    if not record["requires_grad"]:
        return ""
    if record["is_leaf"]:
        return "a leaf that requires grad"
    if x == "x" and record["state"] in ("leaf", "leaf_view"):
        return "a view of a leaf that requires grad"
    several = (record["grad_fn"] or "").startswith(("Split", "Unbind"))
    return "one of several views of one call" if several else ""


def after_write(record: Record, name: str, x: str = "x") -> str:
    """Say what the write through "x" or "y" changed: both, one alone, or nothing."""
    write = record["writes"][name]
    written, other = (x, "y") if name == "x" else ("y", x)
    is_frame = written in ("df", "mixed")
    code = f"{written}.iloc[0] = 7" if is_frame else f"{written}[0] = 7"
    if write["changed"] is None:
        return f"{code} raises {write['refused']}"
    said = f"Only {written} changed: {other} keeps its values."
    if record["same_object"]:
        said = f"{x} changed, and y is {x}."
        if not write["both"]:
            said = f"Nothing changed: {code} writes what is there already."
    elif write["both"]:
        said = f"Both changed: {other} also has the 7."
    if write["refused"]:
        refused = write["refused"]
        said += f" Written under torch.no_grad(); without it PyTorch raises {refused}"
    return said


def card(facts: Facts, call: Call) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what an answer card says of a row: facts, each with a sign; and notes.

    The facts are those of the first kind of x that the call takes; the notes say where
    another kind of x, or an x on a GPU, does something else to memory.
    """
    x = call.subject
    seen = {state: facts.record(call.code, state) for state in call.states}
    state = LEAF if seen.get(LEAF) else call.states[0]
    first, plain, notes = seen[state], seen.get("constant"), []
    if first is None:
        return [], ["needs a second device"]
    if first["error"] is not None and plain and plain["error"] is None:
        notes.append(f"raises {raised(first)} if {x} requires grad")
        first, state = plain, "constant"
    said = _card_facts(first, x)
    others = {
        f"if {x} is the result of an operation": seen.get("nonleaf"),
        f"if {x} is transposed": seen.get("view"),
        f"if {x} is on a GPU": facts.record(call.code, state, away=True),
    }
    found: dict[str, str] = {}
    for when, other in others.items():
        if other and (answer := _card_facts(other, x)[0][1]) != said[0][1]:
            found.setdefault(answer, when)
    return said, notes + [f"{answer} {when}" for answer, when in found.items()]


def _card_facts(record: Record, x: str) -> list[tuple[str, str]]:
    if record["error"] is not None:
        return [("raises", headline(record)[3:-1])]  # without "It" and its point
    memory, *gradient = signs(record)
    words = {
        "shares": f"shares {x}'s memory",
        "itself": f"returns {x} itself",
        "copies": "new memory, other values" if record["other_values"] else "copies",
        "moves": f"returns {x} itself, moved",
    }
    said = [(memory, words[memory]), *((sign, SIGNS[sign]) for sign in gradient)]
    if record["new_bytes"] is not None:
        said.append(("", f"{record['new_bytes']} new bytes"))
    shares = record["shares_memory"] and not record["same_object"]
    if x in TENSORS and record["writes_x"]:
        does = "increments" if record["version_raised"] else "doesn't increment"
        said.append(("version", f"{does} {x}'s version counter"))
    elif x in TENSORS and shares and record["shares_version"] is not None:
        does = "increments" if record["shares_version"] else "doesn't increment"
        said.append(("version", f"a write to it {does} {x}'s version counter"))
    return said


def one_line(code: str) -> str:
    """Return the code of a row on one line."""
    return re.sub(r":\n\s+", ": ", code).replace("\n", "; ")


def breakable(code: str) -> str:
    """Return code as HTML whose lines may end before a call, not within a name."""
    return re.sub(r"\.(?=[a-zA-Z_])", "<wbr>.", escape(code))
