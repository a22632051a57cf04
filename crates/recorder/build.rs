//! Compiles what Rust cannot define: functions with a variable number of arguments.

fn main() {
    const SOURCE: &str = "src/hooks/streams_formatted.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    if std::env::var_os("CARGO_FEATURE_LIBRARY").is_none() {
        return;
    }
    // The result must need nothing of the C library: neither its checks nor a newer version of it. Tables for unwinding
    // are needed, because a thread may be cancelled while it prints.
    cc::Build::new()
        .file(SOURCE)
        .opt_level(2)
        .debug(false)
        .pic(true)
        .warnings_into_errors(true)
        .flag("-std=c11")
        .flag("-ffreestanding")
        .flag("-fvisibility=hidden")
        .flag("-fno-stack-protector")
        .flag("-fasynchronous-unwind-tables")
        .flag("-U_FORTIFY_SOURCE")
        .compile("ioassay_formatted");
}
