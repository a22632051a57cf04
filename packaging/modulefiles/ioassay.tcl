#%Module1.0
# ioassay for Environment Modules: save as ioassay/VERSION below a directory of MODULEPATH. The tree is a virtual
# environment: python3 -m venv ROOT/VERSION && ROOT/VERSION/bin/pip install ioassay
set version [file tail [module-info name]]
set root    /opt/apps/ioassay/$version

module-whatis "ioassay $version: HPC storage laboratory: measures, compares, profiles, tunes and sizes parallel storage"

proc ModulesHelp { } {
    puts stderr "ioassay run quick --target DIR     is this directory healthy?"
    puts stderr "ioassay --help                     all commands"
}

conflict ioassay

# Not the whole bin of the environment: its python would take the place of the user's.
prepend-path PATH $root/commands
