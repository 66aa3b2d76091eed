package flow

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// bounds computes lower bounds on the makespan of a run that hold for every service
// (docs/model.md, "Bounds"). The result is the largest of these:
//
//   - The longest path with every transfer at its full rate.
//   - For each resource, the preemptive one-machine bound with heads and tails. Transfers are
//     jobs that need weight*bits/capacity of the machine, scheduled by Jackson's preemptive
//     rule. No schedule on that resource is shorter.
//   - For each resource that single transfers cannot fill, the same machine with the rate
//     limits of the transfers. Serving the longest remaining time first ends all of them at
//     the earliest time; the shortest tail is added.
type bounds struct {
	byHead       [][]int32 // uses in order of the head of their task, indexed by resource
	machineTime  []float64 // remaining machine time of a released job, indexed by task
	heap         taskHeap  // released jobs, largest tail first
	nearlySorted bool      // byHead is in the order of the previous call
	released     []job     // scratch of longestFirst
}

// job is a transfer in longestFirst.
type job struct {
	remaining float64 // remaining time at full rate, in ticks
	demand    float64 // capacity that the full rate takes, in bits per tick
	speed     float64 // current rate as a fraction of the full rate
}

// init allocates the arrays that every evaluator needs.
func (b *bounds) init(m *model) {
	b.machineTime = make([]float64, m.tasks)
}

// prepare lists the uses of each resource. It is called at the first bound.
func (b *bounds) prepare(m *model) {
	b.byHead = make([][]int32, m.resources)
	for r := range m.resources {
		b.byHead[r] = slices.Clone(m.resUse[m.resStart[r]:m.resStart[r+1]])
	}
}

// makespan returns the largest bound, engine.Never if the graph cannot be simulated to its
// end, and 0 if the context was cancelled.
func (b *bounds) makespan(z *sim) engine.Time {
	if z.cancelled = z.ctx.Err() != nil; z.cancelled {
		return 0
	}
	if b.byHead == nil {
		b.prepare(z.model)
	}

	p := &z.paths
	z.workSincePoll += 2 * (z.tasks + len(z.outTo))
	p.computeFullRates(z)
	p.computeTails(z.model)
	best := p.computeHeads(z.model)
	if math.IsInf(best, 1) { // a transfer uses a resource without capacity
		return engine.Never
	}

	// The bounds of each resource.
	for r := range z.resources {
		if z.cancelled = z.ctx.Err() != nil; z.cancelled {
			return 0
		}
		uses := b.byHead[r]
		if len(uses) < 2 {
			continue
		}
		capacity := z.maxCapacity(int32(r))
		if capacity == 0 {
			return engine.Never
		}
		b.sortByHead(z, uses, p.head)
		best = max(best, b.oneMachine(z, uses, capacity, p.head, p.tail))
		best = max(best, b.limitedMachine(z, uses, capacity, p.head, p.tail))
	}
	b.nearlySorted = true
	return roundDown(best)
}

// roundDown converts a bound to whole ticks. It subtracts more than the rounding errors, so
// that the result is a valid bound.
func roundDown(bound float64) engine.Time {
	if math.IsInf(bound, 1) || bound >= math.MaxInt64 {
		return engine.Never
	}
	return engine.Time(bound - bound*relTol - tickTolerance)
}

// sortByHead sorts uses by the head of their task and, for equal heads, by number, so that the
// result does not depend on previous calls. From call to call the order changes little, so
// insertion sort is used after the first call.
func (b *bounds) sortByHead(z *sim, uses []int32, head []float64) {
	if !b.nearlySorted {
		slices.SortFunc(uses, func(x, y int32) int {
			return cmp.Or(cmp.Compare(head[z.useTask[x]], head[z.useTask[y]]), cmp.Compare(x, y))
		})
		return
	}

	for i := 1; i < len(uses); i++ {
		u := uses[i]
		h := head[z.useTask[u]]
		j := i
		for ; j > 0; j-- {
			if o := head[z.useTask[uses[j-1]]]; o < h || o == h && uses[j-1] < u {
				break
			}
			uses[j] = uses[j-1]
		}
		uses[j] = u
	}
}

