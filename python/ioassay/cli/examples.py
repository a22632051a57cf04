"""The examples in each `--help` and manual page. A test parses every one as the command line does."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "ioassay quick /mnt/scratch",
        "ioassay run isilon-2018 --target /mnt/scratch",
        "ioassay list",
        "ioassay report runs/20261121-061500-quick --format pdf",
        "ioassay help run",
    ),
    "quick": ("ioassay quick /mnt/scratch", "ioassay quick /mnt/scratch --time 10s --json"),
    "run": (
        "ioassay run quick --target /mnt/scratch",
        "ioassay run isilon-2018 --target /mnt/scratch --set total=64GiB",
        "ioassay run mine.yaml --dry-run",
        "ioassay run mine.yaml --target /mnt/scratch --launcher srun",
        "ioassay run --resume runs/20261121-061500-quick",
    ),
    "studies": ("ioassay studies", "ioassay studies isilon-2018 > mine.yaml"),
    "systems": (
        "ioassay systems isilon-f800",
        "ioassay systems --check",
        "ioassay systems --from runs/ours -o ours.yaml",
    ),
    "list": ("ioassay list", "ioassay list /shared/runs --json"),
    "report": (
        "ioassay report runs/20261121-061500-quick",
        "ioassay report runs/f800 --summary --format pdf",
        "ioassay report runs/f800 --against isilon-f800 --format md",
    ),
    "publish": ("ioassay publish runs/f800", "ioassay publish runs/f800 -o f800"),
    "compare": (
        "ioassay compare runs/before runs/after",
        "ioassay compare isilon-f800 runs/ours -o compare.html --format html",
    ),
    "check": (
        "ioassay check runs/tonight --criteria contract.yaml",
        "ioassay check runs/tonight --baseline runs/reference --tolerance 5% \\\n    --junit check.xml",
    ),
    "trend": ("ioassay trend runs/*-quick --junit trend.xml",),
    "import": (
        "ioassay import ior results/*.txt --out runs/ior-2019",
        "ioassay import io500 submissions/",
        "ioassay import lustre oss1.txt oss2.txt --beside runs/night",
    ),
    "record": (
        "ioassay record -- ./climate run.nml",
        "ioassay record --out runs/climate --contract home.yaml -- ./climate run.nml",
    ),
    "profile": (
        "ioassay profile runs/climate",
        "ioassay profile runs/climate --against runs/climate-before",
        "ioassay profile runs/climate --as-study -o climate.yaml",
    ),
    "net": (
        "ioassay net --clients n1,n2,n3 --servers oss1,oss2",
        "ioassay net --clients @nodes --servers oss1=10.10.0.1,oss2=10.10.0.2",
    ),
    "doctor": (
        "ioassay doctor --target /mnt/scratch",
        "ioassay doctor --launcher mpirun --hosts n1,n2 --target /mnt/scratch",
    ),
    "clean": ("ioassay clean runs/20261121-061500-quick",),
    "completion": (
        "ioassay completion bash > ~/.local/share/bash-completion/completions/ioassay",
        "ioassay completion zsh > ~/.zfunc/_ioassay",
        "ioassay completion fish > ~/.config/fish/completions/ioassay.fish",
    ),
    "help": ("ioassay help run", "ioassay help lab up"),
    "watch": ("ioassay watch", "ioassay watch set runs/climate stricter.yaml"),
    "watch view": ("ioassay watch", "ioassay watch /shared/watched --once"),
    "watch check": ("ioassay watch check home.yaml",),
    "watch set": ("ioassay watch set runs/climate stricter.yaml",),
    "watch prepare": ("ioassay watch prepare site.yaml -o /etc/ioassay/agent",),
    "watch convert": ("ioassay watch convert home.contract -o home.yaml",),
    "watch lustre": ("ioassay watch lustre home.yaml --cpts 4 --servers 8",),
    "tune": ("ioassay tune check /mnt/scratch", "ioassay tune rollback"),
    "tune check": (
        "ioassay tune check /mnt/scratch",
        "ioassay tune check /mnt/scratch --raid segment=128k,data=8,parity=2",
        "ioassay tune check /mnt/scratch -- dd if=/dev/zero of=/mnt/scratch/f bs=1M",
    ),
    "tune capture": ("ioassay tune capture /mnt/scratch -o oss1.snapshot.tar.gz",),
    "tune sweep": (
        "ioassay tune sweep --target /mnt/scratch --objective read \\\n"
        "    --vary block:sdb/max_sectors_kb=256,512,1024",
        "ioassay tune sweep experiment.yaml --dry-run",
    ),
    "tune io500": ("ioassay tune io500 --target /mnt/scratch --theory 36GB/s",),
    "tune apply": (
        "ioassay tune apply block:sdb/max_sectors_kb=1024 --dry-run",
        "ioassay tune apply sysctl:vm.dirty_ratio=10 --persist /",
    ),
    "tune verify": ("ioassay tune verify",),
    "tune rollback": ("ioassay tune rollback", "ioassay tune rollback --all"),
    "size": ("ioassay size requirements.yaml", "ioassay size explain astra"),
    "size search": ("ioassay size requirements.yaml --save found",),
    "size explain": ("ioassay size explain", "ioassay size explain offer.yaml --check"),
    "size predict": ("ioassay size predict offer.yaml --study isilon-2018",),
    "size catalogue": ("ioassay size catalogue", "ioassay size catalogue --catalogue ours.yaml"),
    "lab": ("ioassay lab up nfs --install", "ioassay run quick --target lab:nfs", "ioassay lab down nfs"),
    "lab up": ("ioassay lab up nfs --install", "ioassay lab up gluster --hosts 4 --link 1Gbit"),
    "lab status": ("ioassay lab status",),
    "lab down": ("ioassay lab down nfs", "ioassay lab down --all"),
    "lab list": ("ioassay lab list", "ioassay lab list nfs > mine.yaml"),
    "lab cut": ("ioassay lab cut nfs/client1",),
    "lab heal": ("ioassay lab heal nfs/client1",),
    "lab exec": ("ioassay lab exec nfs/client2 df -h", "ioassay lab exec nfs"),
    "mpi": ("ioassay mpi build", "ioassay mpi list"),
    "mpi build": ("ioassay mpi build --compiler /opt/openmpi/bin/mpicc",),
    "mpi list": ("ioassay mpi list",),
    "api": ("ioassay api build mpiio", "ioassay api list"),
    "api build": ("ioassay api build mpiio", "ioassay api build mine.c -- -lrados"),
    "api list": ("ioassay api list", "ioassay api list ./mine.so"),
    "dashboards": ("ioassay dashboards list",),
    "dashboards list": ("ioassay dashboards list",),
    "dashboards show": ("ioassay dashboards show job --source prometheus > job.json",),
    "dashboards install": ("ioassay dashboards install --grafana https://grafana:3000 --token-file token",),
}
"""By the words of the command."""


def epilog(words: tuple[str, ...]) -> str | None:
    """The examples below the options in the help of a command."""
    examples = EXAMPLES.get(" ".join(words))
    if examples is None:
        return None
    # Typer keeps the lines of a paragraph that begins so.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for example in examples for line in example.split("\n"))
