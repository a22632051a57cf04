"""The version of ioassay and of its engine, in a module that imports nothing."""

__version__ = "0.1.0"
