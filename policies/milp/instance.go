package milp

import (
	"fmt"
	"math"
	"slices"
)

// Instance is the input of the models for logical topologies: transfers between pods with their
// dependencies, and the hardware. Times are in seconds, rates in bits per second. Symbols are
// from the DELTA paper.
type Instance struct {
	Tasks   []Task
	Deps    []Dependency
	Bundles []Bundle
	Pods    []int     // ports per pod, U_p
	Groups  []float64 // rate of one NIC of each set of NICs
	// Upper is an upper bound on the makespan of interesting solutions.
	Upper float64
	// Intervals is K, the number of intervals of the variable-interval model.
	Intervals int
}

// Task is a transfer between pods. If Bits is 0, it is a step with a fixed duration that uses no
// capacity.
type Task struct {
	Name     string
	Bits     float64 // V_m
	Flows    float64 // F_m
	Duration float64 // of a step
	Bundle   int     // index in Instance.Bundles; the transfer takes its circuits
	// Link is the number of a bundle and a direction. Tasks of one link share its capacity.
	Link int
	Uses []Use   // of sets of NICs
	Rate float64 // maximum rate through its NICs

	// In every schedule with a makespan of at most Upper, the task starts at Head or later, and
	// Tail or more passes from its end to the end of the schedule.
	Head, Tail float64
	// FirstInterval..LastInterval are the intervals, from 1, in which the task may be active.
	FirstInterval, LastInterval int
}

// Use is the use of a set of NICs by a task: its rate times Weight counts against the rate of one
// NIC of Group.
type Use struct {
	Group  int
	Weight float64
}

// Dependency means that To starts at least Lag after the end of From.
type Dependency struct {
	From, To int
	Lag      float64
}

// Bundle is a set of parallel circuits between pods A and B. If A equals B, it joins the DP peer
// pods of a pod. A circuit takes Ends ports of each pod.
type Bundle struct {
	A, B, Ends  int
	Rate        float64 // of one circuit
	MaxCircuits int     // more circuits are of no use
}

// Schedule is a solution, or a point to start from.
type Schedule struct {
	Circuits   []int     // indexed by bundle
	Makespan   float64   // in seconds
	Start, End []float64 // indexed by task, in seconds
	// Times are the boundaries of the intervals, in seconds; one more than there are intervals.
	Times []float64
	// Sent has the bits transmitted, indexed by task and interval.
	Sent [][]float64
}

// Check verifies that all references and numbers of an instance are valid.
func (in *Instance) Check() error {
	// bad reports whether a number is not finite or negative.
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || v < 0 }
	if bad(in.Upper) || in.Upper == 0 {
		return fmt.Errorf("milp: upper bound of %v s; want a positive number", in.Upper)
	}

	for i, t := range in.Tasks {
		if bad(t.Bits) || bad(t.Duration) || bad(t.Head) || bad(t.Tail) {
			return fmt.Errorf("milp: task %d (%s) has a number that is negative or not finite", i,
				t.Name)
		}

		// A step without data uses no links.
		if t.Bits == 0 {
			continue
		}
		if t.Bundle < 0 || t.Bundle >= len(in.Bundles) || !(t.Rate > 0) ||
			!(t.Flows > 0) {
			return fmt.Errorf("milp: task %d (%s) takes bundle %d of %d at up to %v bit/s over %v flows", i, t.Name, t.Bundle, len(in.Bundles), t.Rate, t.Flows)
		}

		// A transfer may use sets of NICs besides its bundle.
		if slices.ContainsFunc(t.Uses, func(u Use) bool {
			return u.Group < 0 || u.Group >= len(in.Groups) || !(u.Weight > 0)
		}) {
			return fmt.Errorf("milp: task %d (%s) uses NICs %v of %d sets", i, t.Name, t.Uses,
				len(in.Groups))
		}
	}

	// Dependencies and bundles.
	for _, d := range in.Deps {
		if d.From < 0 || d.From >= len(in.Tasks) || d.To < 0 || d.To >= len(in.Tasks) ||
			bad(d.Lag) {
			return fmt.Errorf("milp: dependency %+v of %d tasks", d, len(in.Tasks))
		}
	}

	for i, b := range in.Bundles {
		if b.A < 0 || b.A >= len(in.Pods) || b.B < 0 || b.B >= len(in.Pods) ||
			b.Ends < 1 ||
			b.MaxCircuits < 1 || !(b.Rate > 0) {
			return fmt.Errorf("milp: bundle %d is %+v", i, b)
		}
	}

	return nil
}

// links returns the transfers of each link, indexed by link.
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

// user is a transfer that uses a set of NICs.
type user struct {
	task   int
	weight float64 // as in Use
}

// users returns the transfers that use each set of NICs, indexed by set.
func (in *Instance) users() [][]user {
	byGroup := make([][]user, len(in.Groups))
	for i, t := range in.Tasks {
		for _, u := range t.Uses {
			if t.Bits > 0 {
				byGroup[u.Group] = append(byGroup[u.Group], user{task: i, weight: u.Weight})
			}
		}
	}

	return byGroup
}
