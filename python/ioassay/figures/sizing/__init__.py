"""The figures of sizes: racks, ceilings along the path of an I/O, the front of a search, its sensitivity."""
