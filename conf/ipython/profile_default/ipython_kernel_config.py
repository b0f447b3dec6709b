"""The kernels that run the pages of docs/: whole outputs, no file of history."""

from ipykernel.iostream import OutStream

OutStream.flush_interval = 3600  # MyST-NB makes a line of each piece that arrives
c.IPKernelApp.log_level = "ERROR"  # noqa: F821  no word on TCP without encryption
c.HistoryManager.hist_file = ":memory:"  # noqa: F821  without any, some kernels end late
