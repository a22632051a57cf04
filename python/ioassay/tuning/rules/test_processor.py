from __future__ import annotations

import pytest

from ioassay.testing.rule_judgements import assignments, change_of, changes_of, fine, not_applicable, not_readable
from ioassay.testing.snapshots import below, disk
from ioassay.testing.storage_nodes import (
    Node,
    ext4_host,
    frequency,
    gpfs_client,
    infiniband,
    nfs_client,
    plugged,
)
from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.processor import (
    CPU_ENERGY_PREFERENCE,
    CPU_GOVERNOR,
    INTERRUPT_AFFINITY,
    ISOLATED_PROCESSORS,
    NUMA_PLACEMENT,
    RULES,
)

SLOT = "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0"
LINK = f"{SLOT}/net/ens1f0"
GOVERNOR = "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor"


@pytest.mark.parametrize(
    "rule",
    [CPU_GOVERNOR, INTERRUPT_AFFINITY],
    ids=lambda rule: rule.name,
)
def test_a_well_set_client_is_fine(rule: Rule) -> None:
    assert fine(rule, nfs_client())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_node_without_fast_links_and_frequencies(rule: Rule) -> None:
    assert not_applicable(rule, ext4_host())


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        (CPU_GOVERNOR, GOVERNOR),
        (CPU_ENERGY_PREFERENCE, GOVERNOR.replace("scaling_governor", "energy_performance_preference")),
        (NUMA_PLACEMENT, "sys/devices/system/node/node1/cpulist"),
        (INTERRUPT_AFFINITY, "proc/irq/113/effective_affinity_list"),
        (ISOLATED_PROCESSORS, "sys/devices/system/cpu/isolated"),
    ],
)
def test_values_that_cannot_be_read(rule: Rule, path: str) -> None:
    [unreadable] = not_readable(rule, nfs_client().with_unreadable(path))
    assert unreadable.what == f"/{path}"


class TestFrequency:
    def test_powersave_of_intel(self) -> None:
        change = change_of(CPU_GOVERNOR, nfs_client().with_files(frequency("powersave")))
        assert (change.value, change.wanted) == ("powersave on 16 processors", "performance")
        assert "not the slowest clock" in change.because
        assert assignments(change) == {"sys:devices/system/cpu/cpu*/cpufreq/scaling_governor": "performance"}

    def test_one_processor_that_differs(self) -> None:
        change = change_of(CPU_GOVERNOR, nfs_client().with_files({GOVERNOR: "schedutil"}))
        assert change.value == "schedutil on 1 processor"

    def test_a_governor_that_the_kernel_lacks(self) -> None:
        files = {
            f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_available_governors": "powersave" for cpu in range(16)
        }
        node = nfs_client().with_files({**frequency("powersave"), **files})
        assert "offers no governor performance" in not_applicable(CPU_GOVERNOR, node)

    def test_preferences(self) -> None:
        node = nfs_client().with_files(frequency("powersave", preference="balance_performance"))
        assert change_of(CPU_ENERGY_PREFERENCE, node).value == "balance_performance on 16 processors"
        calm = nfs_client().with_files(frequency("powersave", preference="performance"))
        assert fine(CPU_ENERGY_PREFERENCE, calm) == ["performance on 16 processors"]
        assert "cpu-governor" in not_applicable(CPU_ENERGY_PREFERENCE, nfs_client())


class TestNuma:
    def test_the_adapter_of_one_node(self) -> None:
        change = change_of(NUMA_PLACEMENT, nfs_client())
        assert (change.value, change.wanted) == ("ens1f0 on node 1", "ranks that use them on processors 8-15")
        assert change.command.startswith("numactl --cpunodebind=1 --preferred=1 COMMAND")

    def test_an_adapter_on_each_node(self) -> None:
        node = plugged(nfs_client(), infiniband("mlx5_0"))
        assert fine(NUMA_PLACEMENT, node) == ["every NUMA node has one: mlx5_0 on node 0, ens1f0 on node 1"]

    def test_flash(self) -> None:
        slot = "sys/devices/pci0000:00/0000:00:03.0/0000:03:00.0"
        path = f"{slot}/nvme/nvme0/nvme0n1"
        files = {name.replace("sys/block/nvme0n1", path): text for name, text in disk("nvme0n1").items()}
        node = Node("n", {**nfs_client().files, **files, **below(slot, {"numa_node": 0})}).with_links(
            {"sys/block/nvme0n1": f"../{path.removeprefix('sys/')}"}
        )
        assert change_of(NUMA_PLACEMENT, node).value == "nvme0n1 on node 0"

    def test_a_firmware_that_does_not_say(self) -> None:
        [unreadable] = not_readable(NUMA_PLACEMENT, nfs_client().with_files({f"{SLOT}/numa_node": -1}))
        assert unreadable.what == "NUMA node of ens1f0"


