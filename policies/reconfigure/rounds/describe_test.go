package rounds

import (
	"errors"
	"fmt"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// Round is one round of the paper's figures (Figs. 7, 8c, 9c).
type Round struct {
	// Phase is the index of its topology. Hops is the largest number of hops of its paths,
	// and its slots per chunk.
	Phase, Hops int
	// Paths are the GPUs on the path of each flow, including both ends, ordered by source
	// and destination.
	Paths [][]int32
}

// Schedule is a candidate as rounds, for comparison with the figures.
type Schedule struct {
	// Origin, Reconfigurations and Slots of the candidate.
	Origin           string
	Reconfigurations int
	Slots            int64
	// Topologies and Rounds use GPU numbers. Label[u] is the GPU at node u of the
	// construction (Sec. 4.4).
	Topologies []scaleup.Topology
	Label      []int32
	Rounds     []Round
}

// ErrNone is returned if there is no candidate with the given number of topologies.
var ErrNone = errors.New("rounds: no such schedule")

// Describe returns the candidate with d topologies as rounds. If its chunks are sent by
// index, the rounds only determine the topology and path of each flow. Flows without chunks
// are included. The error is ErrNone or an error of Candidates.
func Describe(p *plan.Problem, o Options, d int) (*Schedule, error) {
	list, err := allSchedules(p, o)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].topologies == d {
			return list[i].describe(), nil
		}
	}
	return nil, fmt.Errorf("%w: %d topologies; the largest number is %d", ErrNone, d, list[len(list)-1].topologies)
}

func (m *candidateSchedule) describe() *Schedule {
	s := m.rebuild()
	out := &Schedule{Origin: m.origin, Reconfigurations: m.topologies, Slots: m.slots, Label: m.label}
	for i := range s.numPhases() {
		out.Topologies = append(out.Topologies, s.topology(i).Relabel(m.label))
	}
	for _, r := range s.rounds {
		out.Rounds = append(out.Rounds, Round{Phase: int(r.phase), Hops: int(r.hops)})
	}
	node := make([]int32, s.n)
	for i, l := range m.label {
		node[l] = int32(i)
	}
	var links []int32
	for a := range s.n {
		for b := range s.n {
			if a == b {
				continue
			}
			u := s.classOf(int(node[a]), int(node[b]))
			links = s.appendLinks(links[:0], u, node[a])
			r := &out.Rounds[s.round[u]]
			path := []int32{int32(a)}
			for _, l := range links {
				path = append(path, out.Topologies[r.Phase][l].To)
			}
			r.Paths = append(r.Paths, path)
		}
	}
	return out
}

// GenKautzRounds lists, as Fig. 9c does, all paths of the generalised Kautz graph from
// which the schedule of that base is selected: paths of 1, 2, .. hops until each GPU
// reaches all others, packed without contention. The error is plan.ErrProblem for invalid
// sizes.
func GenKautzRounds(n, k int) ([]Round, error) {
	if n < 3 || k < 2 || k >= n {
		return nil, fmt.Errorf("%w: a generalised Kautz graph of %d GPUs and degree %d; want a degree of 2..%d",
			plan.ErrProblem, n, k, max(2, n-1))
	}
	l := listKautzPaths(n, k, true, nil)
	out := make([]Round, len(l.rounds))
	for i, r := range l.rounds {
		out[i].Hops = int(r.hops)
	}
	for _, p := range l.paths {
		links := l.links[p.firstLink : p.firstLink+p.hops]
		path := []int32{l.edges[links[0]].From}
		for _, e := range links {
			path = append(path, l.edges[e].To)
		}
		out[p.round].Paths = append(out[p.round].Paths, path)
	}
	return out, nil
}
