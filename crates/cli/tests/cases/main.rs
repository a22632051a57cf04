//! Tests of whole cases: engines that are started as users and launchers start them, and ranks that are threads. One program,
//! a module for each subject, so that it is linked once and all tests run side by side. Programs of their own are those that
//! look at the page cache, one after the other (`make test-machine`), and `mpi_singleton`.

#[path = "../support/mod.rs"]
mod support;

mod capture;
mod case;
mod checkpoint;
mod command;
mod device;
mod front_ends_extremes;
mod front_ends_guard;
mod front_ends_io500;
mod front_ends_ior;
mod front_ends_iozone;
mod front_ends_iozone_original;
mod front_ends_mdtest;
mod front_ends_obdfilter_survey;
mod front_ends_stopping;
mod hosts;
mod kv_cache;
mod launched;
mod launched_nodes;
mod metadata;
mod mmap;
mod mpi_plug_ins;
mod nfs;
mod object;
mod plug_ins;
mod record;
mod record_cut;
mod record_harmless;
mod record_limits;
mod record_loaded;
mod record_processes;
mod record_ptrace;
mod record_rules;
mod record_rules_paths;
mod record_stopping;
mod record_throttled;
mod replay;
mod stdio;
mod storage;
mod train;
mod workspace;

/// Cargo says nothing of a file that no module names, and its tests would never run.
#[test]
fn every_file_is_a_module() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let modules = include_str!("main.rs");
    for file in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(name == "main" || modules.contains(&format!("\nmod {name};\n")), "main.rs lacks: mod {name};");
    }
}
