//! What connects this node to others: network interfaces that are up, and the ports of InfiniBand adapters.
//!
//! Which interfaces a process has its network namespace tells; what they are like stands in /sys, which may be that of
//! another namespace. So only what has the same address there is believed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ioassay_protocol::environment::NetworkLink;

use crate::text::{entries, number, text};

/// The links of this process.
pub fn links(root: &Path) -> Vec<NetworkLink> {
    let mut links: Vec<_> = own_interfaces().iter().map(|(name, address)| interface(root, name, address)).collect();
    links.extend(ports(root));
    links
}

/// What /sys reports of the interface `name`, if it means the one with this hardware `address`.
fn interface(root: &Path, name: &str, address: &str) -> NetworkLink {
    let link = NetworkLink { name: name.to_owned(), ..NetworkLink::default() };
    let known = root.join("sys/class/net").join(name);
    // The system call gives only the beginning of an InfiniBand address.
    if address.is_empty() || !text(&known, "address").is_some_and(|whole| whole.starts_with(address)) {
        return link;
    }
    let driver = fs::read_link(known.join("device/driver")).ok();
    // Interfaces without a rate say -1, or an error.
    let megabits = number(&known, "speed").filter(|&megabits| megabits > 0);
    NetworkLink {
        driver: driver.and_then(|driver| Some(driver.file_name()?.to_string_lossy().into_owned())),
        speed_bits_per_s: megabits.map(|megabits| megabits * 1_000_000),
        mtu_bytes: number(&known, "mtu"),
        ..link
    }
}

/// The ports of all InfiniBand adapters, those of RoCE among them.
fn ports(root: &Path) -> Vec<NetworkLink> {
    let adapters = entries(root, "sys/class/infiniband");
    let ports = adapters.iter().flat_map(|(adapter, path)| {
        entries(path, "ports").into_iter().map(move |(port, path)| (format!("{adapter}/{port}"), path))
    });
    let link = |(name, port): (String, std::path::PathBuf)| {
        // `4: ACTIVE`
        let state = text(&port, "state").map(|state| state.rsplit(' ').next().unwrap_or_default().to_owned());
        let state: Vec<String> = state.into_iter().chain(text(&port, "link_layer")).collect();
        NetworkLink {
            name,
            state: Some(state.join(", ")).filter(|state| !state.is_empty()),
            speed_bits_per_s: text(&port, "rate").and_then(|rate| bits_per_s(&rate)),
            ..NetworkLink::default()
        }
    };
    ports.map(link).collect()
}

/// From a rate such as `200 Gb/sec (4X HDR)` or `2.5 Gb/sec (1X SDR)`.
fn bits_per_s(rate: &str) -> Option<u64> {
    let (gigabits, _) = rate.split_once(" Gb/sec")?;
    let gigabits: f64 = gigabits.trim().parse().ok()?;
    (gigabits > 0.0).then_some((gigabits * 1e9).round() as u64)
}

/// The interfaces of this process that are up and running, but for the one to itself: name and hardware address.
fn own_interfaces() -> BTreeMap<String, String> {
    let mut first = std::ptr::null_mut();
    // SAFETY: `first` is where the list is to be put; it is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return BTreeMap::new();
    }
    let mut interfaces = BTreeMap::new();
    let mut next = first;
    // SAFETY: the list is the C library's, ends with a null pointer, and lives until it is freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        let wanted = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_uint;
        if entry.ifa_flags & (wanted | libc::IFF_LOOPBACK as libc::c_uint) != wanted {
            continue;
        }
        // SAFETY: every entry has a name that ends with a zero byte.
        let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        // SAFETY: an address that is there begins with its family.
        let family = unsafe { entry.ifa_addr.as_ref() }.map(|address| i32::from(address.sa_family));
        let address: &mut String = interfaces.entry(name).or_default();
        if family == Some(libc::AF_PACKET) {
            // SAFETY: of this family every address is of this type.
            let link = unsafe { entry.ifa_addr.cast::<libc::sockaddr_ll>().read_unaligned() };
            let bytes = &link.sll_addr[..usize::from(link.sll_halen).min(link.sll_addr.len())];
            *address = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
        }
    }
    // SAFETY: as it was given, once.
    unsafe { libc::freeifaddrs(first) };
    interfaces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    #[test]
    fn an_interface_has_driver_rate_and_mtu_if_it_is_the_one_that_is_meant() {
        let root = tree(&[
            ("sys/class/net/eth0/address", "02:fc:00:00:00:01\n"),
            ("sys/class/net/eth0/speed", "100000\n"),
            ("sys/class/net/eth0/mtu", "9000\n"),
            ("sys/class/net/ib0/address", "00:00:10:29:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:4a:e6:a2\n"),
            ("sys/class/net/ib0/speed", "-1\n"),
            ("sys/class/net/ib0/mtu", "2044\n"),
        ]);
        let device = root.path().join("sys/class/net/eth0/device");
        fs::create_dir_all(&device).unwrap();
        std::os::unix::fs::symlink("../../../../bus/pci/drivers/mlx5_core", device.join("driver")).unwrap();
        let eth0 = NetworkLink {
            name: "eth0".to_owned(),
            driver: Some("mlx5_core".to_owned()),
            state: None,
            speed_bits_per_s: Some(100_000_000_000),
            mtu_bytes: Some(9000),
        };
        assert_eq!(interface(root.path(), "eth0", "02:fc:00:00:00:01"), eth0);
        let ib0 = interface(root.path(), "ib0", "00:00:10:29:fe:80:00:00");
        assert_eq!((ib0.speed_bits_per_s, ib0.mtu_bytes), (None, Some(2044)));
        // One of another namespace has the same name.
        let other = NetworkLink { name: "eth0".to_owned(), ..NetworkLink::default() };
        assert_eq!(interface(root.path(), "eth0", "9a:a6:8c:e9:98:b2"), other);
    }

    #[test]
    fn a_port_of_an_adapter_has_state_and_rate() {
        let root = tree(&[
            ("sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n"),
            ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
            ("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n"),
            ("sys/class/infiniband/mlx5_1/ports/1/rate", "2.5 Gb/sec (1X SDR)\n"),
            ("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n"),
        ]);
        let port = |name: &str, state: &str, speed| NetworkLink {
            name: name.to_owned(),
            state: Some(state.to_owned()),
            speed_bits_per_s: Some(speed),
            ..NetworkLink::default()
        };
        let wanted = [port("mlx5_0/1", "ACTIVE, InfiniBand", 200_000_000_000), port("mlx5_1/1", "DOWN", 2_500_000_000)];
        assert_eq!(ports(root.path()), wanted);
    }

    #[test]
    fn the_interface_to_itself_connects_a_node_to_nobody() {
        assert!(!own_interfaces().contains_key("lo"));
    }
}