// oneMachine returns the length of Jackson's preemptive schedule of the uses of one resource,
// including their tails. uses must be in order of heads.
func (b *bounds) oneMachine(z *sim, uses []int32, capacity float64, head, tail []float64) float64 {
	value, now := 0.0, 0.0
	b.heap = b.heap[:0]
	z.workSincePoll += 4 * len(uses) // the cost of the heap

	next := head[z.useTask[uses[0]]] // head of uses[k]
	for k := 0; k < len(uses) || len(b.heap) > 0; {
		if len(b.heap) == 0 {
			// An idle machine: a job that ends before the next release needs no heap.
			u := uses[k]
			id := z.useTask[u]
			if next > now {
				now = next
			}
			end := now + z.bits[id]*z.useWeight[u]/capacity
			following := math.Inf(1)
			if k+1 < len(uses) {
				following = head[z.useTask[uses[k+1]]]
			}
			if following > now && following >= end { // no other job is released meanwhile
				if v := end + tail[id]; v > value {
					value = v
				}
				now, next = end, following
				k++
				continue
			}
		}

		// Release the jobs whose heads are reached.
		for k < len(uses) && next <= now {
			u := uses[k]
			id := z.useTask[u]
			b.machineTime[id] = z.bits[id] * z.useWeight[u] / capacity
			b.heap.push(tail, id)
			if k++; k < len(uses) {
				next = head[z.useTask[uses[k]]]
			}
		}

		// Run the released job with the largest tail until it ends or the next job is released.
		id := b.heap[0]
		end := now + b.machineTime[id]
		if k < len(uses) && next < end {
			b.machineTime[id] -= next - now
			now = next
			continue
		}
		now = end
		if v := now + tail[id]; v > value {
			value = v
		}
		b.heap.pop(tail)
	}
	return value
}

// limitedMachine is the bound of one resource with the rate limits of its transfers: the end
// of longestFirst plus the shortest tail. It is exact for transfers of equal tail. It returns
// 0 if no transfer is limited below the capacity, because oneMachine then is at least as high.
func (b *bounds) limitedMachine(z *sim, uses []int32, capacity float64, head, tail []float64) float64 {
	const maxTransfers = 256 // more transfers would make the bound too expensive
	p := &z.paths
	if len(uses) > maxTransfers ||
		!slices.ContainsFunc(uses, func(u int32) bool {
			return p.fullRate[z.useTask[u]]*z.useWeight[u] < capacity*(1-relTol)
		}) {
		return 0
	}
	shortest := math.Inf(1)
	for _, u := range uses {
		shortest = min(shortest, tail[z.useTask[u]])
	}
	return b.longestFirst(z, uses, capacity, head) + shortest
}

// longestFirst serves the transfers of one resource in order of remaining time at full rate
// and returns the end of the last one. Transfers of equal remaining time share such that their
// remaining times stay equal. uses must be in order of heads.
func (b *bounds) longestFirst(z *sim, uses []int32, capacity float64, head []float64) float64 {
	p := &z.paths
	released, now := b.released[:0], 0.0
	defer func() { b.released = released }()
	for k := 0; k < len(uses) || len(released) > 0; {
		if len(released) == 0 {
			now = max(now, head[z.useTask[uses[k]]])
		}

		// Release the transfers whose heads are reached.
		for k < len(uses) && head[z.useTask[uses[k]]] <= now {
			id := z.useTask[uses[k]]
			released = append(released, job{remaining: p.duration[id], demand: p.fullRate[id] * z.useWeight[uses[k]]})
			k++
		}

		// Restore the order by remaining time. Only new transfers and groups of equal remaining time
		// can be out of order.
		z.workSincePoll += 4 * len(released) // the cost of sorting
		for i := 1; i < len(released); i++ {
			j, k := released[i], i
			for ; k > 0 && released[k-1].remaining < j.remaining; k-- {
				released[k] = released[k-1]
			}
			released[k] = j
		}

		step := math.Inf(1)
		if k < len(uses) {
			step = head[z.useTask[uses[k]]] - now
		}

		// Assign a speed to each group of equal remaining time, longest first.
		free := capacity
		for from := 0; from < len(released); {
			to, demand := from, 0.0
			for to < len(released) && released[from].remaining-released[to].remaining <= levelTolerance {
				demand += released[to].demand
				to++
			}
			s := free / demand // comparisons are faster here than min and max
			if s > 1 {
				s = 1
			}
			if free -= s * demand; free < 0 {
				free = 0
			}
			for i := from; i < to; i++ {
				released[i].speed = s
			}
			if s > 0 && released[to-1].remaining/s < step {
				step = released[to-1].remaining / s
			}
			if from > 0 && released[from-1].speed > s {
				step = min(step, max(1, (released[from-1].remaining-released[from].remaining)/(released[from-1].speed-s)))
			}
			from = to
		}
		now += step

		unfinished := released[:0]
		for _, j := range released {
			if j.remaining -= j.speed * step; j.remaining > tickTolerance {
				unfinished = append(unfinished, j)
			}
		}
		released = unfinished
	}
	return now
}

// taskHeap is a binary heap of tasks, highest key first. The keys are passed to its methods.
type taskHeap []int32

func (h *taskHeap) push(key []float64, id int32) {
	*h = append(*h, id)
	q := *h
	for i := len(q) - 1; i > 0; {
		p := (i - 1) / 2
		if key[q[p]] >= key[q[i]] {
			break
		}
		q[p], q[i] = q[i], q[p]
		i = p
	}
}

func (h *taskHeap) pop(key []float64) {
	q := *h
	last := len(q) - 1
	q[0] = q[last]
	q = q[:last]
	*h = q
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return
		}
		if c+1 < last && key[q[c+1]] > key[q[c]] {
			c++
		}
		if key[q[i]] >= key[q[c]] {
			return
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
}
