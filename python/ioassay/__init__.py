"""ioassay: an HPC storage laboratory in one tool.

The control plane: studies become cases, the engine runs them, results become analysis, figures and reports.
No rank ever imports this package: the compute nodes run only the native engine.
"""

__version__ = "0.1.0"
