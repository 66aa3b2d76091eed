package circulant

import (
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"sim/policies/reconfigure/halt"
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

// TestFewestSlots holds the fewest slots of one chunk a pair without relaying against brute force, and that they are
// proved.
func TestFewestSlots(t *testing.T) {
	for _, c := range []struct{ n, k, most int }{{4, 2, 2}, {5, 1, 4}, {5, 2, 2}, {6, 1, 4}, {6, 2, 3}, {6, 3, 2}, {7, 1, 3}, {7, 2, 2}, {7, 3, 2}, {8, 1, 3}, {8, 2, 2}, {8, 3, 2}, {8, 4, 1}, {10, 2, 1}} {
		list, err := Candidates(plan.UniformProblem(c.n, c.k, 1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		slots, proved := slotsOf(list, c.most, false)
		for d := 1; d <= c.most; d++ {
			if b := (&bruteForce{n: c.n, k: c.k, slots: int(slots[d]) - 1}); b.exists(d) {
				t.Errorf("n=%d k=%d d=%d: %d slots, but %v take fewer", c.n, c.k, d, slots[d], b.phases)
			}
			if !proved[d] && slots[d] < slots[d-1] {
				t.Errorf("n=%d k=%d d=%d: %d slots are not proved to be fewest", c.n, c.k, d, slots[d])
			}
		}
	}
}

// TestSlotsReached holds plans that searches of offsets for fewest hops do not find, and writes them out.
func TestSlotsReached(t *testing.T) {
	for _, c := range []struct {
		n, k, d int
		want    int64
		proved  bool
	}{
		{8, 3, 2, 3, true}, // 1, 2, 4 and 1+2 in two slots, then 5, 6, 7
		{9, 2, 3, 5, true},
		{10, 2, 3, 6, true},
		{11, 4, 1, 4, true},
		{12, 4, 2, 4, true},
		{13, 1, 6, 18, true},
		{15, 1, 5, 27, true},
		{16, 2, 2, 16, true},
		{16, 2, 3, 13, true}, // a bound on hops would allow 12
		{20, 4, 3, 7, true},
	} {
		p := plan.UniformProblem(c.n, c.k, 1)
		list, err := Candidates(p, Options{Relay: true})
		if err != nil {
			t.Fatal(err)
		}
		slots, proved := slotsOf(list, c.d, false)
		if slots[c.d] > c.want || proved[c.d] != c.proved {
			t.Errorf("n=%d k=%d d=%d: %d slots, proved %t; want %d, %t", c.n, c.k, c.d, slots[c.d], proved[c.d], c.want, c.proved)
		}
		for i := range list {
			if x := &list[i]; x.Slots == slots[c.d] && !x.Relay {
				built(t, x, p, 0)
			}
		}
	}
}

// TestTiling: phases whose words are short reach, or nearly, as few slots as a bound on hops allows.
func TestTiling(t *testing.T) {
	for _, c := range []struct {
		n, k, d int
		want    int64 // the bound but for 64, 2, 15
	}{{32, 2, 9, 22}, {64, 2, 15, 51}, {64, 2, 17, 46}, {64, 2, 20, 43}, {64, 3, 11, 31}, {64, 4, 10, 22}, {128, 2, 45, 82}} {
		l := newPlanner(c.n, c.k, 1, Options{}, 0)
		s := l.tile(c.d, l.least(c.d)+tilingSpan)
		if s == nil || s.total() > c.want || s.used() > c.d {
			t.Errorf("n=%d k=%d d=%d: not within %d slots", c.n, c.k, c.d, c.want)
			continue
		}
		x := s.candidate("tiling")
		built(t, &x, plan.UniformProblem(c.n, c.k, 1), 0)
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

// TestServes holds the sets that one phase serves, and that are as large as asked for, against brute force.
func TestServes(t *testing.T) {
	for _, need := range [][]int{{8, 1, 1, 1}, {8, 2, 3, 4}, {8, 8, 2, 4}} {
		testServes(t, 8, need)
	}
}

func testServes(t *testing.T, n int, need []int) {
	e := &exhaustive{n: n, k: 2, steps: exhaustSteps, need: need}
	if !e.serveAll() {
		t.Fatal("the steps have ended")
	}
	for set := 1; set < 1<<(n-1); set++ {
		least := unserved
		for s := 1; s <= 3 && least == unserved; s++ {
			if bits.OnesCount(uint(set)) < need[s] {
				continue
			}
			for a := 1; a < n; a++ {
				for b := a; b < n; b++ {
					if servesSet(n, [2]int{a, b}, s, set, [2]int{}) {
						least = s
					}
				}
			}
		}
		if int(e.slots[set]) != least {
			t.Fatalf("the set %b takes %d slots, want %d where phases serve at least %v", set, e.slots[set], least, need)
		}
	}
}

func servesSet(n int, offsets [2]int, s, set int, load [2]int) bool {
	if set == 0 {
		return true
	}
	o := 1
	for set>>(o-1)&1 == 0 {
		o++
	}
	for x := 0; x <= s; x++ {
		for y := 0; x+y <= s; y++ {
			if (x*offsets[0]+y*offsets[1])%n == o && load[0]+x <= s && load[1]+y <= s &&
				servesSet(n, offsets, s, set&^(1<<(o-1)), [2]int{load[0] + x, load[1] + y}) {
				return true
			}
		}
	}
	return false
}

// TestUnproved: what is not tried to the end is not proved.
func TestUnproved(t *testing.T) {
	e := &exhaustive{n: 10, k: 2, steps: 50}
	e.needs([]int64{0, 11, 11, 11, 11, 5}, []int{1, 2, 3, 4})
	if e.serveAll() {
		t.Error("50 steps were enough for all pairs of offsets")
	}
}

// TestSearchesEnd: searches end when they are told to.
func TestSearchesEnd(t *testing.T) {
	for name, search := range map[string]func(Options){
		"exhaustive": func(o Options) {
			l := newPlanner(16, 4, 1, o, 0)
			l.exhaust([]*scheme{l.stay(l.direct(), 0), l.stay([][]int{{1, 2, 4, 8}}, 0)})
		},
		"tiling": func(o Options) {
			newPlanner(256, 4, 1, o, 0).tile(19, 1000)
		},
	} {
		end := time.Now().Add(20 * time.Millisecond)
		err := func() (err error) {
			defer halt.Caught(&err)
			search(Options{Stop: func() bool { return time.Now().After(end) }})
			return nil
		}()
		if late := time.Since(end); err == nil || late > time.Second { // 100 ms, were the machine its own
			t.Errorf("%s: ended %v late, with %v", name, late, err)
		}
	}
}
