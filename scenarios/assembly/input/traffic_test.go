package input

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/workloads/collective"
)

// TestEntries checks that the entries of a traffic matrix are stored as rows of sends, or as
// a matrix, and read back. The matrix needs the nodes of all entries.
func TestEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		matrix := TrafficMatrix{Matrix: make([][]int, nodes)}
		var want []collective.Entry
		minEndpoints := 0
		for src := range nodes {
			matrix.Matrix[src] = make([]int, nodes)
			for dst := range nodes {
				bytes := rapid.SampledFrom([]int{0, 0, 1, 1000}).Draw(t, "bytes")
				if matrix.Matrix[src][dst] = bytes; bytes > 0 {
					want = append(want, collective.Entry{Src: int32(src), Dst: int32(dst), Bytes: int64(bytes)})
					minEndpoints = max(minEndpoints, src+1, dst+1)
				}
			}
		}
		if got := matrix.Entries(); !slices.Equal(got, want) || matrix.MinEndpoints() != nodes {
			t.Fatalf("matrix: got entries %v and %d nodes, want %v and %d", got, matrix.MinEndpoints(), want, nodes)
		}
		matrix.SetEntries(want)
		if got := matrix.Entries(); !slices.Equal(got, want) || matrix.MinEndpoints() != minEndpoints {
			t.Fatalf("sends: got entries %v and %d nodes, want %v and %d", got, matrix.MinEndpoints(), want, minEndpoints)
		}
	})
}
