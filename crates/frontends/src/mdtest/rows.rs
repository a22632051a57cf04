//! The rows of mdtest's tables, in its order.

/// What is timed, and has a row of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Row {
    DirectoryCreation,
    DirectoryStat,
    /// Nobody reads directories; the original has it where every rank's results stand.
    DirectoryRead,
    DirectoryRename,
    DirectoryRemoval,
    FileCreation,
    FileStat,
    FileRead,
    FileRemoval,
    TreeCreation,
    TreeRemoval,
}

impl Row {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::DirectoryCreation,
        Self::DirectoryStat,
        Self::DirectoryRead,
        Self::DirectoryRename,
        Self::DirectoryRemoval,
        Self::FileCreation,
        Self::FileStat,
        Self::FileRead,
        Self::FileRemoval,
        Self::TreeCreation,
        Self::TreeRemoval,
    ];

    /// What it is called in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::DirectoryCreation => "Directory creation",
            Self::DirectoryStat => "Directory stat",
            Self::DirectoryRead => "Directory read",
            Self::DirectoryRename => "Directory rename",
            Self::DirectoryRemoval => "Directory removal",
            Self::FileCreation => "File creation",
            Self::FileStat => "File stat",
            Self::FileRead => "File read",
            Self::FileRemoval => "File removal",
            Self::TreeCreation => "Tree creation",
            Self::TreeRemoval => "Tree removal",
        }
    }

    /// True for what is done to the directories of the tree.
    pub fn is_of_tree(self) -> bool {
        matches!(self, Self::TreeCreation | Self::TreeRemoval)
    }

    /// Name of the phase that does it in tree number `nth` of several: `file-stat.0`.
    pub fn phase(self, nth: u64) -> String {
        format!("{}.{nth}", self.title().to_ascii_lowercase().replace(' ', "-"))
    }

    /// The row of a phase; `None` for one that no table shows.
    pub fn of_phase(name: &str) -> Option<Self> {
        let (name, nth) = name.split_once('.')?;
        let nth = nth.parse().ok()?;
        Self::ALL.into_iter().find(|row| row.phase(nth).split_once('.').is_some_and(|(known, _)| known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_phase() {
        for (index, row) in Row::ALL.into_iter().enumerate() {
            assert_eq!((row as usize, Row::of_phase(&row.phase(17))), (index, Some(row)));
        }
        assert_eq!(Row::of_phase("rename-back.0"), None);
    }
}
