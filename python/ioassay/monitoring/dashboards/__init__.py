"""Grafana's dashboards of what agents store, for Prometheus, Elasticsearch and OpenSearch.

    measures        what a panel shows: fields of the documents of a kind, added up by labels
    contents        which dashboards there are: variables, panels
    prometheus      measures as PromQL
    elasticsearch   measures as Grafana's queries of Elasticsearch, and of OpenSearch
    generate        contents as files in `json`, which are a part of the package
    library         these files, ready for a data source
    grafana         Grafana's HTTP API: saves dashboards in a folder

`generate` and `elasticsearch` need Grafana's SDK, which only developers have.

Not here: what documents say (`ioassay.protocol.watch_kinds`), how stores name them (the sinks of crates/agent).
"""
