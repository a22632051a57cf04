//! What went over the network: /proc/net/dev of this network namespace, and the counters of InfiniBand ports.
//!
//! IP over InfiniBand, and RoCE, count the same bytes at the interface and at the port. RDMA, which carries most of a
//! parallel file system's data, is counted at the port alone.

use std::path::Path;

use super::files::{Files, number};
use super::reading::{Reading, Subject, fields};
use crate::text;

/// The unit of `port_rcv_data` and `port_xmit_data`: a lane's byte on each of four lanes (the kernel's
/// Documentation/ABI/stable/sysfs-class-infiniband).
const INFINIBAND_WORD_BYTES: u64 = 4;

fields! {
    /// A network interface.
    pub struct Interface {
        Counter received_bytes: "Bytes received",
        Counter received_packets: "Packets received",
        Counter receive_errors: "Packets received with an error",
        Counter receive_drops: "Received packets that were dropped",
        Counter sent_bytes: "Bytes sent",
        Counter sent_packets: "Packets sent",
        Counter send_errors: "Packets that could not be sent because of an error",
        Counter send_drops: "Packets that were dropped instead of sent",
    }
}

fields! {
    /// A port of an InfiniBand adapter.
    pub struct Port {
        Counter received_bytes: "Bytes received",
        Counter received_packets: "Packets received",
        Counter receive_errors: "Packets received with an error",
        Counter sent_bytes: "Bytes sent",
        Counter sent_packets: "Packets sent",
        Counter send_drops: "Packets that were dropped instead of sent",
        Counter send_wait_ticks: "Ticks of the adapter in which data waited because of congestion",
    }
}

/// Adds the interfaces and ports of now.
pub fn read(files: &mut Files, readings: &mut Vec<Reading>) {
    if let Some(table) = files.read("proc/net/dev") {
        let interfaces = table.lines().filter_map(interface).filter(|(name, _)| *name != "lo");
        readings.extend(
            interfaces.map(|(name, values)| Reading::new(Subject::NetworkInterface, name, values.into_values())),
        );
    }
    for (adapter, path) in text::entries(&files.root, "sys/class/infiniband") {
        for (number, path) in text::entries(&path, "ports") {
            let values = port(files, &path.join("counters"));
            if values != Port::default() {
                let name = format!("{adapter}/{number}");
                readings.push(Reading::new(Subject::InfinibandPort, name, values.into_values()));
            }
        }
    }
}

/// From a line such as `  eth0: 369792829 9503 0 0 0 0 0 0 586413 5498 0 0 0 0 0 0`.
fn interface(line: &str) -> Option<(&str, Interface)> {
    let (name, numbers) = line.rsplit_once(':')?;
    let mut numbers = numbers.split_ascii_whitespace().map(|word| number(Some(word), 1));
    let received_bytes = numbers.next()??;
    let mut next = || numbers.next().flatten();
    let values = Interface {
        received_bytes: Some(received_bytes),
        received_packets: next(),
        receive_errors: next(),
        receive_drops: next(),
        // After four that tell receive errors apart.
        sent_bytes: numbers.nth(4).flatten(),
        sent_packets: numbers.next().flatten(),
        send_errors: numbers.next().flatten(),
        send_drops: numbers.next().flatten(),
    };
    Some((name.trim(), values))
}

fn port(files: &mut Files, counters: &Path) -> Port {
    let mut counter =
        |name, unit| files.read_path(&counters.join(name)).and_then(|value| number(Some(value.trim()), unit));
    Port {
        received_bytes: counter("port_rcv_data", INFINIBAND_WORD_BYTES),
        received_packets: counter("port_rcv_packets", 1),
        receive_errors: counter("port_rcv_errors", 1),
        sent_bytes: counter("port_xmit_data", INFINIBAND_WORD_BYTES),
        sent_packets: counter("port_xmit_packets", 1),
        send_drops: counter("port_xmit_discards", 1),
        send_wait_ticks: counter("port_xmit_wait", 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    #[test]
    fn an_interface_has_what_it_received_and_sent_and_the_loopback_interface_is_left_out() {
        let root = tree(&[(
            "proc/net/dev",
            "Inter-|   Receive                          |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls\n    \
             lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0  0  0\n  \
             eth0:1000 20 3 4 5 6 7 8 9000 100 11 12 13 14 15 16\n",
        )]);
        let mut readings = Vec::new();
        read(&mut Files::new(root.path()), &mut readings);
        let wanted = Interface {
            received_bytes: Some(1000),
            received_packets: Some(20),
            receive_errors: Some(3),
            receive_drops: Some(4),
            sent_bytes: Some(9000),
            sent_packets: Some(100),
            send_errors: Some(11),
            send_drops: Some(12),
        };
        assert_eq!(readings, [Reading::new(Subject::NetworkInterface, "eth0", wanted.into_values())]);
    }

    #[test]
    fn the_data_of_a_port_are_in_words_of_four_bytes_and_a_port_without_counters_is_left_out() {
        let root = tree(&[
            ("sys/class/infiniband/mlx5_10/ports/1/counters/port_rcv_data", "7\n"),
            ("sys/class/infiniband/mlx5_2/ports/1/counters/port_rcv_data", "250\n"),
            ("sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_data", "1000\n"),
            ("sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_packets", "30\n"),
            ("sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_wait", "5\n"),
            ("sys/class/infiniband/mlx5_3/ports/1/state", "4: ACTIVE\n"),
        ]);
        let mut readings = Vec::new();
        read(&mut Files::new(root.path()), &mut readings);
        let port = |name, values: Port| Reading::new(Subject::InfinibandPort, name, values.into_values());
        let first = Port {
            received_bytes: Some(1000),
            sent_bytes: Some(4000),
            sent_packets: Some(30),
            send_wait_ticks: Some(5),
            ..Port::default()
        };
        let second = Port { received_bytes: Some(28), ..Port::default() };
        assert_eq!(readings, [port("mlx5_2/1", first), port("mlx5_10/1", second)]);
    }
}
