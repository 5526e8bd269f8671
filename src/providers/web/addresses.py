"""Which addresses may be connected to. Pure.

Without a word in the scope only public unicast addresses are reached. `loopback` adds the loopback
ones, `networks` the private networks that it names. Everything else in the table is never reached:
an address of these kinds is a service of this machine or of its surroundings (metadata services
hand out credentials), or a second spelling of another address.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LOOPBACK = "loopback"
PRIVATE = "private"
METADATA = "metadata"

# The first row that contains an address says what it is.
_TABLE: tuple[tuple[str, str], ...] = (
    ("169.254.0.0/16", METADATA),  # link-local, and the metadata of most clouds
    ("168.63.129.16/32", METADATA),  # Azure
    ("100.100.100.200/32", METADATA),  # Alibaba
    ("192.0.0.192/32", METADATA),  # Oracle
    ("fd00:ec2::/32", METADATA),  # Amazon: metadata, time and DNS
    ("fd20:ce::254/128", METADATA),  # Google
    ("127.0.0.0/8", LOOPBACK),
    ("::1/128", LOOPBACK),
    ("10.0.0.0/8", PRIVATE),
    ("172.16.0.0/12", PRIVATE),
    ("192.168.0.0/16", PRIVATE),
    ("100.64.0.0/10", PRIVATE),  # shared by the customers of a provider (CGNAT)
    ("fc00::/7", PRIVATE),
    ("0.0.0.0/8", "unspecified"),
    ("::/128", "unspecified"),
    ("192.0.0.0/24", "reserved"),  # protocol assignments
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "reserved"),  # AS112
    ("192.52.193.0/24", "reserved"),  # AMT relays
    ("192.88.99.0/24", "6to4"),
    ("192.175.48.0/24", "reserved"),  # AS112
    ("198.18.0.0/15", "reserved"),  # benchmarks
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),  # with the broadcast address
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b::/96", "IPv4-translated"),
    ("64:ff9b:1::/48", "IPv4-translated"),  # local NAT64
    ("2001::/32", "Teredo"),
    ("2001:db8::/32", "documentation"),
    ("2001::/23", "reserved"),  # protocol assignments
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "reserved"),  # AS112
    ("3fff::/20", "documentation"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_NETWORKS = tuple((ip_network(text), kind) for text, kind in _TABLE)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_PRIVATE_NETWORKS = tuple(network for network, kind in _NETWORKS if kind == PRIVATE)


def kind_of(address: Address) -> str | None:
    """What is special about `address`; None if it is a public unicast address."""
    for network, kind in _NETWORKS:
        if address in network:
            return kind
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return "zoned"
        if address not in _GLOBAL_UNICAST:
            return "reserved"
    return None


def is_private_network(network: Network) -> bool:
    """Whether all of `network` is private, so that a scope may name it."""
    return any(
        network.version == other.version and network.subnet_of(other)  # type: ignore[arg-type]
        for other in _PRIVATE_NETWORKS
    )


def refusal(address: Address, *, loopback: bool, networks: tuple[Network, ...]) -> str | None:
    """Why `address` may not be connected to; None if it may."""
    kind = kind_of(address)
    if kind is None or (kind == LOOPBACK and loopback):
        return None
    if kind == PRIVATE and any(address in network for network in networks):
        return None
    return kind
