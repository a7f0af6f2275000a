"""Two RNICs joined by a wire: loss, delay, a moved GID and a broken queue pair, against what the kernel itself says."""

from __future__ import annotations

import subprocess

from agents import plan
from guest import check, dropped, least_rtt_us, one_way, replies, say, settle, sh, two_agents

from collectors.probing import ProbingSettings
from collectors.probing.rdma import RdmaTransport

TRAINS = 100
LOSS = 0.05

driver = two_agents(("10.1.0.1", "10.1.0.2"), ProbingSettings(timeout_s=1.0, give_up_s=3.0))
driver.probers[1].take_plan(plan([(1, 2)], slot_s=0.2))

healthy = replies(driver, 20)
sent, lost, late = one_way(healthy)
check({r.kind for r in healthy} == {"rdma"}, "probes go over RDMA")
check(lost == 0, f"healthy: {sent} sent, {lost} lost, {late} late, RTT from {least_rtt_us(healthy):.0f} us")
check({r.timestamps for r in healthy} == {"software"}, "the result says that Soft-RoCE has no hardware time stamps")

dump = subprocess.Popen(
    ["tcpdump", "-Z", "root", "-i", "va", "-n", "-l", "udp dst port 4791"],
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
)
assert dump.stderr is not None
check(any("listening" in line for line in dump.stderr), "tcpdump listens")
ports = {r.sport for r in replies(driver, 10)}
dump.terminate()
lines = [line.split() for line in dump.communicate()[0].splitlines()]
seen = {int(words[2].rpartition(".")[2]) for words in lines if len(words) > 2}
check(seen == ports, f"the source port of the results is the one on the wire: {ports}, {seen}")

# RDMA packets alone go through netem: its drops are exactly the lost probes, since nothing of agent 2 leaves there
sh("tc qdisc add dev va root handle 1: prio")
sh("tc qdisc add dev va parent 1:3 handle 30: netem loss 5%")
sh("tc filter add dev va parent 1: protocol ip u32 match ip dport 4791 0xffff flowid 1:3")
found = replies(driver, TRAINS, 90.0)
driver.probers[1].take_plan(plan([], version=2, mode="disabled"))
found += settle(driver)
sent, lost, late = one_way(found)
kernel = dropped("va", "30:")
spread = 4.0 * (sent * LOSS * (1 - LOSS)) ** 0.5
check(sent >= 1000, f"{sent} probes sent through 5 % loss")
check(abs(lost - kernel) <= 1, f"{lost} probes found lost, the kernel dropped {kernel} packets; {late} late")
check(abs(lost - sent * LOSS) <= spread, f"{lost} lost of {sent} is 5 % within 4 sigma ({spread:.0f})")

driver.probers[1].take_plan(plan([(1, 2)], version=3, slot_s=0.2))
sh("tc qdisc del dev va root")
without, delayed = list(healthy), []
for turn in range(8):  # in turns, since the emulator itself is now faster, now slower
    if turn >= 2 and least_rtt_us(without) < 10_000.0:
        break
    replies(driver, 8)  # those of the turn before may be among them
    without += replies(driver, 7)
    sh("tc qdisc add dev va root netem delay 10ms")
    replies(driver, 8)
    delayed += replies(driver, 7)
    sh("tc qdisc del dev va root")
before_us, after_us = least_rtt_us(without), least_rtt_us(delayed)
check(after_us >= 10_000.0, f"with an added delay of 10 ms no RTT is below it: the least is {after_us:.0f} us")
check(before_us < 10_000.0, f"and without it some are: the least is {before_us:.0f} us")

rdma = next(iter(driver.probers[1]._sender.lanes.values())).transports["rdma"]
assert isinstance(rdma, RdmaTransport) and rdma.gid is not None and rdma._port is not None
index = rdma.gid.index
sh("ip addr del 10.1.0.1/24 dev va; ip addr add 10.1.0.77/24 dev va; ip addr add 10.1.0.1/24 dev va")
sh("ip route replace 10.1.0.2 dev va table 101 src 10.1.0.1")
driver.run(lambda: rdma.gid.index != index)
replies(driver, 12)
sent, lost, _ = one_way(replies(driver, 10))
check(lost == 0, f"our GID moved from entry {index} to {rdma.gid.index}: read again, {sent} probes answered")

enums = rdma._port._verbs
for pair in rdma._port._pairs:
    attributes = enums.qp.QPAttr(qp_state=enums.constant("IBV_QPS_ERR"))
    pair.modify(attributes, enums.constant("IBV_QP_STATE"))
broken = rdma._port
driver.run(lambda: rdma._port not in (None, broken))
found = replies(driver, 15)
sent, lost, _ = one_way(found)
check(lost == 0, f"queue pairs in error were made anew: {sent} probes answered afterwards, none counted as lost")
say(f"agent 1: {driver.probers[1].tally}; agent 2: {driver.probers[2].report()}")
driver.close()
