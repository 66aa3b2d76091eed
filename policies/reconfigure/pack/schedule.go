package pack

import (
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Schedule is an assignment of all chunks of a problem to paths through a sequence of
// topologies, with the slots that it takes.
type Schedule struct {
	Topologies []scaleup.Topology
	Relay      bool
	// Slots of each phase. Total is their sum.
	Slots []int32
	Total int64
	// Bound is a lower bound of Total for these topologies: a dual value of the linear
	// program that minimises the sum of largest loads.
	Bound int64
	// Buffer is the maximum number of chunks in transit at a GPU (plan.Plan.Buffer) if
	// Options.Buffer limits it. Otherwise it is 0, and the plan determines it.
	Buffer int32

	problem    *plan.Problem
	maxTransit int32 // limit of scheduleWithoutWaiting; 0 if chunks may wait
	// A column is a path with the chunks that take it, as in column generation.
	// columnChunks[c] chunks of flow columnFlow[c] cross
	// columnLinks[columnStart[c]:columnStart[c+1]], which are links of the timeNetwork. A
	// flow is source x n + destination.
	columnFlow, columnStart, columnLinks, columnChunks []int32
	linkBase                                           []int32 // first link of each phase, as in timeNetwork.base
}

// schedule copies the columns that have chunks, ordered by flow.
func (s *pathAssignment) schedule(p *plan.Problem) *Schedule {
	r := &Schedule{Topologies: s.net.topology, Relay: s.relay, problem: p, linkBase: s.net.base,
		columnStart: []int32{0}}
	for f := range s.demand {
		if s.demand[f] == 0 {
			continue
		}
		for _, c := range s.columns[f][:s.numColumns[f]] {
			if s.columnChunks[c] > 0 {
				r.columnFlow = append(r.columnFlow, int32(f))
				r.columnChunks = append(r.columnChunks, s.columnChunks[c])
				r.columnLinks = append(r.columnLinks, s.path(c)...)
				r.columnStart = append(r.columnStart, int32(len(r.columnLinks)))
			}
		}
	}

	return r
}

// phasePaths has the parts of the chunks' paths within a phase.
type phasePaths struct {
	Paths
	chunk []int32 // chunk of each path, numbered over all columns
}

// phasePaths splits the paths of all chunks by phase.
func (r *Schedule) phasePaths() []phasePaths {
	list := make([]phasePaths, len(r.Topologies))
	for i := range list {
		list[i].Start = append(list[i].Start, 0)
	}
	chunk := int32(0)
	for c, x := range r.columnChunks {
		path := r.columnLinks[r.columnStart[c]:r.columnStart[c+1]]
		phase := 0
		for a := 0; a < len(path); {
			for path[a] >= r.linkBase[phase+1] {
				phase++
			}
			b := a + 1
			for b < len(path) && path[b] < r.linkBase[phase+1] {
				b++
			}

			s := &list[phase]
			for j := range x {
				for _, l := range path[a:b] {
					s.Link = append(s.Link, l-r.linkBase[phase])
				}
				s.Start = append(s.Start, int32(len(s.Link)))
				s.chunk = append(s.chunk, chunk+j)
			}

			a = b
		}

		chunk += x
	}

	return list
}

// countSlots schedules each phase and sets Slots and Total.
func (r *Schedule) countSlots(p *Scheduler) {
	list := r.phasePaths()
	r.Slots, r.Total = make([]int32, len(list)), 0
	for i := range list {
		slots, _ := p.Slots(len(r.Topologies[i]), &list[i].Paths, Farthest, math.MaxInt)
		r.Slots[i] = int32(slots)
		r.Total += int64(slots)
	}
}

// buildPlan writes the schedule as a sealed plan. An error of Seal would be an error of
// this package.
func (r *Schedule) buildPlan(name string, stop cancellation.Condition) (*plan.Plan, error) {
	n := r.problem.GPUs
	p := &plan.Plan{
		Name:       name,
		GPUs:       n,
		Degree:     r.problem.Degree,
		Relay:      r.Relay,
		Chunks:     r.problem.Chunks,
		Topologies: r.Topologies,
		Slots:      r.Slots,
	}

	// Chunk c of the columns is chunk number[c] of flow[c].
	var flow, number []int32
	numbered := make([]int32, n*n)
	for c, x := range r.columnChunks {
		f := r.columnFlow[c]
		for range x {
			flow = append(flow, f)
			number = append(number, numbered[f])
			numbered[f]++
		}
	}

	list := r.phasePaths()
	player := Scheduler{Stop: stop}
	for i := range list {
		s := &list[i]
		slots := make([]int32, len(list[i].Link))
		if r.maxTransit > 0 {
			slots, _ = r.scheduleWithoutWaiting(i, &s.Paths, stop)
		} else {
			player.Schedule(len(r.Topologies[i]), &s.Paths, Farthest, slots)
		}
		s.AppendTo(p, i, slots, stop, func(path int) (src, dst, chunk int32) {
			c := s.chunk[path]
			return flow[c] / int32(n), flow[c] % int32(n), number[c]
		})
	}

	return p, p.SealWithStop(stop)
}
