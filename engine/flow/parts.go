package flow

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"sim/engine"
	"sim/internal/csr"
)

// part is a set of tasks, with the resources that they use, that is connected to no other task: by no
// dependency, and by no resource that tasks of both use at any time. Parts do not influence each other,
// so each is simulated by a sim of its own, on one of several goroutines.
//
// A connected component with at least incrementalThreshold transfers is a part. All others together are
// one more part, because sharing is fast there. The division depends on the model alone, so the
// results do not depend on the number of goroutines.
//
// A pass of recomputeShares fills all large components, even if an event changed one of them, so parts
// gain on one core too. For 16 all-to-alls of random sizes, on switches of 25 to 40 nodes, they take 0.10 s
// instead of 1.38 s, and 0.08 s on two cores. For two of 95 and 96 nodes they take 0.27 s instead of
// 0.47 s, and 0.20 s on two cores.
type part struct {
	tasks, resources []int32 // in ascending order
}

// partition is the division of a model.
type partition struct {
	parts []part // in order of decreasing numbers of tasks
	// taskIndex and resourceIndex are the positions in part.tasks, indexed by task, and in part.resources,
	// indexed by resource.
	taskIndex, resourceIndex []int32
}

// partResult is the part of a run's result that is not indexed by task or resource.
type partResult struct {
	events, work int64
	makespan     engine.Time
	maxDelay     engine.Time // coarseRun.maxDelay
	maxHeld      float64     // coarseRun.maxHeld
	log          *rateLog    // of the whole model's tasks; nil if no rates are recorded
}

// newPartition divides a model. It returns a partition without parts if there are fewer than two large
// components.
func newPartition(m *model) *partition {
	// Unite the elements that are connected: tasks and the resources that they use, and tasks with a
	// dependency (union-find). Element id is task id, and element tasks+r is resource r. find returns
	// the element that represents the component of i.
	root := make([]int32, m.tasks+m.resources)
	for i := range root {
		root[i] = int32(i)
	}
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for u, r := range m.useRes {
		root[find(m.useTask[u])] = find(int32(m.tasks) + r)
	}
	for id := range int32(m.tasks) {
		for _, to := range m.outTo[m.outStart[id]:m.outStart[id+1]] {
			root[find(id)] = find(to)
		}
	}

	// The large components are parts 1 and following, the others are part 0.
	transfers := make([]int32, len(root)) // number of transfers, indexed by root
	for id := range int32(m.tasks) {
		if m.fixedDuration[id] < 0 {
			transfers[find(id)]++
		}
	}
	p := &partition{taskIndex: make([]int32, m.tasks), resourceIndex: make([]int32, m.resources)}
	partOf, parts := make([]int32, len(root)), make([]part, 1) // partOf is indexed by root
	for i, n := range transfers {
		if n >= incrementalThreshold {
			partOf[i] = int32(len(parts))
			parts = append(parts, part{})
		}
	}
	if len(parts) <= 2 { // part 0 and at most one large component
		return p
	}
	for id := range int32(m.tasks) {
		q := &parts[partOf[find(id)]]
		p.taskIndex[id] = int32(len(q.tasks))
		q.tasks = append(q.tasks, id)
	}
	for r := range int32(m.resources) {
		q := &parts[partOf[find(int32(m.tasks)+r)]]
		p.resourceIndex[r] = int32(len(q.resources))
		q.resources = append(q.resources, r)
	}
	if len(parts[0].tasks) == 0 {
		parts = parts[1:]
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(len(b.tasks), len(a.tasks)) })
	p.parts = parts
	return p
}

