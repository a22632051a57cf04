//! Builds the recorder, whose library travels inside this program: one file is all that a node needs, and the two are always
//! of the same version.
//!
//! The library is a build of its own, with its own profile: it has no standard library, and nothing of this program's.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    for source in ["crates/recorder", "crates/record", "Cargo.lock", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={}", workspace.join(source).display());
    }
    let (out, target) = (PathBuf::from(variable("OUT_DIR")), variable("TARGET"));
    let mut build = Command::new(variable("CARGO"));
    build
        .current_dir(&workspace)
        .args(["rustc", "--locked", "--quiet", "--package", "ioassay-recorder", "--features", "library"])
        .args(["--profile", "recorder", "--crate-type", "cdylib", "--target", &target, "--target-dir"])
        .arg(&out)
        // It is loaded into each process, where what the dynamic linker looks up for it takes time: its own functions are known,
        // and it needs nothing of what the C compiler adds at the beginning and at the end. It exports no data, for which
        // -Bsymbolic would mean more than -Bsymbolic-functions, which the linker of the cross build refuses.
        .args(["--", "-Clink-arg=-Wl,-Bsymbolic", "-Clink-arg=-nostartfiles"]);
    // What is meant for this program and its build, by whom it was started, is not meant for the library's.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        // Such as the linker of a cross build.
        let kept = ["CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&&*name) || name.starts_with("CARGO_TARGET_");
        if name.starts_with("CARGO_") && !kept || ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"].contains(&&*name) {
            build.env_remove(&*name);
        }
    }
    let built = build.status().expect("cargo can be started, since it has started this");
    assert!(built.success(), "the recorder's library does not build");
    let library = out.join(target).join("recorder/libioassay_recorder.so");
    println!("cargo:rustc-env=IOASSAY_RECORDER={}", library.display());
}
