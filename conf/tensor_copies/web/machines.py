"""List the machines whose output is on the site."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.machine import this_machine
from tensor_copies.machines.others import shows_simulated
from tensor_copies.machines.recording import recordings
from tensor_copies.web.frame import in_words


class Machines(SphinxDirective):
    """List the machines whose output is on the site (``{machines}``)."""

    def run(self) -> list[nodes.Node]:
        """Return one item for each machine."""
        said = [f"{this_machine().label}: the machine of this build, {this_machine()}."]
        for one in recordings():
            day = in_words(one.day)
            said.append(f"{one.machine.label}: recorded on {day}, {one.machine}.")
        if shows_simulated():
            said.append("The simulated device: run in this build.")
        items = [nodes.list_item("", nodes.paragraph(text=line)) for line in said]
        return [nodes.bullet_list("", *items)]
