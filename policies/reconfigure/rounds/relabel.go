package rounds

import (
	"slices"

	"sim/internal/numbers"
	"sim/policies/graph"
	"sim/policies/reconfigure/halt"
)

// swapWork limits what one base spends on relabelling, over all d: flows moved from group to group in swaps, some 5 ns
// each. It is shared out evenly, so that the result depends on nothing but the problem.
const swapWork = 200 << 20

// levels is how many counts of chunks the search tells apart; more are rounded up to as many of them.
const levels = 256

// relabeller assigns GPUs to the nodes of a scheme so that large flows share rounds, and short ones (Sec. 4.4): swaps
// of two GPUs in a fixed order, each kept if it lowers the cost of the rounds.
type relabeller struct {
	n      int
	chunks []int32
	// level[a*n+b] is that of GPU a's chunks for b, value the chunks of a level.
	level []int32
	value []int64
	label []int32
	pairs graph.Exchanges // goes on from scheme to scheme

	g       *groups
	count   []int32 // of flows, by group and level
	top     []int32 // highest level, by group
	most    []int64 // chunks of that level, by group
	touched []int32
	is      []bool
	stop    halt.When
}

func newRelabeller(n int, chunks []int32) *relabeller {
	r := &relabeller{n: n, chunks: chunks, label: numbers.Below(int32(n)), pairs: graph.Exchanges{N: n}}
	values := slices.Clone(chunks)
	slices.Sort(values)
	values = slices.Compact(values)
	step := (len(values) + levels - 1) / levels
	for i := range values {
		if (len(values)-1-i)%step == 0 {
			r.value = append(r.value, int64(values[i]))
		}
	}
	r.level = make([]int32, n*n)
	for i, c := range chunks {
		at, _ := slices.BinarySearch(r.value, int64(c))
		r.level[i] = int32(at)
	}
	return r
}

// improve lowers the cost of a scheme, starting from the labels of the last call or from none, whichever costs less, by
// at most so many swaps tried. It returns labels (label[node] = GPU) that cost no more than the identity.
func (r *relabeller) improve(g *groups, swaps int) []int32 {
	none := numbers.Below(int32(r.n))
	plain := g.slots(r.n, r.chunks, none)
	if g.slots(r.n, r.chunks, r.label) >= plain {
		copy(r.label, none)
	}
	r.load(g)
	cost := r.g.cost(r.most)
	r.pairs.Run(swaps, func(a, b int) bool {
		r.stop.Check()
		r.swap(a, b)
		if c := r.g.cost(r.most); c < cost {
			cost = c
			return true
		}
		r.swap(a, b)
		return false
	})
	if g.slots(r.n, r.chunks, r.label) > plain {
		copy(r.label, none)
	}
	return slices.Clone(r.label)
}

// load counts the flows of every group by level.
func (r *relabeller) load(g *groups) {
	r.g = g
	r.count = make([]int32, len(g.hops)*len(r.value))
	r.top, r.most, r.is = make([]int32, len(g.hops)), make([]int64, len(g.hops)), make([]bool, len(g.hops))
	for i := range r.n {
		for j := range r.n {
			if at := g.of[i*r.n+j]; at >= 0 {
				l := r.level[int(r.label[i])*r.n+int(r.label[j])]
				r.count[int(at)*len(r.value)+int(l)]++
				r.top[at] = max(r.top[at], l)
				r.most[at] = r.value[r.top[at]]
			}
		}
	}
}

// swap exchanges the GPUs of two nodes. Done twice it does nothing.
func (r *relabeller) swap(a, b int) {
	n := r.n
	x, y := int(r.label[a]), int(r.label[b])
	of, level := r.g.of, r.level
	for j := range n {
		if j == a || j == b {
			continue
		}
		z := int(r.label[j])
		xz, yz, zx, zy := level[x*n+z], level[y*n+z], level[z*n+x], level[z*n+y]
		if xz != yz {
			r.move(of[a*n+j], xz, yz)
			r.move(of[b*n+j], yz, xz)
		}
		if zx != zy {
			r.move(of[j*n+a], zx, zy)
			r.move(of[j*n+b], zy, zx)
		}
	}
	if xy, yx := level[x*n+y], level[y*n+x]; xy != yx {
		r.move(of[a*n+b], xy, yx)
		r.move(of[b*n+a], yx, xy)
	}
	r.label[a], r.label[b] = int32(y), int32(x)
	for _, g := range r.touched {
		r.is[g] = false
		row := r.count[int(g)*len(r.value):]
		t := r.top[g]
		for t > 0 && row[t] == 0 {
			t--
		}
		r.top[g], r.most[g] = t, r.value[t]
	}
	r.touched = r.touched[:0]
}

// move takes one flow of a group from a level to another.
func (r *relabeller) move(g, from, to int32) {
	row := r.count[int(g)*len(r.value):]
	row[from]--
	row[to]++
	if to > r.top[g] {
		r.top[g] = to
	}
	if !r.is[g] {
		r.is[g] = true
		r.touched = append(r.touched, g)
	}
}
