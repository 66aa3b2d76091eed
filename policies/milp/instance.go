package milp

import (
	"fmt"
	"math"
	"slices"
)

// Instance is what a logical topology is chosen for: inter-pod transfers with their dependencies, and the hardware.
// Times are in seconds, rates in bits per second.
type Instance struct {
	Tasks   []Task
	Deps    []Dependency
	Bundles []Bundle
	Pods    []int     // ports of each pod, U_p
	Groups  []float64 // rate of each set of NICs, for one NIC
	// Upper is a makespan above which solutions are of no interest.
	Upper float64
	// Intervals is K, the number of intervals that the variable-interval model has.
	Intervals int
}

// Task is a transfer between pods, or (Bits 0) a step of a fixed duration that takes no capacity.
type Task struct {
	Name     string
	Bits     float64 // V_m
	Flows    float64 // F_m
	Duration float64 // of a step
	Bundle   int     // circuits that it takes
	Link     int     // and their direction: tasks of one link share its capacity
	Uses     []Use   // of NIC sets
	Rate     float64 // the most that its NICs let through

	// No schedule of a makespan of at most Upper starts the task before Head, and from its end to the end of everything
	// Tail passes at least.
	Head, Tail float64
	// First..Last are the intervals, from 1, in which it may be active.
	FirstInterval, LastInterval int
}

// Use is a task's use of a NIC set: Weight NICs' capacity for each bit a second over the rate of one.
type Use struct {
	Group  int
	Weight float64
}

// Dependency has To start Lag after the end of From at the earliest.
type Dependency struct {
	From, To int
	Lag      float64
}

// Bundle is a set of parallel circuits between two pods, A and B, or where they are equal to the DP peers of a pod. A
// circuit takes Ends ports of each pod.
type Bundle struct {
	A, B, Ends  int
	Rate        float64 // of a circuit
	MaxCircuits int     // circuits beyond which more are of no use
}

// Schedule is what a solution says, or what a model is to start from.
type Schedule struct {
	Circuits   []int     // by bundle
	Makespan   float64   // seconds
	Start, End []float64 // by task
	// Times are the borders of the intervals, one more than there are.
	Times []float64
	// Sent is, by task and interval, what is transmitted, in bits.
	Sent [][]float64
}

// Check fails where an instance refers to what it has not, or holds a number that makes no sense.
func (in *Instance) Check() error {
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || v < 0 }
	if bad(in.Upper) || in.Upper == 0 {
		return fmt.Errorf("milp: an upper bound of %v s", in.Upper)
	}
	for i, t := range in.Tasks {
		if bad(t.Bits) || bad(t.Duration) || bad(t.Head) || bad(t.Tail) {
			return fmt.Errorf("milp: task %d (%s) has a number that is none", i, t.Name)
		}
		if t.Bits == 0 {
			continue
		}
		if t.Bundle < 0 || t.Bundle >= len(in.Bundles) || !(t.Rate > 0) || !(t.Flows > 0) {
			return fmt.Errorf("milp: task %d (%s) takes bundle %d of %d at up to %v bit/s over %v flows", i, t.Name, t.Bundle, len(in.Bundles), t.Rate, t.Flows)
		}
		if slices.ContainsFunc(t.Uses, func(u Use) bool { return u.Group < 0 || u.Group >= len(in.Groups) || !(u.Weight > 0) }) {
			return fmt.Errorf("milp: task %d (%s) uses NICs %v of %d sets", i, t.Name, t.Uses, len(in.Groups))
		}
	}
	for _, d := range in.Deps {
		if d.From < 0 || d.From >= len(in.Tasks) || d.To < 0 || d.To >= len(in.Tasks) || bad(d.Lag) {
			return fmt.Errorf("milp: dependency %+v of %d tasks", d, len(in.Tasks))
		}
	}
	for i, b := range in.Bundles {
		if b.A < 0 || b.A >= len(in.Pods) || b.B < 0 || b.B >= len(in.Pods) || b.Ends < 1 || b.MaxCircuits < 1 || !(b.Rate > 0) {
			return fmt.Errorf("milp: bundle %d is %+v", i, b)
		}
	}
	return nil
}

// links returns the transfers of each link, links in order.
func (in *Instance) links() [][]int {
	maxLink := -1
	for _, t := range in.Tasks {
		if t.Bits > 0 {
			maxLink = max(maxLink, t.Link)
		}
	}
	byLink := make([][]int, maxLink+1)
	for i, t := range in.Tasks {
		if t.Bits > 0 {
			byLink[t.Link] = append(byLink[t.Link], i)
		}
	}
	return byLink
}

// users returns, by NIC set, the transfers that use it with their weights.
func (in *Instance) users() [][]Term {
	byGroup := make([][]Term, len(in.Groups))
	for i, t := range in.Tasks {
		for _, u := range t.Uses {
			if t.Bits > 0 {
				byGroup[u.Group] = append(byGroup[u.Group], Term{i, u.Weight})
			}
		}
	}
	return byGroup
}
