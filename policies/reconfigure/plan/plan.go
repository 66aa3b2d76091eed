// Package plan holds what every planner of reconfigurations speaks: the problem, the plan of a collective as topologies
// and what crosses their links, in slots of one chunk (all-to-all) or in steps of a message (other collectives), the
// candidates among which the best for a reconfiguration delay is chosen, lower bounds, the check of a plan, and plans
// as JSON.
//
// It makes no plan: that is the work of its sibling packages, which policies/reconfigure puts together.
package plan

import (
	"errors"
	"fmt"

	"sim/engine"
	"sim/fabric/scaleup"
)

// Problem is an all-to-all on n GPUs of degree k.
type Problem struct {
	GPUs, Degree int
	// Chunks is n x n, row by row: how many chunks of equal size GPU row sends GPU column. The diagonal is 0.
	Chunks []int32
	// Seed is for planners that draw random numbers; each draws from a stream of its own.
	Seed uint64
}

// ErrProblem says that a Problem cannot be.
var ErrProblem = errors.New("plan: no such all-to-all")

// Check returns an ErrProblem for sizes out of range, negative counts or chunks from a GPU to itself.
func (p *Problem) Check() error {
	n := p.GPUs
	if n < 2 || p.Degree < 1 || p.Degree >= n {
		return fmt.Errorf("%w: %d GPUs of degree %d; it takes 2 GPUs and a degree of 1..%d", ErrProblem, n, p.Degree, max(1, n-1))
	}
	if len(p.Chunks) != n*n {
		return fmt.Errorf("%w: %d counts of chunks for %d x %d GPUs", ErrProblem, len(p.Chunks), n, n)
	}
	for i, c := range p.Chunks {
		if c < 0 || (c > 0 && i/n == i%n) {
			return fmt.Errorf("%w: %d chunks from GPU %d to GPU %d", ErrProblem, c, i/n, i%n)
		}
	}
	return nil
}

// Uniform returns the count of chunks that every ordered pair has, and whether they all have the same, above 0.
func (p *Problem) Uniform() (int32, bool) {
	c := p.Chunks[1]
	for i, x := range p.Chunks {
		if i/p.GPUs != i%p.GPUs && x != c {
			return 0, false
		}
	}
	return c, c > 0
}

// UniformProblem is the all-to-all of the same count of chunks for every ordered pair.
func UniformProblem(n, k int, chunks int32) *Problem {
	p := &Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n)}
	for i := range p.Chunks {
		if i/n != i%n {
			p.Chunks[i] = chunks
		}
	}
	return p
}

// Tx is one transmission: in slot Slot of phase Phase, chunk Chunk (counted from 0) of flow (Src, Dst) crosses one link
// From -> To of that phase's topology.
type Tx struct{ Phase, Slot, From, To, Src, Dst, Chunk int32 }

// Plan is a collective in full: phase i sets Topologies[i] up and then takes Slots[i] slots, or steps.
type Plan struct {
	Name         string
	GPUs, Degree int
	Topologies   []scaleup.Topology
	Slots        []int32
	// Steps is what is done in steps; nil of all-to-alls, which alone have what follows.
	Steps *Steps
	// Relay allows a chunk to rest at an intermediate GPU across a reconfiguration.
	Relay  bool
	Chunks []int32 // as in Problem
	// Switches, where each switch reconfigures on its own, has the switch (0..Degree-1) of each edge of each topology.
	// A phase is then a time in which no switch changes, its topology lists only links that are up, and a switch is
	// down for DelaySlots slots at least before it comes up with other links than it had, at the beginning too. nil
	// where all switches reconfigure at once, between phases.
	Switches   [][]int32
	DelaySlots int32
	// Tx is in the order of (Phase, Slot, From, To, Src, Dst, Chunk) after Seal.
	Tx []Tx
	// Buffer is the largest number of chunks in transit (neither at their source nor at their destination) that any GPU
	// holds between slots. Seal computes it.
	Buffer int32
}

// Reconfigurations is the number of topologies that are set up, the first included.
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

// Cost is the closed alpha-beta cost: d R + T x slots (paper Sec. 2.1), where T is the time of a slot; with switches on
// their own, whose reconfiguration takes slots, T x slots; in steps d R and the time of each step's longest message.
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

// TotalSlots is the sum of all phases' slots or steps.
func (p *Plan) TotalSlots() int64 {
	var sum int64
	for _, s := range p.Slots {
		sum += int64(s)
	}
	return sum
}
