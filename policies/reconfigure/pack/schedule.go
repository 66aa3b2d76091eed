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
	Topologies []scaleup.Topology // indexed by phase
	Relay      bool               // chunks may rest at intermediate GPUs across reconfigurations
	Slots      []int32            // indexed by phase
	Total      int64              // sum of Slots
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

// schedule returns the assignment as a Schedule without slots. It copies the columns that have
// chunks, ordered by flow.
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

// phasePaths has the parts of the chunks' paths within a phase. Chunks are numbered over all columns:
// first the chunks of column 0, then the chunks of column 1, and so on.
type phasePaths struct {
	Paths
	chunk []int32 // indexed by path
}

// phasePaths splits the paths of all chunks by phase. The result is indexed by phase.
func (r *Schedule) phasePaths() []phasePaths {
	list := make([]phasePaths, len(r.Topologies))
	for i := range list {
		list[i].Start = append(list[i].Start, 0)
	}
	firstChunk := int32(0) // of the column
	for c, numChunks := range r.columnChunks {
		path := r.columnLinks[r.columnStart[c]:r.columnStart[c+1]]
		phase := 0
		for a := 0; a < len(path); {
			// Links path[a:b] are the links of the path in the next phase that it uses.
			for path[a] >= r.linkBase[phase+1] {
				phase++
			}
			b := a + 1
			for b < len(path) && path[b] < r.linkBase[phase+1] {
				b++
			}

			s := &list[phase]
			for j := range numChunks {
				for _, l := range path[a:b] {
					s.Link = append(s.Link, l-r.linkBase[phase])
				}
				s.Start = append(s.Start, int32(len(s.Link)))
				s.chunk = append(s.chunk, firstChunk+j)
			}
			a = b
		}

		firstChunk += numChunks
	}

	return list
}

// countSlots schedules each phase and sets Slots and Total.
func (r *Schedule) countSlots(p *Scheduler) {
	list := r.phasePaths()
	r.Slots, r.Total = make([]int32, len(list)), 0
	const noLimit = math.MaxInt
	for i := range list {
		slots, _ := p.Slots(len(r.Topologies[i]), &list[i].Paths, Farthest, noLimit)
		r.Slots[i] = int32(slots)
		r.Total += int64(slots)
	}
}

// buildPlan returns the schedule as a sealed plan. It repeats the scheduling of countSlots, because only
// the number of slots is stored. Sealing fails only if this package has an error.
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

	// Chunk c of the columns is chunk number[c] of flow flow[c].
	var flow, number []int32
	chunksOfFlow := make([]int32, n*n) // chunks numbered so far
	for column, numChunks := range r.columnChunks {
		f := r.columnFlow[column]
		for range numChunks {
			flow = append(flow, f)
			number = append(number, chunksOfFlow[f])
			chunksOfFlow[f]++
		}
	}

	list := r.phasePaths()
	scheduler := Scheduler{Stop: stop}
	for i := range list {
		s := &list[i]
		slots := make([]int32, len(s.Link)) // slot of each crossing
		if r.maxTransit > 0 {
			slots, _ = r.scheduleWithoutWaiting(i, &s.Paths, stop)
		} else {
			scheduler.Schedule(len(r.Topologies[i]), &s.Paths, Farthest, slots)
		}
		s.AppendTo(p, i, slots, stop, func(path int) (src, dst, chunk int32) {
			c := s.chunk[path]
			return flow[c] / int32(n), flow[c] % int32(n), number[c]
		})
	}

	return p, p.SealWithStop(stop)
}
