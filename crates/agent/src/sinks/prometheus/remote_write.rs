//! Remote write 1.0: a sample of each series in each second.

use std::mem::take;

use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::setup::{SeriesLimits, Server};
use prost::Message;
use reqwest::Method;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};

use super::series::{Labels, Meaning, Metric, Series, Slot};
use crate::sinks::http::Store;
use crate::sinks::{Encoder, Payload, Refusal, Sink, SinkError, Transport, directory_name};

/// Where Prometheus takes samples, if the address does not say.
const PATH: &str = "api/v1/write";
/// The value by which Prometheus knows that a series has ended.
const ENDED: u64 = 0x7ff0_0000_0000_0002;

/// A counter begins at nothing so long before its first sample: after the last one of an agent before, since Prometheus
/// refuses all of a request with two samples of a moment.
const BEFORE_MS: i64 = 500;
/// Series of a request at most. Receivers bound what they take at once.
const SERIES: usize = 5000;

/// The sink at `server`.
pub fn open(server: &Server, limits: SeriesLimits, node: &str) -> Result<Sink, SinkError> {
    let store = Store::open("Prometheus", server, "Bearer")?;
    let path = if store.has_path() { "" } else { PATH };
    Ok(Sink {
        name: store.name(),
        directory: directory_name("prometheus", &store.name()),
        encoder: Box::new(Samples { series: Series::of(node, limits), documents: 0 }),
        transport: Box::new(Receiver { store, path }),
    })
}

struct Samples {
    series: Series,
    /// Documents that no sample has been made of.
    documents: u64,
}

impl Encoder for Samples {
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
        let mut payloads = Vec::new();
        for document in documents {
            if self.series.is_beyond(document) {
                // A series has one sample in a second, so the second must be over.
                payloads.extend(self.second());
                let ended = self.series.advance(document.second);
                payloads.extend(self.ended(ended));
            }
            self.series.add(document);
            self.documents += 1;
        }
        payloads
    }

    fn flush(&mut self) -> Vec<Payload> {
        self.second()
    }
}

impl Samples {
    /// The samples of the second that is over.
    fn second(&mut self) -> Vec<Payload> {
        if self.documents == 0 {
            return Vec::new();
        }
        let moment = moment(self.series.second());
        let about_names = self.series.about_names().into_iter();
        let mut all: Vec<_> = about_names
            .map(|(name, _, labels, value)| {
                time_series(name, &labels, vec![Sample { value: value as f64, timestamp: moment }])
            })
            .collect();
        for (labels, group) in self.series.groups() {
            for (metric, slot) in group.slots() {
                let samples = samples(metric, slot, moment);
                if !samples.is_empty() {
                    all.push(time_series(&metric.name, labels, samples));
                }
            }
        }
        self.series.reset_greatest();
        payloads(all, take(&mut self.documents))
    }

    /// What says of series that they have ended.
    fn ended(&mut self, groups: Vec<(Labels, super::series::Group)>) -> Vec<Payload> {
        let moment = moment(self.series.second()) - BEFORE_MS - 1;
        let mut all = Vec::new();
        for (labels, mut group) in groups {
            for (metric, _) in group.slots().filter(|(_, slot)| slot.sent) {
                all.push(time_series(
                    &metric.name,
                    &labels,
                    vec![Sample { value: f64::from_bits(ENDED), timestamp: moment }],
                ));
            }
        }
        // It is of no document, and is counted as one.
        payloads(all, 1)
    }
}

fn samples(metric: &Metric, slot: &mut Slot, moment: i64) -> Vec<Sample> {
    let Some(value) = slot.value else {
        // A state that is not known any more.
        let was_sent = take(&mut slot.sent);
        return was_sent.then_some(Sample { value: f64::from_bits(ENDED), timestamp: moment }).into_iter().collect();
    };
    let is_first = !std::mem::replace(&mut slot.sent, true);
    let sample = Sample { value: value as f64, timestamp: moment };
    if is_first && metric.meaning == Meaning::Counter {
        // Without what it grew from, its first second would be missing from rates.
        vec![Sample { value: 0.0, timestamp: moment - BEFORE_MS }, sample]
    } else {
        vec![sample]
    }
}

