package rounds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// figure7 is Fig. 7 for GPU 1 and, to show the rotation, GPU 2: rounds 1, 2, 4, 5 of the
// base and 1, 2, 5 of the topology shifted by 3.
var figure7 = [7][2]string{
	{"1-3", "2-8"}, {"1-3-4", "2-8-5"}, {"1-3-4-7-2", "2-8-5-6-1"}, {"1-3-4-7-2-8", "2-8-5-6-1-3"},
	{"1-7", "2-6"}, {"1-7-5", "2-6-4"}, {"1-7-5-3-2-6", "2-6-4-8-1-7"},
}

// The rounds of shifts 1 and 3 on 8 GPUs equal Fig. 7.
func TestFigure7(t *testing.T) {
	s := newShiftSequence(8)
	s.order = []int{1, 3}
	s.addShift()
	// The base cycle of Fig. 6a.
	m := candidateSchedule{rebuild: s.schedule, label: []int32{1, 3, 4, 7, 2, 8, 5, 6}} // the base cycle of Fig. 6a
	for i := range m.label {
		m.label[i]--
	}
	rounds := m.describe().Rounds
	if len(rounds) != 7 {
		t.Fatalf("%d rounds", len(rounds))
	}
	sum := 0
	for i, r := range rounds {
		sum += r.Hops
		if len(r.Paths) != 8 || (i >= 4) != (r.Phase == 1) {
			t.Errorf("round %d: %+v", i, r)
		}
		for j, want := range figure7[i] {
			if got := pathText(r.Paths[j]); got != want {
				t.Errorf("round %d: %s, in the figure %s", i+1, got, want)
			}
		}
	}
	// The paper's text says 19, but its rounds take 1+2+4+5 and 1+2+5 slots.
	if sum != 20 {
		t.Errorf("%d slots, want 20", sum)
	}
}

// pathText formats a path with GPUs numbered from 1, as in the paper.
func pathText(path []int32) string {
	var s []string
	for _, u := range path {
		s = append(s, fmt.Sprint(u+1))
	}
	return strings.Join(s, "-")
}

// Fig. 8c has offsets 6 and 5, which are the base offsets -2 and -3. Its rounds are, for
// GPU 1, {5, 6}, {6+6, 5+5}, {6+5} and {6+6+5, 5+5+5}. The last round uses offset 5 twice
// at hop 3. Here the path of 6+6+5 joins {6+5} as 5+6+6 instead.
func TestFigure8(t *testing.T) {
	if o := BaseOffsets(8, 2); !slices.Equal(o, []int{2, 3}) {
		t.Fatalf("base %v", o)
	}
	s, err := Describe(plan.UniformProblem(8, 2, 1), Options{Schedule: ByRound, Base: Circulant}, 1)
	if err != nil {
		t.Fatal(err)
	}
	figure := map[int32][]int{6: {2}, 5: {3}, 4: {2, 2}, 2: {3, 3}, 3: {2, 3}, 1: {2, 2, 3}, 7: {3, 3, 3}}
	hops := []int{}
	for _, r := range s.Rounds {
		hops = append(hops, r.Hops)
		for _, path := range r.Paths {
			var used []int
			for i := range path[1:] {
				used = append(used, int(path[i+1]-path[i]+8)%8)
			}
			slices.Sort(used)
			if to := (path[0] - path[len(path)-1] + 8) % 8; !slices.Equal(used, figure[to]) {
				t.Errorf("%s takes offsets %v, in the figure -%v", pathText(path), used, figure[to])
			}
		}
	}
	if !slices.Equal(hops, []int{1, 2, 3, 3}) || s.Slots != 9 {
		t.Errorf("rounds of %v hops, %d slots; want 1, 2, 3, 3", hops, s.Slots)
	}
}

