package circulant

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// maxResting returns the maximum number of chunks in transit between phases in the given
// order.
func maxResting(t *timetable, order []int) (maximum int) {
	for i := 1; i < len(order); i++ {
		here := 0
		for _, j := range t.chunks {
			before, after := false, false
			for w := t.paths.pathStart[j.path]; w < t.paths.pathStart[j.path+1]; w++ {
				if slices.Contains(order[:i], int(t.paths.gen[w])/t.k) {
					before = true
				} else {
					after = true
				}
			}
			if before && after {
				here++
			}
		}
		maximum = max(maximum, here)
	}
	return maximum
}

// forEachPermutation calls visit with each permutation of the list.
func forEachPermutation(list []int, visit func([]int)) {
	var swap func(i int)
	swap = func(i int) {
		if i == len(list) {
			visit(list)
			return
		}
		for j := i; j < len(list); j++ {
			list[i], list[j] = list[j], list[i]
			swap(i + 1)
			list[i], list[j] = list[j], list[i]
		}
	}
	swap(0)
}

// The order of phases has the minimum number of chunks in transit between phases, compared
// with all orders. The buffer is at least this number.
func TestOrderPhases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 16).Draw(t, "n")
		k := rapid.IntRange(1, 2).Draw(t, "k")
		d := rapid.IntRange(1, 5).Draw(t, "d")
		set := append(rapid.SliceOfN(rapid.IntRange(1, n-1), d*k-1, d*k-1).Draw(t, "generators"), 1)
		table := newPlanner(n, k, 1, Options{}, 0).dealGenerators(set).timetable(nil)
		got := maxResting(table, table.order)
		lowest := got
		forEachPermutation(slices.Clone(table.order), func(order []int) { lowest = min(lowest, maxResting(table, order)) })
		if got != lowest {
			t.Fatalf("order %v has %d chunks in transit, the minimum is %d", table.order, got, lowest)
		}
		if int(table.buffer) < got {
			t.Fatalf("a buffer of %d, but %d chunks rest between phases", table.buffer, got)
		}
	})
}

// The buffer of a timetable equals the buffer of the plan.
func TestBufferMatchesPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 14).Draw(t, "n")
		k := rapid.IntRange(1, 2).Draw(t, "k")
		d := rapid.IntRange(1, 4).Draw(t, "d")
		chunks := int32(rapid.IntRange(1, 3).Draw(t, "chunks"))
		set := append(rapid.SliceOfN(rapid.IntRange(1, n-1), d*k-1, d*k-1).Draw(t, "generators"), 1)
		table := newPlanner(n, k, chunks, Options{}, 0).dealGenerators(set).timetable(nil)
		p, err := table.buildPlan("", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		if p.Buffer != table.buffer {
			t.Fatalf("the plan has a buffer of %d, the timetable %d", p.Buffer, table.buffer)
		}
	})
}

// The incremental state of a balancer equals its recomputation from the chunks per path.
func TestLoadBalancerState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 20).Draw(t, "n")
		k := rapid.IntRange(1, 3).Draw(t, "k")
		chunks := int32(rapid.IntRange(1, 9).Draw(t, "chunks"))
		var phases [][]int
		for range rapid.IntRange(1, 3).Draw(t, "d") {
			phases = append(phases, append(rapid.SliceOfN(rapid.IntRange(1, n-1), k-1, k-1).Draw(t, "offsets"), 1))
		}
		l := newPlanner(n, k, chunks, Options{}, 0)
		b := newLoadBalancer(newPathTable(n, len(phases)*k, phasePaths(n, phases, 1)), k, chunks, nil)
		before := b.slots
		b.search(20, 0, l.random("test", 0))
		s := l.improveBalance(b, phases, false, 0)
		var slots, spread int64
		load := s.loads()
		for p := range phases {
			x, sum, squares := load[p*k:(p+1)*k], int64(0), int64(0)
			for _, y := range x {
				sum += y
				squares += y * y
			}
			slots += slices.Max(x)
			spread += int64(k)*squares - sum*sum
		}
		if !slices.Equal(load, b.load) || slots != b.slots || spread != b.totalImbalance || slots > before || slots > s.total() {
			t.Fatalf("loads %v, %d slots, spread %d; want %v, %d, %d; before the search %d", b.load, b.slots, b.totalImbalance, load, slots, spread, before)
		}
		for o := 1; o < n; o++ {
			sum := int32(0)
			for q := s.paths.start[o]; q < s.paths.start[o+1]; q++ {
				sum += s.pathChunks[q]
			}
			if sum != chunks {
				t.Fatalf("%d chunks go to offset %d, want %d", sum, o, chunks)
			}
		}
	})
}
