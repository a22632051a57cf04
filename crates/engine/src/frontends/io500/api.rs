//! The storage APIs of an .ini file: an API of IOR and its options, such as `POSIX --posix.odirect`.

use ioassay_contract::events::Failure;
use ioassay_contract::plan::storage::Storage;

use crate::frontends::ior;

/// An API with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Api {
    words: Vec<String>,
    /// What it stands for.
    pub storage: Storage,
}

impl Api {
    /// Reads what the official program hands to IOR and mdtest after `-a`: words with spaces between them.
    ///
    /// # Errors
    /// If IOR's front end refuses them.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let storage = ior::storage(&words)?;
        Ok(Self { words, storage })
    }

    /// As it stands on a command line after `-a`.
    pub fn spelling(&self) -> String {
        self.words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_is_what_iors_front_end_makes_of_it() {
        let direct = Api::parse("posix   --posix.odirect").unwrap();
        assert_eq!(direct.spelling(), "posix --posix.odirect");
        assert!(direct.storage.direct && direct.storage.api == "posix");
        let aio = Api::parse("AIO --aio.max-pending=8 --aio.granularity 4 --posix.odirect").unwrap().storage;
        assert_eq!((aio.api.as_str(), aio.depth, aio.uring.unwrap().batch, aio.direct), ("uring", 8, 4, true));
        assert_eq!(Api::parse("MMAP").unwrap().storage.api, "mmap");
    }

    #[test]
    fn what_is_more_than_a_storage_is_refused() {
        for (text, expected) in [
            ("MPIIO", "MPIIO"),
            ("HDF5 --hdf5.collectiveMetadata", "HDF5"),
            ("POSIX --hdf5.collectiveMetadata", "HDF5"),
            ("POSIX --posix.lustre.stripecount=4", "--posix.lustre.stripecount"),
            ("POSIX --posix.rangelocks", "--posix.rangelocks"),
            ("POSIX -w", "-w"),
            ("POSIX --dryRun", "--dryRun"),
            ("POSIX -O summaryFile=x", "-O"),
        ] {
            let failure = Api::parse(text).unwrap_err();
            assert!(failure.message.contains(expected) && !failure.remedy.is_empty(), "{text}: {failure:?}");
        }
    }
}