class TestInterrupts:
    def _all_on(self, cpus: str) -> Node:
        return nfs_client().with_files({f"proc/irq/{110 + index}/effective_affinity_list": cpus for index in range(8)})

    def test_one_processor_for_all(self) -> None:
        change = change_of(INTERRUPT_AFFINITY, self._all_on("0"))
        assert (change.value, change.because) == ("8 interrupts on processors 0", "one processor handles all queues")

    def test_another_numa_node(self) -> None:
        assert change_of(INTERRUPT_AFFINITY, self._all_on("0-3")).wanted == "processors 8-15"

    def test_isolated_processors(self) -> None:
        node = nfs_client().with_files({"sys/devices/system/cpu/isolated": "10-11"})
        assert change_of(INTERRUPT_AFFINITY, node).because == "processors 10-11 are isolated for applications"
        assert change_of(ISOLATED_PROCESSORS, node).because == "ranks without binding share the 14 that are left"

    def test_interrupts_that_are_not_listed(self) -> None:
        assert not_readable(INTERRUPT_AFFINITY, nfs_client().with_files({"proc/interrupts": None}))

    def test_interrupts_named_after_the_interface(self) -> None:
        text = "".join(f"{110 + index}: 0 0 PCI-MSI 1 i40e-ens1f0-TxRx-{index}\n" for index in range(8))
        assert fine(INTERRUPT_AFFINITY, nfs_client().with_files({"proc/interrupts": text}))
        other = text.replace("ens1f0", "ens1f01")
        assert not_readable(INTERRUPT_AFFINITY, nfs_client().with_files({"proc/interrupts": other}))

    def test_an_adapter_of_an_unknown_node(self) -> None:
        node = self._all_on("0-3").with_files({f"{SLOT}/numa_node": -1})
        assert fine(INTERRUPT_AFFINITY, node) == ["8 interrupts on processors 0-3"]


def test_interrupts_of_an_infiniband_adapter_are_judged_once() -> None:
    slot = "sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0"
    lines = "".join(f"{number}: 0 0 IR-PCI-MSI 1 mlx5_comp{number}@pci:0000:02:00.0\n" for number in range(50, 54))
    targets = {f"proc/irq/{number}/effective_affinity_list": "2" for number in range(50, 54)}
    node = gpfs_client().with_files({"proc/interrupts": lines, **targets})
    change = change_of(INTERRUPT_AFFINITY, node)
    assert (change.subject, change.because) == ("mlx5_0", "one processor handles all queues")
    over_ethernet = below(f"{slot}/net/ens2", {"mtu": 9000, "speed": 100000, "type": 1, "operstate": "up"})
    both = node.with_files(over_ethernet).with_links({f"{slot}/net/ens2/device": "../../../0000:02:00.0"})
    both = both.with_links({"sys/class/net/ens2": "../../devices/pci0000:00/0000:00:02.0/0000:02:00.0/net/ens2"})
    assert change_of(INTERRUPT_AFFINITY, both).subject == "ens2"


class TestAdaptersOfDisks:
    """A SAS adapter on NUMA node 1, beside a link on the same node."""

    slot = "sys/devices/pci0000:80/0000:80:03.0/0000:83:00.0"

    def node(self, processor: int | None) -> Node:
        files = {
            path.replace("sys/block/sda", f"{self.slot}/host0/block/sda"): content
            for path, content in disk("sda").items()
        }
        files |= below(f"{self.slot}/host0/scsi_host/host0", {"proc_name": "mpt3sas", "can_queue": 500})
        files[f"{self.slot}/numa_node"] = "1"
        for number in range(200, 206):
            files[f"{self.slot}/msi_irqs/{number}"] = "msix"
            target = number - 192 if processor is None else processor
            files[f"proc/irq/{number}/effective_affinity_list"] = str(target)
        links = {
            "sys/block/sda": f"../../{self.slot}/host0/block/sda",
            "sys/class/scsi_host/host0": f"../../../{self.slot}/host0/scsi_host/host0",
        }
        bare = nfs_client().with_files(files).with_links(links)
        return Node(bare.host, bare.files, bare.links)

    def test_interrupts_that_one_processor_handles(self) -> None:
        change = change_of(INTERRUPT_AFFINITY, self.node(3))
        assert (change.subject, change.because) == ("host0 (mpt3sas)", "one processor handles all queues")
        assert "for irq in 200 201 202 203 204 205; do echo 8-15" in change.command

    def test_interrupts_that_are_spread(self) -> None:
        assert fine(INTERRUPT_AFFINITY, self.node(None))[1] == "6 interrupts on processors 8-13"

    def test_interrupts_of_a_snapshot_that_lacks_them(self) -> None:
        node = self.node(3).with_files({f"{self.slot}/msi_irqs": None})
        assert not_readable(INTERRUPT_AFFINITY, node)[0].what == "interrupts of host0 (mpt3sas)"

    def test_ranks_run_near_the_adapter(self) -> None:
        changes = changes_of(NUMA_PLACEMENT, self.node(None))
        assert ("adapters of disks", "host0 (mpt3sas) on node 1") in [
            (change.subject, change.value) for change in changes
        ]