fn moment(second: u64) -> i64 {
    i64::try_from(second).unwrap_or(i64::MAX).saturating_mul(1000)
}

/// Requests with all of these series. The first is counted as the one with the documents, and those after it as one each: what is
/// no document at all does not wait in a spool.
fn payloads(mut series: Vec<TimeSeries>, mut documents: u64) -> Vec<Payload> {
    let mut payloads = Vec::new();
    while !series.is_empty() {
        let rest = series.split_off(series.len().min(SERIES));
        let request = WriteRequest { timeseries: std::mem::replace(&mut series, rest) }.encode_to_vec();
        let bytes = snap::raw::Encoder::new().compress_vec(&request).expect("so few series are no 4 GiB");
        payloads.push(Payload { documents: take(&mut documents).max(1), bytes });
    }
    payloads
}

fn time_series(name: &str, labels: &Labels, samples: Vec<Sample>) -> TimeSeries {
    let mut labels: Vec<Label> =
        labels.iter().map(|(name, value)| Label { name: (*name).to_owned(), value: value.clone() }).collect();
    labels.push(Label { name: "__name__".to_owned(), value: name.to_owned() });
    labels.sort_by(|first, other| first.name.cmp(&other.name));
    TimeSeries { labels, samples }
}

#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

struct Receiver {
    store: Store,
    path: &'static str,
}

