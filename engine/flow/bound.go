package flow

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// bounds computes lower bounds on the makespan of a run, whatever the service (docs/model.md, "Bounds"):
//
//   - the longest path with every transfer at its full rate;
//   - for each resource the preemptive one-machine bound with heads and tails:
//     transfers as jobs that need weight*bits/capacity of the machine, served
//     by Jackson's preemptive rule, whose value no schedule on that resource
//     beats;
//   - where transfers cannot fill a resource alone, the same machine under
//     their own limits: longest remaining time first ends all of them soonest,
//     and the shortest tail follows.
type bounds struct {
	byHead [][]int32 // uses of each resource, ordered by the head of their task in the last call
	left   []float64 // by task: work left in the scan
	heap   keyHeap   // released jobs, largest tail first
	sorted bool      // byHead is nearly so
	open   []job     // transfers that share a resource
}

// job is a transfer under longest remaining time first.
type job struct {
	left  float64 // time at full rate
	need  float64 // capacity it then takes
	speed float64
}

func (b *bounds) init(m *model) {
	b.left = make([]float64, m.tasks)
}

// prepare lists the uses of each resource; done on first need.
func (b *bounds) prepare(m *model) {
	b.byHead = make([][]int32, m.resources)
	for r := range m.resources {
		b.byHead[r] = slices.Clone(m.resUse[m.resStart[r]:m.resStart[r+1]])
	}
}

func (b *bounds) makespan(z *sim) engine.Time {
	if z.stopped = z.ctx.Err() != nil; z.stopped {
		return 0
	}
	if b.byHead == nil {
		b.prepare(z.model)
	}
	p := &z.path
	z.work += 2 * (z.tasks + len(z.outTo))
	p.fullRates(z)
	p.computeTails(z.model)
	best := p.computeHeads(z.model)
	if math.IsInf(best, 1) { // a transfer on a resource of no capacity
		return engine.Never
	}
	for r := range z.resources {
		if z.stopped = z.ctx.Err() != nil; z.stopped {
			return 0
		}
		uses := b.byHead[r]
		if len(uses) < 2 {
			continue
		}
		capacity := z.best(int32(r))
		if capacity == 0 {
			return engine.Never
		}
		b.sortByHead(z, uses, p.head)
		best = max(best, b.oneMachine(z, uses, capacity, p.head, p.tail))
		best = max(best, b.limited(z, uses, capacity, p.head, p.tail))
	}
	b.sorted = true
	return proved(best)
}

// proved rounds a bound down, so that what floating point leaves keeps it one.
func proved(bound float64) engine.Time {
	if math.IsInf(bound, 1) || bound >= math.MaxInt64 {
		return engine.Never
	}
	return engine.Time(bound - bound*together - slack)
}

// sortByHead restores the order by head, equal ones by use so that nothing depends on the call before; from call to
// call the order changes little.
func (b *bounds) sortByHead(z *sim, uses []int32, head []float64) {
	if !b.sorted {
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

// oneMachine is Jackson's preemptive schedule of the uses of one resource.
func (b *bounds) oneMachine(z *sim, uses []int32, capacity float64, head, tail []float64) float64 {
	value, now := 0.0, 0.0
	b.heap = b.heap[:0]
	z.work += 4 * len(uses)
	next := head[z.useTask[uses[0]]] // head of what comes next
	for k := 0; k < len(uses) || len(b.heap) > 0; {
		if len(b.heap) == 0 {
			u := uses[k]
			id := z.useTask[u]
			if next > now {
				now = next
			}
			end := now + z.bits[id]*z.useW[u]/capacity
			after := math.Inf(1)
			if k+1 < len(uses) {
				after = head[z.useTask[uses[k+1]]]
			}
			if after > now && after >= end { // it is alone
				if v := end + tail[id]; v > value {
					value = v
				}
				now, next = end, after
				k++
				continue
			}
		}
		for k < len(uses) && next <= now {
			u := uses[k]
			id := z.useTask[u]
			b.left[id] = z.bits[id] * z.useW[u] / capacity
			b.heap.push(tail, id)
			if k++; k < len(uses) {
				next = head[z.useTask[uses[k]]]
			}
		}
		id := b.heap[0]
		end := now + b.left[id]
		if k < len(uses) && next < end {
			b.left[id] -= next - now
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

// limited is the makespan of the uses of one resource when each transfer has its own limit, by longest remaining time
// first, plus the shortest tail. It is exact for transfers with one tail; 0 where no transfer is limited below the
// capacity, as oneMachine then says as much.
func (b *bounds) limited(z *sim, uses []int32, capacity float64, head, tail []float64) float64 {
	const most = 256 // transfers; beyond it the bound is left out for its cost
	p := &z.path
	if len(uses) > most || !slices.ContainsFunc(uses, func(u int32) bool { return p.full[z.useTask[u]]*z.useW[u] < capacity*(1-together) }) {
		return 0
	}
	shortest := math.Inf(1)
	for _, u := range uses {
		shortest = min(shortest, tail[z.useTask[u]])
	}
	return b.longestFirst(z, uses, capacity, head) + shortest
}

// longestFirst serves the transfers by remaining time at full rate, equal ones sharing so that they fall together, and
// returns when the last has ended.
func (b *bounds) longestFirst(z *sim, uses []int32, capacity float64, head []float64) float64 {
	p := &z.path
	open, now := b.open[:0], 0.0
	defer func() { b.open = open }()
	for k := 0; k < len(uses) || len(open) > 0; {
		if len(open) == 0 {
			now = max(now, head[z.useTask[uses[k]]])
		}
		for k < len(uses) && head[z.useTask[uses[k]]] <= now {
			id := z.useTask[uses[k]]
			open = append(open, job{left: p.tau[id], need: p.full[id] * z.useW[uses[k]]})
			k++
		}
		z.work += 4 * len(open)          // it sorts them
		for i := 1; i < len(open); i++ { // but for what has come, it is in order but for what fell together
			j, k := open[i], i
			for ; k > 0 && open[k-1].left < j.left; k-- {
				open[k] = open[k-1]
			}
			open[k] = j
		}
		step := math.Inf(1)
		if k < len(uses) {
			step = head[z.useTask[uses[k]]] - now
		}
		// speed of the groups of equal remaining time, longest first
		free := capacity
		for from := 0; from < len(open); {
			to, need := from, 0.0
			for to < len(open) && open[from].left-open[to].left <= tie {
				need += open[to].need
				to++
			}
			s := free / need // here, too, comparisons take less time than min and max
			if s > 1 {
				s = 1
			}
			if free -= s * need; free < 0 {
				free = 0
			}
			for i := from; i < to; i++ {
				open[i].speed = s
			}
			if s > 0 && open[to-1].left/s < step {
				step = open[to-1].left / s
			}
			if from > 0 && open[from-1].speed > s {
				step = min(step, max(1, (open[from-1].left-open[from].left)/(open[from-1].speed-s)))
			}
			from = to
		}
		now += step
		kept := open[:0]
		for _, j := range open {
			if j.left -= j.speed * step; j.left > slack {
				kept = append(kept, j)
			}
		}
		open = kept
	}
	return now
}

// keyHeap holds tasks, that of the highest key first.
type keyHeap []int32

func (h *keyHeap) push(key []float64, id int32) {
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

func (h *keyHeap) pop(key []float64) {
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
