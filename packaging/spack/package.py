"""Spack's recipe of ioassay, for the wheelhouse of one release: `make release` fills it in."""

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Ioassay(Package):
    """HPC storage laboratory: measures parallel storage by studies and backs every number with evidence; compares,
    profiles, watches, tunes and sizes.

    The wheelhouse of a release has ioassay and what it needs of PyPI. It is installed into an environment of its own,
    so that no other package changes what is measured with. Spack looks for it in the current directory, or in a mirror.
    """

    homepage = "https://pypi.org/project/ioassay/"
    url = f"file://{os.getcwd()}/@WHEELHOUSE@"
    manual_download = True

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@", expand=False)

    # What the wheelhouse is for; its programs need glibc @GLIBC@ or newer.
    depends_on("python@@PYTHON@", type=("build", "run"))
    requires("platform=linux target=@PROCESSOR@:", msg="the wheelhouse is for Linux on @PROCESSOR@")

    def install(self, spec, prefix):
        wheels = join_path(self.stage.path, "wheels")
        mkdirp(wheels)
        Executable("tar")("--extract", "--file", self.stage.archive_file, "--directory", wheels)
        environment = join_path(prefix, "libexec")
        spec["python"].command("-m", "venv", environment)
        pip = Executable(join_path(environment, "bin", "pip"))
        pip("install", "--no-index", "--find-links", wheels, "ioassay")
        mkdirp(prefix.bin)  # without the environment's python, which would take the place of the user's
        for program in ("ioassay", "ioassay-engine", "ioassay-agent"):
            symlink(join_path(environment, "bin", program), join_path(prefix.bin, program))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def start_programs(self):
        for program in ("ioassay", "ioassay-engine"):
            Executable(join_path(self.prefix.bin, program))("--version")
