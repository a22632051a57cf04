//! What launchers of MPI say to the processes that they start, by their environment: before MPI itself can be asked.

/// Where they say how many they have started, and which of them this is. Where one launcher is started by another, the
/// inner one comes first: under Slurm, `mpirun` starts its helpers with `srun`.
const LAUNCHERS: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("PMIX_SIZE", "PMIX_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];

/// What the launcher says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The variable that says so.
    pub variable: &'static str,
    /// How many processes it has started.
    pub size: u32,
    /// Which of them this is, where it says so.
    pub rank: Option<u32>,
}

/// What the launcher of this process says; `None` if there is none.
pub fn said() -> Option<Said> {
    said_in(|name| std::env::var(name).ok())
}

fn said_in(environment: impl Fn(&str) -> Option<String>) -> Option<Said> {
    let number = |name: &str| environment(name).and_then(|value| value.parse().ok());
    LAUNCHERS.iter().find_map(|&(variable, rank)| Some(Said { variable, size: number(variable)?, rank: number(rank) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpirun_inside_of_slurm_is_the_one_that_counts() {
        let environment = |name: &str| match name {
            "SLURM_STEP_NUM_TASKS" => Some("2".to_owned()),
            "OMPI_COMM_WORLD_SIZE" => Some("8".to_owned()),
            "OMPI_COMM_WORLD_RANK" => Some("5".to_owned()),
            _ => None,
        };
        let expected = Said { variable: "OMPI_COMM_WORLD_SIZE", size: 8, rank: Some(5) };
        assert_eq!(said_in(environment), Some(expected));
        assert_eq!(said_in(|_| None), None);
    }
}
