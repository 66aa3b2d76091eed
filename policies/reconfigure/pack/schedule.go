package pack

import (
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Schedule is the assignment of all chunks of a problem to paths through a sequence of topologies, and its cost.
type Schedule struct {
	Topologies []scaleup.Topology
	Relay      bool
	// Slots of every phase; Total is their sum.
	Slots []int32
	Total int64
	// Bound is a lower bound of Total for these topologies: a dual value of the linear program of the loads.
	Bound int64
	// Buffer is the most chunks in transit at a GPU (plan.Plan.Buffer), where Options.Buffer limits it; else it is 0,
	// and Plan finds it.
	Buffer int32

	problem    *plan.Problem
	maxTransit int32 // above 0: scheduled by tight
	// Column c: count[c] chunks of flow flowOf[c] take the path ways[first[c]:first[c+1]] of links of the network.
	columnFlow, columnStart, columnLinks, columnChunks []int32
	linkBase                                           []int32
}

// schedule copies the columns in use, flow after flow.
func (s *pathAssignment) schedule(p *plan.Problem) *Schedule {
	r := &Schedule{Topologies: s.net.topology, Relay: s.relay, problem: p, linkBase: s.net.base, columnStart: []int32{0}}
	for f := range s.demand {
		if s.demand[f] == 0 {
			continue
		}
		for _, c := range s.columns[f][:s.numColumns[f]] {
			if s.columnChunks[c] > 0 {
				r.columnFlow, r.columnChunks = append(r.columnFlow, int32(f)), append(r.columnChunks, s.columnChunks[c])
				r.columnLinks = append(r.columnLinks, s.path(c)...)
				r.columnStart = append(r.columnStart, int32(len(r.columnLinks)))
			}
		}
	}
	return r
}

// phasePaths lists the parts of the chunks' paths within a phase.
type phasePaths struct {
	Paths
	chunk []int32 // the chunk of each path, counted over all columns
}

// phasePaths lists them by phase.
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

// countSlots finds the slots of every phase.
func (r *Schedule) countSlots(p *Scheduler) {
	list := r.phasePaths()
	r.Slots, r.Total = make([]int32, len(list)), 0
	for i := range list {
		slots, _ := p.Slots(len(r.Topologies[i]), &list[i].Paths, Farthest, math.MaxInt)
		r.Slots[i] = int32(slots)
		r.Total += int64(slots)
	}
}

// buildPlan writes the schedule out, sealed. Errors: those of Seal, which would be faults of this package.
func (r *Schedule) buildPlan(name string, stop halt.When) (*plan.Plan, error) {
	n := r.problem.GPUs
	p := &plan.Plan{Name: name, GPUs: n, Degree: r.problem.Degree, Relay: r.Relay, Chunks: r.problem.Chunks,
		Topologies: r.Topologies, Slots: r.Slots}
	// A chunk of the columns is chunk number[c] of its flow.
	var flow, number []int32
	numbered := make([]int32, n*n)
	for c, x := range r.columnChunks {
		f := r.columnFlow[c]
		for range x {
			flow, number = append(flow, f), append(number, numbered[f])
			numbered[f]++
		}
	}
	list, player := r.phasePaths(), Scheduler{Stop: stop}
	for i := range list {
		s, slots := &list[i], make([]int32, len(list[i].Link))
		if r.maxTransit > 0 {
			slots, _ = r.scheduleWithoutWaiting(i, &s.Paths, stop)
		} else {
			player.Schedule(len(r.Topologies[i]), &s.Paths, Farthest, slots)
		}
		s.AppendTo(p, i, slots, stop, func(walk int) (src, dst, chunk int32) {
			c := s.chunk[walk]
			return flow[c] / int32(n), flow[c] % int32(n), number[c]
		})
	}
	return p, p.SealUnless(stop)
}