impl Transport for Receiver {
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        let headers = [
            (CONTENT_TYPE, "application/x-protobuf"),
            (CONTENT_ENCODING, "snappy"),
            (HeaderName::from_static("x-prometheus-remote-write-version"), "0.1.0"),
        ];
        let answer = self.store.ask(Method::POST, self.path, &headers, payload.to_vec())?;
        match answer.status.as_u16() {
            200..=299 if answer.body.is_empty() => Ok(()),
            200..=299 => Err(self.store.unexpected_server(&answer)),
            404 => Err(Refusal::later(format!(
                "{}; Prometheus must be started with --web.enable-remote-write-receiver",
                self.store.complaint(&answer)
            ))),
            _ => Err(self.store.refusal(&answer, u64::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::watch::kinds::{Io, Job};

    use super::*;
    use crate::sinks::scripted_server::ScriptedServer;

    fn request(payload: &[u8]) -> WriteRequest {
        WriteRequest::decode(&*snap::raw::Decoder::new().decompress_vec(payload).unwrap()).unwrap()
    }

    /// The samples of a series, with their seconds.
    fn of(payloads: &[Payload], name: &str) -> Vec<(f64, i64)> {
        let series = payloads.iter().flat_map(|payload| request(&payload.bytes).timeseries);
        let series = series.filter(|series| series.labels[0] == Label { name: "__name__".into(), value: name.into() });
        series.flat_map(|series| series.samples).map(|sample| (sample.value, sample.timestamp / 1000)).collect()
    }

    fn io(calls: u64, second: u64, part: u32) -> Document {
        let (node, job, class) = ("n1".into(), "7".into(), "read".into());
        Io { node, job, class, calls, slowest_ns: calls, ..Io::default() }.of(second, part)
    }

    #[test]
    fn a_second_has_one_sample_of_each_series_and_counters_begin_at_nothing() {
        let mut samples = Samples { series: Series::of("n1", SeriesLimits::default()), documents: 0 };
        let mut payloads = samples.encode(&[io(3, 10, 0)]);
        assert!(payloads.is_empty());
        payloads.extend(samples.encode(&[io(2, 10, 1), io(5, 11, 0)]));
        payloads.extend(samples.encode(&[io(1, 10, 2)]));
        payloads.extend(samples.flush());
        assert_eq!(of(&payloads, "ioassay_io_calls_total"), [(0.0, 9), (5.0, 10), (11.0, 11)]);
        assert_eq!(of(&payloads, "ioassay_io_slowest_ns_max"), [(3.0, 10), (5.0, 11)]);
        assert_eq!(payloads.iter().map(|payload| payload.documents).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(samples.flush(), []);
    }

    #[test]
    fn many_series_go_in_several_requests_each_of_which_waits_in_a_spool() {
        let single = time_series("x", &vec![("job", "7".to_owned())], vec![Sample { value: 1.0, timestamp: 1 }]);
        let payloads = payloads(vec![single; 2 * SERIES + 1], 7);
        let series: Vec<_> = payloads.iter().map(|payload| request(&payload.bytes).timeseries.len()).collect();
        assert_eq!(series, [SERIES, SERIES, 1]);
        assert_eq!(payloads.iter().map(|payload| payload.documents).collect::<Vec<_>>(), [7, 1, 1]);
    }

    #[test]
    fn samples_of_a_series_that_ends_and_comes_back_follow_each_other() {
        let mut samples = Samples { series: Series::of("n1", SeriesLimits::default()), documents: 0 };
        let mut payloads = samples.encode(&[io(3, 10, 0), io(3, 400, 0)]);
        payloads.extend(samples.flush());
        let all = payloads.iter().flat_map(|payload| request(&payload.bytes).timeseries);
        let calls = all.filter(|series| series.labels[0].value == "ioassay_io_calls_total");
        let moments: Vec<_> = calls.flat_map(|series| series.samples).map(|sample| sample.timestamp).collect();
        assert_eq!(moments, [9_500, 10_000, 399_499, 399_500, 400_000]);
    }

    #[test]
    fn labels_are_sorted_and_none_is_empty() {
        let mut samples = Samples { series: Series::of("n1", SeriesLimits::default()), documents: 0 };
        samples.encode(&[io(3, 10, 0), Job { node: "n1".into(), ..Job::default() }.of(10, 0)]);
        for series in request(&samples.flush()[0].bytes).timeseries {
            assert!(series.labels.is_sorted_by(|first, second| first.name < second.name));
            assert!(series.labels.iter().all(|label| !label.value.is_empty()));
        }
    }

    #[test]
    fn series_of_a_job_that_ended_are_ended() {
        let mut samples = Samples { series: Series::of("n1", SeriesLimits::default()), documents: 0 };
        let job = Job { node: "n1".into(), job: "7".into(), processes: 3, ..Job::default() };
        let mut payloads = samples.encode(&[job.of(10, 0), io(3, 10, 0), io(3, 20, 0), io(3, 400, 0)]);
        payloads.extend(samples.flush());
        let processes = of(&payloads, "ioassay_job_processes");
        assert_eq!(processes.iter().map(|(_, second)| *second).collect::<Vec<_>>(), [10, 20]);
        assert_eq!(processes[1].0.to_bits(), ENDED);
        let began = of(&payloads, "ioassay_job_began_total");
        assert_eq!((began.len(), began.last().unwrap().0.to_bits()), (4, ENDED));
        // What goes on is not ended, and what comes back begins at nothing.
        assert_eq!(of(&payloads, "ioassay_io_calls_total").iter().filter(|(value, _)| value.is_nan()).count(), 1);
    }

    #[test]
    fn requests_go_where_prometheus_takes_them() {
        for (path, line) in [("", "POST /api/v1/write"), ("/prom/api/v1/push", "POST /prom/api/v1/push")] {
            let scripted = ScriptedServer::start(|_| ("204 No Content".to_owned(), String::new()));
            let mut server = scripted.server();
            server.url += path;
            let mut sink = open(&server, SeriesLimits::default(), "n1").unwrap();
            sink.encoder.encode(&[io(3, 10, 0)]);
            sink.transport.send(&sink.encoder.flush()[0].bytes).unwrap();
            let asked = scripted.asked();
            assert_eq!(asked.line, line);
            assert!(asked.headers.contains("content-encoding: snappy\r\n"));
        }
    }

    #[test]
    fn a_disabled_receiver_is_reported() {
        let scripted = ScriptedServer::start(|_| ("404 Not Found".to_owned(), String::new()));
        let mut sink = open(&scripted.server(), SeriesLimits::default(), "n1").unwrap();
        let refusal = sink.transport.send(b"").unwrap_err();
        assert!(
            matches!(refusal, Refusal::Later { reason, .. } if reason.contains("--web.enable-remote-write-receiver"))
        );
    }
}
