package collective

import (
	"slices"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/collective"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Phase is a topology and the messages on it, in a compact form.
type Phase struct {
	plan.Phase // Kind, Offsets, Reused, Open and MaxMessageBytes; Plan.toPlan sets Messages

	// A phase with Offsets is phase index of a stage.
	chainStage   chainStage
	index        int
	vectorShards int // shards per vector of an exchange

	// A phase without Offsets is phase index of a message source on these edges, reversed or not.
	source     messageSource
	isReversed bool
	edges      scaleup.Topology
}

// Plan is a collective call as the messages of one GPU, or in another compact form. toPlan
// expands it.
type Plan struct {
	Problem Problem
	// Name describes the stages.
	Name string
	// Parts is the number of parts of each shard. Their sizes differ by a byte at most.
	Parts  int32
	Phases []Phase
}

// toPlan expands the plan. The messages of its phases are many and are computed on demand.
func (pl *Plan) toPlan() *plan.Plan {
	out := &plan.Plan{
		Name:   pl.Name,
		GPUs:   pl.Problem.GPUs,
		Degree: pl.Problem.Degree,
		Steps:  &plan.Steps{Collective: pl.Problem, Parts: pl.Parts},
	}

	for i := range pl.Phases {
		f := pl.Phases[i].Phase
		f.Messages = func() []plan.Message { return pl.messages(i) }
		out.Topologies = append(out.Topologies, pl.Topology(i))
		out.Slots = append(out.Slots, int32(len(f.MaxMessageBytes)))
		out.Steps.Phases = append(out.Steps.Phases, f)
	}

	return out
}

// candidate returns the plan as a candidate.
func (pl *Plan) candidate() plan.Candidate {
	return plan.Candidate{
		Origin:           pl.Name,
		Reconfigurations: pl.Reconfigurations(),
		Slots:            int64(pl.Steps()),
		Steps:            pl.Time(),
		Build: func(_ int64, stop cancellation.Condition) (*plan.Plan, error) {
			// Candidates share their plan, so each Build gets a copy with its own signal to
			// stop.
			copied := *pl
			copied.Problem.Stop = stop
			return copied.toPlan(), nil
		},
	}
}

// Reconfigurations returns the number of topologies set up, including the first.
func (pl *Plan) Reconfigurations() int {
	d := 0
	for i := range pl.Phases {
		if !pl.Phases[i].Reused {
			d++
		}
	}
	return d
}

// Steps returns the number of steps of all phases.
func (pl *Plan) Steps() int {
	s := 0
	for i := range pl.Phases {
		s += len(pl.Phases[i].MaxMessageBytes)
	}
	return s
}

// Time returns the time of all steps without reconfigurations: per step the latency and the time
// of its longest message.
func (pl *Plan) Time() (sum engine.Time) {
	for i := range pl.Phases {
		for _, b := range pl.Phases[i].MaxMessageBytes {
			sum += pl.Problem.StepTime(b)
		}
	}
	return sum
}

// Topology returns the topology of a phase.
func (pl *Plan) Topology(phase int) scaleup.Topology {
	f := &pl.Phases[phase]
	if f.Offsets == nil {
		return f.edges
	}
	offsets := make([]int, len(f.Offsets))
	for i, a := range f.Offsets {
		offsets[i] = int(a)
	}
	return scaleup.Circulant(pl.Problem.GPUs, offsets...)
}

// newPlan returns the plan of a recipe. longest caches the longest messages of phases.
func newPlan(p *Problem, r *recipe, longest map[phaseKey][]int64) *Plan {
	pl := &Plan{Problem: *p, Parts: shardParts(p)}

	// add appends the phases of a stage, in reverse order for a scatter.
	add := func(kind plan.Kind, l chainStage, vector int) {
		for i := range l.phases {
			c := i
			if kind == plan.Scatter {
				c = len(l.phases) - 1 - i
			}
			f := Phase{
				Phase: plan.Phase{
					Kind: kind,
					Open: kind == plan.Exchange && c < len(l.phases)-1,
				},
				chainStage:   l,
				index:        c,
				vectorShards: vector,
			}

			// An offset a on Z_q is a*n/(below*q) on Z_n.
			scale := p.GPUs / (l.below * l.q)
			for _, a := range l.phases[c].offsets {
				f.Offsets = append(f.Offsets, a*int32(scale))
			}

			// The longest messages do not depend on the direction of time.
			key := phaseKey{stage: l.stage, below: l.below, phase: c, vectorShards: vector}
			if longest[key] == nil {
				longest[key] = pl.longestMessages(&f)
			}
			f.MaxMessageBytes = slices.Clone(longest[key])
			if kind == plan.Scatter {
				slices.Reverse(f.MaxMessageBytes)
			}
			if n := len(pl.Phases); n > 0 {
				f.Reused = sameOffsets(f.Offsets, pl.Phases[n-1].Offsets)
			}
			pl.Phases = append(pl.Phases, f)
		}
	}

	stagesOf := func(stages []chainStage) []*stage {
		list := make([]*stage, len(stages))
		for i := range stages {
			list[i] = stages[i].stage
		}
		return list
	}

	// Scatter along the first stages, exchange whole vectors, and gather along the last ones. A
	// vector of the exchange has one shard per combination of residues.
	vector := 1
	for _, l := range r.exchange {
		vector *= l.q
	}
	const noVector = 0 // only exchanges have vectors
	for _, l := range r.scatter {
		add(plan.Scatter, l, noVector)
	}
	for _, l := range r.exchange {
		add(plan.Exchange, l, vector)
	}
	for _, l := range r.gather {
		add(plan.Gather, l, noVector)
	}

	// The name lists the parts of the recipe, in the order of plan.Kind.
	for i, part := range [][]chainStage{r.scatter, r.exchange, r.gather} {
		if len(part) == 0 {
			continue
		}
		if pl.Name != "" {
			pl.Name += "; "
		}
		pl.Name += plan.Kind(i).String() + " " + joinNames(stagesOf(part))
	}

	return pl
}

// sameOffsets reports whether two lists have the same offsets in any order.
func sameOffsets(a, b []int32) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// phaseKey identifies phases with the same longest messages.
type phaseKey struct {
	stage                      *stage
	below, phase, vectorShards int
}

// staticPlan returns the plan of an operation on a single circulant, or nil if its offsets do not
// reach all GPUs.
func staticPlan(p *Problem, name string, offsets []int32) *Plan {
	s := newStage(p.GPUs, shardParts(p), name, unlimitedPhase(offsets, p.GPUs))
	if s == nil {
		return nil
	}

	// An all-reduce scatters and then gathers on the same circulant.
	stages := []chainStage{{stage: s, below: 1}}
	r := &recipe{}
	if p.Op != collective.AllGather {
		r.scatter = stages
	}
	if p.Op != collective.ReduceScatter {
		r.gather = stages
	}
	return newPlan(p, r, map[phaseKey][]int64{})
}