// modelOf returns the model of a part. Its resources are links, and its tasks have no names.
func (z *sim) modelOf(p *part) *model {
	index := z.partition
	net := &engine.Network{Links: make([]engine.Link, len(p.resources))}
	included := make([]bool, z.resources)
	for k, r := range p.resources {
		net.Links[k].Rate, included[r] = z.net.Rate(r), true
		if int(r) < len(z.net.Links) {
			net.Links[k].Peak = z.net.Links[r].Peak
		}
	}
	for _, c := range z.net.Changes {
		if included[c.Link] {
			c.Link = index.resourceIndex[c.Link]
			net.Changes = append(net.Changes, c)
		}
	}

	n := len(p.tasks)
	m := &model{
		graph: &engine.Graph{}, net: net, graphTasks: n, tasks: n, resources: len(p.resources),
		fixedDuration: make([]engine.Time, n), bits: make([]float64, n), rateLimit: make([]float64, n),
		weight: make([]float64, n), hasRateLimits: z.hasRateLimits,
		useStart: make([]int32, n+1), outStart: make([]int32, n+1), numPreds: make([]int32, n),
	}
	for k, id := range p.tasks {
		m.fixedDuration[k], m.bits[k] = z.fixedDuration[id], z.bits[id]
		m.rateLimit[k], m.weight[k], m.numPreds[k] = z.rateLimit[id], z.weight[id], z.numPreds[id]
		for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
			m.useRes = append(m.useRes, index.resourceIndex[z.useRes[u]])
			m.useTask, m.useWeight = append(m.useTask, int32(k)), append(m.useWeight, z.useWeight[u])
		}
		for e := z.outStart[id]; e < z.outStart[id+1]; e++ {
			m.outTo, m.outLag = append(m.outTo, index.taskIndex[z.outTo[e]]), append(m.outLag, z.outLag[e])
		}
		m.useStart[k+1], m.outStart[k+1] = int32(len(m.useRes)), int32(len(m.outTo))
	}
	m.resStart, m.resUse = csr.Index(m.useRes, m.resources)
	return m
}

// newPart returns the simulator of a part with the service, capacities and tolerance of z.
func (z *sim) newPart(p *part) *sim {
	y := newSim(z.modelOf(p), z.service)
	y.ctx, y.tolerance, y.progress = z.ctx, z.tolerance, z.progress
	for k, r := range p.resources {
		y.initialCapacity[k] = z.initialCapacity[r]
	}
	if z.ends != nil {
		y.record(z.log != nil)
	}
	return y
}

// simulatesParts reports whether the next run simulates parts. A part has no contention and no limit on
// its work.
func (z *sim) simulatesParts() bool {
	if z.workers == 0 || z.service != MaxMin || z.contention != nil ||
		z.stopBefore != nil || z.maxWork > 0 {
		return false
	}
	if z.partition == nil {
		z.partition = newPartition(z.model)
	}
	return len(z.partition.parts) > 0
}

// runParts simulates all parts to their ends, and merges the results. It returns false as run does.
func (z *sim) runParts(cutoff engine.Time) bool {
	z.reset(cutoff)

	// The counters of work are initialised as in startRun.
	z.workBeforeRun, z.exceededWork, z.cancelled = z.polledWork, false, false
	parts := z.partition.parts
	results := make([]partResult, len(parts))
	var next atomic.Int32
	var failed atomic.Bool

	// Each goroutine takes the next part until all are taken or one has failed. Different goroutines
	// write to different elements of z.
	work := func() {
		for k := next.Add(1) - 1; int(k) < len(parts) && !failed.Load(); k = next.Add(1) - 1 {
			y := z.newPart(&parts[k])
			if !y.run(cutoff) {
				failed.Store(true)
			}
			z.progress.add(y.numEnded - y.numReported)
			for i, id := range parts[k].tasks {
				z.ready[id] = y.ready[i]
				if z.ends != nil {
					z.ends[id] = y.ends[i]
				}
			}
			for i, held := range y.coarse.held {
				z.coarse.held[parts[k].resources[i]] = held
			}
			results[k] = partResult{
				y.events, y.polledWork + int64(y.workSincePoll), y.makespan, y.coarse.maxDelay, y.coarse.maxHeld, y.log,
			}
			if y.log != nil {
				for i, id := range y.log.task {
					y.log.task[i] = parts[k].tasks[id]
				}
			}
		}
	}
	var group sync.WaitGroup
	for range min(z.workers, len(parts)) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	if failed.Load() {
		z.cancelled = z.ctx.Err() != nil
		return false
	}

	for _, r := range results {
		z.events += r.events
		z.polledWork += r.work
		z.makespan = max(z.makespan, r.makespan)
		z.coarse.maxDelay = max(z.coarse.maxDelay, r.maxDelay)
		z.coarse.maxHeld = max(z.coarse.maxHeld, r.maxHeld)
		if r.log != nil { // byTask needs the order of time within each task only
			z.log.task, z.log.steps = append(z.log.task, r.log.task...), append(z.log.steps, r.log.steps...)
		}
	}
	z.numEnded = z.tasks
	return true
}
