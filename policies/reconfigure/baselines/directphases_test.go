package baselines

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/policies/reconfigure/plan"
)

// lines returns the maximum sum of a row or column, and the maximum number of GPUs that a GPU
// sends to or receives from.
func lines(p *plan.Problem) (maxSum int64, degree int) {
	n := p.GPUs
	for u := range n {
		var row, column int64
		var out, in int
		for v := range n {
			if c := p.Chunks[u*n+v]; c > 0 {
				row += int64(c)
				out++
			}
			if c := p.Chunks[v*n+u]; c > 0 {
				column += int64(c)
				in++
			}
		}
		maxSum, degree = max(maxSum, row, column), max(degree, out, in)
	}
	return maxSum, degree
}

// TestSplits: both splits are permutations that add up to the demand. Birkhoff-von Neumann takes
// the maximum row or column sum in slots. A cover has at most as many permutations as the maximum
// number of partners of a GPU, and no exchange improves it.
func TestSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 14)
		n := p.GPUs
		maxSum, degree := lines(p)
		check := func(list []permutation) (slots int64) {
			sum := make([]int32, n*n)
			for _, q := range list {
				seen := make([]bool, n)
				longest := int32(0)
				for u, v := range q.to {
					if seen[v] || q.chunks[u] < 0 {
						t.Fatalf("%v is no permutation", q)
					}
					seen[v] = true
					sum[u*n+int(v)] += q.chunks[u]
					longest = max(longest, q.chunks[u])
				}
				if longest != q.slots || longest == 0 {
					t.Fatalf("%v claims %d slots", q, q.slots)
				}
				slots += int64(longest)
			}
			if !slices.Equal(sum, p.Chunks) {
				t.Fatalf("adds up to %v, not %v", sum, p.Chunks)
			}
			return slots
		}
		if slots := check(decomposeBirkhoff(n, p.Chunks, nil)); slots != maxSum {
			t.Fatalf("Birkhoff-von Neumann takes %d slots, not %d", slots, maxSum)
		}
		few := coverPermutations(n, p.Chunks, nil)
		if check(few); len(few) > degree {
			t.Fatalf("a cover of %d permutations, %d GPUs at most to send to", len(few), degree)
		}
		slots := check(few)
		if balancePermutations(n, few, nil) || check(few) != slots {
			t.Fatalf("an exchange gains in %v", few)
		}
	})
}

// TestFastOnOneSwitch: on one switch, the Birkhoff-von Neumann candidate has the minimum slots,
// and the cover the minimum reconfigurations.
func TestFastOnOneSwitch(t *testing.T) {
	p := randomProblem(12, 1, 6, 1)
	maxSum, degree := lines(p)
	for _, m := range []Model{ModelOneSwitch, ModelStriped, ModelTogether} {
		list, err := Fast(p, Options{Model: m})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0].Reconfigurations != degree || list[1].Slots != maxSum {
			t.Errorf("%s: %+v; %d sums, %d flows", m, list, maxSum, degree)
		}
	}
}

// TestTogetherIsStrongest: ModelTogether costs no more than ModelStriped, and this no more than
// ModelOneSwitch.
func TestTogetherIsStrongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		delay := engine.Time(rapid.IntRange(0, 50).Draw(t, "delay"))
		cost := func(m Model) engine.Time {
			list, err := Fast(p, Options{Model: m})
			if err != nil {
				t.Fatal(err)
			}
			c, err := plan.Best(list, func(c *plan.Candidate) engine.Time { return c.Cost(delay, 1) })
			if err != nil {
				t.Fatal(err)
			}
			return c.Cost(delay, 1)
		}
		together, striped, one := cost(ModelTogether), cost(ModelStriped), cost(ModelOneSwitch)
		if together > striped || striped > one {
			t.Fatalf("together %d, striped %d, one %d", together, striped, one)
		}
	})
}

// TestGroupedIsBest: groupPermutations finds the minimum cost over all groupings for two
// switches, and over all groupings of neighbours by length for more.
func TestGroupedIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 4).Draw(t, "k")
		loads := rapid.SliceOfN(rapid.Int32Range(1, 30), 1, 9).Draw(t, "loads")
		delay := rapid.Int64Range(0, 40).Draw(t, "delay")
		var list []permutation
		for _, l := range loads {
			list = append(list, permutation{slots: l})
		}
		got := int64(1 << 40)
		for _, phases := range groupPermutations(list, k, nil) {
			sum := int64(0)
			for _, f := range phases {
				longest := int32(0)
				for i := range f.permutations {
					longest = max(longest, ceilDiv(f.permutations[i].slots, f.links[i]))
				}
				sum += delay + int64(longest)
			}
			got = min(got, sum)
		}
		slices.Sort(loads)
		if want := partition(loads, k, delay); got != want {
			t.Fatalf("cost %d, best %d", got, want)
		}
	})
}

