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

	problem *plan.Problem
	limit   int32 // above 0: scheduled by tight
	// Column c: count[c] chunks of flow flowOf[c] take the path ways[first[c]:first[c+1]] of links of the network.
	flowOf, first, ways, count []int32
	base                       []int32
}

// keep copies the columns in use, flow after flow.
func (s *spread) keep(p *plan.Problem) *Schedule {
	r := &Schedule{Topologies: s.net.topology, Relay: s.relay, problem: p, base: s.net.base, first: []int32{0}}
	for f := range s.need {
		if s.need[f] == 0 {
			continue
		}
		for _, c := range s.columns[f][:s.many[f]] {
			if s.count[c] > 0 {
				r.flowOf, r.count = append(r.flowOf, int32(f)), append(r.count, s.count[c])
				r.ways = append(r.ways, s.way(c)...)
				r.first = append(r.first, int32(len(r.ways)))
			}
		}
	}
	return r
}

// segments lists the parts of the chunks' paths within a phase.
type segments struct {
	Walks
	owner []int32 // the chunk of each path, counted over all columns
}

// segments lists them by phase.
func (r *Schedule) segments() []segments {
	list := make([]segments, len(r.Topologies))
	for i := range list {
		list[i].Start = append(list[i].Start, 0)
	}
	chunk := int32(0)
	for c, x := range r.count {
		way := r.ways[r.first[c]:r.first[c+1]]
		phase := 0
		for a := 0; a < len(way); {
			for way[a] >= r.base[phase+1] {
				phase++
			}
			b := a + 1
			for b < len(way) && way[b] < r.base[phase+1] {
				b++
			}
			s := &list[phase]
			for j := range x {
				for _, l := range way[a:b] {
					s.Link = append(s.Link, l-r.base[phase])
				}
				s.Start = append(s.Start, int32(len(s.Link)))
				s.owner = append(s.owner, chunk+j)
			}
			a = b
		}
		chunk += x
	}
	return list
}

// play finds the slots of every phase.
func (r *Schedule) play(p *Player) {
	list := r.segments()
	r.Slots, r.Total = make([]int32, len(list)), 0
	for i := range list {
		slots, _ := p.Slots(len(r.Topologies[i]), &list[i].Walks, Farthest, math.MaxInt)
		r.Slots[i] = int32(slots)
		r.Total += int64(slots)
	}
}

// plan writes the schedule out, sealed. Errors: those of Seal, which would be faults of this package.
func (r *Schedule) plan(name string, stop halt.When) (*plan.Plan, error) {
	n := r.problem.GPUs
	p := &plan.Plan{Name: name, GPUs: n, Degree: r.problem.Degree, Relay: r.Relay, Chunks: r.problem.Chunks,
		Topologies: r.Topologies, Slots: r.Slots}
	// A chunk of the columns is chunk number[c] of its flow.
	var flow, number []int32
	seen := make([]int32, n*n)
	for c, x := range r.count {
		f := r.flowOf[c]
		for range x {
			flow, number = append(flow, f), append(number, seen[f])
			seen[f]++
		}
	}
	list, player := r.segments(), Player{Stop: stop}
	for i := range list {
		s, at := &list[i], make([]int32, len(list[i].Link))
		if r.limit > 0 {
			at, _ = r.tight(i, &s.Walks, stop)
		} else {
			player.Play(len(r.Topologies[i]), &s.Walks, Farthest, at)
		}
		s.Send(p, i, at, stop, func(walk int) (src, dst, chunk int32) {
			c := s.owner[walk]
			return flow[c] / int32(n), flow[c] % int32(n), number[c]
		})
	}
	return p, p.SealUnless(stop)
}
