package circulant

import (
	"sim/policies/graph"
	"sim/policies/reconfigure/halt"
)

// greedyShifts orders all shifts on n GPUs such that each saves most slots beside those before it, even ones, which
// split into several cycles, included; of equals the smallest goes first. The saving only falls as shifts are added
// (it is submodular, as facility location is), so a shift is weighed again only when its last known saving leads.
// nil for n < 2.
func greedyShifts(n int, stop halt.When) []int {
	if n < 2 {
		return nil
	}
	c := newCover(n)
	// The first shift is 1 up to a renaming of GPUs, if it is to reach all.
	c.take(1)
	order := append(make([]int, 0, n-1), 1)
	queue := graph.NewHeap(func(a, b saving) bool { return a.slots > b.slots || a.slots == b.slots && a.shift < b.shift })
	for s := 2; s < n; s++ {
		queue.Push(saving{int32(s), 0, int64(n) * int64(n)})
	}
	for queue.Len() > 0 {
		stop.Check()
		top := queue.First()
		if int(top.at) == len(order) {
			c.take(int(top.shift))
			order = append(order, int(queue.Pop().shift))
			continue
		}
		top.slots, top.at = c.saves(int(top.shift)), int32(len(order))
		queue.Fix()
	}
	return order
}

// swapGPUs is the most GPUs for which sets of shifts are improved by exchanges, which take of the order of n^3 steps.
const swapGPUs = 64

// shiftSets returns for d = 1..most, at index d-1, a set of d shifts and the slots of one uniform all-to-all (a chunk a
// pair) over them, every chunk on one topology only, that of fewest hops: the sum over offsets of these hops (the paper's
// power sum, Sec. 3.1). The sets are the first d of greedyShifts, and up to swapGPUs improved by exchanging shifts.
func shiftSets(n, most int, stop halt.When) (sets [][]int, slots []int64) {
	order := greedyShifts(n, stop)
	c := newCover(n)
	for d := 1; d <= most; d++ {
		stop.Check()
		c.take(order[d-1])
		sets, slots = append(sets, order[:d:d]), append(slots, c.sum)
	}
	if n > swapGPUs {
		return sets, slots
	}
	x := newExchange(n)
	for d := 2; d <= most; d++ {
		stop.Check()
		grown := append([]int(nil), sets[d-2]...)
		for _, start := range [][]int{order[:d], append(grown, x.best(grown))} {
			if set, sum := x.improve(start); sum < slots[d-1] {
				sets[d-1], slots[d-1] = set, sum
			}
		}
	}
	// A set of d+1 less one shift may be better than what grew from d-1.
	for d := most - 1; d >= 2; d-- {
		stop.Check()
		if set, sum := x.improve(x.shrink(sets[d])); sum < slots[d-1] {
			sets[d-1], slots[d-1] = set, sum
		}
	}
	return sets, slots
}

// cover holds for every offset the least hops over the shifts taken.
type cover struct {
	n    int
	hops []int32 // by offset; n where none reaches it
	most int32   // a bound on hops
	sum  int64   // of hops over offsets 1..n-1
}

func newCover(n int) *cover {
	c := &cover{n: n, hops: make([]int32, max(n, 1)), most: int32(n), sum: int64(n) * int64(max(0, n-1))}
	for i := range c.hops {
		c.hops[i] = int32(n)
	}
	c.hops[0] = 0
	return c
}

// saves is what shift s takes off sum. A walk along its cycle ends where no offset is worse off than its hops.
func (c *cover) saves(s int) (sum int64) {
	n, at := int32(c.n), int32(s)
	for h := int32(1); h < c.most && at != 0; h++ {
		if b := c.hops[at]; b > h {
			sum += int64(b - h)
		}
		if at += int32(s); at >= n {
			at -= n
		}
	}
	return sum
}

func (c *cover) take(s int) {
	for h, at := int32(1), s; h < c.most && at != 0; h, at = h+1, (at+s)%c.n {
		if c.hops[at] > h {
			c.sum -= int64(c.hops[at] - h)
			c.hops[at] = h
		}
	}
	c.most = 0
	for _, h := range c.hops {
		c.most = max(c.most, h)
	}
}

// saving is what a shift saved beside the first at shifts of an order.
type saving struct {
	shift, at int32
	slots     int64
}
