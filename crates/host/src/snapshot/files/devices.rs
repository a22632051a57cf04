//! The devices above a device, up to its bus: PCI functions with their links, drivers, interrupts
//! and NUMA nodes.

use crate::snapshot::collector::Collector;

/// Where the kernel keeps devices by their place in the machine.
const DEVICES: &str = "sys/devices";

/// Of each device on the way.
const ATTRIBUTES: &str =
    "{vendor,device,class,numa_node,current_link_speed,current_link_width,max_link_speed,max_link_width}";

/// Collects what lies above the device that `path` leads to.
pub fn above(collector: &mut Collector<'_>, path: &str) {
    let Some(real) = collector.real(path) else { return };
    let mut device = real.as_str();
    while let Some((bus, _)) = device.rsplit_once('/') {
        if bus == DEVICES || !bus.starts_with(DEVICES) {
            break;
        }
        if collector.is_link(&format!("{bus}/subsystem")) {
            collector.matching(&format!("{bus}/{ATTRIBUTES}"));
            collector.matching(&format!("{bus}/msi_irqs/*"));
            collector.link(&format!("{bus}/driver"));
        }
        device = bus;
    }
}

/// Collects what lies above all devices that match `pattern`, and the links that lead to them.
pub fn above_all(collector: &mut Collector<'_>, pattern: &str) {
    for path in collector.paths(pattern) {
        collector.link(&path);
        above(collector, &path);
    }
}
