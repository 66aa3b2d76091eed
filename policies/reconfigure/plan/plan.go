// Package plan has the types that all planners of reconfigurations share:
//
//   - Problem and Collective are the input of planners: an all-to-all, or another
//     collective.
//   - Plan is a complete plan: topologies, and the transmissions over their links.
//     All-to-alls are planned in slots of one chunk, other collectives in Steps of one
//     message per link.
//   - Candidate is a plan with known cost that is not written yet. Best selects the best
//     candidate for a reconfiguration delay.
//   - Bounder computes lower bounds on the slots and the completion time of all plans.
//   - Plan.Check verifies a plan independently of the planner that made it.
//   - WriteJSON and ReadJSON store plans.
//
// The package makes no plans. Its sibling packages do, and policies/reconfigure combines
// them. Begin reading at Plan and Candidate.
package plan

import (
	"errors"
	"fmt"

	"sim/engine"
	"sim/fabric/scaleup"
)

// Problem is an all-to-all on n GPUs with k links out of and into each.
type Problem struct {
	GPUs, Degree int
	// Chunks is an n x n matrix in row-major order: the number of chunks of equal size that
	// GPU row sends to GPU column. The diagonal is 0.
	Chunks []int32
	// Seed is the seed of planners that draw random numbers. Each draws from a stream of
	// its own.
	Seed uint64
}

// ErrProblem is returned for an invalid Problem.
var ErrProblem = errors.New("plan: invalid all-to-all")

// Check returns ErrProblem for sizes out of range, negative counts, or chunks from a GPU to
// itself.
func (p *Problem) Check() error {
	n := p.GPUs
	if n < 2 || p.Degree < 1 || p.Degree >= n {
		return fmt.Errorf("%w: %d GPUs of degree %d; want at least 2 GPUs and a degree of 1..%d",
			ErrProblem, n, p.Degree, max(1, n-1))
	}
	if len(p.Chunks) != n*n {
		return fmt.Errorf("%w: chunks of %d pairs for %d x %d GPUs", ErrProblem, len(p.Chunks), n, n)
	}

	for i, c := range p.Chunks {
		if c < 0 || (c > 0 && i/n == i%n) {
			return fmt.Errorf("%w: %d chunks from GPU %d to GPU %d", ErrProblem, c, i/n, i%n)
		}
	}
	return nil
}

// Uniform returns the number of chunks per ordered pair and true if it is positive and
// equal for all pairs.
func (p *Problem) Uniform() (int32, bool) {
	c := p.Chunks[1]
	for i, x := range p.Chunks {
		if i/p.GPUs != i%p.GPUs && x != c {
			return 0, false
		}
	}
	return c, c > 0
}

// UniformProblem returns the all-to-all with the same number of chunks for each ordered
// pair.
func UniformProblem(n, k int, chunks int32) *Problem {
	p := &Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n)}
	for i := range p.Chunks {
		if i/n != i%n {
			p.Chunks[i] = chunks
		}
	}
	return p
}

// Tx is one transmission: in slot Slot of phase Phase, chunk Chunk (numbered from 0) of the
// flow from Src to Dst crosses a link From -> To of that phase's topology.
type Tx struct{ Phase, Slot, From, To, Src, Dst, Chunk int32 }

// Plan is a complete plan of a collective. Phase i sets up Topologies[i] and then takes
// Slots[i] slots, or steps.
type Plan struct {
	Name         string
	GPUs, Degree int
	Topologies   []scaleup.Topology
	Slots        []int32
	// Steps describes a plan in steps. It is nil for all-to-alls; the fields after it apply
	// to all-to-alls only.
	Steps *Steps
	// Relay allows a chunk to rest at an intermediate GPU across a reconfiguration.
	Relay  bool
	Chunks []int32 // as in Problem
	// Switches is the switch (0..Degree-1) of each edge of each topology if switches
	// reconfigure independently, and nil if all switches reconfigure simultaneously,
	// between phases.
	//
	// With independent switches, a phase is an interval in which no switch changes. Its
	// topology has only links that are up. Before a switch comes up with new links, also
	// initially, it is down for at least DelaySlots slots.
	Switches   [][]int32
	DelaySlots int32
	// Tx is sorted by (Phase, Slot, From, To, Src, Dst, Chunk) after Seal.
	Tx []Tx
	// Buffer is the maximum number of chunks in transit that a GPU holds between slots. A
	// chunk is in transit if it is neither at its source nor at its destination. Seal
	// computes it.
	Buffer int32
}

// Reconfigurations returns the number of topologies that are set up, including the first.
func (p *Plan) Reconfigurations() int {
	d := len(p.Topologies)
	if p.Steps != nil {
		for i := range p.Steps.Phases {
			if p.Steps.Phases[i].Reused {
				d--
			}
		}
	}

	return d
}

// Cost returns the completion time in the alpha-beta model: d R + T x slots (Sec. 2.1 of
// the paper), where T is the time of a slot. With independent switches, whose
// reconfiguration takes slots, it is T x slots. In steps it is d R plus the time of the
// longest message of each step.
func (p *Plan) Cost(delay, slot engine.Time) engine.Time {
	if p.Switches != nil {
		return engine.Time(p.TotalSlots()) * slot
	}
	sum := engine.Time(p.Reconfigurations()) * delay
	if p.Steps == nil {
		return sum + engine.Time(p.TotalSlots())*slot
	}
	return sum + p.Steps.Time()
}

// TotalSlots returns the sum of the slots or steps of all phases.
func (p *Plan) TotalSlots() int64 {
	var sum int64
	for _, s := range p.Slots {
		sum += int64(s)
	}
	return sum
}
