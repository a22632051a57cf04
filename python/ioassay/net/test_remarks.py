from __future__ import annotations

from ioassay.net.remarks import remarks
from ioassay.testing.net_measurement import GBIT, flow, host, net


def test_an_idle_end_and_a_full_link_get_no_remark() -> None:
    document = net(1, hosts=[host("client0", stated_gbit=10)])
    assert remarks([flow()], document, 9.4 * GBIT) == []


def test_a_busy_end_is_named() -> None:
    (remark,) = remarks([flow(client_percent=97)], net(1), 9.4 * GBIT)
    assert remark.kind == "processor-bound"
    assert "iperf3 on client0 used 97 % of a processor" in remark.message


def test_threads_of_a_newer_iperf3_share_the_work() -> None:
    hosts = [host("client0", version="3.16")]
    assert remarks([flow(client_percent=97)], net(1, hosts=hosts, streams=2), GBIT) == []
    assert len(remarks([flow(client_percent=195)], net(1, hosts=hosts, streams=2), GBIT)) == 1


def test_many_ends_on_one_machine_are_busy_together() -> None:
    first = host("client0", processors=2)
    second = host("client1", processors=2).model_copy(update={"machine": first.machine})
    flows = [flow(0, client_percent=80, server_percent=10), flow(1, client_percent=105, server_percent=10)]
    messages = [remark.message for remark in remarks(flows[:1], net(1, hosts=[first, second]), GBIT)]
    assert messages == []
    (text,) = [
        remark.message
        for remark in remarks(flows, net(1, hosts=[first, second]), GBIT)
        if "2 processors" in remark.message
    ]
    assert "185 %" in text


def test_two_hosts_of_one_machine_get_a_remark_unless_their_link_is_limited() -> None:
    for stated_gbit, kinds in ((None, ["processor-bound"]), (10, [])):
        client = host("client0", stated_gbit=stated_gbit).model_copy(update={"machine": "server0"})
        assert [remark.kind for remark in remarks([flow()], net(1, hosts=[client]), 9.4 * GBIT)] == kinds


def test_a_rate_far_below_the_stated_speed_is_compared_with_the_slower_side() -> None:
    document = net(1, hosts=[host("client0", stated_gbit=100), host("client1", stated_gbit=100)])
    document.servers[0] = host("server0", stated_gbit=40)
    flows = [flow(0), flow(1)]
    assert remarks(flows, document, 37 * GBIT) == []
    (remark,) = remarks(flows, document, 20 * GBIT)
    assert remark.kind == "below-stated-speed"
    assert "50 % of the 40 Gbit/s" in remark.message
