#!/bin/sh
# A network namespace for agents whose only way out is the gateway at 10.200.0.1:8080. As root: netns.sh up | down
set -eu
here=$(dirname "$0")

up() {
  # The rules come first: there is no moment without them.
  nft -f "$here/netns.nft"
  ip netns add agents
  ip link add agents0 type veth peer name eth0 netns agents
  ip address add 10.200.0.1/30 dev agents0
  ip link set agents0 up
  ip -n agents address add 10.200.0.2/30 dev eth0
  ip -n agents link set lo up
  ip -n agents link set eth0 up
  # No default route, and no name server: the gateway resolves names.
}

down() {
  # The rules go last. Deleting one end of the link deletes both.
  ip link delete agents0 2>/dev/null || true
  ip netns delete agents 2>/dev/null || true
  nft delete table inet postern_netns 2>/dev/null || true
}

case "${1:-}" in
  up) up || { down; exit 1; } ;;
  down) down ;;
  *) echo "usage: $0 up | down" >&2; exit 2 ;;
esac
