"""Grafana dashboards for the data of agents in Prometheus, Elasticsearch and OpenSearch.

    measures        the quantities of panels: fields of the documents of a kind, summed by labels
    contents        the dashboards: variables, panels
    prometheus      measures as PromQL
    elasticsearch   measures as Grafana's queries for Elasticsearch and OpenSearch
    generate        contents as files in `json`, which are part of the package
    library         these files, ready for a data source
    grafana         saves dashboards in a folder through Grafana's HTTP API

`generate` and `elasticsearch` need Grafana's SDK, which only developers have.

Not here: the fields of documents (`ioassay.protocol.watch_kinds`), their names in stores (the sinks of crates/agent).
"""
