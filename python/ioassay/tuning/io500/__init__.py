"""The IO500 tuned in five steps, each of which ends where the gain ends.

    facts        1  the system and its theoretical ceiling, each value with its source
    striping     2  how the target directory is to be striped for the hard tests, on Lustre
    node_count   3  as many nodes as storage targets, as far as there are
    ramp         4  more ranks per node, until ior-easy nears the ceiling or gains nothing more
    balance      5  the ranks per node with the best score, bandwidth and metadata together

    history      what the measurements of a document say, for both
    measurement  one run of ior-easy or of the IO500, and its rates and scores
    prepare      what was asked becomes a document
    procedure    what is measured next, until nothing is left; resumable
    answer       what was found, and the command lines of the full benchmark

The steps are those of Monnier, Lofstead, Lawson and Curry, *Profiling Platform Storage Using IO500 and Mistral* (PDSW
2019), slides "Tuning IO500 to Push the System" and "Tuning Final Configuration". Not: what is stored
(`results.tune_io500_document`), what a report looks like (`reports.tune_io500`).
"""
