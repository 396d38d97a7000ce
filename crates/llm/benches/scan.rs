//! What the scan of a request body costs.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use suimon_llm::Fields;

criterion_main!(benches);
criterion_group!(benches, scan);

fn scan(criterion: &mut Criterion) {
    let plain = |len: usize| "abcdefgh i".repeat(len / 10);
    let line = plain(30) + "abcdefgh";
    let escaped = format!("{line}\\n{line}\\\"").repeat(400_000 / 80);
    let short = vec![plain(470); 800];
    let mut group = criterion.benchmark_group("scan");
    for (name, body) in [
        ("1 KB", chat(&[plain(950)])),
        ("400 KB plain", chat(&[plain(400_000)])),
        ("400 KB, an escape each 40 bytes", chat(&[escaped])),
        ("400 KB in 500-byte messages", chat(&short)),
    ] {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| Fields::scan(black_box(body.clone())));
        });
    }
    group.finish();
}

fn chat(contents: &[String]) -> Bytes {
    let messages: Vec<_> = contents
        .iter()
        .map(|content| format!(r#"{{"role":"user","content":"{content}"}}"#))
        .collect();
    let messages = messages.join(",");
    Bytes::from(format!(
        r#"{{"model":"m","stream":true,"messages":[{messages}],"max_tokens":8}}"#
    ))
}
