package trace

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDropContradictions compares the dependencies dropped in random graphs with
// reachability over data. Every control dependency that contradicts data is dropped.
// Nothing is dropped if there is no cycle, and none remains. If every cycle has a
// contradicting dependency, nothing else is dropped.
func TestDropContradictions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "operations")
		order := rapid.Permutation(identity(n)).Draw(t, "order of data")
		ops, control := make([]Op, n), make([][]int32, n)
		for k := range n {
			for range rapid.IntRange(0, 2).Draw(t, "data") {
				if k > 0 {
					ops[order[k]].After = append(ops[order[k]].After, order[rapid.IntRange(0, k-1).Draw(t, "on")])
				}
			}
			for range rapid.IntRange(0, 2).Draw(t, "control") {
				if c := int32(rapid.IntRange(0, n-1).Draw(t, "by")); int(c) != k && !slices.Contains(control[k], c) {
					control[k] = append(control[k], c)
				}
			}
		}
		var reaches func(edges [][]int32, from, to int32, seen []bool) bool
		reaches = func(edges [][]int32, from, to int32, seen []bool) bool {
			if from == to {
				return true
			}
			seen[from] = true
			return slices.ContainsFunc(edges[from], func(k int32) bool { return !seen[k] && reaches(edges, k, to, seen) })
		}
		data, given := make([][]int32, n), make([][]int32, n)
		for i := range ops {
			data[i], given[i] = ops[i].After, slices.Clone(control[i])
		}
		cyclic := func(control [][]int32) bool {
			all := make([][]int32, n)
			for i := range all {
				all[i] = slices.Concat(data[i], control[i])
			}
			for i := range int32(n) {
				for _, k := range all[i] {
					if reaches(all, k, i, make([]bool, n)) {
						return true
					}
				}
			}
			return false
		}
		consistent := make([][]int32, n)
		for i := range int32(n) {
			for _, c := range given[i] {
				if !reaches(data, c, i, make([]bool, n)) {
					consistent[i] = append(consistent[i], c)
				}
			}
		}
		dropped := dropContradictions(ops, control)
		count, left := 0, 0
		for i := range control {
			count, left = count+len(given[i]), left+len(control[i])
			for _, c := range control[i] {
				if !slices.Contains(consistent[i], c) {
					t.Fatalf("operation %d still waits for %d, which depends on its data", i, c)
				}
			}
		}
		if dropped != count-left {
			t.Fatalf("dropped %d, and %d of %d are left", dropped, left, count)
		}
		if cyclic(control) {
			t.Fatalf("a cycle is left: data %v, control %v", data, control)
		}
		want := consistent
		if !cyclic(given) {
			want = given
		} else if cyclic(consistent) {
			return // other drops depend on file order
		}
		for i := range control {
			if !slices.Equal(control[i], want[i]) {
				t.Fatalf("operation %d waits for %v, want %v", i, control[i], want[i])
			}
		}
	})
}

// identity returns the numbers 0 to n-1.
func identity(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}