// partition returns the minimum cost by trying every set (of neighbours if k > 2) as the phase of
// the first load.
func partition(loads []int32, k int, delay int64) int64 {
	if len(loads) == 0 {
		return 0
	}
	best := int64(1 << 40)
	for set := 0; set < 1<<(len(loads)-1); set++ {
		group, rest := []int32{loads[0]}, []int32(nil)
		for i, l := range loads[1:] {
			if set>>i&1 == 1 {
				group = append(group, l)
			} else {
				rest = append(rest, l)
			}
		}
		if len(group) <= k && (k == 2 || set&(set+1) == 0) {
			best = min(best, delay+int64(longest(group, k))+partition(rest, k, delay))
		}
	}
	return best
}

// longest returns the minimum slots of a phase by trying all numbers of links per load.
func longest(loads []int32, k int) int32 {
	if len(loads) == 1 {
		return ceilDiv(loads[0], int32(k))
	}
	best := int32(1 << 30)
	for c := 1; c <= k-len(loads)+1; c++ {
		best = min(best, max(ceilDiv(loads[0], int32(c)), longest(loads[1:], k-c)))
	}
	return best
}

// TestBruckByHand: phases and slots computed by hand for uniform demand.
func TestBruckByHand(t *testing.T) {
	for _, c := range []struct{ n, k, phases, slots int }{
		{8, 1, 3, 12}, // three binary digits, each 1 in four of the eight offsets
		{8, 2, 2, 6},  // ternary: digit 1 in 1, 4, 7 and in 3, 4, 5
		{9, 2, 2, 6},
		{6, 1, 3, 7}, // 1, 3, 5; 2, 3; 4, 5
		{2, 1, 1, 1},
		{4, 3, 1, 1},
	} {
		list, err := Bruck(plan.UniformProblem(c.n, c.k, 1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if b := list[0]; b.Reconfigurations != c.phases || b.Slots != int64(c.slots) {
			t.Errorf("n = %d, k = %d: %d phases and %d slots, not %d and %d", c.n, c.k, b.Reconfigurations, b.Slots, c.phases, c.slots)
		}
	}
}

// TestSpreadOutUniform: for uniform demand, phases and slots equal the closed form.
func TestSpreadOutUniform(t *testing.T) {
	for n := 2; n < 20; n++ {
		for k := 1; k < n; k++ {
			list, err := SpreadOut(plan.UniformProblem(n, k, 12), Options{})
			if err != nil {
				t.Fatal(err)
			}
			full, left := (n-1)/k, (n-1)%k
			want := int64(12 * full)
			if left > 0 {
				want += int64(12 / (k / left)) // 12 chunks divide evenly among 1..4 and 6 links
			}
			if k/max(1, left) == 5 || k/max(1, left) > 6 {
				continue
			}
			if c := list[0]; c.Reconfigurations != (n-1+k-1)/k || c.Slots != want {
				t.Errorf("n = %d, k = %d: %d phases and %d slots, not %d", n, k, c.Reconfigurations, c.Slots, want)
			}
		}
	}
}

// TestExchangeByHand: in the cycle of GPUs 0 and 1, one permutation has 9 and 2 chunks and the
// other 3 and 4. In the cycle of GPUs 2 and 3, they have 4 and 1 against 5 and 6. If the 9 and
// the 6 are in the same permutation, it keeps 9 slots, and the other falls from 6 to 4.
func TestExchangeByHand(t *testing.T) {
	p := permutation{to: []int32{0, 1, 2, 3}, chunks: []int32{9, 2, 4, 1}, slots: 9}
	q := permutation{to: []int32{1, 0, 3, 2}, chunks: []int32{3, 4, 5, 6}, slots: 6}
	list := []permutation{q, p}
	if !balancePermutations(4, list, nil) || list[1].slots != 9 || list[0].slots != 4 ||
		!slices.Equal(list[1].chunks, []int32{9, 2, 5, 6}) || !slices.Equal(list[1].to, []int32{0, 1, 3, 2}) ||
		!slices.Equal(list[0].chunks, []int32{3, 4, 4, 1}) || !slices.Equal(list[0].to, []int32{1, 0, 2, 3}) {
		t.Errorf("%v", list)
	}
	if balancePermutations(4, list, nil) {
		t.Errorf("gained again: %v", list)
	}
}
