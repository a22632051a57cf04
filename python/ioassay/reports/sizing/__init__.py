"""Reports of sizes: what follows from configurations, what meets requirements, what a catalogue has.

    explanation   `ioassay size explain`: a file of configurations
    search        `ioassay size REQUIREMENTS`: the configurations that meet them
    catalogue     `ioassay size catalogue`
    wording       words that they share: kinds of I/O, amounts in cells, what limits a rate
    steps         the arithmetic, its inputs and its assumptions, as tables
    bill, racks   the bill of materials and the racks, as tables and as a drawing
    times         how long things take, and what failing drives mean
    numbers       numbers for other programs

Not: computing (`ioassay.sizing`), drawing (`ioassay.figures.sizing`).
"""
