"""The kinds of work, one file each: their words, and what tables say of their jobs (`ioassay.plans.kind`)."""
