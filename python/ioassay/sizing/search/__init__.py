"""Requirements → the configurations that meet them best.

    read            a file of requirements, with the catalogue that it asks for
    model           what a search finds, as types
    search          the whole: needs, candidates, the front, what is impossible, what moves it
    needs           requirements as numbers, with their arithmetic
    candidates      what can be bought, which of it is known well enough, which none beats
    problem         candidates, needs and limits as a program, and its solutions as counts that hold
    front           cheapest, largest, fastest, and some between
    shortfalls      which needs cannot be met, or not together, and by how much
    movements       the first answer with each figure 20 % lower and higher
    program         a mixed-integer linear program
    solver          has it solved by a process of its own, `solver_process`

Not: what a configuration holds and does (`sizing.evaluate`), words and pictures (`ioassay.reports.sizing`).
"""