// If all sources use the same paths, no packing of offsets {2, 3} on 8 GPUs takes fewer
// than 9 slots. Dynamic programming over the destinations covers all paths of up to 5 hops
// and all pairs of destinations in a round.
func TestFigure8Needs9(t *testing.T) {
	offsets := []int{2, 3}
	paths := make([][][]int, 8)
	var extend func(at int, path []int)
	extend = func(at int, path []int) {
		if len(path) > 0 && at != 0 {
			paths[at] = append(paths[at], slices.Clone(path))
		}
		if len(path) < 5 {
			for _, o := range offsets {
				extend((at+o)%8, append(path, o))
			}
		}
	}
	extend(0, nil)
	costTogether := func(a, b int) int {
		minSlots := 100
		for _, v := range paths[a] {
			for _, w := range paths[b] {
				free := true
				for i := range min(len(v), len(w)) {
					free = free && v[i] != w[i]
				}
				if free {
					minSlots = min(minSlots, max(len(v), len(w)))
				}
			}
		}
		return minSlots
	}
	best := make([]int, 1<<8)
	for set := 2; set < 1<<8; set += 2 {
		best[set] = 1000
		for a := 1; a < 8; a++ {
			for b := a; b < 8; b++ {
				if set>>a&1 == 0 || set>>b&1 == 0 {
					continue
				}
				cost := costTogether(a, b)
				if a == b {
					cost = len(slices.MinFunc(paths[a], func(v, w []int) int { return len(v) - len(w) }))
				}
				best[set] = min(best[set], best[set&^(1<<a)&^(1<<b)]+cost)
			}
		}
	}
	if best[1<<8-2] != 9 {
		t.Errorf("%d slots", best[1<<8-2])
	}
}

// With chunks that wait at GPUs, offsets {2, 3} need 8 slots, not 7. Let a hop of offset 2
// cost 2 and a hop of offset 3 cost 3. The cheapest paths of the 7 destinations then cost
// 36, and the hops of a slot cost at most 5 (36/5 > 7). Offsets {1, 3} take 7 slots, and
// the same search finds 8 for {2, 3}.
func TestWaitingNeeds8(t *testing.T) {
	price := [8]int{}
	for d := 1; d < 8; d++ {
		price[d] = 1000
		for a := range 9 {
			for b := range 9 {
				if a+b > 0 && (2*a+3*b)%8 == d {
					price[d] = min(price[d], 2*a+3*b)
				}
			}
		}
	}
	sum := 0
	for _, c := range price {
		sum += c
	}
	if (sum+4)/5 != 8 {
		t.Errorf("all destinations cost %d: %d slots", sum, (sum+4)/5)
	}
	// Hops over the first and the second offset, by destination.
	for _, c := range []struct {
		hops [7][2]int
		want int
	}{
		{[7][2]int{{1, 0}, {0, 1}, {2, 0}, {1, 1}, {0, 2}, {2, 1}, {0, 3}}, 8}, // {2, 3}
		{[7][2]int{{1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}}, 7}, // {1, 3}
	} {
		if got := minOpenShopSlots(c.hops); got != c.want {
			t.Errorf("%v: %d slots, want %d", c.hops, got, c.want)
		}
	}
}

// minOpenShopSlots returns the minimum number of slots in which each job has its hops of
// both offsets, one per slot, and each offset serves one job per slot. It tries all
// schedules.
func minOpenShopSlots(hops [7][2]int) int {
	var fits func(left [7][2]int, slots int) bool
	fits = func(left [7][2]int, slots int) bool {
		a, b := 0, 0
		for _, x := range left {
			a, b = a+x[0], b+x[1]
		}
		if a+b == 0 || a > slots || b > slots {
			return a+b == 0
		}
		for i := -1; i < 7; i++ {
			for j := -1; j < 7; j++ {
				if i == j || i >= 0 && left[i][0] == 0 || j >= 0 && left[j][1] == 0 {
					continue
				}
				next := left
				if i >= 0 {
					next[i][0]--
				}
				if j >= 0 {
					next[j][1]--
				}
				if fits(next, slots-1) {
					return true
				}
			}
		}
		return false
	}
	for slots := 0; ; slots++ {
		if fits(hops, slots) {
			return slots
		}
	}
}

