//! Who passes on to whom: a tree of nodes with node 0 at its root, so that no node has to listen to all others at once.

/// How many nodes each node passes on to.
const ARITY: u32 = 16;

/// To whom `node` passes on what goes up.
pub fn parent(node: u32) -> Option<u32> {
    node.checked_sub(1).map(|before| before / ARITY)
}

/// To whom `node` passes on what goes down, of `nodes` nodes.
pub fn children(node: u32, nodes: u32) -> impl Iterator<Item = u32> {
    let first = node.saturating_mul(ARITY).saturating_add(1);
    first.min(nodes)..first.saturating_add(ARITY).min(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_but_the_first_is_the_child_of_its_parent_and_of_nobody_else() {
        for nodes in [1, 2, 16, 17, 18, 300, 4096] {
            let mut seen = vec![0];
            for node in 0..nodes {
                for child in children(node, nodes) {
                    assert_eq!(parent(child), Some(node));
                    seen.push(child);
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..nodes).collect::<Vec<_>>());
        }
    }
}
