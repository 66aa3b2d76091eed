package gather

import (
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/workloads/collective"
)

// Kind is what the transmissions of a phase do.
type Kind uint8

const (
	// Scatter sends the sum so far of a piece, gives it up, and adds it to what the receiver has.
	Scatter Kind = iota
	// Exchange passes on the sums that GPUs had when it began, each by itself; when it ends, every GPU adds up those that
	// it has, its own included. It goes on over phases that are Open and the one behind them.
	Exchange
	// Gather sends copies of pieces that are complete: the sum of all GPUs, or in an all-gather the shard of its GPU.
	Gather
	// Fold sends the sums so far, of a piece to as many as there are links, and gives all up; a GPU then has the sums of
	// what the step brings it. What it keeps of its own it sends to itself, over a link that leads there.
	Fold
)

var kindNames = [...]string{"scatter", "exchange", "gather", "fold"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Piece is parts From..To-1 of a shard, of Plan.Parts. In an exchange Origin is the GPU whose sum it is.
type Piece struct{ Shard, From, To, Origin int32 }

// Tx is one message: all that crosses one link From -> To of the phase's topology in a step.
type Tx struct {
	Phase, Step, From, To int32
	Pieces                []Piece
}

func (t *Tx) String() string {
	return fmt.Sprintf("message %d->%d in step %d of phase %d", t.From, t.To, t.Step, t.Phase)
}

// Phase is one topology and what is done on it.
type Phase struct {
	Kind Kind
	// Offsets make the topology a circulant: link i out of GPU u leads to u+Offsets[i] mod n. nil of others, and in plans
	// that were read from a file.
	Offsets []int32
	// Reused: the topology is that of the phase before, so it costs no reconfiguration.
	Reused bool
	// Open: the exchange goes on in the next phase, so nothing is added up yet.
	Open bool
	// Longest is the bytes of the longest message of each step.
	Longest []int64

	lift   lift
	course int
	vector int // shards of the vectors of an exchange

	trees *trees // of a phase along trees; course is its leg
	fold  *fold  // of a phase on a de Bruijn graph

	edges scaleup.Topology // of phases without Offsets
	tx    []Tx             // read from a file
}

// Plan is a collective in full. It is kept as the messages of one GPU, or less; Transmissions writes it out.
type Plan struct {
	Problem Problem
	// Name says of what stages it is made.
	Name string
	// Parts is how many parts each shard is cut into; sizes differ by a byte at most.
	Parts  int32
	Phases []Phase
}

// Reconfigurations is d, the first topology included.
func (pl *Plan) Reconfigurations() int {
	d := 0
	for i := range pl.Phases {
		if !pl.Phases[i].Reused {
			d++
		}
	}
	return d
}

// Steps is the number of steps of all phases.
func (pl *Plan) Steps() int {
	s := 0
	for i := range pl.Phases {
		s += len(pl.Phases[i].Longest)
	}
	return s
}

// CostAt is the closed cost at a reconfiguration delay: d R, and for each step alpha and the time of its longest message.
func (pl *Plan) CostAt(delay engine.Time) engine.Time {
	sum := engine.Time(pl.Reconfigurations()) * delay
	for i := range pl.Phases {
		for _, b := range pl.Phases[i].Longest {
			sum += pl.Problem.StepTime(b)
		}
	}
	return sum
}

// Cost is CostAt the problem's delay.
func (pl *Plan) Cost() engine.Time { return pl.CostAt(pl.Problem.Delay) }

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

// newPlan puts the phases of a recipe together.
func newPlan(p *Problem, r *recipe, longest map[phaseKey][]int64) *Plan {
	pl := &Plan{Problem: *p, Parts: p.parts()}
	add := func(kind Kind, l lift, vector int) {
		for i := range l.courses {
			c := i
			if kind == Scatter {
				c = len(l.courses) - 1 - i
			}
			f := Phase{Kind: kind, Open: kind == Exchange && c < len(l.courses)-1, lift: l, course: c, vector: vector}
			scale := p.GPUs / (l.below * l.q)
			for _, a := range l.courses[c].offsets {
				f.Offsets = append(f.Offsets, a*int32(scale))
			}
			key := phaseKey{l.stage, l.below, c, vector}
			if longest[key] == nil {
				longest[key] = pl.longest(&f)
			}
			f.Longest = slices.Clone(longest[key])
			if kind == Scatter {
				slices.Reverse(f.Longest)
			}
			if n := len(pl.Phases); n > 0 {
				f.Reused = alike(f.Offsets, pl.Phases[n-1].Offsets)
			}
			pl.Phases = append(pl.Phases, f)
		}
	}
	of := func(lifts []lift) []*stage {
		list := make([]*stage, len(lifts))
		for i := range lifts {
			list[i] = lifts[i].stage
		}
		return list
	}
	vector := 1
	for _, l := range r.exchange {
		vector *= l.q
	}
	for _, l := range r.scatter {
		add(Scatter, l, 0)
	}
	for _, l := range r.exchange {
		add(Exchange, l, vector)
	}
	for _, l := range r.gather {
		add(Gather, l, 0)
	}
	for i, part := range [][]lift{r.scatter, r.exchange, r.gather} {
		if len(part) == 0 {
			continue
		}
		if pl.Name != "" {
			pl.Name += "; "
		}
		pl.Name += Kind(i).String() + " " + names(of(part))
	}
	return pl
}

// alike reports whether offsets are the same, in any order.
func alike(a, b []int32) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// phaseKey is what the longest messages of a phase depend on.
type phaseKey struct {
	stage                 *stage
	below, course, vector int
}

// static is the plan of an operation with one topology throughout: offsets on Z_n.
func static(p *Problem, name string, offsets []int32) *Plan {
	s := newStage(p.GPUs, p.parts(), name, course{offsets, p.GPUs, p.GPUs})
	if s == nil {
		return nil
	}
	r := &recipe{}
	if p.Op != collective.AllGather {
		r.scatter = []lift{{s, 1}}
	}
	if p.Op != collective.ReduceScatter {
		r.gather = []lift{{s, 1}}
	}
	return newPlan(p, r, map[phaseKey][]int64{})
}
