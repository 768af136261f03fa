"""Reaches for the host and the world in eight ways; the host listens."""

import socket

from lib import answer, attempt


def _connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as wire:
        wire.settimeout(1)
        wire.connect(address)
        wire.sendall(b"out")
        return address


def _datagram(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.sendto(b"out", address)  # it succeeds wherever there is a loopback; the host listens


def _ping():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as wire:
        return wire.family


def _interfaces():
    return [name for _, name in socket.if_nameindex() if name != "lo"] or None


def before_act(context, action):
    options = context.options
    found = [
        attempt("TCP", _connect, socket.AF_INET, ("127.0.0.1", options["tcp"])),
        attempt("TCP over IPv6", _connect, socket.AF_INET6, ("::1", options["tcp6"])),
        attempt("abstract socket", _connect, socket.AF_UNIX, "\0" + options["token"]),
        attempt("Docker's socket", _connect, socket.AF_UNIX, "/var/run/docker.sock"),
        attempt("name look-up", socket.getaddrinfo, "example.com", 80),
        attempt("raw socket", _ping),
    ]
    _ = attempt("", _datagram, ("127.0.0.1", options["udp"]))
    links = attempt("interface", _interfaces)
    return answer([*found, links if links and links != "interface" else None])
