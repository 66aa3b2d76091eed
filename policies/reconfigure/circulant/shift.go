package circulant

import (
	"container/heap"

	"sim/policies/reconfigure/halt"
)

// GreedyShifts orders all shifts on n GPUs such that each saves most slots beside those before it, even ones, which
// split into several cycles, included; of equals the smallest goes first. The saving only falls as shifts are added
// (it is submodular, as facility location is), so a shift is weighed again only when its last known saving leads.
// nil for n < 2.
func GreedyShifts(n int) []int { return greedyShifts(n, nil) }

func greedyShifts(n int, stop halt.When) []int {
	if n < 2 {
		return nil
	}
	c := newCover(n)
	// The first shift is 1 up to a renaming of GPUs, if it is to reach all.
	c.take(1)
	order := append(make([]int, 0, n-1), 1)
	queue := make(savings, 0, n-2)
	for s := 2; s < n; s++ {
		queue = append(queue, saving{int32(s), 0, int64(n) * int64(n)})
	}
	for len(queue) > 0 {
		stop.Check()
		top := &queue[0]
		if int(top.at) == len(order) {
			c.take(int(top.shift))
			order = append(order, int(top.shift))
			heap.Pop(&queue)
			continue
		}
		top.slots, top.at = c.saves(int(top.shift)), int32(len(order))
		heap.Fix(&queue, 0)
	}
	return order
}

// swapGPUs is the most GPUs for which sets of shifts are improved by exchanges, which take of the order of n^3 steps.
const swapGPUs = 64

// GreedySlots returns for d = 1..n-1, at index d-1, the slots of one uniform all-to-all (a chunk a pair) over d shifts,
// every chunk on one topology only, that of fewest hops: the sum over offsets of these hops (the paper's power sum, Sec.
// 3.1). The shifts are the first d of GreedyShifts, and up to 64 GPUs sets improved by exchanging shifts.
func GreedySlots(n int) []int64 {
	_, slots := shiftSets(n, max(0, n-1), nil)
	return slots
}

// shiftSets returns for d = 1..most the set of d shifts of GreedySlots, and its slots. Above swapGPUs the sets are
// prefixes of one order.
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

// savings is a heap: largest saving first, of equals those weighed lately, then the smallest shift.
type savings []saving

func (q savings) Len() int { return len(q) }
func (q savings) Less(i, j int) bool {
	if q[i].slots != q[j].slots {
		return q[i].slots > q[j].slots
	}
	return q[i].shift < q[j].shift
}
func (q savings) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *savings) Push(x any)   { *q = append(*q, x.(saving)) }
func (q *savings) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
