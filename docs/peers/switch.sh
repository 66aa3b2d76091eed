#!/usr/bin/env bash
# Compares sim with SimGrid on transfers through one switch: writes traces in the format "cm", simulates each with
# both, and prints CPU seconds, peak memory and the end. It needs GNU time, g++ and libsimgrid (Debian: libsimgrid-dev).
#
#   docs/peers/switch.sh [NODES...]      one transfer of 2 MB per ordered pair, which starts within 500 ns, and one
#                                        of a random size below 4 MB, which starts at 0; by default for 64 nodes
set -euo pipefail
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/sim" .
g++ -O2 -std=c++17 docs/peers/switch.cc -o "$tmp/switch" -lsimgrid

# trace NODES EXPRESSION OF START AND SIZE: writes a trace and its scenario.
trace() {
	awk -v n="$1" "BEGIN {
		srand(1)
		printf \"Nodes %d\nConnections %d\n\", n, n * (n - 1)
		for (a = 0; a < n; a++) for (b = 0; b < n; b++) if (a != b) {
			$2
			printf \"%d->%d id %d start %d size %d\n\", a, b, ++id, start, size
		}
	}" >"$tmp/trace.cm"
	printf '[workload]\nkind = "trace"\nfiles = "trace.cm"\n[fabric]\nkind = "electrical"\ngpus = %d\nlink_rate = "400Gbps"\n[engine]\nlevel = "flow"\n' "$1" >"$tmp/trace.toml"
}

for n in "${@:-64}"; do
	for work in 'start = int(500000 * rand()); size = 2000000' 'start = 0; size = 1 + int(4000000 * rand())'; do
		trace "$n" "$work"
		echo "$n nodes: $work"
		/usr/bin/time -f '  sim      %U+%S s, %M kB' "$tmp/sim" run "$tmp/trace.toml" --no-plots --force --out "$tmp/run" \
			>/dev/null 2>"$tmp/messages" || cat "$tmp/messages"
		tail -1 "$tmp/messages"
		grep ',makespan_s,' "$tmp/run/metrics.csv" | tail -1
		/usr/bin/time -f '  SimGrid  %U+%S s, %M kB' "$tmp/switch" "$tmp/trace.cm" --log=root.thres:critical 2>&1
	done
done
