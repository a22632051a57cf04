//! IOR's JSON document, with its names.

use serde_json::{Map, Value, json};

use super::figures::Figures;
use super::report::{Access, Line, Setting, Summary, TestResults, parameters, settings};
use crate::localtime::ctime;
use crate::text::FileSystem;

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;

/// The whole document.
pub fn document(
    command: &str,
    machine: &str,
    began_s: i64,
    finished_s: i64,
    tests: &[(TestResults<'_>, String, Option<FileSystem>)],
) -> String {
    let summary: Vec<Value> = tests.iter().flat_map(|(tested, ..)| summaries(tested)).collect();
    let tests: Vec<Value> =
        tests.iter().map(|(tested, path, file_system)| test(tested, path, file_system.as_ref())).collect();
    let document = json!({
        "Version": concat!("4.1.0+ioassay-", env!("CARGO_PKG_VERSION")),
        "Began": ctime(began_s),
        "Command line": command,
        "Machine": machine,
        "tests": tests,
        "summary": summary,
        "Finished": ctime(finished_s),
    });
    format!("{document:#}\n")
}

fn test(tested: &TestResults<'_>, path: &str, file_system: Option<&FileSystem>) -> Value {
    let mut value = json!({
        "TestID": tested.id,
        "StartTime": ctime(tested.started_s),
        "Path": path,
        "Parameters": object(parameters(tested)),
        "Options": object(settings(tested.test, tested)),
        "Results": tested.lines.iter().map(|(_, line)| result(tested, line)).collect::<Vec<_>>(),
    });
    if let Some(FileSystem { size, used_percent, inodes_mi, used_inodes_percent }) = file_system {
        value["Capacity"] = size.as_str().into();
        value["Used Capacity"] = format!("{used_percent:2.1}%").into();
        value["Inodes"] = format!("{inodes_mi:.1} Mi").into();
        value["Used Inodes"] = format!("{used_inodes_percent:2.1}%").into();
    }
    if tested.test.verbose > 0 {
        let rate = |access| tested.figures(access).iter().map(Figures::rate).fold(0.0, f64::max);
        let mut max = Map::new();
        for (asked, name, access) in
            [(tested.test.write, "write", Access::Write), (tested.test.read, "read", Access::Read)]
        {
            if asked {
                max.insert(format!("{name}MiB"), rounded(rate(access) / MIB));
                max.insert(format!("{name}MB"), rounded(rate(access) / 1e6));
            }
        }
        value["max"] = max.into();
    }
    value
}

fn result(tested: &TestResults<'_>, line: &Line) -> Value {
    match line {
        Line::Moved(access, figures) => json!({
            "access": access.name(),
            "bwMiB": rounded(figures.rate() / MIB),
            "blockKiB": rounded(tested.test.block_bytes as f64 / KIB),
            "xferKiB": rounded(tested.test.transfer_bytes as f64 / KIB),
            "iops": rounded(figures.iops),
            "latency": rounded(figures.latency_s),
            "openTime": rounded(figures.open_s),
            "wrRdTime": rounded(figures.access_s),
            "closeTime": rounded(figures.close_s),
            "totalTime": rounded(figures.total_s),
        }),
        Line::Removed(seconds) => json!({ "access": "remove", "totalTime": rounded(*seconds) }),
    }
}

fn summaries(tested: &TestResults<'_>) -> Vec<Value> {
    tested.summaries().into_iter().map(|(access, summary)| one_summary(tested, access, &summary)).collect()
}

fn one_summary(tested: &TestResults<'_>, access: Access, summary: &Summary) -> Value {
    let test = tested.test;
    let mut value = json!({
        "operation": access.name(),
        "API": test.typed_api,
        "TestID": tested.id,
        "ReferenceNumber": test.reference,
        "segmentCount": test.segments,
        "blockSize": test.block_bytes,
        "transferSize": test.transfer_bytes,
        "numTasks": test.tasks(tested.context),
        "tasksPerNode": tested.tasks_per_node(),
        "repetitions": test.repetitions,
        "filePerProc": u8::from(test.file_per_process),
        "reorderTasks": u8::from(test.reorder),
        "taskPerNodeOffset": test.offset,
        "reorderTasksRandom": test.reorder_random,
        "reorderTasksRandomSeed": test.reorder_seed,
        "bwMaxMIB": rounded(summary.rate.max / MIB),
        "bwMinMIB": rounded(summary.rate.min / MIB),
        "bwMeanMIB": rounded(summary.rate.mean / MIB),
        "bwStdMIB": rounded(summary.rate.deviation / MIB),
        "OPsMax": rounded(summary.operations.max),
        "OPsMin": rounded(summary.operations.min),
        "OPsMean": rounded(summary.operations.mean),
        "OPsSD": rounded(summary.operations.deviation),
        "MeanTime": rounded(summary.mean_s),
        "xsizeMiB": rounded(summary.bytes as f64 / MIB),
    });
    if let Some((seconds, rate)) = summary.stonewall {
        value["StoneWallTime"] = rounded(seconds);
        value["StoneWallbwMeanMIB"] = rounded(rate / MIB);
    }
    value
}

fn object(settings: Vec<(&'static str, Setting)>) -> Value {
    let value = |setting| match setting {
        Setting::Text(text) => Value::from(text),
        Setting::Number(number) => Value::from(number),
    };
    settings.into_iter().map(|(name, setting)| (name.to_owned(), value(setting))).collect::<Map<_, _>>().into()
}

/// With the four decimals that IOR prints.
fn rounded(number: f64) -> Value {
    Value::from((number * 1e4).round() / 1e4)
}
