"""For all tests of the package."""

from hypothesis import settings

# Timing never decides a test: on a busy machine any single example may take a second.
settings.register_profile("ioassay", deadline=None)
settings.load_profile("ioassay")
