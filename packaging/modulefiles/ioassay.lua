-- ioassay for Lmod: save as ioassay/VERSION.lua below a directory of MODULEPATH. The tree is a virtual environment:
--   python3 -m venv ROOT/VERSION && ROOT/VERSION/bin/pip install ioassay
local root = pathJoin("/opt/apps/ioassay", myModuleVersion())

whatis("Name: ioassay")
whatis("Version: " .. myModuleVersion())
whatis("Description: HPC storage laboratory: measures, compares, profiles, tunes and sizes parallel storage")
whatis("Category: benchmark, I/O")
help([[
ioassay run quick --target DIR     is this directory healthy?
ioassay --help                     all commands
]])

conflict("ioassay")

-- Not the whole bin of the environment: its python would take the place of the user's.
prepend_path("PATH", pathJoin(root, "commands"))