// figure9 is Fig. 9c: for each round, the paths that start with the first link of each GPU,
// as printed. The print of GPU 1's row lacks column 5.
var figure9 = []string{
	"1-8 2-6 3-4 4-2 5-8 6-6 7-4 8-2",
	"1-8-2 2-6-6 3-4-2 4-2-6 5-8-1 6-6-5 7-4-1 8-2-5",
	"1-8-1 2-6-5 3-4-1 4-2-5 5-8-2 6-6-6 7-4-2 8-2-6",
	"2-6-6-6 3-4-2-5 4-2-6-5 5-8-1-8 6-6-5-8 7-4-1-7 8-2-5-7",
	"1-8-2-5 2-6-6-5 3-4-2-6 4-2-6-6 5-8-1-7 6-6-5-7 7-4-1-8 8-2-5-8",
	"1-8-1-8 2-6-5-8 3-4-1-7 4-2-5-7 5-8-2-6 6-6-6-6 7-4-2-5 8-2-6-5",
	"1-8-1-7 2-6-5-7 3-4-1-8 4-2-5-8 5-8-2-5 6-6-6-5 7-4-2-6 8-2-6-6",
}

// The listing of GenKautz on 8 GPUs contains the paths of Fig. 9c, in as many rounds and
// slots.
func TestFigure9(t *testing.T) {
	rounds, err := GenKautzRounds(8, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(rounds) != 7 {
		t.Fatalf("%d rounds, want 7", len(rounds))
	}
	sum := 0
	for i, r := range rounds {
		sum += r.Hops
		var paths []string
		for _, p := range r.Paths {
			paths = append(paths, pathText(p))
		}
		for _, want := range strings.Fields(figure9[i]) {
			if !slices.Contains(paths, want) {
				t.Errorf("round %d lacks %s: %v", i+1, want, paths)
			}
		}
		if len(paths) != 16 {
			t.Errorf("round %d has %d paths, want 2 per GPU", i+1, len(paths))
		}
	}
	if sum != 17 {
		t.Errorf("%d slots, want 17", sum)
	}
	// Selection and merging do not reduce the rounds: GPU 6, which has a loop, reaches 4
	// other GPUs in 3 hops, all over its one other link.
	s, err := Describe(plan.UniformProblem(8, 2, 1), Options{Schedule: ByRound, Base: GenKautz}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rounds) != 7 || s.Slots != 17 {
		t.Errorf("%d rounds, %d slots", len(s.Rounds), s.Slots)
	}
}

// Described rounds contain each flow once, use each link once per step, and take the slots
// of the candidate.
func TestDescribe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		o := drawOptions(t, p.Degree)
		o.Schedule = ByRound
		list, err := Candidates(p, o)
		if err != nil {
			t.Fatal(err)
		}
		c := rapid.SampledFrom(list).Draw(t, "candidate")
		s, err := Describe(p, o, c.Reconfigurations)
		if err != nil {
			t.Fatal(err)
		}
		if s.Slots != c.Slots || s.Origin != c.Origin || len(s.Topologies) != c.Reconfigurations {
			t.Fatalf("%+v for %+v", s, c)
		}
		n := p.GPUs
		listed := make([]int, n*n)
		var slots int64
		for _, r := range s.Rounds {
			used := map[[3]int32]bool{}
			for _, path := range r.Paths {
				src, dst := path[0], path[len(path)-1]
				listed[int(src)*n+int(dst)]++
				for step := range path[1:] {
					e := scaleup.Edge{From: path[step], To: path[step+1]}
					link := [3]int32{int32(step), e.From, e.To}
					if used[link] || !slices.Contains(s.Topologies[r.Phase], e) {
						t.Fatalf("%s: step %d of %s", s.Origin, step, pathText(path))
					}
					used[link] = true
				}
			}
			for chunk := int32(0); ; chunk++ {
				maxHops := 0
				for _, path := range r.Paths {
					if p.Chunks[int(path[0])*n+int(path[len(path)-1])] > chunk {
						maxHops = max(maxHops, len(path)-1)
					}
				}
				if slots += int64(maxHops); maxHops == 0 {
					break
				}
			}
		}
		for i, times := range listed {
			if (times != 1) != (i/n == i%n) {
				t.Fatalf("flow %d->%d is listed %d times", i/n, i%n, times)
			}
		}
		if slots != s.Slots {
			t.Fatalf("%s: the rounds take %d slots, want %d", s.Origin, slots, s.Slots)
		}
	})
}
