//! The plug-ins over MPI through the engine, in a process of MPI that is alone in its world. A test program of its own: MPI
//! leaves variables in the environment that would lead a later mpirun astray.

mod support;

use std::collections::BTreeMap;

use ioassay_engine::compiled::Source;
use ioassay_engine::storage::{self, mpi};
use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::data::{FileSet, Layout, Order, Payload, Transfer, Verify};
use ioassay_protocol::plan::storage::Storage;
use support::plug_ins::{cache, shipped};
use support::skipped::skipped;
use support::*;

/// Makes this process one of MPI, alone in its world, as the engine's ranks are many in theirs.
const SINGLETON: &str = "#include <mpi.h>\n\
    int begin(void) { int given, there; MPI_Initialized(&there);\n\
    if (!there) MPI_Init_thread(0, 0, MPI_THREAD_MULTIPLE, &given);\n\
    return (int)MPI_Comm_c2f(MPI_COMM_WORLD); }\n";

#[test]
fn cases_of_a_process_of_mpi_go_through_the_engine_and_are_verified() {
    let files = [("singleton.c", SINGLETON)];
    let source = Source { name: "singleton", files: &files, compiler: "mpicc", arguments: &[], remedy: "" };
    let Ok(library) = source.find_or_build(&cache()) else { return skipped("mpicc", "make mpis") };
    let shared = FileSet { layout: Layout::SharedFile, segments: 3, offset_bytes: 7, ..SMALL };
    let mut read = work(Transfer::Read, Order::Backward);
    read.verify = Some(Verify::Reads);
    let steps = vec![phase("write", work(Transfer::Write, Order::Random)), phase("read", read)];
    for name in ["mpiio", "hdf5", "pnetcdf"] {
        let Some(path) = shipped(name) else { continue };
        if mpi::communicator().is_none() {
            // SAFETY: the source is above: it takes nothing and returns an int. Loaded for good: MPI never goes.
            mpi::joined(unsafe {
                let library = std::mem::ManuallyDrop::new(libloading::Library::new(&library).unwrap());
                library.get::<unsafe extern "C" fn() -> i32>(c"begin").unwrap()()
            });
        }
        for set in [SMALL, shared.clone()] {
            for collective in ["no", "yes"] {
                let set = FileSet { payload: Payload::Unique {}, ..set.clone() };
                let options = BTreeMap::from([("collective".to_owned(), collective.to_owned())]);
                let storage = Storage { options, ..support::plug_ins::storage(name, path.clone()) };
                let plan = Plan { storage, ..plan(set, 1, steps.clone()) };
                let target = tempfile::tempdir().unwrap();
                let (events, place) = run_by(target.path(), &plan, &storage::of_plan);
                assert_eq!(place.failure().map(|failure| failure.message), None, "{name}");
                assert!(phases(&events).iter().all(|phase| phase.complete && phase.operations >= 10), "{name}");
            }
        }
    }
}
