package circulant

import (
	"math"
	"slices"
	"testing"

	"sim/policies/reconfigure/plan"
)

// slotsOf returns by number of topologies the fewest slots of list, relaying or not, and whether they are proved.
func slotsOf(list []plan.Candidate, most int, relay bool) (slots []int64, proved []bool) {
	slots, proved = slices.Repeat([]int64{math.MaxInt64}, most+1), make([]bool, most+1)
	for d := range slots {
		for _, c := range list {
			if c.Relay == relay && c.Reconfigurations <= d && c.Slots < slots[d] {
				slots[d], proved[d] = c.Slots, c.Proved && c.Reconfigurations == d
			}
		}
	}
	return slots, proved
}

// bruteForce reports whether phases of k offsets serve a chunk to every offset in so many slots in all without
// relaying. It tries every word of every chunk, offset by offset, and remembers the loads that fail.
type bruteForce struct {
	n, k, slots int
	phases      [][]int
	load, most  []int // by generator and by phase: the hops of its longest word
	failed      map[string]bool
}

func (b *bruteForce) serves(o int) bool {
	if o == b.n {
		return true
	}
	key := string(rune(o))
	for _, x := range append(slices.Clone(b.load), b.most...) {
		key += string(rune(x))
	}
	if b.failed[key] {
		return false
	}
	for p := range b.phases {
		if b.word(o, p, 0, 0, 0) {
			return true
		}
	}
	b.failed[key] = true
	return false
}

// word tries the words of phase p from generator j on, after so many hops to at.
func (b *bruteForce) word(o, p, j, at, hops int) bool {
	if j == b.k {
		if at%b.n != o {
			return false
		}
		was := b.most[p]
		b.most[p] = max(was, hops)
		if b.total() <= b.slots && b.serves(o+1) {
			return true
		}
		b.most[p] = was
		return false
	}
	g := p*b.k + j
	was := b.load[g]
	for x := 0; hops+x <= b.slots; x++ {
		b.load[g] = was + x
		if b.total() > b.slots {
			break
		}
		if b.word(o, p, j+1, at+x*b.phases[p][j], hops+x) {
			return true
		}
	}
	b.load[g] = was
	return false
}

func (b *bruteForce) total() (sum int) {
	for p := range b.phases {
		sum += max(b.most[p], slices.Max(b.load[p*b.k:(p+1)*b.k]))
	}
	return sum
}

// exists reports whether any d phases of k offsets do.
func (b *bruteForce) exists(d int) bool {
	var phases func(from []int) bool
	phases = func(from []int) bool {
		if len(b.phases) == d {
			b.load, b.most, b.failed = make([]int, d*b.k), make([]int, d), map[string]bool{}
			return b.serves(1)
		}
		tuple := slices.Clone(from) // of phases, the order does not matter
		for {
			b.phases = append(b.phases, slices.Clone(tuple))
			if phases(tuple) {
				return true
			}
			b.phases = b.phases[:len(b.phases)-1]
			j := b.k - 1
			for j >= 0 && tuple[j] == b.n-1 {
				j--
			}
			if j < 0 {
				return false
			}
			for v := tuple[j] + 1; j < b.k; j++ {
				tuple[j] = v
			}
		}
	}
	return phases(slices.Repeat([]int{1}, b.k))
}

// TestFewestSlots compares the fewest slots of one chunk per pair without relaying with brute force: plans that are
// marked as proved take as few, and so do all others but one.
func TestFewestSlots(t *testing.T) {
	for _, c := range []struct{ n, k, most int }{{4, 2, 2}, {5, 1, 4}, {5, 2, 2}, {6, 1, 4}, {6, 2, 3}, {6, 3, 2}, {7, 1, 3}, {7, 2, 2}, {7, 3, 2}, {8, 1, 3}, {8, 2, 2}, {8, 3, 2}, {8, 4, 1}, {10, 2, 1}} {
		list, err := Candidates(plan.UniformProblem(c.n, c.k, 1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		slots, proved := slotsOf(list, c.most, false)
		for d := 1; d <= c.most; d++ {
			missed := c.n == 8 && c.k == 3 && d == 2 // 1, 2, 4 and 1+2 in two slots, then 5, 6, 7
			b := &bruteForce{n: c.n, k: c.k, slots: int(slots[d]) - 1}
			if b.exists(d) && (proved[d] || !missed) {
				t.Errorf("n=%d k=%d d=%d: %d slots, proved %t, but %v take fewer", c.n, c.k, d, slots[d], proved[d], b.phases)
			}
		}
	}
}

// TestRepeated: many chunks a pair take no more slots than one of them after the other.
func TestRepeated(t *testing.T) {
	for _, c := range []struct{ n, k int }{{8, 3}, {10, 2}, {13, 1}, {14, 2}, {20, 4}} {
		if c.n == 20 && !*long { // which takes longest
			continue
		}
		most := (c.n - 2 + c.k) / c.k
		var one []int64
		for _, chunks := range []int32{1, 5} {
			list, err := Candidates(plan.UniformProblem(c.n, c.k, chunks), Options{})
			if err != nil {
				t.Fatal(err)
			}
			slots, _ := slotsOf(list, most, false)
			for d, x := range one {
				if d > 0 && slots[d] > 5*x {
					t.Errorf("n=%d k=%d d=%d: %d slots for 5 chunks, %d for one", c.n, c.k, d, slots[d], x)
				}
			}
			one = slots
		}
	}
}
